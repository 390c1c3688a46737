"""Proofs of `prune` and `compare` against exact rational arithmetic, on random small networks of every kind.

Networks have shared biases, dead units, duplicates, opposite pairs and weights from 1e-30 to 1e30, in every activation
and precision. Both networks are evaluated without rounding at random points, corners and points of kinks.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch

from tutelage.geometry import prune
from tutelage.geometry.evaluation import exact_difference
from tutelage.networks import Network

ACTIVATIONS = (("relu", 0.0), ("leaky", 0.01), ("leaky", 0.3), ("leaky", 1e-12), ("abs", 0.0), ("linear", 0.0))
PRECISIONS = (torch.bfloat16, torch.float16, torch.float32, torch.float64)


def stored(values, dtype):
    """Values in a precision, those that overflow there brought back to its largest ones."""
    most = torch.finfo(dtype).max
    return torch.tensor(np.clip(values, -most, most), dtype=torch.float64)[None].to(dtype)


def random_network(draw, widths, activation, slope, dtype):
    """Weights of one random scale per layer, some of them zero."""
    scales = 10.0 ** draw.choice([0, 0, 0, 0, -3, 3, -30, 30], size=len(widths))
    weights, biases = [], []
    for k, (i, o) in enumerate(zip(widths, widths[1:], strict=False)):
        w = scales[k] * draw.normal(size=(i, o)) * (draw.random((i, o)) < draw.choice([0.5, 1.0]))
        b = scales[k] * draw.normal(size=o) * draw.choice([0.0, 1.0, 10.0])
        weights.append(stored(w, dtype))
        biases.append(stored(b, dtype))
    return Network(tuple(weights), tuple(biases), activation, slope)


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
        square = (w[:, k] ** 2).sum()
        if 0 < square < np.inf:
            x = x - (x @ w[:, k] + b[k]) / square * w[:, k]
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
