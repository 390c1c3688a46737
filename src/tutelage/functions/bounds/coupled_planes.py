r"""Planes around sigma(f) - sigma(g) that know of f, and the mixture of them that bounds an output best.

For relu units and d = f - g the difference a = relu(f) - relu(g) is at most max(0, min(f, d)): nothing is handed on
where f < 0. On ranges of f and d that lies below the plane k (f - low f) with k = high d / (high d - low f). The same
for -a with g in place of f, and for both below their kink, where a = d + relu(-f) - relu(-g), gives four planes beside
the lines of :mod:`.backward_pairs`, which let a unit hand on d or nothing whatever f is.

Which mixture of them bounds a row best depends on the row. It is found by gradient steps in single precision, whose
result is rounded to planes with room for every rounding: whatever the steps did, the bound holds. The same goes for
the slopes of lines below f, as in :mod:`.backward`.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from tutelage.deadline import Deadline
from tutelage.functions.bounds.backward import AdamSteps
from tutelage.functions.bounds.backward_pairs import LinesAround, combined, upper_bounds
from tutelage.functions.bounds.intervals import Ranges, around
from tutelage.functions.layers.pairs import LayerPair
from tutelage.functions.rounding import EPS, UNDERFLOW

_STEPS, _RATE, _RATE_BELOW = 60, 0.5, 0.1
_SURE = 3.0  # the logit from which the lines that were best so far start
_NUMBERS = 1 << 26  # of gradient steps on several rows at a time, which have to fit into memory
_SHARE = 0.7  # of the time that is left for steps: what they found is then bounded with its rounding
_PLANES = 3  # above, and as many below: the line that was chosen so far, and two that know of f

Plane = tuple[np.ndarray, ...]
"""p, q and o of p d + q f + o, [n] each."""


@dataclass(frozen=True, eq=False)
class Planes:
    """Planes above and below a [n, planes, 3], where units bend [n], and where lines around f leave a choice [n]."""

    above: np.ndarray
    below: np.ndarray
    bends: np.ndarray
    free: np.ndarray


def planes_around(layer: LayerPair, ranges: Ranges, lines: LinesAround) -> Planes:
    """Planes that hold on given ranges; the lines alone where both networks do not have relu units that bend."""
    (lf, uf), (lg, ug), (ld, ud) = ranges.f, ranges.g, ranges.d
    relu = layer.left_f == 0.0 and layer.left_g == 0.0
    bends = ~ranges.straight(layer)
    both = bends & (lf < 0) & (uf > 0) & (lg < 0) & (ug > 0) & relu
    free = (lf < 0) & (uf > 0) & relu
    first, none, one = tuple(lines.upper), np.zeros_like(lf), np.ones_like(lf)
    last = tuple(lines.lower)
    size_d = np.maximum(np.abs(ld), np.abs(ud))
    with np.errstate(all="ignore"):
        k, room = _slope(ud, -lf)
        above = [first, _where(both & (ud > 0), (none, k, room), first)]
        k, room = _slope(-ld, uf)
        above.append(_where(both & (ld < 0), (one, -k, room), first))
        k, room = _slope(-ld, -lg)
        below = [last, _where(both & (ld < 0), (k, -k, -room), last)]
        k, room = _slope(ud, ug)
        # 1 - k is rounded: by less than a rounding of 1, times d.
        below.append(_where(both & (ud > 0), (1 - k, k, -room - 2 * EPS * size_d), last))
    stacked = [np.stack([np.stack(plane, 1) for plane in part], 1) for part in (above, below)]
    return Planes(stacked[0], stacked[1], bends, free)


def _slope(most: np.ndarray, reach: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """k = most / (most + reach) and k times reach, both rounded up."""
    k = most / (most + reach) * (1 + 4 * EPS)
    return k, k * reach * (1 + 4 * EPS) + UNDERFLOW


def _where(there: np.ndarray, new: Plane, old: Plane) -> Plane:
    there = there & np.isfinite(new[1]) & np.isfinite(new[2])
    return tuple(np.where(there, a, b) for a, b in zip(new, old, strict=True))


def mixed(planes: Planes, lines: LinesAround, above: np.ndarray, below: np.ndarray, slope: np.ndarray) -> LinesAround:
    """The lines of a layer with mixtures [n, planes] of planes, and slopes [n] of lines below f where these are free.

    Any mixture holds: shares are made to be at least 0 and to add up to 1, up to a rounding that has its room.
    """
    sizes = np.stack([lines.sizes_d, lines.sizes_f, np.ones_like(lines.sizes_f)], 1)
    upper, lower = list(lines.upper), list(lines.lower)
    for made, part, shares, side in ((upper, planes.above, above, 1.0), (lower, planes.below, below, -1.0)):
        shares = np.clip(np.nan_to_num(shares), 0.0, None) + 1e-12
        shares = shares / shares.sum(1, keepdims=True)
        p, q, o = np.moveaxis((shares[..., None] * part).sum(1), 1, 0)
        met = (shares[..., None] * np.abs(part) * sizes[:, None, :]).sum((1, 2)) + lines.sizes_d
        o = o + side * (32 * EPS * met + UNDERFLOW)
        for number, new in enumerate((p, q, o)):
            made[number] = np.where(planes.bends, new, made[number])
    t = np.where(planes.free, np.clip(np.nan_to_num(slope), 0.0, 1.0), lines.t)
    return replace(lines, t=t, upper=upper, lower=lower)


def best_bounds(
    layers: list[LayerPair],
    ranges: list[Ranges],
    lines: list[LinesAround],
    sizes: list[tuple],
    box: tuple[np.ndarray, np.ndarray],
    objectives: np.ndarray,
    deadline: Deadline,
) -> np.ndarray:
    """Upper bounds [K] of objectives [K, C] times the differences of the outputs, infinite where the time was over.

    ranges, lines and sizes as :class:`.whole_box.BoxBounds` has them, of all layers below the top.
    """
    planes = [planes_around(*each) for each in zip(layers, ranges, lines, strict=False)]
    bounds = np.full(len(objectives), np.inf)
    moving, units = (sum(int(p.bends.sum()) for p in planes), sum(len(p.bends) for p in planes))
    per = max(1, _NUMBERS // (1 + 16 * _PLANES * moving + 8 * units))
    for start in range(0, len(objectives), per):
        if deadline.passed:
            break
        some = objectives[start : start + per]
        found = _Choices(layers, planes, lines, box, some)
        found.improve(deadline if deadline.seconds is None else Deadline(deadline.left * _SHARE))
        for row, objective in enumerate(some):
            if deadline.passed:
                break
            chosen = [mixed(*each, *found.of(n, row)) for n, each in enumerate(zip(planes, lines, strict=False))]
            asked = combined(objective[None], np.zeros_like(objective[None]))
            bounds[start + row] = upper_bounds(layers, chosen, asked, *box, sizes)[0]
    return bounds


class _Product(torch.autograd.Function):
    """Rows [K, n] times a sparse matrix [n, m], whose transpose is given too."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, w: Any, turned: Any) -> Tensor:
        ctx.w = w
        return torch.from_numpy(np.ascontiguousarray((turned @ rows.numpy().T).T))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return torch.from_numpy(np.ascontiguousarray((ctx.w @ grads[0].numpy().T).T)), None, None


class _Choices:
    """Shares of planes and slopes of lines for every row, found in single precision; nothing here is relied on."""

    def __init__(self, layers: list[LayerPair], planes: list[Planes], lines: list[LinesAround], box, objectives):
        self.rows = torch.from_numpy(objectives).float()
        self.weights = [tuple(_twice(w) for w in (layer.wf, layer.wg, layer.wd)) for layer in layers]
        self.biases = [tuple(_single(b) for b in (layer.bf, layer.bd)) for layer in layers]
        self.centre, self.radius = map(_single, around(*box))
        self.bends = [torch.from_numpy(np.flatnonzero(p.bends)) for p in planes]
        self.free = [torch.from_numpy(np.flatnonzero(p.free)) for p in planes]
        self.above = [_single(p.above[p.bends]) for p in planes]
        self.below = [_single(p.below[p.bends]) for p in planes]
        self.slopes, self.offsets = [_single(line.s) for line in lines], [_single(line.o) for line in lines]
        # Units that are on one side of their kink in both networks hand on d as it is, or nothing.
        self.straight = [_single(line.upper[0]) for line in lines]
        count = len(self.rows)
        self.logits = [torch.zeros(2, count, len(at), _PLANES) for at in self.bends]
        for each in self.logits:
            each[..., 0] = _SURE
        self.lower = [_single(n.t)[at].expand(count, -1).clone() for n, at in zip(lines, self.free, strict=True)]
        self.kept = [a.clone() for a in (*self.logits, *self.lower)]

    def improve(self, deadline: Deadline) -> None:
        """Gradient steps; every row keeps the choices of its best step."""
        moving = [*self.logits, *self.lower]
        for a in moving:
            a.requires_grad_()
        optimisers = AdamSteps(self.logits, _RATE), AdamSteps(self.lower, _RATE_BELOW)
        best = torch.full((len(self.rows),), torch.inf)
        for _ in range(_STEPS):
            if deadline.passed:
                break
            with torch.enable_grad():
                value = self._bound()
                gradient = torch.autograd.grad(value.sum(), moving, allow_unused=True)
            better = value.detach() < best
            best = torch.where(better, value.detach(), best)
            for number, (keep, a) in enumerate(zip(self.kept, moving, strict=True)):
                rows = keep.transpose(0, 1) if number < len(self.logits) else keep
                new = a.detach().transpose(0, 1) if number < len(self.logits) else a.detach()
                rows[better] = new[better]
            optimisers[0].step(gradient[: len(self.logits)])
            optimisers[1].step(gradient[len(self.logits) :])
            with torch.no_grad():
                for a in self.lower:
                    a.clamp_(0.0, 1.0)

    def _bound(self) -> Tensor:
        d, f = self.rows, torch.zeros_like(self.rows)
        value = torch.zeros(len(d))
        for number in reversed(range(len(self.weights))):
            (wf, wg, wd), (bf, bd) = self.weights[number], self.biases[number]
            value = value + d @ bd + f @ bf
            f = _Product.apply(d, *wd) + _Product.apply(f, *wf)
            if number == 0:
                break
            d = _Product.apply(d, *wg)
            at, free = self.bends[number - 1], self.free[number - 1]
            some, asked = d[:, at], f[:, free]
            shares = torch.softmax(self.logits[number - 1], -1)
            above = torch.einsum("kbj,bjc->kbc", shares[0], self.above[number - 1])
            below = torch.einsum("kbj,bjc->kbc", shares[1], self.below[number - 1])
            plane = torch.where((some > 0).unsqueeze(-1), above, below)
            slope = torch.where(asked > 0, self.slopes[number - 1][free], self.lower[number - 1])
            value = value + (some * plane[..., 2]).sum(1) + asked.clamp_min(0) @ self.offsets[number - 1][free]
            f = (f * self.slopes[number - 1]).index_copy(1, free, asked * slope)
            f = f.index_add(1, at, some * plane[..., 1])
            d = (d * self.straight[number - 1]).index_copy(1, at, some * plane[..., 0])
        return value + f @ self.centre + f.abs() @ self.radius

    def of(self, layer: int, row: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Shares above and below [n, planes], and slopes [n], of one row in one layer."""
        hidden, n = len(self.bends), len(self.slopes[layer])
        shares = torch.zeros(2, n, _PLANES, dtype=torch.float64)
        shares[..., 0] = 1.0
        shares[:, self.bends[layer]] = torch.softmax(self.kept[layer][:, row].double(), -1)
        slope = torch.zeros(n, dtype=torch.float64)
        slope[self.free[layer]] = self.kept[hidden + layer][row].double()
        return shares[0].numpy(), shares[1].numpy(), slope.numpy()


def _single(array: np.ndarray) -> Tensor:
    return torch.from_numpy(np.asarray(array, np.float32))


def _twice(w: Any) -> tuple[Any, Any]:
    """A matrix and its transpose, in single precision."""
    made = sparse.csr_array(w).astype(np.float32)
    return made, sparse.csr_array(made.T)
