"""Linear programs for units that intervals and lines leave undecided (scipy's HiGHS), with bounds that are proofs.

A solver's optimum is right up to its tolerances only. What is returned here is worked out from its multipliers, which
bound the optimum whatever they are, with rounding counted in (Neumaier and Shcherbina 2004).

The relaxation is the convex hull of every unit alone (Ehlers 2017). A program has as many variables as there are
inputs and units below, and its matrix three rows per unit: beyond 400 variables none is solved.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Literal

import numpy as np
import scipy
import torch
from torch import Tensor

from tutelage.deadline import Deadline
from tutelage.functions.checks import bias, slopes
from tutelage.functions.domain import Domain
from tutelage.functions.relaxations import Interval, activated, lines
from tutelage.functions.rounding import TINY, gamma
from tutelage.networks import Network

SIZE = 400
"""The most variables a linear program may have: inputs and units below."""
COUNT = 400
"""The most linear programs a layer of a member may take."""


def tightened(
    network: Network,
    known: Sequence[Interval],
    box: Domain,
    layer: int,
    u: Interval,
    tried: Tensor,
    deadline: Deadline | None = None,
) -> Interval:
    """The ends of a layer's pre-activations, tightened for units on one side of 0 at all samples and yet undecided.

    known: ends of the layers below; u: [S, n] twice; tried: pre-activations at samples [S, N, n]; units
    that a deadline leaves out keep their ends.
    """
    low, high = (end.clone() for end in u)
    if sum(network.widths[: layer + 1]) > SIZE:
        return low, high
    undecided = (low < 0) & (high > 0)
    below, above = undecided & (tried <= 0).all(1), undecided & (tried >= 0).all(1)
    for member in (below | above).any(1).nonzero().flatten().tolist():
        program = Program(network[member], [(lo[member], hi[member]) for lo, hi in known], box, layer, member)
        for unit in (below | above)[member].nonzero().flatten().tolist()[:COUNT]:
            if deadline is not None and deadline.passed:
                return low, high
            if below[member, unit]:
                high[member, unit] = min(high[member, unit].item(), program.end(unit, +1))
            else:
                low[member, unit] = max(low[member, unit].item(), program.end(unit, -1))
    return low, high


class Program:
    """The inputs and features below one layer of one network: rows z <= right, low <= z <= high."""

    def __init__(self, network: Network, known: Sequence[Interval], box: Domain, layer: int, member: int) -> None:
        widths = network.widths[: layer + 1]
        begin = [0, *accumulate(widths)]
        rows, right, ends = [], [], [(box.low[member], box.high[member])]
        for below in range(layer):
            u = known[below]
            chord, offset, under, _ = (a.numpy() for a in lines(*u, slopes(network)[0]))
            decided = ((u[0] >= 0) | (u[1] <= 0)).numpy()
            w, b = network.weights[below][0].numpy().T, bias(network, below)[0].numpy()
            # Where both lines below are given, the relaxation is the convex hull of a unit alone (the triangle of
            # Ehlers 2017); no choice of one slope is needed, as it is for lines.
            branches = [(-1, np.where(decided, under, branch), np.zeros_like(offset)) for branch in slopes(network)]
            for sign, slope, more in ((+1, chord, offset), *branches):  # f <= chord u + offset, f >= slope u
                block = np.zeros((widths[below + 1], begin[-1]))
                block[:, begin[below] : begin[below + 1]] = -sign * slope[:, None] * w
                block[:, begin[below + 1] : begin[below + 2]] = sign * np.eye(widths[below + 1])
                rows.append(block)
                right.append(sign * slope * b + more)
            ends.append(activated(network, u))
        self.rows, self.right = np.concatenate(rows), np.concatenate(right)
        self.low, self.high = (torch.cat([e[side] for e in ends]).numpy() for side in (0, 1))
        self.begin = begin[layer]
        self.weights, self.bias = network.weights[layer][0].numpy(), bias(network, layer)[0].numpy()

    def end(self, unit: int, side: Literal[-1, 1]) -> float:
        """The low (-1) or high (+1) end of a unit's pre-activation; infinite when the solver gives up."""
        cost = np.zeros_like(self.low)
        cost[self.begin :] = -side * self.weights[:, unit]
        ends = list(zip(self.low.tolist(), self.high.tolist(), strict=True))
        if not (np.isfinite(self.right).all() and np.isfinite(self.rows).all()):
            return side * np.inf
        solution = scipy.optimize.linprog(cost, self.rows, self.right, bounds=ends, method="highs")
        if solution.status != 0:
            return side * np.inf
        # Weak duality: for any multipliers m >= 0, min c z over rows z <= right, low <= z <= high is at least the
        # minimum of (c + m rows) z over the box less m right. Nothing of the solver enters but m.
        multipliers = np.maximum(0, -solution.ineqlin.marginals)
        left = cost + self.rows.T @ multipliers
        least = np.minimum(left * self.low, left * self.high).sum() - multipliers @ self.right
        reach = np.maximum(abs(self.low), abs(self.high))
        size = (abs(cost) + abs(self.rows).T @ multipliers) @ reach + multipliers @ abs(self.right)
        room = gamma(2 * sum(self.rows.shape)) * (size + abs(self.bias[unit]))
        room += TINY * (self.rows.size + 8) * (1 + multipliers.max(initial=0)) * (1 + reach.max())
        end = float(self.bias[unit] + side * (room - least))
        return side * np.inf if np.isnan(end) else end
