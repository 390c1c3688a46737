"""A black box is checked and counted."""

import numpy as np
import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.functions.querying.oracle import ROUNDING, Oracle, QueryDraws


def test_queries_are_counted_and_rounding_follows_the_largest_value():
    oracle = Oracle(lambda x: 10 * x, 2, 2)
    oracle.values(np.ones((7, 2)))
    assert oracle.queries == 7
    assert oracle.rounding == pytest.approx(10 * ROUNDING)
    assert Oracle(lambda x: x, 2, 2, noise=0.1).rounding == 0.1


def test_a_pair_of_values_and_gradients_is_taken_apart():
    oracle = Oracle(lambda x: (x, torch.eye(2).expand(len(x), 2, 2)), 2, 2, gradients=True)
    assert (oracle.gradient(np.zeros((3, 2))) == np.eye(2)).all()


@pytest.mark.parametrize(
    ("ask", "gradients", "said"),
    [
        (lambda x: x[:, :1], False, "shape"),
        (lambda x: x * float("nan"), False, "not finite"),
        (lambda x: "no", False, "array of numbers"),
        (lambda x: x, True, "pair"),
    ],
)
def test_a_wrong_answer_is_refused(ask, gradients, said):
    with pytest.raises(TutelageError, match=said):
        Oracle(ask, 2, 2, gradients=gradients).values(np.ones((3, 2)))


@pytest.mark.parametrize(("inputs", "outputs", "noise"), [(0, 1, 0.0), (1, 0, 0.0), (1, 1, -1.0), (1, 1, float("nan"))])
def test_bad_settings_are_refused(inputs, outputs, noise):
    with pytest.raises(TutelageError):
        Oracle(lambda x: x, inputs, outputs, noise=noise)


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
