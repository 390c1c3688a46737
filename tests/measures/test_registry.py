"""A walk over all registered measures: names, shapes, finite values, independence of neighbours."""

import numpy as np
import pytest

from tutelage import TutelageError
from tutelage.measures import MEASURES
from tutelage.measures.registry import axis_shape, find
from tutelage.measures.report import observe
from tutelage.measures.snapshot import slices


@pytest.mark.parametrize("name", sorted(MEASURES))
@pytest.mark.parametrize("widths", [(6, 4, 3), (6, 4, 5, 3)])
def test_every_measure_keeps_its_word(problem, dtype, name, widths):
    """The shape its axis says, finite, documented, and for each member the same as alone."""
    measure = find(name)
    p = problem(dtype=dtype, widths=widths)
    if measure.two_layers and len(widths) > 3:
        with pytest.raises(TutelageError, match=f"'{name}' is defined for two-layer networks"):
            observe(list(slices(p.teacher, p.students, p.inputs)), p.students, [measure])
        return
    (value,) = observe(list(slices(p.teacher, p.students, p.inputs)), p.students, [measure])
    assert value.shape == (3, *axis_shape(measure.axis, p.teacher, p.students))
    assert np.isfinite(value).all()
    assert measure.__doc__
    one = problem(seeds=[1], dtype=dtype, widths=widths)
    (alone,) = observe(list(slices(one.teacher, one.students, one.inputs)), one.students, [measure])
    np.testing.assert_allclose(alone[0], value[1], rtol=1e-3 if dtype.itemsize == 4 else 1e-9, atol=1e-6)


def test_an_unknown_measure_is_refused_with_the_nearest_name():
    with pytest.raises(TutelageError, match="did you mean 'fan_out'"):
        find("fanout")
