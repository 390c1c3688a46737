"""One-class max-margin vectors, against a general solver."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from tutelage.errors import TutelageError
from tutelage.margins.datasets import LabelledPoints, clashing, cones, orthants
from tutelage.margins.max_margin import max_margins


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_it_is_the_shortest_vector_with_margin_one(seed):
    data = cones([seed], count=10)
    found = max_margins(data)
    for sign in (1, -1):
        x = data.x[0][data.y[0] == sign].numpy()
        start = x.mean(0) / (x @ x.mean(0)).min()
        by_solver = minimize(
            lambda w: w @ w, start, jac=lambda w: 2 * w, method="SLSQP", options={"ftol": 1e-14},
            constraints={"type": "ineq", "fun": lambda w, x=x: x @ w - 1, "jac": lambda w, x=x: x},
        )  # fmt: skip
        np.testing.assert_allclose(found.of(sign).w[0].numpy(), by_solver.x, atol=1e-5)


def test_kkt_conditions_hold_to_the_last_digits_at_the_size_of_the_seed():
    data = orthants(range(4))
    found = max_margins(data)
    for sign in (1, -1):
        one = found.of(sign)
        assert float(one.kkt.max()) <= 1e-10
        height = (data.x @ one.w.unsqueeze(2)).squeeze(2)
        own = data.y == sign
        assert (height[own] >= 1 - 1e-12).all()
        assert (one.dual >= 0).all()
        assert (one.dual[~own] == 0).all()
        torch.testing.assert_close((one.dual.unsqueeze(1) @ data.x).squeeze(1), one.w)
        assert ((height - 1).abs()[one.dual > 0] < 1e-10).all()
        assert (one.support >= (one.dual > 0)).all()
        assert (one.rank <= one.support.sum(1)).all()
        assert not one.spans.any()  # few support samples in 20 dimensions


def test_units_are_told_the_vector_of_their_sign():
    found = max_margins(cones(range(2)))
    given_to = found.for_units(torch.tensor([[1.0, -2.0], [-1.0, 3.0]]))
    assert torch.equal(given_to[0, 0], found.positive.w[0])
    assert torch.equal(given_to[1, 0], found.negative.w[1])
    assert torch.allclose(found.positive.direction.norm(dim=1), torch.ones(2, dtype=torch.float64))


def test_an_impossible_class_is_refused_with_the_samples_that_prove_it():
    x = torch.tensor([[1.0, 0.0], [5.0, 5.0], [-2.0, 0.0], [0.0, 1.0]])
    with pytest.raises(TutelageError, match=r"labelled \+1 of set 0 .* samples 0, 2,"):
        max_margins(LabelledPoints(x, torch.tensor([1, 1, 1, -1])))
    data = clashing(range(5))
    with pytest.raises(TutelageError, match="convex hull of samples") as told:
        max_margins(data)
    named = [int(v) for v in str(told.value).split("samples ")[2].split(", so")[0].split(", ")]
    hull = data.x[0, named].numpy()
    shares = np.linalg.lstsq(np.vstack([hull.T, np.ones(len(hull))]), np.array([0, 0, 0, 1.0]), rcond=None)[0]
    assert (shares > 0).all()  # 0 is a mean of them
    np.testing.assert_allclose(shares @ hull, 0, atol=1e-12)


@pytest.mark.parametrize("size", [1e-149, 1e-20, 1e20, 1e149])
def test_the_size_of_the_points_divides_the_vector(size):
    data = cones(range(2))
    wanted, found = max_margins(data).positive, max_margins(LabelledPoints(data.x * size, data.y)).positive
    torch.testing.assert_close(found.w * size, wanted.w)
    assert torch.equal(found.support, wanted.support)
    assert float(found.kkt.max()) <= 1e-10


@pytest.mark.parametrize("short", [1e-3, 1e-7, 1e-9])
def test_a_short_point_next_to_a_long_one_is_not_taken_for_0(short):
    x = torch.tensor([[short, 0.0], [0.0, 1.0], [-1.0, -1.0]], dtype=torch.float64)
    found = max_margins(LabelledPoints(x, torch.tensor([1, 1, -1]))).positive
    torch.testing.assert_close(found.w, torch.tensor([[1 / short, 1.0]], dtype=torch.float64))
    assert float(found.kkt) <= 1e-10


def test_lengths_too_far_apart_are_refused():
    x = torch.tensor([[1e-20, 0.0], [0.0, 1.0], [-1.0, -1.0]], dtype=torch.float64)
    with pytest.raises(TutelageError, match=r"labelled \+1 of set 0 have lengths from 1.0e-20 to 1.0e\+00, too far"):
        max_margins(LabelledPoints(x, torch.tensor([1, 1, -1])))
