"""Lines with their bends."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage.errors import TutelageError
from tutelage.functions.querying.lines import bends, look_along, sample
from tutelage.functions.querying.oracle import Oracle


def hinges(at, jumps):
    """x -> sum of jumps times relu(x - at)."""
    return Oracle(
        lambda x: (
            (x - torch.tensor(at, dtype=torch.float64)).relu() @ torch.tensor(jumps, dtype=torch.float64)[:, None]
            if len(at)
            else 0 * x
        ),
        1,
        1,
    )


@given(
    st.lists(st.integers(1, 999), min_size=0, max_size=12, unique=True),
    st.lists(st.floats(0.2, 3), min_size=12, max_size=12),
    st.lists(st.booleans(), min_size=12, max_size=12),
)
def test_all_bends_of_a_sum_of_hinges_are_found(places, sizes, signs):
    at = sorted(p / 1000 + 1e-4 * np.pi for p in places)
    jumps = [s if up else -s for s, up in zip(sizes, signs, strict=True)][: len(at)]
    found = bends(hinges(at, jumps), np.zeros((1, 1)), np.ones((1, 1)))
    assert len(found.t) == len(at)
    assert np.allclose(found.t, at, atol=1e-11)
    assert np.allclose(found.before, [0.0, *at[:-1]][: len(at)], atol=1e-11)
    assert np.allclose(found.after, [*at[1:], 1.0][: len(at)], atol=1e-11)


def test_lines_are_kept_apart():
    oracle = Oracle(lambda x: x.relu().sum(1, keepdim=True), 2, 1)
    start, direction = np.array([[-1.0, -2.0], [1.0, -1.0]]), np.array([[3.0, 3.0], [1.0, 3.0]])
    found = bends(oracle, start, direction)
    assert found.line.tolist() == [0, 0, 1]
    assert np.allclose(found.t, [1 / 3, 2 / 3, 1 / 3], atol=1e-13)


def test_noise_within_its_bound_makes_no_bends():
    draw = np.random.default_rng(0)
    oracle = Oracle(lambda x: x.numpy() + draw.uniform(-1e-6, 1e-6, x.shape), 1, 1, noise=1e-6)
    assert len(bends(oracle, np.zeros((20, 1)), np.ones((20, 1))).t) == 0


def test_bends_that_stand_out_of_the_noise_are_found_as_exactly_as_they_are_said_to_be():
    draw, at = np.random.default_rng(1), np.array([0.13, 0.37, 0.55, 0.81])

    def ask(x):
        return (np.maximum(x.numpy() - at, 0) * [1.0, -0.7, 0.5, -0.3]).sum(1, keepdims=True) + draw.uniform(
            -1e-4, 1e-4, (len(x), 1)
        )

    found = bends(Oracle(ask, 1, 1, noise=1e-4), np.zeros((50, 1)), np.ones((50, 1)))
    assert found.line.tolist() == np.repeat(np.arange(50), 4).tolist()
    away = np.abs(found.t.reshape(50, 4) - at)
    assert (away < 4 * found.error.reshape(50, 4)).all()
    assert (found.error < 1e-3).all()
    assert away.max() > 0.1 * found.error.max()


def test_a_smooth_function_is_refused():
    with pytest.raises(TutelageError, match="not piecewise linear"):
        bends(Oracle(lambda x: x.sin(), 1, 1), np.zeros((1, 1)), np.full((1, 1), 5.0))


def test_lines_have_their_ends_and_all_bends_in_order():
    oracle = Oracle(lambda x: x.relu().sum(1, keepdim=True), 2, 1)
    lines = look_along(oracle, np.array([[-1.0, -2.0], [1.0, 1.0]]), np.array([[3.0, 3.0], [1.0, 3.0]]))
    assert lines.line.tolist() == [0, 0, 0, 0, 1, 1]
    assert lines.bend.tolist() == [False, True, True, False, False, False]
    assert np.allclose(lines.points[1:3], [[0.0, -1.0], [1.0, 0.0]])
    assert lines.pieces(1e-9).tolist() == [1, 2, 4]


def test_joined_lines_are_numbered_on():
    oracle = Oracle(lambda x: x.relu(), 1, 1)
    one = look_along(oracle, -np.ones((2, 1)), 2 * np.ones((2, 1)))
    both = one.joined(one)
    assert both.line.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert both.bend.sum() == 4


def test_a_larger_sample_begins_with_the_smaller_and_goes_on():
    low, high = -np.ones(2), np.array([1.0, 3.0])
    many = sample(low, high, 12, 5, "x")
    assert (many[:4] == sample(low, high, 4, 5, "x")).all()
    assert (many[4:] == sample(low, high, 8, 5, "x", start=4)).all()
    assert (many >= low).all()
    assert (many <= high).all()


def test_points_are_drawn_near_the_corners_too():
    x = sample(-np.ones(3), np.ones(3), 400, 0, "a")
    assert (np.abs(x) <= 1).all()
    corners = (np.abs(x) > 0.9).all(1)
    assert corners[1::4].mean() > 0.1
    assert corners[2::4].sum() == 0
