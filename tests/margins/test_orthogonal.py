"""Orthogonal separability, against brute force."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tutelage.errors import TutelageError
from tutelage.margins import orthogonal
from tutelage.margins.datasets import LabelledPoints, cones, half_spaces
from tutelage.margins.orthogonal import (
    separability,
    separability_by_layer,
)
from tutelage.networks import Network


def by_hand(x, y):
    n = len(y)
    pairs = [(i, j, float(x[i] @ x[j]), bool(y[i] == y[j])) for i in range(n) for j in range(i, n)]
    same, cross = ([p for p in pairs if p[3] is alike] for alike in (True, False))
    bad = [(i, j) for i, j, v, alike in pairs if (v <= 0 if alike else v > 0)]
    return min(p[2] for p in same), max(p[2] for p in cross), bad, len(same), len(cross)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 9), st.integers(2, 4))
def test_it_is_what_brute_force_says(seed, n, d):
    draw = torch.Generator().manual_seed(seed)
    x = torch.randn(n, d, generator=draw, dtype=torch.float64)
    y = torch.tensor([1.0, -1.0] + [1.0 if v else -1.0 for v in torch.rand(n - 2, generator=draw) < 0.5])
    found, (same, cross, bad, alike, apart) = separability(LabelledPoints(x, y)), by_hand(x, y)
    assert found.same.item() == pytest.approx(same)
    assert found.cross.item() == pytest.approx(cross)
    assert int(found.violations) == len(bad)
    assert (int(found.same_pairs), int(found.cross_pairs)) == (alike, apart)
    assert bool(found.holds) == (not bad)
    i, j = found.worst_cross[0].tolist()
    assert float(x[i] @ x[j]) == pytest.approx(cross)
    assert found.share.item() == pytest.approx(len(bad) / (alike + apart))


def test_blocks_change_nothing(monkeypatch):
    data = half_spaces(range(3), count=30)
    whole = separability(data)
    monkeypatch.setattr(orthogonal, "_BLOCK", 200)
    parts = separability(data)
    for name in ("same", "cross", "violations", "worst_same", "worst_cross"):
        torch.testing.assert_close(getattr(whole, name), getattr(parts, name))


def test_orthogonal_across_classes_is_allowed_and_within_is_not():
    x = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    assert separability(LabelledPoints(x, torch.tensor([1, -1]))).holds
    three = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    assert not separability(LabelledPoints(three, torch.tensor([1, 1, -1]))).holds


def test_layers_are_judged_by_their_preactivations():
    data = cones(range(2))
    w = torch.eye(3).expand(2, 3, 3).contiguous()
    net = Network((w, -w, torch.ones(2, 3, 1)))
    layers = separability_by_layer(net, data.x.float(), data.y)
    assert len(layers) == 3
    assert layers[0].holds.all()
    torch.testing.assert_close(layers[1].same, layers[0].same, rtol=1e-5, atol=1e-6)
    relu = data.x.float().double().relu()
    torch.testing.assert_close(layers[2].cross, _greatest(relu, data.y))  # what is fed to layer 2, turned round
    assert not layers[2].holds.any()


def test_layers_whose_products_overflow_are_refused():
    data = cones([0])
    net = Network((1e160 * torch.eye(3, dtype=torch.float64)[None], torch.ones(1, 3, 1, dtype=torch.float64)))
    with pytest.raises(TutelageError, match=r"beyond float64: .* so scale the weights"):
        separability_by_layer(net, data.x, data.y)


def _greatest(x, y):
    product = x @ x.mT
    apart = y.unsqueeze(1) != y.unsqueeze(2)
    return torch.where(apart, product, -torch.inf).amax((1, 2))
