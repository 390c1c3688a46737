"""Networks with smooth units: bounds hold at exact values, witnesses are ones, other questions are one sentence."""

import copy
from dataclasses import replace
from itertools import pairwise

import mpmath
import numpy as np
import pytest
import torch
from tests.functions.test_curved_units import exact, mp
from torch import nn

from tutelage.errors import TutelageError
from tutelage.functions import box, difference_bound, same_function, top_class_agreement
from tutelage.functions.answers import Question
from tutelage.functions.bounds.curved import CurvedBounds
from tutelage.functions.relaxations import CURVED
from tutelage.networks import Network, to_network

MODULES = {
    "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "softplus": nn.Softplus, "gelu": nn.GELU, "silu": nn.SiLU,
    "hard-swish": nn.Hardswish, "gelu-tanh": lambda: nn.GELU("tanh"),
}  # fmt: skip


def made(kind, widths=(3, 7, 5, 2), seed=0):
    torch.manual_seed(seed)
    layers = []
    for m, n in pairwise(widths):
        layers += [nn.Linear(m, n), kind()]
    return nn.Sequential(*layers[:-1])


def rounded(module):
    module = copy.deepcopy(module)
    for p in module.parameters():
        p.data = p.data.half().to(p.dtype)
    return module


def outputs(network, name, point):
    """The outputs at one input with 40 digits."""
    x = [mp.mpf(v) for v in point]
    for layer, (w, b) in enumerate(zip(network.weights, network.biases, strict=True)):
        rows = zip(w[0].double().T.tolist(), b[0].double().tolist(), strict=True)
        x = [mpmath.fsum([mp.mpf(a) * v for a, v in zip(row, x, strict=True)]) * 1 + mp.mpf(c) for row, c in rows]
        if layer < network.depth - 1:
            x = [exact(name, v) if name in CURVED else max(v, mp.mpf(0)) for v in x]
    return x


@pytest.mark.parametrize("name", CURVED)
@pytest.mark.parametrize("width", [0.0, 1e-6, 0.2, 3.0])
def test_bounds_hold_exact_differences(name, width):
    draw = np.random.default_rng(1)
    module = made(MODULES.get(name, nn.GELU))
    first, second = (replace(to_network(m), activation=name) for m in (module, rounded(module)))
    doubles = tuple(n.map(torch.Tensor.double) for n in (first, second))
    low = draw.normal(size=3)
    high = low + width * draw.random(3)
    ends = CurvedBounds(doubles, Question(torch.ones(2, dtype=torch.float64)), 3).on(low[None], high[None]).ends()
    for unit in [*draw.random((3, 3)), *draw.integers(0, 2, (3, 3))]:
        x = np.clip(low + unit * (high - low), low, high)
        f, g = (outputs(n, name, x) for n in doubles)
        for value, a, b in zip([*f, *(p - q for p, q in zip(f, g, strict=True))], *(e[0] for e in ends), strict=True):
            assert mp.mpf(a) <= value <= mp.mpf(b)


@pytest.mark.parametrize("seed", range(6))
def test_bounds_hold_exact_differences_of_two_forms_of_gelu(seed):
    draw = np.random.default_rng(seed)
    names = draw.choice(["gelu", "gelu-div32", "gelu-mul32", "gelu-tanh", "gelu-tanh32"], size=2, replace=False)
    module = made(nn.GELU, seed=seed)
    pair = tuple(
        replace(to_network(m).map(torch.Tensor.double), activation=str(name))
        for m, name in zip((module, rounded(module)), names, strict=True)
    )
    low = draw.normal(size=3)
    high = low + draw.choice([0.0, 1e-6, 0.3]) * draw.random(3)
    ends = CurvedBounds(pair, Question(torch.ones(2, dtype=torch.float64)), 3).on(low[None], high[None]).ends()
    for unit in draw.random((5, 3)):
        x = np.clip(low + unit * (high - low), low, high)
        f, g = (outputs(n, n.activation, x) for n in pair)
        for value, a, b in zip([*f, *(p - q for p, q in zip(f, g, strict=True))], *(e[0] for e in ends), strict=True):
            assert mp.mpf(a) <= value <= mp.mpf(b)


@pytest.mark.parametrize("name", MODULES)
def test_a_rounded_copy_is_bounded_close_to_what_it_differs(name):
    module = made(MODULES[name])
    answer = difference_bound(module, rounded(module), (-1, 1), seconds=20)
    assert answer.holds
    assert (answer.at_most <= 1.06 * answer.largest.max()).all()
    below = 0.9 * answer.difference
    assert difference_bound(module, rounded(module), (-1, 1), 1.2 * answer.difference).holds
    violated = difference_bound(module, rounded(module), (-1, 1), below)
    assert violated.verdict == "violated"
    f, g = (outputs(to_network(m), name, violated.witness.tolist()) for m in (module, rounded(module)))
    assert max(abs(p - q) for p, q in zip(f, g, strict=True)) > below


@pytest.mark.parametrize(("name", "most"), [("gelu", 0.18), ("softplus", 0.72)])
def test_a_smooth_network_beside_its_relu_copy(name, most):
    """relu differs from gelu by at most 0.17, and from softplus by at most log 2, at every unit."""
    smooth = nn.Sequential(nn.Linear(1, 1), MODULES[name](), nn.Linear(1, 1))
    for p in smooth.parameters():
        p.data = torch.ones_like(p) if p.ndim == 2 else torch.zeros_like(p)
    plain = nn.Sequential(smooth[0], nn.ReLU(), smooth[2])
    answer = difference_bound(smooth, plain, (-3, 3), seconds=10)
    assert answer.holds
    assert 0.9 * answer.bound <= answer.difference <= most
    assert most * 0.9 <= answer.bound <= most


def test_top_classes_and_polytopes():
    module = made(nn.GELU)
    other = rounded(module)
    assert top_class_agreement(module, other, (-1, 1), 0.01).holds
    turned = nn.Sequential(*module[:-1], nn.Linear(5, 2))
    turned[-1].weight.data, turned[-1].bias.data = module[-1].weight.data.flip(0), module[-1].bias.data.flip(0)
    assert top_class_agreement(module, turned, (-1, 1), 0.01, seconds=5).verdict == "violated"


def test_other_widths_and_equal_weights():
    first, second = made(nn.SiLU, (2, 4, 2)), made(nn.SiLU, (2, 6, 2), 1)
    answer = difference_bound(first, second, (-1, 1), seconds=3)
    x = 2 * torch.rand(500, 2) - 1
    with torch.no_grad():
        assert ((first(x) - second(x)).abs().amax(0) <= answer.at_most).all()
    same = difference_bound(first, copy.deepcopy(first), (-1, 1), 0.0)
    assert same.holds
    assert same.bound == 0.0


def test_what_cannot_be_asked_is_one_sentence():
    tanh, where = made(nn.Tanh), box(-1, 1, dimension=3)
    with pytest.raises(TutelageError, match="not piecewise linear"):
        same_function(tanh, tanh, where)
    with pytest.raises(TutelageError, match="3 and 2 layers"):
        difference_bound(tanh, made(nn.Tanh, (3, 5, 2)), where)
    normed = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4).eval(), nn.Tanh(), nn.Linear(4, 2))
    with pytest.raises(TutelageError, match="batch norm"):
        difference_bound(normed, made(nn.Tanh, (3, 4, 2)), where)
    broken = to_network(tanh).map(lambda a: a * torch.inf)
    with pytest.raises(TutelageError, match="not finite"):
        difference_bound(Network(broken.weights, broken.biases, "tanh"), tanh, where)
