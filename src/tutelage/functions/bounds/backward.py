r"""Linear bounds of a network's outputs, substituted backwards from the top, for many parts of a box at once.

Above every activation lies its chord, below it any line a u with a between its two slopes. Put in from the top down,
they bound c . f(x) by a linear function of x, for any choice of the slopes a; and in a part of the box where unit i is
known to be on one side, s u_i >= 0, any multiple beta >= 0 of s u_i may be added. Slopes and multiples are found by
gradient steps, and whatever they are, the bound holds. Rounding is counted in as in :mod:`._zonotopes`.

The idea is that of Zhang et al. 2018 (CROWN) and Xu et al. 2021 (alpha-CROWN: slopes below by gradient steps). It costs
a product of matrices per layer and step for all parts together; ranges of hidden units, bounded once, cost that for
every layer below each of them.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.deadline import Deadline
from tutelage.functions.checks import bias, in_double, slopes
from tutelage.functions.relaxations import lines
from tutelage.functions.rounding import EPS, UNDERFLOW
from tutelage.networks import Network

_RATE = 0.25  # of the gradient steps: slopes live in [left, 1], so that a few steps cross all of it
_SHARE = 0.2  # of the time left that a round of gradient steps may take


@dataclass(frozen=True, eq=False)
class Layers:
    """One network as weights [out, in] and biases [out] from below, float64; left: the slope of a unit below 0.

    centre, radius: [d] of the box of inputs, the radius rounded up; slacks: [out] per layer, by how much a
    pre-activation may be off, or nothing where they are exact.
    """

    weights: tuple[Tensor, ...]
    biases: tuple[Tensor, ...]
    left: float
    centre: Tensor
    radius: Tensor
    slacks: tuple[Tensor, ...] = ()

    @property
    def hidden(self) -> int:
        return len(self.weights) - 1


def layers_of(network: Network, low: Tensor, high: Tensor, device: str = "cpu") -> Layers:
    """A network of one member on a box [d]."""
    network = in_double(network)
    weights = tuple(w[0].T.contiguous().to(device) for w in network.weights)
    biases = tuple(bias(network, layer)[0].to(device) for layer in range(network.depth))
    centre = 0.5 * low + 0.5 * high
    radius = torch.maximum(high - centre, centre - low)
    radius = torch.where(radius > 0, radius * (1 + 4 * EPS) + UNDERFLOW, 0)
    return Layers(weights, biases, slopes(network)[0], centre.to(device), radius.to(device))


@dataclass(frozen=True, eq=False)
class Parts:
    """B parts of a box, each with one objective: what is known of hidden units, and the free choices of a bound.

    objective: [B, C]; low, high: ranges of the pre-activations [B, n] per hidden layer; sides: -1, 0 or 1 [B, n], where
    a unit is known to be on one side; below: slopes of the lower lines [B, n]; multiples: [B, n], at least 0.
    """

    objective: Tensor
    low: tuple[Tensor, ...]
    high: tuple[Tensor, ...]
    sides: tuple[Tensor, ...]
    below: tuple[Tensor, ...]
    multiples: tuple[Tensor, ...]

    def __len__(self) -> int:
        return len(self.objective)

    def rows(self, chosen: Tensor) -> "Parts":
        return self._each(lambda a: a[chosen])

    def joined(self, other: "Parts") -> "Parts":
        pairs = zip(self.arrays, other.arrays, strict=True)
        return _parts([torch.cat(pair) for pair in pairs], len(self.low))

    @property
    def arrays(self) -> list[Tensor]:
        return [self.objective, *self.low, *self.high, *self.sides, *self.below, *self.multiples]

    def _each(self, change) -> "Parts":
        return _parts([change(a) for a in self.arrays], len(self.low))


def _parts(arrays: list[Tensor], hidden: int) -> Parts:
    split = [tuple(arrays[1 + k * hidden : 1 + (k + 1) * hidden]) for k in range(5)]
    return Parts(arrays[0], *split)


def upper(layers: Layers, parts: Parts, sizes: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
    """An upper bound of objective . f for every part [B], and per hidden layer what each chord adds to it [B, n].

    sizes: the largest size of the features that go into each layer, [in], those of the inputs first.
    """
    coefficients, top = parts.objective, len(parts.low)
    adds: list[Tensor] = []
    constant = error = torch.zeros((), dtype=torch.float64, device=coefficients.device)
    # Invariant: objective . f <= coefficients . (pre-activations or features here) + constant + error, on every part.
    for layer in reversed(range(top + 1)):
        w, b = layers.weights[layer], layers.biases[layer]
        met = w.abs() @ sizes[layer] + b.abs()
        error = error + (w.shape[0] + w.shape[1] + 16) * EPS * (coefficients.abs() @ met)
        if layers.slacks:
            error = error + coefficients.abs() @ layers.slacks[layer]
        constant = constant + coefficients @ b
        coefficients = coefficients @ w
        if layer == 0:
            break
        low, high = parts.low[layer - 1], parts.high[layer - 1]
        slope, offset, _, bends = lines(low, high, layers.left)
        below = torch.where(bends, parts.below[layer - 1].clamp(layers.left, 1.0), slope)
        # A positive coefficient needs the line above, a negative one any line below: which one is free, and optimised.
        plus, minus = coefficients.clamp_min(0), coefficients.clamp_max(0)
        more = parts.multiples[layer - 1].clamp_min(0) * parts.sides[layer - 1]
        reach = torch.maximum(low.abs(), high.abs())
        error = error + 8 * EPS * ((coefficients.abs() + more.abs()) * reach).sum(1)
        added = plus * offset
        error = error + (added.shape[1] + 8) * EPS * added.sum(1)
        constant = constant + added.sum(1)
        adds.insert(0, added.detach())
        coefficients = plus * slope + minus * below + more
    reach = layers.radius @ coefficients.abs().T
    value = constant + coefficients @ layers.centre + reach
    error = error + (len(layers.centre) + 16) * EPS * (coefficients.abs() @ (layers.centre.abs() + layers.radius))
    error = error + 16 * EPS * value.abs()
    return (value + error * (1 + 64 * EPS) + UNDERFLOW).nan_to_num(torch.inf, torch.inf), adds


def improved(
    layers: Layers, parts: Parts, sizes: list[Tensor], steps: int, deadline: Deadline | None = None
) -> tuple[Parts, Tensor, list[Tensor]]:
    """The parts with slopes and multiples that lower their bounds, these bounds [B], and what chords add to them.

    Gradient steps are left out where they would take a good part of the time that is left.
    """
    begin = time.monotonic()
    best, adds = upper(layers, parts, sizes)
    needed = 4 * steps * (time.monotonic() - begin)  # a step with its gradient takes about three times a bound
    # `not steps` is the plain bound of Zhang et al. 2018 with the steeper or the flatter line below.
    if not steps or not parts.low or (deadline is not None and needed > _SHARE * deadline.left):
        return parts, best, adds
    below = [a.clone().requires_grad_() for a in parts.below]
    multiples = [a.clone().requires_grad_() for a in parts.multiples]
    optimiser = AdamSteps([*below, *multiples])
    kept = [a.clone() for a in (*parts.below, *parts.multiples)]
    for step in range(steps + 1):
        moving = Parts(parts.objective, parts.low, parts.high, parts.sides, tuple(below), tuple(multiples))
        with torch.enable_grad():
            # Rounding is part of the value that is minimised, and the value that is kept is the one computed for the
            # kept slopes: a step that overshoots costs time, never soundness.
            value, more = upper(layers, moving, sizes)
            if step < steps:
                gradient = torch.autograd.grad(value.sum(), optimiser.arrays, allow_unused=True)
        better = value.detach() < best  # each part keeps its own best step; later ones need not be better
        best = torch.where(better, value.detach(), best)
        for keep, new in zip(kept, (*below, *multiples), strict=True):
            keep[better] = new.detach()[better]
        for old, new in zip(adds, more, strict=True):
            old[better] = new[better]
        if step < steps:
            optimiser.step(gradient)
            with torch.no_grad():
                for a in below:
                    a.clamp_(layers.left, 1.0)
                for a in multiples:
                    a.clamp_min_(0.0)
    hidden = len(below)
    optimised = Parts(parts.objective, parts.low, parts.high, parts.sides, tuple(kept[:hidden]), tuple(kept[hidden:]))
    return optimised, best, adds


class AdamSteps:
    """Adam on a few arrays; torch.optim takes seconds to import, longer than most bounds take."""

    def __init__(self, arrays: list[Tensor], rate: float = _RATE) -> None:
        self.arrays, self.rate, self.steps = arrays, rate, 0
        self.mean, self.square = ([torch.zeros_like(a) for a in arrays] for _ in range(2))

    @torch.no_grad()
    def step(self, gradient: Sequence[Tensor | None]) -> None:
        """One step downwards with rates 0.9 and 0.999; arrays without a gradient stay."""
        self.steps += 1
        for a, g, mean, square in zip(self.arrays, gradient, self.mean, self.square, strict=True):
            if g is not None:
                mean.mul_(0.9).add_(g, alpha=0.1)
                square.mul_(0.999).addcmul_(g, g, value=0.001)  # unseen: any step leads to sound bounds
                size = (square / (1 - 0.999**self.steps)).sqrt_().add_(1e-8)
                a.sub_(self.rate / (1 - 0.9**self.steps) * mean / size)


def whole(layers: Layers, objective: Tensor, low: tuple[Tensor, ...], high: tuple[Tensor, ...]) -> Parts:
    """The whole box once for every objective [B, C], with the hidden ranges [n] known so far."""
    count = len(objective)
    low, high = (tuple(a.expand(count, -1).contiguous() for a in ends) for ends in (low, high))
    zeros = tuple(torch.zeros_like(a) for a in low)
    steep = tuple(
        torch.where(h > -a, torch.ones_like(a), torch.full_like(a, layers.left)) for a, h in zip(low, high, strict=True)
    )
    return Parts(objective, low, high, zeros, steep, tuple(z.clone() for z in zeros))


def hidden_ranges(
    layers: Layers, steps: int = 0, deadline: Deadline | None = None
) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...], list[Tensor]]:
    """Ranges of all hidden pre-activations, [n] per layer twice, and the sizes of the features into every layer."""
    lows: list[Tensor] = []
    highs: list[Tensor] = []
    sizes = [layers.centre.abs() + layers.radius]
    for layer in range(layers.hidden):
        n = len(layers.biases[layer])
        below = Layers(
            layers.weights[: layer + 1], layers.biases[: layer + 1], layers.left, layers.centre, layers.radius,
            layers.slacks[: layer + 1],
        )  # fmt: skip
        eye = torch.eye(n, dtype=torch.float64, device=layers.centre.device)
        # Both ends are upper bounds, of u and of -u. The ranges of layers below are those just found: a range is never
        # bounded with itself.
        both = whole(below, torch.cat([eye, -eye]), tuple(lows), tuple(highs))
        _, bound, _ = improved(below, both, sizes, steps if layer else 0, deadline)
        highs.append(bound[:n])
        lows.append(-bound[n:])
        sizes.append(_feature_sizes(layers, lows[-1], highs[-1]))
    return tuple(lows), tuple(highs), sizes


def given_ranges(
    layers: Layers, known: Sequence[tuple[Tensor, Tensor]]
) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...], list[Tensor]]:
    """Ranges of all hidden pre-activations that are known already, as :func:`hidden_ranges` returns them."""
    lows, highs = (tuple(ends[side].to(layers.centre) for ends in known) for side in (0, 1))
    pairs = zip(lows, highs, strict=True)
    return lows, highs, [layers.centre.abs() + layers.radius, *(_feature_sizes(layers, a, b) for a, b in pairs)]


def _feature_sizes(layers: Layers, low: Tensor, high: Tensor) -> Tensor:
    """The largest sizes of features with pre-activations in a range: [n]."""
    inner = high.clamp_min(0) if layers.left == 0.0 else torch.maximum(low.abs(), high.abs())
    return inner * (1 + 8 * EPS) + UNDERFLOW
