"""The supremum is reached and never exceeded, over a domain and over all inputs."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tutelage.errors import TutelageError
from tutelage.functions.bounds.pieces import supremum, upper_bound
from tutelage.functions.domain import box, polytope
from tutelage.functions.layers.joint import apart, as_relu, homogeneous
from tutelage.networks import Network, outputs

ACTIVATIONS = ["relu", "leaky", "abs", "linear"]


def everywhere(d, count=3000):
    draw = torch.Generator().manual_seed(3)
    size = torch.logspace(-3, 5, count, dtype=torch.float64)[:, None]
    return size * torch.randn(count, d, generator=draw, dtype=torch.float64)


def measure(a, b, x):
    return (outputs(a, x) - outputs(b, x))[0].abs().amax(1) / x.abs().amax(1).clamp_min(1)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("bias", [0.0, 0.3])
@pytest.mark.parametrize("widths", [(2, 3), (2, 4, 3), (2, 4, 5, 3)])
def test_as_relu_is_the_same_function(random_net, activation, bias, widths):
    network = random_net(widths, activation=activation, bias=bias, members=2)
    x = everywhere(2, 100).expand(2, -1, -1)
    assert as_relu(network).activation == "relu"
    assert torch.allclose(outputs(as_relu(network), x), outputs(network, x), rtol=1e-12, atol=1e-12)


@given(st.integers(0, 10**6), st.sampled_from(ACTIVATIONS), st.floats(0.01, 10))
def test_homogeneous_is_t_times_f_of_y_over_t(random_net, seed, activation, t):
    network = random_net((2, 4, 3, 2), seed, activation=activation)
    y = everywhere(2, 50)
    both = torch.cat([y, torch.full_like(y[:, :1], t)], dim=1)
    assert torch.allclose(outputs(homogeneous(network), both), t * outputs(network, y / t), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("first", ACTIVATIONS)
@pytest.mark.parametrize("second", ACTIVATIONS)
def test_the_difference_of_any_two_activations(random_net, first, second):
    a = random_net((2, 3, 3, 2), 1, activation=first)
    b = random_net((2, 4, 2), 2, activation=second)
    x = everywhere(2, 200)
    assert torch.allclose(outputs(apart(a, b), x), outputs(a, x) - outputs(b, x), rtol=1e-9, atol=1e-10)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 3), st.sampled_from([0.0, 0.3]), st.sampled_from(ACTIVATIONS))
def test_over_all_inputs_no_point_exceeds_it_and_one_comes_near(random_net, seed, d, bias, activation):
    a, b = (random_net((d, 4, 3, 2), s, bias, activation) for s in (seed, seed + 1))
    found = supremum(a, b, None)
    assert found.complete
    assert (measure(a, b, everywhere(d)) <= found.value + found.room).all()
    assert measure(a, b, found.at[None]).item() >= 0.98 * found.value
    assert found.value <= upper_bound(a, b, None).max() + 1e-12
    assert found.room < 1e-9


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 3))
def test_over_a_domain_it_is_reached_inside(random_net, seed, d):
    a, b = random_net((d, 5, 3, 1), seed), random_net((d, 4, 1), seed + 1)
    simplex = polytope(torch.cat([-torch.eye(d), torch.ones(1, d)]), torch.tensor([0.0] * d + [1.0]))
    for domain in (box(-1, 2, dimension=d), simplex):
        found = supremum(a, b, domain)
        x = domain.low + torch.rand(2000, d, dtype=torch.float64) * (domain.high - domain.low)
        x = x[(x @ domain.normals.T <= domain.offsets).all(1)]
        gap = (outputs(a, x) - outputs(b, x))[0].abs().amax(1)
        assert (gap <= found.value + found.room).all()
        assert (domain.normals @ found.at <= domain.offsets + 1e-9).all()
        there = (outputs(a, found.at[None]) - outputs(b, found.at[None])).abs().max().item()
        assert there == pytest.approx(found.value, abs=1e-12)
        assert found.value <= upper_bound(a, b, domain).max() + 1e-12


def test_a_network_less_itself_is_nothing(random_net):
    for widths in ((1, 3, 1), (2, 5, 4, 2), (3, 4, 1)):
        a = random_net(widths, 3)
        found = supremum(a, a, None)
        assert found.value <= 1e-14
        assert found.regions > 3


def test_a_kink_far_away_is_found():
    """The networks agree for |x| < 10^6 and differ beyond."""
    w, v = torch.ones(1, 1, 1, dtype=torch.float64), torch.ones(1, 1, 1, dtype=torch.float64)
    none = torch.zeros(1, 1, dtype=torch.float64)
    a = Network((w, v), (torch.tensor([[-1e6]], dtype=torch.float64), none))
    b = Network((w, 0 * v), (none, none))
    found = supremum(a, b, None)
    assert found.value == pytest.approx(1.0)
    assert found.at.item() > 1e6


def test_enough_is_enough(random_net):
    a, b = random_net((3, 6, 1), 1), random_net((3, 6, 1), 2)
    whole, part = supremum(a, b, None), supremum(a, b, None, enough=1e-6)
    assert not part.complete
    assert 1e-6 < part.value <= whole.value
    assert part.regions < whole.regions


def test_too_many_regions_are_refused(random_net):
    a = random_net((8, 60, 60, 1), 1)
    with pytest.raises(TutelageError, match="regions are to be expected"):
        supremum(a, random_net((8, 60, 60, 1), 2), box(-1, 1, dimension=8), budget=1000)
