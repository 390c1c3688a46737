"""What is known of every unit after an identification, and why units of a known network were not found."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tutelage.deadline import NEVER, Deadline, OutOfTime
from tutelage.functions.interruptible import interruptible
from tutelage.functions.querying.known import Layer
from tutelage.functions.querying.lines import sample
from tutelage.functions.querying.polish import effects, parameters
from tutelage.networks import Network

_POINTS = 8_000  # on which units are looked at
_PART = 200  # of these points at a time
_MOST = 6_000  # weights up to which each is checked for an effect
_ALIKE = 1e-9  # one less the cosine of two units' activations at which they are the same unit

DETERMINED = "every weight has an effect seen in the box"
UNCHECKED = "found; its weights were not looked at one by one"
IN_PART = "some weights have no effect seen in the box"
ADDED = "added: always active, carries what units without a fold in the box do"
ALWAYS = "no fold seen in the box: always active"
DEAD = "no fold seen in the box: never active"
HIDDEN = "folds only where a later layer hides it, as far as seen"
UNSEEN = "folds in the box, but was not found"


@dataclass(frozen=True)
class UnitAccount:
    """One hidden unit: its layer, counted from 1, its number in the layer, counted from 0, and what is known of it.

    open_weights: how many of its weights and bias show no effect at 8,000 points; None where this was not checked.
    """

    layer: int
    unit: int
    status: str
    open_weights: int | None = None


def accounts(layers: tuple[Layer, ...], passing: tuple[int, ...], low, high, seed: int) -> tuple[UnitAccount, ...]:
    """One account per unit of a reconstruction; the last ones of each layer, as many as passing says, were added."""
    checked = parameters(layers) <= _MOST
    has_effect = effects(layers, sample(low, high, _POINTS, seed, "seen")) if checked else None
    out = []
    for k, (w, _) in enumerate(layers[:-1]):
        for j in range(w.shape[1]):
            count = None if has_effect is None else int((~has_effect[k][:, j]).sum())
            looked_at = UNCHECKED if count is None else IN_PART if count else DETERMINED
            out.append(UnitAccount(k + 1, j, ADDED if j >= w.shape[1] - passing[k] else looked_at, count))
    return tuple(out)


@dataclass(frozen=True)
class MissingUnits:
    """The units that a reconstruction does not have, and at how many of 8,000 points units were looked at in time."""

    units: tuple[UnitAccount, ...]
    points: int

    @property
    def cut_short(self) -> str | None:
        """In one sentence what was left out where the time did not suffice, else None."""
        if self.points == _POINTS:
            return None
        done = f"looked for at {self.points:,} of {_POINTS:,} points" if self.points else "not looked for"
        return f"units that are missing were {done}: the time limit was reached"


def missing_units(
    truth: Network, reconstructed: Network, box: tuple[float, float], seed: int = 0, deadline: Deadline = NEVER
) -> MissingUnits:
    """The hidden units of a network that a reconstruction does not have, each with the reason.

    Units are compared by their activations at 8,000 points of the box, up to a factor; the reasons rest on these points
    too, and are no proof. After the deadline, which is looked at before every layer, the points so far have to do.
    """
    low, high = np.full(truth.inputs, box[0]), np.full(truth.inputs, box[1])
    layers = [_Seen(weight.shape[2]) for weight in truth.weights[:-1]]
    done = 0
    while layers and done < _POINTS:
        part = torch.from_numpy(sample(low, high, _PART, seed, "missing", start=done))
        try:
            with interruptible(deadline, sum(w.numel() for w in truth.weights)):
                looks = _looks(truth, reconstructed, part, deadline)
        except OutOfTime:
            break
        for layer, look in zip(layers, looks, strict=True):
            layer.add(*look)
        done += len(part)
    if layers and not done:
        return MissingUnits((), 0)
    units = tuple(UnitAccount(k + 1, j, reason) for k, layer in enumerate(layers) for j, reason in layer.missing())
    return MissingUnits(units, done if layers else _POINTS)


class _Seen:
    """What the points so far show of the units of one layer."""

    def __init__(self, width: int) -> None:
        self.active, self.idle, self.active_shown, self.idle_shown = torch.zeros(4, width, dtype=torch.bool)
        self.squares = torch.zeros(width, dtype=torch.float64)
        self.products: Tensor | float = 0.0  # with the units of the other network, on either side
        self.other_squares: Tensor | float = 0.0

    def add(self, u: Tensor, other: Tensor | None, moves: Tensor) -> None:
        """Take in pre-activations [N, K] and [N, L] of both networks, and where the outputs depend on a unit [N, K]."""
        on = u > 0
        self.active |= on.any(0)
        self.idle |= (~on).any(0)
        self.active_shown |= (on & moves).any(0)
        self.idle_shown |= (~on & moves).any(0)
        z = u.clamp(min=0)
        self.squares += z.square().sum(0)
        if other is not None:
            # A unit may have been found turned round, with the difference carried by linear units: either side counts.
            sides = torch.cat([other.clamp(min=0), (-other).clamp(min=0)], dim=1)
            self.products = self.products + z.T @ sides
            self.other_squares = self.other_squares + sides.square().sum(0)

    def missing(self) -> list[tuple[int, str]]:
        """Number and reason of each unit that no unit of the other network is alike."""
        alike = torch.zeros_like(self.active)
        if isinstance(self.products, Tensor) and isinstance(self.other_squares, Tensor):
            lengths, others = (a.sqrt().clamp(min=1e-300) for a in (self.squares, self.other_squares))
            alike = (self.products / lengths[:, None] / others).amax(1) > 1 - _ALIKE
        return [(j, self._reason(j)) for j in (~alike).nonzero().flatten().tolist()]

    def _reason(self, unit: int) -> str:
        if not self.idle[unit]:
            return ALWAYS
        if not self.active[unit]:
            return DEAD
        return UNSEEN if self.active_shown[unit] and self.idle_shown[unit] else HIDDEN


def _looks(
    truth: Network, reconstructed: Network, points: Tensor, deadline: Deadline
) -> list[tuple[Tensor, Tensor | None, Tensor]]:
    """Per hidden layer of a network: pre-activations of both networks, and where the outputs depend on its units."""
    true, other = _units(truth, points, deadline), _units(reconstructed, points, deadline)
    padded = [*other, *[None] * len(true)][: len(true)]
    return list(zip(true, padded, _moves(truth, true, deadline), strict=True))


def _units(network: Network, points: Tensor, deadline: Deadline) -> list[Tensor]:
    """Pre-activations [N, width] of the hidden layers of a network with one member."""
    out, z = [], points
    for k, weight in enumerate(network.weights[:-1]):
        deadline.check()
        out.append(z @ weight[0] + (0 if network.biases is None else network.biases[k][0]))
        z = out[-1].clamp(min=0)
    return out


def _moves(network: Network, units: list[Tensor], deadline: Deadline) -> list[Tensor]:
    """Whether the outputs depend on a hidden unit's activation at points: bool [N, width] per hidden layer."""
    out: list[Tensor] = []
    # Absolute weights: a path that cancels exactly would be missed otherwise, and a unit that is read counts as shown.
    back = network.weights[-1][0].abs().sum(1).expand(len(units[0]), -1)
    for k in reversed(range(len(units))):
        deadline.check()
        out.append(back > 0)
        if k:
            back = (back * (units[k] > 0)) @ network.weights[k][0].abs().T
    return out[::-1]
