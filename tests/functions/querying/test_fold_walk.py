"""A fold is followed across the folds below and stays the fold of the same unit."""

import numpy as np

from tutelage.functions.querying._stream import QueryDraws
from tutelage.functions.querying.fold_equations import Known
from tutelage.functions.querying.fold_points import on_lines, sample
from tutelage.functions.querying.fold_walk import follow
from tutelage.functions.querying.oracle import Oracle


def test_points_beyond_bends_lie_on_the_same_fold():
    draw = np.random.default_rng(1)
    w, b = draw.standard_normal((4, 6)), 0.3 * draw.standard_normal(6)
    readers, shifts, top = draw.standard_normal((6, 3)), 0.3 * draw.standard_normal(3), draw.standard_normal((3, 1))

    def second(x):
        return np.maximum(x @ w + b, 0) @ readers + shifts

    oracle = Oracle(lambda x: np.maximum(second(x.numpy()), 0) @ top, 4, 1)
    low, high = -3 * np.ones(4), 3 * np.ones(4)
    start = sample(low, high, 60, 0, "a")
    folds = on_lines(oracle, start, sample(low, high, 60, 0, "b") - start)
    on_second = np.abs(second(folds.points)) < 1e-10
    checked = 0
    for unit in range(3):
        first = np.flatnonzero(on_second[:, unit])[:1]
        more, crossed = follow(oracle, Known((), (w, b)), folds[first], set(), low, high, 1e-7, QueryDraws(0))
        checked += len(more)
        assert np.abs(second(more.points)[:, unit]).max(initial=0) < 1e-9
        if not len(more):
            continue
        sides = np.sign(np.r_[more.points, folds.points[first]] @ w + b)
        assert crossed >= {int(k) for k in np.flatnonzero((sides[:-1] != sides[-1]).any(0))}
    assert checked >= 6
