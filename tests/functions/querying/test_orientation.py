"""Signs from readers and from gradients."""

import numpy as np
import pytest

from tutelage.functions.querying.fold_equations import Known
from tutelage.functions.querying.fold_points import on_lines, sample
from tutelage.functions.querying.oracle import Oracle
from tutelage.functions.querying.orientation import by_gradients, by_readers


@pytest.mark.parametrize(("inputs", "units", "readers"), [(6, 4, 1), (4, 10, 5), (6, 14, 1)])
def test_readers_tell_the_signs(inputs, units, readers):
    """Also where fourteen signs stand in six equations: they are tried out."""
    draw = np.random.default_rng(2)
    w, alpha = draw.standard_normal((inputs, units)), draw.standard_normal((readers, units))
    signs = np.sign(draw.standard_normal(units))
    found, rest = by_readers(w, alpha, (alpha * signs) @ w.T, 1e-8)
    assert (found == signs).all()
    assert np.abs(rest).max() < 1e-12


def test_what_signs_cannot_explain_is_handed_back():
    draw = np.random.default_rng(3)
    w, alpha, beta = draw.standard_normal((3, 2)), draw.standard_normal((2, 2)), draw.standard_normal((2, 3))
    signs, rest = by_readers(w, alpha, beta, 1e-8)
    assert np.allclose((alpha * signs) @ w.T + rest, beta)
    assert np.linalg.norm(rest) > 0.1


def test_gradients_tell_the_signs_of_a_layer_that_is_not_wider_than_the_input():
    draw = np.random.default_rng(4)
    w, b, top = draw.standard_normal((5, 4)), 0.3 * draw.standard_normal(4), draw.standard_normal((4, 2))
    signs = np.array([1.0, -1, -1, 1])
    oracle = Oracle(lambda x: np.maximum(x.numpy() @ w + b, 0) @ top, 5, 2)
    start = sample(-2 * np.ones(5), 2 * np.ones(5), 40, 0, "a")
    folds = on_lines(oracle, start, sample(-2 * np.ones(5), 2 * np.ones(5), 40, 0, "b") - start)
    assert (by_gradients(Known((), (w * signs, b * signs)), folds, 2.0, 1e-6) == signs).all()
    wide = Known((), (np.concatenate([w, -w], axis=1), np.r_[b, -b]))
    assert by_gradients(wide, folds, 2.0, 1e-6) is None
