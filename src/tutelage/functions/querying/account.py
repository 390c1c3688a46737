"""What is known of every unit after an identification, and why units of a known network were not found."""

from dataclasses import dataclass

import numpy as np
import torch

from tutelage.functions.querying.known import Layer
from tutelage.functions.querying.lines import sample
from tutelage.functions.querying.polish import effects, parameters
from tutelage.networks import Network

_POINTS = 8_000  # on which units are looked at
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
    seen = effects(layers, sample(low, high, _POINTS, seed, "seen")) if checked else None
    out = []
    for k, (w, _) in enumerate(layers[:-1]):
        for j in range(w.shape[1]):
            count = None if seen is None else int((~seen[k][:, j]).sum())
            looked_at = UNCHECKED if count is None else IN_PART if count else DETERMINED
            out.append(UnitAccount(k + 1, j, ADDED if j >= w.shape[1] - passing[k] else looked_at, count))
    return tuple(out)


def missing_units(truth: Network, found: Network, box: tuple[float, float], seed: int = 0) -> tuple[UnitAccount, ...]:
    """The hidden units of a network that a reconstruction does not have, each with the reason.

    Units are compared by their activations at 8,000 points of the box, up to a factor; the reasons rest on these points
    too, and are no proof.
    """
    low, high = np.full(truth.inputs, box[0]), np.full(truth.inputs, box[1])
    points = torch.from_numpy(sample(low, high, _POINTS, seed, "missing"))
    true, other = _units(truth, points), _units(found, points)
    moves = _moves(truth, points)
    out = []
    for k, u in enumerate(true):
        on = u > 0
        alike = _cosines(u.clamp(min=0), other[k]) > 1 - _ALIKE if k < len(other) else np.zeros(u.shape[1], bool)
        for j in np.flatnonzero(~alike):
            shown = moves[k][:, j].bool()
            sides = {bool(side) for side in on[shown, j]}
            reason = ALWAYS if on[:, j].all() else DEAD if not on[:, j].any() else UNSEEN if len(sides) == 2 else HIDDEN
            out.append(UnitAccount(k + 1, int(j), reason))
    return tuple(out)


def _units(network: Network, points: torch.Tensor) -> list[torch.Tensor]:
    """Pre-activations [N, width] of the hidden layers of a network with one member."""
    out, z = [], points
    for k, weight in enumerate(network.weights[:-1]):
        out.append(z @ weight[0] + (0 if network.biases is None else network.biases[k][0]))
        z = out[-1].clamp(min=0)
    return out


def _moves(network: Network, points: torch.Tensor) -> list[torch.Tensor]:
    """Whether the outputs depend on a hidden unit's activation at points: bool [N, width] per hidden layer."""
    gates, reads, out = [u > 0 for u in _units(network, points)], network.weights[-1][0].abs().sum(1), []
    back = reads.expand(len(points), -1)
    for k in reversed(range(len(gates))):
        out.append(back > 0)
        back = (back * gates[k]) @ network.weights[k][0].abs().T
    return out[::-1]


def _cosines(one: torch.Tensor, units: torch.Tensor) -> np.ndarray:
    """The largest cosine of each column of activations [N, K] with those of other units, on either side: [K]."""
    others = torch.cat([units.clamp(min=0), (-units).clamp(min=0)], dim=1)
    one, others = (a / a.norm(dim=0).clamp(min=1e-300) for a in (one, others))
    return (one.T @ others).max(1).values.numpy()
