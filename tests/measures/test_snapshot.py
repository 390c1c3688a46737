"""Slices of a pack: their number does not change what is measured."""

import numpy as np
import pytest

from tutelage import Refusal
from tutelage.measures import MEASURES, snapshot
from tutelage.measures.report import observe
from tutelage.measures.snapshot import slices


def test_measures_do_not_depend_on_the_cut_into_slices(problem, dtype, monkeypatch):
    p = problem(seeds=range(5), dtype=dtype)
    measures = list(MEASURES.values())
    whole = observe(p.teacher, p.students, p.inputs, measures)
    assert len(list(slices(p.teacher, p.students, p.inputs))) == 1
    monkeypatch.setattr(snapshot, "_ELEMENTS", 1)
    assert len(list(slices(p.teacher, p.students, p.inputs))) == 5
    cut = observe(p.teacher, p.students, p.inputs, measures)
    for measure, a, b in zip(measures, whole, cut, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4 if dtype.itemsize == 4 else 1e-10, atol=1e-6, err_msg=measure.name)


def test_networks_of_different_depth_are_not_compared(problem):
    p, deep = problem(), problem(widths=(6, 4, 4, 3))
    with pytest.raises(Refusal, match="the teacher has 2 layers and the students 3"):
        list(slices(p.teacher, deep.students, p.inputs))


def test_what_is_cached_is_computed_once(problem):
    p = problem()
    (s,) = slices(p.teacher, p.students, p.inputs)
    calls = []
    for _ in range(3):
        assert s.cached("name", lambda: calls.append(1) or "value") == "value"
    assert calls == [1]
