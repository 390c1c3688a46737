"""The search for an input that answers a question about two networks with sparse layers with no.

The same stages as for dense layers, less the boundaries of units, with gradients worked out layer by layer. A
difference counts only beyond a bound on the rounding of float64, without fractions to decide what lies within it.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from tutelage.deadline import Deadline
from tutelage.functions.answers import Question
from tutelage.functions.domain import Domain
from tutelage.functions.rounding import TINY, gamma
from tutelage.functions.search.hunt import Hunt
from tutelage.networks import SparseNetwork

_STARTS, _CLIMB, _MOMENTUM = 4, 40, 0.75  # points of an ascent per output and sign, its steps, and what is kept of them


def with_error(network: SparseNetwork, point: Tensor) -> tuple[Tensor, Tensor]:
    """Outputs [C] in float64 at one input [d] and how far each can be from its exact value; for quantised networks,
    of the function with values rounded as float64 rounds them."""
    value = network.at(point[None])[0]
    f, error = point.double().numpy(), np.zeros(len(point))
    for number, layer in enumerate(network.layers):
        size, terms = abs(layer.w), int(np.diff(layer.w.indptr).max(initial=0)) + 2
        met = size @ np.abs(f) + np.abs(layer.b)
        error = (size @ error + gamma(terms) * met + terms * TINY) * (1 + 4 * gamma(terms))
        f = layer.w @ f + layer.b
        if number < len(network.layers) - 1:
            f = np.where(f > 0, f, network.left * f)
            error = error + gamma(0) * np.abs(f)
    # The graph adds in another order than the layers: both are within this of the exact value of the layers.
    return value, torch.from_numpy(np.where(np.isfinite(error), 2 * error, np.inf)) + 2 * network.error(point, point)


class SparseHunt(Hunt):
    """A search for networks with sparse layers; a witness must exceed a bound on the rounding of float64."""

    def __init__(self, pair: tuple[SparseNetwork, SparseNetwork], domain: Domain, question: Question) -> None:
        super().__init__(*pair, domain, question)  # type: ignore[arg-type]
        self.sparse = pair
        self.widths = torch.where(self.high > self.low, self.high - self.low, torch.inf).numpy()

    work = 1 << 26  # sparse products take many times as long as dense ones

    def _weights(self) -> int:
        return sum(n.weights for n in self.pair)  # type: ignore[misc]

    def values(self, points: Tensor) -> tuple[Tensor, Tensor]:
        first, second = (n.at(points) for n in self.sparse)
        return first, second

    def unit_corners(self, most: int) -> Tensor:
        """Corners at which units of the first layers are largest or smallest."""
        w = torch.from_numpy(np.concatenate([n.layers[0].w[:most].toarray() for n in self.sparse]))
        return torch.cat([torch.where(side * w > 0, self.high, self.low) for side in (1, -1)])

    def unit_boundaries(self, points: Tensor, most: int) -> Iterator[Tensor]:
        """None: nothing follows the gradients of single units through sparse layers."""
        return iter(())

    def _climbed(self, deadline: Deadline) -> Iterator[Tensor]:
        """An ascent for every output and sign, the largest difference met first, then that of dense layers."""
        if self.question.margin is None and (self.high > self.low).any():
            first, second = self.values(self._best[0])
            most = torch.stack([(first - second).amax(0), (second - first).amax(0)], 1)
            most = most.masked_fill((self.question.limits == torch.inf)[:, None], -torch.inf).flatten()
            order = most.argsort(descending=True)[: int((most > -torch.inf).sum())]
            for number, place in enumerate(order.tolist()):
                starts = _STARTS if number else 4 * _STARTS  # the first is likely to be the largest of all
                yield self._with_momentum(place // 2, 1.0 - 2.0 * (place % 2), starts, deadline)
        yield from super()._climbed(deadline)

    def _with_momentum(self, output: int, sign: float, starts: int, deadline: Deadline) -> Tensor:
        """The best point of an ascent of one output's difference from the centre and the best points: [1, d].

        Steps along the sign of a mean of the gradients so far, and shorter and shorter, pass kinks at which an ascent
        that only takes gains stays (Dong et al. 2018, MI-FGSM).
        """
        points = torch.cat([self.domain.centre[None], self._best[0][: starts - 1]])
        half, mean, kept = 0.5 * (self.high - self.low), torch.zeros_like(points), points
        best = torch.full((len(points),), -torch.inf, dtype=torch.float64)
        for step in range(_CLIMB):
            deadline.check()
            value, slope = self._difference(points, output, sign)
            better = value > best
            kept, best = torch.where(better[:, None], points, kept), torch.maximum(best, value)
            mean = _MOMENTUM * mean + slope / slope.abs().mean(1, keepdim=True).clamp_min(TINY)
            points = self._clamped(points + (1 - step / _CLIMB) * half * mean.sign())
        return kept[best.argmax()][None]

    def _difference(self, points: Tensor, output: int, sign: float) -> tuple[Tensor, Tensor]:
        """The difference of an output times a sign [N], and its gradient [N, d]."""
        value, slope = torch.zeros(len(points), dtype=torch.float64), np.zeros(tuple(points.shape))
        for network, side in zip(self.sparse, (sign, -sign), strict=True):
            top, gates = _forward(network, points)
            grad = np.zeros_like(top)
            grad[:, output] = side
            value, slope = value + side * torch.from_numpy(top[:, output]), slope + _backward(network, gates, grad)
        return value, torch.from_numpy(slope)

    def slope(self, points: Tensor) -> Tensor:
        """The gradient [N, d] of the excess; steps of quantised values are passed as if they were not there."""
        passes = [_forward(n, points) for n in self.sparse]
        # torch differentiates the question alone, whose excess is a maximum over outputs; through the layers the
        # gradient goes by hand, since sparse products have no gradient in torch on CSR arrays of SciPy.
        tops = [torch.from_numpy(top).requires_grad_() for top, _ in passes]
        with torch.enable_grad():
            grads = torch.autograd.grad(self.question.excess(*tops).sum(), tops, allow_unused=True)
        parts = [
            _backward(n, gates, grad.numpy())
            for n, (_, gates), grad in zip(self.sparse, passes, grads, strict=True)
            if grad is not None
        ]
        return torch.from_numpy(sum(parts, np.zeros(points.shape)))

    def gap(self, at: Tensor) -> tuple[Tensor, Tensor]:
        (a, e), (b, h) = (with_error(n, at) for n in self.sparse)
        return (a - b).abs(), 2 * (e + h)

    def proved(self, at: Tensor) -> bool:
        if not self.domain.is_box and not self._inside(at):
            return False
        (a, e), (b, h) = (with_error(n, at) for n in self.sparse)
        room = 4 * (e + h).max() + 1e-12 * (a.abs().max() + b.abs().max())
        return bool((self.question.excess(a[None], b[None]) > room).all())


def _forward(network: SparseNetwork, points: Tensor) -> tuple[np.ndarray, list[np.ndarray]]:
    """Outputs [N, C], and the slopes of all hidden units [n, N]."""
    f, gates = np.ascontiguousarray(points.double().numpy().T), []
    for number, layer in enumerate(network.layers):
        f = layer.w @ f + layer.b[:, None]
        if number < len(network.layers) - 1:
            gates.append(np.where(f > 0, 1.0, network.left))
            f = gates[-1] * f
    return np.ascontiguousarray(f.T), gates


def _backward(network: SparseNetwork, gates: list[np.ndarray], grad: np.ndarray) -> np.ndarray:
    """The gradient [N, d] from that of the outputs [N, C]."""
    g = np.ascontiguousarray(grad.T)
    for number in reversed(range(len(network.layers))):
        g = network.layers[number].w.T @ g
        if number:
            g = gates[number - 1] * g
    return g.T
