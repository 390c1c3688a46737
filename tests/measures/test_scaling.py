"""Correlations and indices do not depend on the size of activations, however small or large."""

import pytest
import torch

from tutelage.measures.correlation import correlations
from tutelage.measures.report import Recorder
from tutelage.measures.scaling import far_from_unity, to_unity, where_far
from tutelage.measures.similarity import INDICES, similarity
from tutelage.measures.streaming import StreamedCorrelation
from tutelage.networks import Network, outputs
from tutelage.training.inputs import Inputs

SINGLE = [1e-37, 1e-30, 1e-25, 1e-20, 1e10, 1e18, 1e25, 1e36]
DOUBLE = [1e-140, 1e-100, 1e-40, 1e40, 1e100, 1e140]
SIZES = [(torch.float32, size) for size in SINGLE] + [(torch.float64, size) for size in DOUBLE]


def layers(dtype):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(2, 300, 3, generator=generator, dtype=torch.float64)
    y = torch.cat([0.5 * x, torch.randn(2, 300, 2, generator=generator, dtype=torch.float64)], dim=2)
    return x.to(dtype), y.to(dtype)


@pytest.mark.parametrize(("dtype", "size"), SIZES)
def test_correlations_of_tiny_and_huge_activations(dtype, size):
    x, y = layers(dtype)
    wanted, close = correlations(x, y), {"rtol": 0, "atol": 1e-5 if dtype == torch.float32 else 1e-12}
    torch.testing.assert_close(correlations(x * size, y * size), wanted, **close)
    torch.testing.assert_close(correlations(x * size, y), wanted, **close)
    mixed = y * torch.tensor([size, 1, 1 / size, 1, 1], dtype=dtype)
    torch.testing.assert_close(correlations(x, mixed), wanted, **close)


@pytest.mark.parametrize(("dtype", "size"), [*SIZES, (torch.float64, 1e-300), (torch.float64, 1e300)])
def test_a_constant_unit_has_no_correlation_whatever_its_size(dtype, size):
    x, _ = layers(dtype)
    found = correlations(x, torch.cat([torch.full_like(x, size), torch.zeros_like(x)], dim=2))
    assert (found == 0).all()


@pytest.mark.parametrize(("dtype", "size"), SIZES)
def test_streamed_correlations_of_tiny_and_huge_activations(dtype, size):
    x, y = layers(dtype)
    found = StreamedCorrelation()
    for begin in range(0, 300, 100):
        found.add(x[:, begin : begin + 100] * size, y[:, begin : begin + 100])
    wanted = correlations(x.double(), y.double())
    torch.testing.assert_close(found.correlations(), wanted, rtol=0, atol=1e-5 if dtype == torch.float32 else 1e-12)


@pytest.mark.parametrize("by", sorted(INDICES))
@pytest.mark.parametrize(("dtype", "size"), SIZES)
def test_indices_of_tiny_and_huge_activations(dtype, size, by):
    x, y = layers(dtype)
    wanted = similarity(x, y, by=by)
    torch.testing.assert_close(similarity(x * size, y, by=by), wanted, rtol=0, atol=1e-5)
    torch.testing.assert_close(similarity(x * size, y * size, by=by), wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("size", [1e-30, 1e-25, 1.0, 1e18, 1e25])
def test_recorded_measures_of_students_with_tiny_and_huge_units(dtype, biased, size):
    """A student with the teacher's units, rescaled, has found all of them and has its outputs."""
    generator = torch.Generator().manual_seed(2)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)

    weights, biases = (normal(2, 4, 3), normal(2, 3, 2)), (normal(2, 3), normal(2, 2)) if biased else None
    teacher = Network(weights, biases)
    moved = None if biases is None else (biases[0] * size, biases[1])
    student = Network((weights[0] * size, weights[1] / size), moved)
    points = normal(2, 400, 4)
    recorder = Recorder(teacher, Inputs(points, points, (0, 1)), ("best_correlation", "evaluate_loss"))
    recorder.record(0, student, torch.full((2,), -1))
    report = recorder.report()
    assert report["best_correlation"].min() > 0.9999
    assert report["evaluate_loss"].max() < 1e-9 * outputs(teacher, points).square().mean()


def test_factors_are_powers_of_two_that_lead_to_one():
    sizes = torch.tensor([0.0, 1e-40, 1e-30, 0.3, 1.0, 7.0, 1e30, 3e38])
    factors = to_unity(sizes)
    assert (torch.frexp(factors).mantissa == 0.5).all()
    assert ((sizes * factors)[2:-1] < 1).all()
    assert ((sizes * factors)[2:-1] >= 0.5).all()
    assert where_far(sizes)[3:6].tolist() == [1, 1, 1]
    assert where_far(sizes)[2] == factors[2]


def test_which_squares_may_have_been_lost():
    assert far_from_unity(torch.tensor([0.0, 1e-30, 1.0, 1e35, torch.inf, torch.nan])).tolist() == [
        True, True, False, True, True, True,
    ]  # fmt: skip
