"""Correlations on identical, permuted, rescaled, shifted, constant and unrelated units."""

import numpy as np
import pytest
import torch

from tutelage.measures import Snapshot, correlations
from tutelage.measures.correlation import best_correlation, best_teacher, recovered, rho_mean, specialisation
from tutelage.measures.registry import find
from tutelage.networks import Network


@pytest.fixture
def activations(dtype):
    draw = torch.Generator().manual_seed(0)
    return torch.randn(3, 200, 5, generator=draw, dtype=torch.float64).relu().to(dtype)


def test_correlations_are_those_of_numpy(activations):
    other = activations.flip(0)[..., :4].square()
    measured = correlations(activations, other)
    for s in range(3):
        wanted = np.corrcoef(activations[s].T.numpy(), other[s].T.numpy())[:5, 5:]
        np.testing.assert_allclose(measured[s].numpy(), wanted, atol=20 * torch.finfo(activations.dtype).eps)


def test_a_permuted_rescaled_and_shifted_copy_has_correlation_one_with_its_original(activations):
    order = [3, 0, 4, 1, 2]
    copy = activations[..., order] * torch.tensor([0.1, 7.0, 1.0, 100.0, 3.0], dtype=activations.dtype) + 2
    measured = correlations(activations, copy)
    eps = torch.finfo(activations.dtype).eps
    matched = measured[:, order, range(5)]
    assert (matched - 1).abs().max() < 2000 * eps  # the shift of 2 costs up to 2 / (0.1 std) units of rounding
    assert (measured <= 1).all()


@pytest.mark.parametrize("value", [0.0, 1.0, -3.7, 1e6])
def test_constant_units_have_correlation_zero(activations, value):
    constant = torch.full_like(activations, value)
    assert (correlations(activations, constant) == 0).all()
    assert (correlations(constant, constant) == 0).all()


def test_unrelated_units_have_correlations_of_the_size_of_chance(dtype):
    draw = torch.Generator().manual_seed(1)
    a, b = (torch.randn(4, 2500, 6, generator=draw, dtype=dtype) for _ in range(2))
    measured = correlations(a, b)
    assert measured.std() == pytest.approx(2500**-0.5, rel=0.25)
    assert measured.abs().max() < 5 / 2500**0.5


def snapshot_of(p, students=None):
    return Snapshot(p.teacher, students or p.students, p.inputs.train, p.inputs.evaluate)


def test_a_teacher_recovers_itself_also_in_another_order(problem, dtype):
    p = problem(dtype=dtype, widths=(6, 4, 5, 3), teacher_bias="median")
    order = [2, 0, 3, 1]
    w1, w2, w3 = p.teacher.weights
    b1, b2, b3 = p.teacher.biases
    shuffled = Network((w1[..., order], w2[:, order], w3), (b1[:, order], b2, b3))
    s = snapshot_of(p, shuffled)
    assert recovered(s).all()
    assert rho_mean(s).shape == (3, 2)
    torch.testing.assert_close(rho_mean(s), torch.ones(3, 2, dtype=dtype))
    assert best_teacher(s)[:, :4].tolist() == [order] * 3
    assert best_teacher(s)[:, 4:].tolist() == [[0, 1, 2, 3, 4]] * 3


def test_measures_are_maxima_of_the_correlation_matrix(problem):
    p = problem(widths=(6, 4, 3))
    s = snapshot_of(p)
    rho = find("correlation")(s)
    assert rho.shape == (3, 4, 8)
    assert torch.equal(specialisation(s), rho.amax(1))
    assert torch.equal(best_correlation(s), rho.amax(2))
    assert torch.equal(recovered(s), rho.amax(2) > 0.95)


def test_deep_pairs_follow_one_another_from_below(problem):
    p = problem(widths=(6, 4, 5, 3))
    s = snapshot_of(p)
    assert find("correlation")(s).shape == (3, 4 * 8 + 5 * 10)
    assert specialisation(s).shape == (3, 8 + 10)
