"""Proofs of `prune` and `compare` against exact rational arithmetic, on random small networks of every kind.

Networks have shared biases, dead units, duplicates, opposite pairs and weights from 1e-200 to 1e200, in every
activation and precision. Both are evaluated without rounding at random points, corners and points of kinks.
"""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch

from tutelage.functions import prune, same_function
from tutelage.functions.rounding import exact_difference, exact_outputs
from tutelage.networks import Network
from tutelage.networks.activations import slope_of

ACTIVATIONS = (("relu", 0.0), ("leaky", 0.01), ("leaky", 0.3), ("leaky", 1e-12), ("abs", 0.0), ("linear", 0.0))
PRECISIONS = (torch.bfloat16, torch.float16, torch.float32, torch.float64)


def stored(values, dtype):
    """Values in a precision, those that overflow there brought back to its largest ones."""
    most = torch.finfo(dtype).max
    return torch.tensor(np.clip(values, -most, most), dtype=torch.float64)[None].to(dtype)


def random_network(draw, widths, activation, slope, dtype):
    """Weights of one random scale per layer, some of them zero."""
    scales = 10.0 ** draw.choice([0, 0, 0, 0, 0, 0, 0, 0, -3, 3, -30, 30, -200, 200], size=len(widths))
    weights, biases = [], []
    for k, (i, o) in enumerate(itertools.pairwise(widths)):
        w = scales[k] * draw.normal(size=(i, o)) * (draw.random((i, o)) < draw.choice([0.5, 1.0]))
        b = scales[k] * draw.normal(size=o) * draw.choice([0.0, 1.0, 10.0])
        weights.append(stored(w, dtype))
        biases.append(stored(b, dtype))
    return Network(tuple(weights), tuple(biases), activation, slope_of(activation, slope))


def tricked(draw, network):
    """The network with units that are duplicates, opposites, dead or constant, and perhaps a huge bias on top."""
    weights, biases = [w.clone() for w in network.weights], [b.clone() for b in network.biases]
    for layer in range(network.depth - 1):
        n = weights[layer].shape[2]
        for _ in range(draw.integers(0, 3)):
            k, j = draw.integers(n, size=2)
            match draw.integers(6):
                case 0 | 1:  # a duplicate, scaled
                    by = float(draw.choice([1.0, 2.0, 0.3, 1 / 3]))
                    weights[layer][0, :, k], biases[layer][0, k] = (
                        by * weights[layer][0, :, j],
                        by * biases[layer][0, j],
                    )
                case 2:  # an opposite
                    weights[layer][0, :, k], biases[layer][0, k] = -weights[layer][0, :, j], -biases[layer][0, j]
                case 3:  # dead, or far on its other side
                    weights[layer][0, :, k] = weights[layer][0, :, k].abs()
                    biases[layer][0, k] = -10 * weights[layer][0, :, k].sum() - 1
                case 4:  # a constant
                    weights[layer][0, :, k] = 0
                case _:  # always on
                    biases[layer][0, k] = 10 * weights[layer][0, :, k].abs().sum() + 1
    if draw.random() < 0.3:
        biases[-1] += draw.choice([-1e9, 1e4, 1e-20])
    network = replace(network, weights=tuple(weights), biases=tuple(biases))
    most = torch.finfo(network.dtype).max
    return network.map(lambda a: a.nan_to_num(0).clamp(-most, most))


def tries(draw, network, low, high, count=6):
    """Random points, corners and points on or beside boundaries of first units: [N, d]."""
    d = network.inputs
    corners = np.where(draw.random((count, d)) < 0.5, low, high)
    points = [low + (high - low) * draw.random((count, d)), corners]
    w, b = (a[0].double().numpy() for a in (network.weights[0], network.biases[0]))
    for k in range(w.shape[1]):
        x = points[0][k % count].copy()
        with np.errstate(all="ignore"):  # weights at the ends of float64
            x = x - (x @ w[:, k] + b[k]) / (w[:, k] ** 2).sum() * w[:, k]
        points.append(np.clip(np.nan_to_num(x), low, high)[None])
    return torch.from_numpy(np.concatenate(points))


def drawn(draw):
    """A network, its precision and the bounds of a box."""
    activation, slope = ACTIVATIONS[draw.integers(len(ACTIVATIONS))]
    dtype = PRECISIONS[draw.integers(len(PRECISIONS))]
    depth = draw.integers(1, 4)
    widths = [
        int(draw.integers(1, 4)),
        *(int(n) for n in draw.integers(1, 6, size=depth - 1)),
        int(draw.integers(1, 3)),
    ]
    network = tricked(draw, random_network(draw, widths, activation, slope, dtype))
    size = float(draw.choice([1e-3, 1.0, 1.0, 100.0]))
    low = -size if draw.random() < 0.7 else size / 2
    return network, low, size


@pytest.mark.parametrize("boxed", [True, False])
def test_no_difference_exceeds_a_bound_that_prune_proved(attack, boxed):
    draw = attack.generator(1 + boxed)
    removed = 0
    for number in attack.rounds(60):
        network, low, high = drawn(draw)
        tolerance = float(draw.choice([0.0, 0.0, 0.0, 1e-6, 0.1]))
        found = prune(network, box=(low, high) if boxed else None, tolerance=tolerance)
        removed += len(found.steps)
        if found.proof.bound is None:
            assert tolerance > 0 or not found.proof.exact, number
            continue
        bound = Fraction(found.proof.bound.item())
        assert found.network.dtype == network.dtype
        for x in tries(draw, network, low, high):
            size = 1 if boxed else max(1, *(abs(Fraction(v)) for v in x.tolist()))
            assert max(exact_difference(network, found.network, x)) <= bound * size, (number, network, x)
    assert removed > 10


def perturbed(draw, network):
    """Another network to compare with: the same one permuted and scaled, or with some weights moved, or pruned."""
    weights, biases = [w.clone() for w in network.weights], [b.clone() for b in network.biases]
    for layer in range(network.depth - 1):
        if draw.random() < 0.7:
            order = torch.from_numpy(draw.permutation(weights[layer].shape[2]))
            by = torch.tensor(float(draw.choice([1.0, 2.0, 0.25, 0.3, 7.0])), dtype=network.dtype)
            weights[layer], biases[layer] = weights[layer][:, :, order] * by, biases[layer][:, order] * by
            weights[layer + 1] = weights[layer + 1][:, order] / by
    change = float(draw.choice([0.0, 0.0, 1e-16, 1e-12, 1e-8, 1e-5, 1e-2, 0.5, 2.0]))
    if change:
        array = (weights if draw.random() < 0.6 else biases)[draw.integers(network.depth)]
        place = tuple(int(draw.integers(n)) for n in array.shape)
        array[place] = array[place] * (1 + change) if draw.random() < 0.7 else array[place] + change
    most = torch.finfo(network.dtype).max
    other = replace(network, weights=tuple(weights), biases=tuple(biases))
    other = other.map(lambda a: a.nan_to_num(0).clamp(-most, most))
    if draw.random() < 0.15 and all(a.isfinite().all() for a in other.parameters):
        return prune(other, box=(-1, 1), tolerance=float(draw.choice([0.0, 1e-3]))).network
    return other.to(dtype=PRECISIONS[draw.integers(len(PRECISIONS))]) if draw.random() < 0.1 else other


def differences(first, second, points, bounded):
    """Exact differences of every output at points, over max(1, |x|) where not bounded: [N][C]."""
    sizes = [1 if bounded else max(1, *(abs(Fraction(v)) for v in x.tolist())) for x in points]
    return [[d / s for d in exact_difference(first, second, x)] for x, s in zip(points, sizes, strict=True)]


@pytest.mark.parametrize("boxed", [True, False])
def test_no_difference_exceeds_what_compare_said(attack, boxed):
    draw = attack.generator(10 + boxed)
    verdicts = set()
    for number in attack.rounds(40):
        network, low, high = drawn(draw)
        other = perturbed(draw, network)
        if not all(a.isfinite().all() for n in (network, other) for a in n.parameters):
            continue
        told = float(draw.choice([1e-6, 0.1])) if draw.random() < 0.2 else None
        found = same_function(network, other, (low, high) if boxed else None, tolerance=told, budget=300)
        verdicts.add(found.verdict)
        points = tries(draw, network, low, high)
        if found.witness is not None:
            there = differences(network, other, found.witness[None], boxed)[0]
            assert max(there) > 0, (number, network, other)
            largest = float(min(max(there), Fraction(1.7e308)))
            assert largest == pytest.approx(min(found.difference, 1.7e308), rel=1e-3), (number, network, other)
        for x, gaps in zip(points, differences(network, other, points, boxed), strict=True):
            assert found.bound is None or max(gaps) <= Fraction(found.bound), (number, network, other, x)
            assert not found.same or max(gaps) <= Fraction(found.tolerance), (number, network, other, x)
    assert {"different", "same and related"} <= verdicts


def test_same_is_not_said_of_a_difference_that_matters(attack):
    """What is called the same differs by less than a five-hundredth of how much the output varies on the unit cube."""
    draw = attack.generator(20)
    for number in attack.rounds(40):
        network, _, _ = drawn(draw)
        other = perturbed(draw, network)
        if not all(a.isfinite().all() for n in (network, other) for a in n.parameters):
            continue
        if not same_function(network, other, (-1, 1), budget=300).same:
            continue
        # Corners too: an output may be all but constant except beside one of them, where a unit switches on.
        corners = np.array(list(itertools.product((-1.0, 1.0), repeat=network.inputs)))
        points = torch.from_numpy(np.concatenate([2 * draw.random((12, network.inputs)) - 1, corners]))
        gaps = differences(network, other, points, True)
        values = [exact_outputs(network, x) for x in points]
        for k in range(network.outputs):
            column = [v[k] for v in values]
            vary = max(column) - min(column)
            if vary <= Fraction(2.0**-48) * max(map(abs, column)):  # no variation that the library could measure
                continue
            least = vary / 500 + Fraction(2.0**-40) * max(map(abs, column))
            assert max(g[k] for g in gaps) <= least, (number, network, other, k)


def test_nested_boxes_agree(attack):
    """A box is not different where a larger one is the same, and a witness of the larger in the smaller one counts."""
    draw = attack.generator(30)
    for number in attack.rounds(30):
        network, _, _ = drawn(draw)
        other = perturbed(draw, network)
        if not all(a.isfinite().all() for n in (network, other) for a in n.parameters):
            continue
        inner = float(draw.choice([0.1, 1.0, 10.0]))
        outer = inner * float(draw.choice([1.5, 10.0, 100.0]))
        small, large = (same_function(network, other, (-size, size), budget=300) for size in (inner, outer))
        assert not (small.verdict == "different" and large.same), (number, network, other, inner, outer)
        if small.same and large.verdict == "different":
            assert large.witness.abs().max() > inner, (number, network, other, inner, outer)
        if same_function(network, other, budget=300).same:
            assert small.verdict != "different", (number, network, other, inner)
            assert large.verdict != "different", (number, network, other, outer)
