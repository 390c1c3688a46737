"""Fourier coefficients against closed forms and quadrature, and what they say of kernels; kernels that are refused."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from tutelage import TutelageError
from tutelage.alignment.angular import AngularKernel, angularity, fourier, from_formula, from_samples, named
from tutelage.alignment.determinants import matrices
from tutelage.population.kernels import kernel

WITH_FORM = ("relu", "leaky", "abs", "linear", "arc")


@pytest.mark.parametrize("kind", [*WITH_FORM, "erf"])
def test_coefficients_are_integrals(kind):
    f = named(kind, 0.2)
    found = fourier(f, 12)
    for n in (0, 1, 2, 3, 8, 11):
        wanted, slack = integrate.quad(lambda t, n=n: f(np.array([t]))[0] * math.cos(n * t) / math.pi, 0, math.pi)
        assert abs(found.values[n] - wanted) <= found.bounds[n] + slack
        if f.coefficient:
            assert f.coefficient(np.array([n]))[0] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("kind", [*WITH_FORM, "erf"])
def test_the_variation_bounds_what_differences_find(kind):
    """Sums of |f' - f'| over a fine grid approach the variation from below."""
    f = named(kind, 0.2)
    slopes = np.gradient(f(np.linspace(0, math.pi, 4001)), math.pi / 4000)
    over_the_circle = 2 * np.abs(np.diff(slopes)).sum() + 2 * abs(slopes[0]) + 2 * abs(slopes[-1])
    assert over_the_circle <= f.variation * (1 + 1e-6)


@pytest.mark.parametrize("kind", ["relu", "leaky", "abs", "linear"])
def test_named_kernels_are_those_of_the_activations(kind):
    """2 pi times the expected product of two units of length 1."""
    angles = torch.linspace(0, math.pi, 9, dtype=torch.float64)
    w = torch.tensor([[[1.0, 0.0]]], dtype=torch.float64)
    v = torch.stack([angles.cos(), angles.sin()], 1)[None]
    assert np.allclose(
        2 * math.pi * kernel(w, v, kind, 0.2)[0, 0].numpy(), named(kind, 0.2)(angles.numpy()), atol=1e-12
    )


def test_coefficients_add_up_to_the_kernel():
    angles, n = np.linspace(0, math.pi, 7), np.arange(1, 4001)
    f = named("relu")
    total = f.coefficient(np.array([0]))[0] + 2 * (f.coefficient(n) * np.cos(angles[:, None] * n)).sum(1)
    assert np.allclose(total, f(angles), atol=1e-9)


@pytest.mark.parametrize(
    ("kind", "positive_definite"), [("relu", True), ("arc", True), ("abs", True), ("linear", None)]
)
def test_closed_forms_decide(kind, positive_definite):
    assert angularity(named(kind)).holds is True
    assert angularity(named(kind), "PAD").holds is positive_definite


def test_a_negative_coefficient_is_a_witness_whose_form_is_negative():
    """h(x) = cos(n x) makes the double integral 2 pi^2 c_n; here by sums over a grid, exact for such h."""
    f = from_formula(lambda t: math.pi - t - 0.5 * np.cos(2 * t), variation=4.0 + 0.5 * 2 * 4)
    found = angularity(f)
    assert found.holds is False
    assert found.witness == 2
    x = np.arange(512) * (2 * math.pi / 512)
    apart = np.abs(x[:, None] - x)
    form = np.cos(2 * x) @ f(np.minimum(apart, 2 * math.pi - apart)) @ np.cos(2 * x) * (2 * math.pi / 512) ** 2
    assert form == pytest.approx(2 * math.pi**2 * found.value, rel=1e-3)


def test_what_cannot_be_decided_is_not():
    assert angularity(from_formula(lambda t: t)).holds is None  # negative, but with no bound on the error
    assert angularity(from_formula(lambda t: math.pi - t, variation=4.0)).holds is None
    assert angularity(named("erf")).holds is None


@given(st.lists(st.floats(-3, 3), min_size=3, max_size=12))
def test_samples_have_the_coefficients_of_their_polygon(values):
    """Within the bound of the finest rule, and the same over the whole circle."""
    half = from_samples(np.array(values))
    around = from_samples(np.array(values + values[-2:0:-1]), circle=True)
    coarse, fine = fourier(half, 8, 256), fourier(half, 8, 1 << 15)
    assert (np.abs(coarse.values - fine.values) <= coarse.bounds + fine.bounds).all()
    assert np.array_equal(fourier(around, 8, 256).values, coarse.values)


@given(st.integers(0, 10**6), st.integers(2, 8))
def test_associated_matrices_of_an_ad_function_are_psd(seed, m):
    """Proposition 5.4."""
    angles = np.random.default_rng(seed).uniform(0, 2 * math.pi, (4, m))
    for kind in WITH_FORM:
        assert np.linalg.eigvalsh(matrices(angles, named(kind, 0.3))[0]).min() > -1e-12


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: from_formula(lambda t: np.where(t > 2, 1.0, 0.0)), "jumps"),
        (lambda: from_formula(lambda t: np.sin(t), circle=True), "not even"),
        (lambda: from_formula(lambda t: np.log(t * 0 - 1)), "finite"),
        (lambda: from_formula(lambda t: t[:3]), "same shape"),
        (lambda: from_samples(np.array([1.0, 2.0, 3.0, 4.0]), circle=True), "v[k] = v[-k]"),
        (lambda: from_samples(np.array([1.0, np.nan, 3.0])), "finite"),
        (lambda: named("tanh"), "tanh"),
        (lambda: fourier(named(), 0), "up to 0"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_refusals(make, says):
    with pytest.raises(TutelageError) as caught:
        make()
    assert says in str(caught.value)


def test_a_steep_but_continuous_formula_is_taken():
    assert isinstance(from_formula(lambda t: np.tanh(1000 * (t - 1))), AngularKernel)


@given(st.floats(1e-3, math.pi - 1e-3), st.floats(0.001, 0.999))
def test_lemmas_on_the_shape_of_relu(total, share):
    """f falls (Lemma 4.2), and f(a) f(b) > f(a + b) f(0) (Lemma 4.3), by more than rounding."""
    f = named("relu")
    a, b, both, zero = f(np.array([share * total, (1 - share) * total, total, 0.0]))
    assert zero > a > both - 1e-14
    assert a * b > both * zero - 1e-13


def test_a_formula_of_single_numbers_and_a_slope_of_nan_are_errors():
    with pytest.raises(TutelageError, match="has to take an array of angles"):
        from_formula(lambda t: math.cos(t))
    with pytest.raises(TutelageError, match="slope must be a finite number, got nan"):
        named("leaky", math.nan)
