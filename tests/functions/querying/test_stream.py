"""Draws taken one after another."""

import numpy as np

from tutelage.functions.querying._stream import QueryDraws


def test_draws_are_taken_once_and_repeat_with_the_seed():
    one, two = QueryDraws(1), QueryDraws(1)
    first, second = one.normals(3, 2), one.normals(3, 2)
    assert (first != second).all()
    assert (two.normals(6).reshape(3, 2) == first).all()
    assert (QueryDraws(2).normals(3, 2) != first).all()


def test_permutations_and_indices_are_in_range():
    stream = QueryDraws(0)
    assert sorted(stream.permutation(20)) == list(range(20))
    assert {stream.index(3) for _ in range(50)} == {0, 1, 2}


def test_normals_have_mean_0_and_variance_1():
    x = QueryDraws(5).normals(40_000)
    assert abs(x.mean()) < 4 / 200
    assert abs(x.var() - 1) < 4 * np.sqrt(2) / 200
