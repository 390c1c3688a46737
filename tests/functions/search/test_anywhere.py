"""The search stays in the domain, tells the difference there is, and finds boundaries that samples miss."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage.functions.domain import box, polytope
from tutelage.functions.search.anywhere import difference_at, sampled, searched
from tutelage.networks import Network, outputs

ACTIVATIONS = ["relu", "leaky", "abs", "linear"]


def domains(d):
    simplex = polytope(torch.cat([-torch.eye(d), torch.ones(1, d)]), torch.tensor([0.0] * d + [1.0]))
    return [None, box(-1, 2, dimension=d), simplex]


@given(st.integers(0, 10**6), st.integers(0, 2), st.sampled_from(ACTIVATIONS))
def test_a_witness_lies_in_the_domain_and_differs_as_told(random_net, seed, which, activation):
    a, b = random_net((3, 5, 4, 2), seed, activation=activation), random_net((3, 4, 2), seed + 1, activation=activation)
    domain = domains(3)[which]
    few, many = sampled(a, b, domain, seed), searched(a, b, domain, seed)
    for found in (few, many):
        gap = (outputs(a, found.at[None]) - outputs(b, found.at[None])).abs().max().item()
        wanted = gap if domain else gap / max(1.0, found.at.abs().max().item())
        assert found.value == pytest.approx(wanted, rel=1e-9)
        assert domain is None or (domain.normals @ found.at <= domain.offsets + 1e-9).all()
    assert many.value >= (0.85 if domain is None else 1 - 1e-12) * few.value


def rare(size):
    """Two networks that differ only within a distance of about ``size`` of the point (0.3, 0.4) of the plane."""
    w = torch.tensor([[1.0, -1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0]], dtype=torch.float64)[None]
    b = torch.tensor([[-0.3, 0.3, -0.4, 0.4]], dtype=torch.float64)
    fan = -torch.ones(1, 4, 1, dtype=torch.float64)
    layers = (w, fan, torch.ones(1, 1, 1, dtype=torch.float64))
    none = torch.zeros(1, 1, dtype=torch.float64)
    bump = Network(layers, (b, none + size, none))
    return bump, Network((*layers[:2], 0 * layers[2]), (b, none + size, none))


def test_a_unit_that_samples_miss_is_found_by_its_boundary():
    bump, flat = rare(1e-4)  # 2e-8 of the box
    square = box(0, 1, dimension=2)
    draw = torch.Generator().manual_seed(0)
    x = torch.rand(200_000, 2, generator=draw, dtype=torch.float64)
    assert difference_at(bump, flat, x, True).max() == 0
    assert searched(bump, flat, square).value > 1e-6
    assert searched(bump, flat, None).value > 1e-6


def test_equal_networks_have_no_witness(random_net):
    a = random_net((3, 5, 4, 2), 1)
    for domain in domains(3):
        assert searched(a, a, domain).value == 0


def test_networks_without_hidden_layers_have_no_boundaries(random_net):
    a, b = random_net((3, 2), 1), random_net((3, 2), 2)
    assert searched(a, b, None).value > 0.1


def test_points_that_overflow_are_no_witnesses(monkeypatch):
    """Crossings of weights near the largest float may be no numbers."""
    from tutelage.functions.search import anywhere

    nothing = torch.full((3, 2), torch.nan, dtype=torch.float64)
    monkeypatch.setattr(anywhere, "corners", lambda pair, domain: nothing)
    monkeypatch.setattr(anywhere, "crossings", lambda network, points, domain: iter([nothing]))
    eye = torch.eye(2, dtype=torch.float64)[None]
    witness = searched(Network((eye, eye)), Network((eye, 2 * eye)), None, 0)
    assert witness.at.isfinite().all()
    assert witness.value > 0
