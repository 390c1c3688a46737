"""A form written as a network in layers is the same function up to the deviation that is stated."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage.functions.bounds.forms import Form, evaluate
from tutelage.functions.pruning.rebuilding import layered
from tutelage.networks import Network, outputs


def random_form(draw, inputs, widths, skips):
    """Units that look at everything below them, or at the layer below alone but for so many columns."""
    layers, below = [], 1 + inputs
    for number, width in enumerate(widths):
        e = torch.randn(below, width, generator=draw, dtype=torch.float64) / below**0.5
        if number:
            e[1 : below - widths[number - 1], skips:] = 0
        layers.append(e)
        below += width
    units = tuple(tuple((layer, k) for k in range(n)) for layer, n in enumerate(widths[:-1], start=1))
    sizes = torch.ones(1 + inputs, dtype=torch.float64)
    return Form(tuple(layers), sizes, units, torch.zeros(widths[-1], dtype=torch.float64), 1e-14)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("boxed", [True, False])
@given(seed=st.integers(0, 10_000), skips=st.integers(0, 2), depth=st.integers(1, 4))
def test_the_network_is_the_form(dtype, boxed, seed, skips, depth):
    draw = torch.Generator().manual_seed(seed)
    form = random_form(draw, 3, (*(5, 4, 3)[: depth - 1], 2), skips)
    ends = (-torch.ones(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)) if boxed else None
    found = layered(form, ends, dtype)
    points = 2 * torch.rand(500, 3, generator=draw, dtype=torch.float64) - 1
    points = points if boxed else 30 * points
    network = Network(tuple(w[None] for w in found.weights), tuple(b[None] for b in found.biases))
    assert all(torch.equal(a.to(dtype).to(a), a) for a in network.parameters)
    apart = (outputs(network, points[None])[0] - evaluate(form, points)).abs().amax(0)
    size = 1 if boxed else 30
    assert (apart <= size * (found.moved + 1e-12)).all()
    assert found.moved.max() < (1e-10 if dtype == torch.float64 else 1e-3)
    assert [len(names) for names in found.names] == [w.shape[1] for w in found.weights[:-1]]
    if not skips:
        assert found.units == sum(e.shape[1] for e in form.layers[:-1])


def test_one_linear_map_passes_on_as_few_units_as_carry_it():
    """An output that looks at the inputs: one shifted unit on a box, two over all inputs, one where a unit serves."""
    draw = torch.Generator().manual_seed(0)
    form = random_form(draw, 4, (3, 1), 0)
    plain = form.layers[1].clone()
    for direction, everywhere in ((torch.tensor([1.0, -2.0, 0.5, 1.0]), 2), (2.5 * form.layers[0][1:, 1], 1)):
        top = plain.clone()
        top[1:5, 0] = direction
        skipping = Form((form.layers[0], top), form.sizes, form.units, form.moved, form.eps)
        box = -torch.ones(4, dtype=torch.float64), torch.ones(4, dtype=torch.float64)
        assert layered(skipping, box, torch.float64).units == 4
        assert layered(skipping, None, torch.float64).units == 3 + everywhere


def test_weights_that_cannot_be_stored_give_nothing():
    form = random_form(torch.Generator().manual_seed(1), 2, (3, 1), 0)
    huge = Form((form.layers[0] * 1e6, form.layers[1]), form.sizes, form.units, form.moved, form.eps)
    assert layered(huge, None, torch.float16) is None
