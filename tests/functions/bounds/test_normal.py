"""What does nothing is taken out, the function stays, and equal two-layer networks always have one normal form."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage.functions.bounds.forms import evaluate
from tutelage.functions.bounds.normal import Redundancy, forms_apart, normal_form
from tutelage.functions.domain import box_for
from tutelage.functions.layers.joint import as_relu, deepen
from tutelage.networks import Network, outputs

EPS = 2.0**-52
ACTIVATIONS = ["relu", "leaky", "abs", "linear"]


def points(d, count=300):
    return 2 * torch.rand(count, d, generator=torch.Generator().manual_seed(1), dtype=torch.float64) - 1


@given(
    st.integers(0, 10**6),
    st.sampled_from(ACTIVATIONS),
    st.sampled_from([(2, 4, 1), (3, 5, 4, 2), (2, 3, 3, 3, 1)]),
    st.sampled_from([None, (-1, 1)]),
    st.booleans(),
)
def test_the_normal_form_is_the_function(random_net, whole_net, seed, activation, widths, box, whole):
    network = (
        whole_net(widths, seed, activation=activation) if whole else random_net(widths, seed, activation=activation)
    )
    form, found = normal_form(network, box_for(network, box), EPS)
    apart = (evaluate(form, points(widths[0])) - outputs(network, points(widths[0]))[0]).abs().amax(0)
    assert (apart <= form.moved + 1e-12).all()
    assert form.moved.max() < 1e-8
    left = {name for layer in form.units for name in layer}
    gone = {(r.layer, r.unit) for r in found}
    assert not left & gone
    assert len(left) + len(gone) == sum(widths[1:-1])


@given(st.integers(0, 10**6), st.sampled_from(ACTIVATIONS), st.sampled_from([(2, 4, 1), (3, 5, 4, 2)]))
def test_other_ways_to_write_a_network_have_its_normal_form(random_net, seed, activation, widths):
    network = random_net(widths, seed, activation=activation)
    others = [as_relu(network)] + ([] if activation == "abs" else [deepen(network, len(widths) + 1)])
    everywhere = box_for(network, None)
    mine, _ = normal_form(network, everywhere, EPS)
    for other in others:
        found = forms_apart(mine, normal_form(other, everywhere, EPS)[0])
        assert found is not None
        assert (found[0] < 1e-10).all()


@given(st.integers(0, 10**6), st.integers(1, 4))
def test_a_bound_on_two_forms_is_one(random_net, seed, power):
    """Forms of unlike networks are compared too, and no point differs by more than the bound."""
    network = random_net((3, 5, 4, 2), seed)
    noise = torch.Generator().manual_seed(seed)
    other = network.map(lambda a: a + 10.0**-power * torch.randn(a.shape, generator=noise, dtype=a.dtype))
    box = box_for(network, (-1, 1))
    found = forms_apart(normal_form(network, box, EPS)[0], normal_form(other, box, EPS)[0])
    if found is not None:
        x = points(3)
        assert ((outputs(network, x) - outputs(other, x))[0].abs() <= found[0]).all()


def test_every_kind_is_named():
    def unit(*numbers):
        return list(numbers)

    columns = [  # incoming weights and bias on the box -1 .. 1, and fan-out
        (unit(1.0, 0.0, 0.2), 1.0),
        (unit(0.5, 0.5, -3.0), 1.0),  # never active
        (unit(0.5, 0.5, 3.0), 1.0),  # always active
        (unit(0.0, 0.0, 1.0), 1.0),  # constant: always active too
        (unit(0.3, -1.0, 0.1), 0.0),  # no fan-out
        (unit(2.0, 0.0, 0.4), 1.0),  # multiple of the first
        (unit(-1.0, 0.0, -0.2), 1.0),  # mirror of the first
    ]
    full = torch.tensor([c for c, _ in columns], dtype=torch.float64).T
    v = torch.tensor([[o] for _, o in columns], dtype=torch.float64)
    network = Network((full[None, :2], v[None]), (full[None, 2], torch.zeros(1, 1, dtype=torch.float64)))
    _, found = normal_form(network, box_for(network, (-1, 1)), EPS)
    assert {r.unit: r.kind for r in found} == {
        1: "dead", 2: "linear", 3: "linear", 4: "idle", 5: "duplicate", 6: "mirror",
    }  # fmt: skip
    assert {r.other for r in found if r.kind in ("duplicate", "mirror")} == {0}
    everywhere, more = normal_form(network, box_for(network, None), EPS)
    assert [e.shape[1] for e in everywhere.layers] == [3, 1]
    assert str(Redundancy(1, 4, "idle")) == "unit 4 of layer 1 is without fan-out"
    assert {r.unit for r in more} == {3, 4, 5, 6}


def test_a_constant_below_becomes_a_bias_above(random_net):
    network = random_net((3, 4, 4, 1), 2)
    w = [p.clone() for p in network.weights]
    w[1][0, :, 2] = 0  # unit 2 of layer 2 sees nothing
    network = replace(network, weights=tuple(w), biases=(network.biases[0], network.biases[1].abs(), network.biases[2]))
    form, found = normal_form(network, box_for(network, None), EPS)
    assert (2, 2) in {(r.layer, r.unit) for r in found}
    assert torch.allclose(evaluate(form, points(3)), outputs(network, points(3))[0], atol=1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_unlike_networks_are_far_apart_or_unlike(random_net, seed):
    network = random_net((3, 5, 2), seed)
    other = random_net((3, 5, 2), seed + 100)
    narrow = random_net((3, 4, 2), seed)
    everywhere = box_for(network, None)
    form = normal_form(network, everywhere, EPS)[0]
    assert (forms_apart(form, normal_form(other, everywhere, EPS)[0])[0] > 0.1).all()
    assert forms_apart(form, normal_form(narrow, everywhere, EPS)[0]) is None
