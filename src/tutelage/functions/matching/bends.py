"""Paths of low loss with one bend, for networks of any depth (Garipov et al. 2018).

Two networks are joined by two straight pieces by way of a network between them, whose weights are found by gradient
steps on the mean loss along both pieces. It begins half-way, so that matching the units first makes it easier.
"""

from dataclasses import replace

import torch
from torch import Tensor

from tutelage import draws
from tutelage.functions.matching.judging import judged
from tutelage.networks import Network

STEPS = 300
"""Gradient steps for the bend."""
_BATCH = 256  # points per step
_PLACES = 4  # places on the path per step
_RATE = 0.03  # of Adam, times the mean size of the entries of an array


def bend(first: Network, second: Network, x: Tensor, wanted: Tensor, steps: int = STEPS) -> Network:
    """The middle knot of a path between networks of one architecture; computed in float32.

    x: [S, N, d]; wanted: numbers [S, N, C] or classes [S, N]. All members draw the same rows of their points.
    """
    a, b = (list(network.to(dtype=torch.float32).parameters) for network in (first, second))
    middle = [((p + q) / 2).requires_grad_() for p, q in zip(a, b, strict=True)]
    sizes = [(p.abs() + q.abs()).mean().item() / 2 for p, q in zip(a, b, strict=True)]
    groups = [{"params": [m], "lr": _RATE * size} for m, size in zip(middle, sizes, strict=True) if size > 0]
    optimiser = torch.optim.Adam(groups)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, max(1, steps))
    if not steps:
        return _network(first, [m.detach().to(first.dtype) for m in middle])
    rows = draws.uniforms(draws.keys([0], "bend rows"), steps * _BATCH).view(steps, -1).mul(x.shape[1]).long()
    shares = draws.uniforms(draws.keys([0], "bend places"), steps * _PLACES).view(steps, -1)
    x, wanted = x.float(), wanted.float() if wanted.is_floating_point() else wanted
    for step in range(steps):
        places = ((torch.arange(_PLACES) + shares[step]) / _PLACES).tolist()
        with torch.enable_grad():
            networks = [_there(first, a, middle, b, place) for place in places]
            loss = judged(networks, x[:, rows[step]], wanted[:, rows[step]])[0].mean(0).sum()
            optimiser.zero_grad()
            loss.backward()
        optimiser.step()
        schedule.step()
    return _network(first, [m.detach().to(first.dtype) for m in middle])


def _there(kind: Network, a: list[Tensor], middle: list[Tensor], b: list[Tensor], place: float) -> Network:
    """The network at a place from 0 to 1 of the path, the middle knot at 1/2."""
    ends, t = ((a, middle), 2 * place) if place < 0.5 else ((middle, b), 2 * place - 1)
    return _network(kind, [(1 - t) * p + t * q for p, q in zip(*ends, strict=True)])


def _network(kind: Network, arrays: list[Tensor]) -> Network:
    weights, biases = tuple(arrays[: kind.depth]), tuple(arrays[kind.depth :])
    return replace(kind, weights=weights, biases=biases or None)
