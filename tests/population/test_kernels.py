"""Closed forms against quadrature, sampling, finite differences; and their precision where angles are extreme."""

import math

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special

from tutelage import TutelageError
from tutelage.population.kernels import KINDS, kernel, kernel_hessians, pairs, weighted_gradient

SLOPE = 0.2


def sigma(kind, u):
    return {
        "relu": lambda: np.maximum(u, 0),
        "leaky": lambda: np.where(u > 0, u, SLOPE * u),
        "abs": lambda: np.abs(u),
        "linear": lambda: u,
        "erf": lambda: special.erf(u / math.sqrt(2)),
    }[kind]()


def vectors(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("kind", ["relu", "leaky", "abs", "linear"])
@pytest.mark.parametrize("angle", [0.0, 0.3, 1.5, 2.9, math.pi])
def test_the_kernel_is_its_integral(kind, angle):
    """Over directions in the plane of the two vectors; lengths give E r^2 = 2, since sigma(r u) = r sigma(u)."""
    w, v = 1.3 * np.array([1.0, 0.0]), 0.7 * np.array([math.cos(angle), math.sin(angle)])

    def integrand(phi):
        x = np.array([math.cos(phi), math.sin(phi)])
        return sigma(kind, w @ x) * sigma(kind, v @ x) / math.pi

    kinks = [turn % (2 * math.pi) for turn in (math.pi / 2, -math.pi / 2, angle + math.pi / 2, angle - math.pi / 2)]
    wanted = integrate.quad(integrand, 0, 2 * math.pi, points=kinks, epsabs=1e-12)[0]
    found = kernel(torch.tensor(w)[None, None], torch.tensor(v)[None, None], kind, SLOPE).item()
    assert found == pytest.approx(wanted, abs=1e-10)


@pytest.mark.parametrize("angle", [0.0, 0.3, 1.5, 2.9, math.pi])
def test_the_kernel_of_erf_is_its_integral(angle):
    nodes = np.linspace(-9, 9, 361)  # for such functions equal steps converge faster than any power
    x, y = np.meshgrid(nodes, nodes)
    density = 0.05**2 * np.exp(-(x**2 + y**2) / 2) / (2 * math.pi)
    w, v = torch.tensor([[1.3, 0.0], [0.7 * math.cos(angle), 0.7 * math.sin(angle)]], dtype=torch.float64)
    wanted = (density * sigma("erf", 1.3 * x) * sigma("erf", v[0].item() * x + v[1].item() * y)).sum()
    assert kernel(w[None, None], v[None, None], "erf").item() == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_kernel_and_its_gradient_are_those_of_samples(kind):
    """Within four standard errors of Monte Carlo in five dimensions, for several members and pairs."""
    x, y, g = vectors(2, 3, 5, seed=1), vectors(2, 2, 5, seed=2), vectors(2, 3, 2, seed=3)
    samples = vectors(400_000, 5, seed=4).numpy()
    exact = kernel(x, y, kind, SLOPE).numpy()
    gradient = weighted_gradient(g, x, y, kind, SLOPE).numpy()
    for s in range(2):
        f, h = (sigma(kind, samples @ a[s].numpy().T) for a in (x, y))
        slope = (sigma(kind, samples @ x[s].numpy().T + 1e-6) - sigma(kind, samples @ x[s].numpy().T - 1e-6)) / 2e-6
        for p in range(3):
            for q in range(2):
                values = f[:, p] * h[:, q]
                assert abs(values.mean() - exact[s, p, q]) < 4 * values.std() / 400_000**0.5
            weighted = (slope[:, p] * (h @ g[s, p].numpy()))[:, None] * samples
            assert (abs(weighted.mean(0) - gradient[s, p]) < 4.5 * weighted.std(0) / 400_000**0.5).all()


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 10**6))
def test_gradients_and_hessians_are_finite_differences(kind, seed):
    w, v, direction = vectors(1, 1, 4, seed=seed), vectors(1, 1, 4, seed=seed + 1), vectors(1, 1, 4, seed=seed + 2)
    one, h = torch.ones(1, 1, 1, dtype=torch.float64), 1e-5
    slope = (kernel(w + h * direction, v, kind, SLOPE) - kernel(w - h * direction, v, kind, SLOPE)) / (2 * h)
    gradient = weighted_gradient(one, w, v, kind, SLOPE)
    assert (gradient * direction).sum().item() == pytest.approx(slope.item(), abs=1e-8)
    ww, wv = kernel_hessians(w, v, kind, SLOPE)
    for moved, found in ((lambda t: (w + t * direction, v), ww), (lambda t: (w, v + t * direction), wv)):
        there, back = (weighted_gradient(one, *moved(t), kind, SLOPE) for t in (h, -h))
        wanted = (there - back) / (2 * h)
        assert torch.allclose((found @ direction[..., None, :, None]).flatten(), wanted.flatten(), atol=2e-7)


@pytest.mark.parametrize("tiny", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("flip", [1, -1])
def test_angles_near_0_and_pi_keep_their_digits(tiny, flip):
    """Against 50 digits: arccos would lose half of them, and all below 1e-8."""
    u = torch.tensor([0.6, 0.8, 0.0], dtype=torch.float64)
    v = flip * (u + tiny * torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64))
    p = pairs(u[None, None], v[None, None])
    with mpmath.workdps(50):
        a, b = ([mpmath.mpf(float(c)) for c in vector] for vector in (u, v))
        dot = sum(i * j for i, j in zip(a, b, strict=True))
        wanted = mpmath.acos(dot / mpmath.sqrt(sum(i * i for i in a) * sum(j * j for j in b)))
        sine = mpmath.sin(wanted)
    gap = float(wanted) if flip == 1 else float(mpmath.pi - wanted)
    found = p.angle.item() if flip == 1 else math.pi - p.angle.item()
    assert found == pytest.approx(gap, rel=1e-9, abs=0 if flip == 1 else 5e-16)
    assert p.sine.item() == pytest.approx(float(sine), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_zero_vector_is_an_idle_unit(kind):
    zero, v = torch.zeros(1, 1, 3, dtype=torch.float64), vectors(1, 1, 3)
    assert kernel(zero, v, kind, SLOPE).item() == 0
    for part in (
        weighted_gradient(torch.ones(1, 1, 1).double(), zero, v, kind, SLOPE),
        *kernel_hessians(zero, v, kind),
    ):
        assert part.isfinite().all()


def test_an_activation_without_a_closed_form_is_refused():
    with pytest.raises(TutelageError, match="no exact Hessian for the activation 'tanh'"):
        kernel_hessians(vectors(1, 1, 2), vectors(1, 1, 2), "tanh")


def erf_kernel(w, v):
    """By the printed formula in many digits."""
    w, v = ([mpmath.mpf(float(x)) for x in a] for a in (w, v))
    with mpmath.workdps(400):
        inner = [mpmath.fdot(a, b) for a, b in ((w, v), (w, w), (v, v))]
        return float(2 / mpmath.pi * mpmath.asin(inner[0] / mpmath.sqrt((1 + inner[1]) * (1 + inner[2]))))


@pytest.mark.parametrize("length", [1e-20, 1.0, 1e4, 1e8, 1e20, 1e80])
def test_the_kernel_of_long_erf_units_is_that_of_their_signs(length):
    w = length * torch.tensor([[[1.0, 0.3], [-0.2, 1.0], [1.0, 0.3]]], dtype=torch.float64)
    wanted = [[erf_kernel(a, b) for b in w[0]] for a in w[0]]
    np.testing.assert_allclose(kernel(w, w, "erf")[0], wanted, rtol=1e-13)


def test_derivatives_of_long_erf_units():
    w = 1e6 * torch.tensor([[[1.0, 0.3]]], dtype=torch.float64)
    v = 1e6 * torch.tensor([[[0.0, 1.0]]], dtype=torch.float64)
    found = weighted_gradient(torch.ones(1, 1, 1, dtype=torch.float64), w, v, "erf")
    turned = torch.tensor([-0.3, 1.0], dtype=torch.float64)  # only the angle counts: 2 / pi over the length of w
    torch.testing.assert_close(found[0, 0], 2 / math.pi * turned / 1.09 / 1e6, rtol=1e-9, atol=0)
    parallel = kernel_hessians(w, w, "erf")
    assert all(bool(h.isfinite().all()) for h in parallel)
    for call in (
        lambda: weighted_gradient(torch.ones(1, 1, 1), 1e9 * w, v, "erf"),
        lambda: kernel_hessians(w, 1e9 * w, "erf"),
    ):
        with pytest.raises(TutelageError, match=r"erf units of length 1\.04e\+15 are lost in rounding"):
            call()


@pytest.mark.parametrize("kind", [*KINDS, "squared-relu"])
def test_torch_can_differentiate_the_kernel_also_of_parallel_units(kind):
    x = torch.tensor([[[1.0, 0, 0], [0.5, 0.5, 0], [1, 1e-9, 0], [-1, 0, 0]]], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([[[2.0, 0, 0], [0, 1, 0]]], dtype=torch.float64)
    kernel(x, y, kind, SLOPE).sum().backward()
    wanted = weighted_gradient(torch.ones(1, 4, 2, dtype=torch.float64), x.detach(), y, kind, SLOPE)
    torch.testing.assert_close(x.grad, wanted)
