"""Random relu networks for the studies of the geometry of functions."""

from collections.abc import Sequence
from itertools import pairwise

import torch

from tutelage import draws
from tutelage.functions.domain import Domain
from tutelage.functions.identifying.transparency import sample, transparency
from tutelage.networks import Network, forward

ATTEMPTS = 512
"""Networks drawn for one that is transparent."""


def random_relu(widths: Sequence[int], bias: float, seeds: Sequence[int]) -> Network:
    """Weights N(0, 2/fan_in), which keeps the size of signals through relu layers, and biases N(0, bias^2): float64."""
    weights, biases = [], []
    for layer, (fan_in, fan_out) in enumerate(pairwise(widths), start=1):
        both = draws.normals(draws.keys(seeds, f"random relu {layer}"), (fan_in + 1) * fan_out)
        both = both.view(len(seeds), fan_in + 1, fan_out)
        weights.append(both[:, :-1] * (2 / fan_in) ** 0.5)
        biases.append(bias * both[:, -1])
    return Network(tuple(weights), tuple(biases))


def with_transparency(widths: Sequence[int], bias: float, seed: int, domain: Domain, wanted: bool) -> Network | None:
    """The first network of a seed's attempts that is transparent on a domain, or is not; None if there is none.

    Samples sort out most that are not.
    """
    stack = random_relu(widths, bias, range(seed * ATTEMPTS, (seed + 1) * ATTEMPTS))
    features = forward(stack, sample(domain, 512)).features[1:-1]
    closed = torch.stack([(f == 0).all(2).any(1) for f in features]).any(0)
    for attempt in (closed != wanted).nonzero().flatten().tolist():
        if transparency(stack[attempt], domain).holds is wanted:
            return stack[attempt]
    return None
