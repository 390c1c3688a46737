r"""A network in layers from a normal form, whose units may look at everything below them.

What units of a :class:`~tutelage.functions.bounds.forms.Form` take from further below than the next layer has to
pass through the layers between. A feature is at least 0 and passes through a relu as it is. A linear map of rank r
passes through r units on a box, shifted so that they stay on, and through pairs max(0, t), max(0, -t) over all inputs,
of which a unit of the layer itself may be one. Weights are rounded to the stored precision as they are made, and every
deviation is added up.
"""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import linprog
from torch import Tensor

from tutelage.functions.bounds.forms import Form, gains
from tutelage.functions.bounds.ranges import affine
from tutelage.functions.relaxations import Interval
from tutelage.functions.rounding import gamma

_MARGIN = 1e-9  # by how much of its range a unit is kept away from its kink


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """A network of one member: weights [in, out] and biases [out] per layer.

    names: the (layer, unit) that each hidden unit was in the network of the form, None for new units; moved: [C], by
    how much outputs can differ from those of that network.
    """

    weights: tuple[Tensor, ...]
    biases: tuple[Tensor, ...]
    names: tuple[tuple[tuple[int, int] | None, ...], ...]
    moved: Tensor

    @property
    def units(self) -> int:
        return sum(len(names) for names in self.names)

    @property
    def count(self) -> int:
        """Number of weights."""
        return sum(w.numel() for w in self.weights)


@dataclass(frozen=True, eq=False)
class _Carried:
    """Units that hand on linear maps: weights [g, q], biases [q], and the maps written with them.

    own: [n, K], coefficients of the layer's own units; new: [q, K]; constant: [K]; off: [K], a bound on the error.
    """

    weights: Tensor
    biases: Tensor
    own: Tensor
    new: Tensor
    constant: Tensor
    off: Tensor


def layered(form: Form, ends: Interval | None, dtype: torch.dtype) -> Rebuilt | None:
    """The network of a form; None where a stored weight overflows.

    ends: [d] twice of a bounded box, None for all inputs; dtype: the precision that weights are rounded to.
    """
    d = len(form.sizes) - 1
    size, f, above = form.sizes[1:], ends, [e[: 1 + d] for e in form.layers]
    moved, gain = form.moved.clone(), gains(form)
    weights, biases, names = [], [], []
    for layer in range(form.depth):
        matrix = _stored(above[layer], dtype)
        sizes = torch.cat([torch.ones_like(size[:1]), size])
        off = sizes @ (matrix - above[layer]).abs() * (1 + gamma(len(matrix)))
        moved = moved + off @ gain[layer]
        if layer == form.depth - 1:
            weights.append(matrix[1:])
            biases.append(matrix[0])
            break
        # Invariant: `above` are the weights of all higher layers over what goes into this one; what they take from
        # below passes through this layer, and is all of their maps side by side, so that common parts are carried once.
        maps = torch.cat([e[1:] for e in above[layer + 1 :]], dim=1)
        carried = _carried(maps, (matrix[1:], matrix[0]), size, f, layer > 0, dtype, form.eps)
        weights.append(torch.cat([matrix[1:], carried.weights], dim=1))
        biases.append(torch.cat([matrix[0], carried.biases]))
        names.append((*form.units[layer], *[None] * len(carried.biases)))
        moved = moved + _off(carried, above, layer, gain)
        above = _lifted(form, layer, above, carried)
        size, f = _features(weights[-1], biases[-1], size, f)
    if not all(a.isfinite().all() for a in (*weights, *biases, moved)):
        return None
    moved = moved * (1 + gamma(8 * sum(len(w) + w.shape[1] for w in weights)))
    return Rebuilt(tuple(weights), tuple(biases), tuple(names), moved)


def _features(w: Tensor, b: Tensor, size: Tensor, f: Interval | None) -> tuple[Tensor, Interval | None]:
    """Sizes of the features of a layer [n], and their ends on a box."""
    if f is None:
        return (size @ w.abs() + b.abs()) * (1 + gamma(len(w))), None
    low, high = (end[0].clamp_min(0) for end in affine((f[0][None], f[1][None]), w[None], b[None]))
    return high, (low, high)


def _off(carried: _Carried, above: list[Tensor], layer: int, gain: list[Tensor]) -> Tensor:
    """What errors of carried maps can do to the outputs: [C]."""
    total, start = torch.zeros_like(gain[-1][0]), 0
    for m in range(layer + 1, len(above)):
        width = above[m].shape[1]
        total = total + carried.off[start : start + width] @ gain[m]
        start += width
    return total


def _lifted(form: Form, layer: int, above: list[Tensor], carried: _Carried) -> list[Tensor]:
    """The incoming weights of all higher layers, over the features of this layer: [1 + n + q, n_m] each."""
    rows, start = form.rows(layer), 0
    lifted = list(above)
    for m in range(layer + 1, form.depth):
        part = slice(start, start + above[m].shape[1])
        top = (above[m][0] + carried.constant[part]).unsqueeze(0)
        lifted[m] = torch.cat([top, form.layers[m][rows] + carried.own[:, part], carried.new[:, part]])
        start = part.stop
    return lifted


def _stored(values: Tensor, dtype: torch.dtype) -> Tensor:
    return values.to(dtype).to(torch.float64)


def _carried(
    maps: Tensor,
    units: tuple[Tensor, Tensor],
    size: Tensor,
    f: Interval | None,
    features: bool,
    dtype: torch.dtype,
    eps: float,
) -> _Carried:
    """The fewest units that hand on maps [g, K] of what goes into a layer with units [g, n] and their biases [n].

    size: [g], of what goes in; f: its ends on a box; features: whether it is at least 0.
    """
    weights, _ = units
    used = (maps != 0).any(1)
    passing = features or (f is not None and bool((f[0][used] >= 0).all()))
    rank, basis = _rank(maps, eps)
    # Fewest units win. Features can always be handed on as they are; on a box, rank many units that never switch do;
    # over all inputs a linear map needs pairs, of which units of the layer may be one half.
    choices = [_same(maps, weights, used)] if passing or not rank else []
    if passing and 1 < rank + 1 < int(used.sum()) + 1:
        choices.append(_on(maps, weights, _positive(basis, used, dtype), None, size))
    if f is not None and rank < min([len(c.biases) for c in choices], default=rank + 1):
        a = _stored(basis, dtype)
        choices.append(_on(maps, weights, a, _shifts(a, f, dtype), size))
    elif rank and f is None:
        choices.append(_paired(maps, units, basis, size, dtype, eps))
    return min(choices, key=lambda c: len(c.biases))


def _none(weights: Tensor, maps: Tensor) -> Tensor:
    return maps.new_zeros(weights.shape[1], maps.shape[1])


def _rank(maps: Tensor, eps: float) -> tuple[int, Tensor]:
    """Rank of maps [g, K] up to cancelled sums, and an orthogonal basis [g, rank] of what they look at."""
    if not maps.any():
        return 0, maps[:, :0]
    basis, s, _ = torch.linalg.svd(maps, full_matrices=False)
    rank = int((s > eps * max(maps.shape) * s[0]).sum())
    return rank, basis[:, :rank]


def _same(maps: Tensor, weights: Tensor, used: Tensor) -> _Carried:
    """What is at least 0 is handed on as it is."""
    eye = torch.eye(len(maps), dtype=torch.float64)[:, used]
    none = maps.new_zeros(maps.shape[1])
    return _Carried(eye, none.new_zeros(eye.shape[1]), _none(weights, maps), maps[used], none, none)


def _on(maps: Tensor, weights: Tensor, a: Tensor, b: Tensor | None, size: Tensor) -> _Carried:
    """Maps written with units of incoming weights a [g, q] and biases b [q] that are always on."""
    b = a.new_zeros(a.shape[1]) if b is None else b
    c = torch.linalg.lstsq(a, maps, driver="gelsd").solution
    off = size @ (maps - a @ c).abs() + gamma(2 * sum(a.shape)) * ((size @ a.abs() + b) @ c.abs() + size @ maps.abs())
    return _Carried(a, b, _none(weights, maps), c, -(b @ c), off * (1 + gamma(len(a))))


def _shifts(a: Tensor, f: Interval, dtype: torch.dtype) -> Tensor:
    """Biases that keep units of incoming weights a [g, r] on over the box: [r], infinite where none does."""
    box = f[0][None], f[1][None]
    low, high = (end[0] for end in affine(box, a[None], a.new_zeros(1, a.shape[1])))
    rounding = 4 * torch.finfo(dtype).eps * low.abs()  # of the bias, which is stored in this precision
    b = _stored((_MARGIN * (high - low) + rounding - low).clamp_min(0), dtype)
    return torch.where(affine(box, a[None], b[None])[0][0] >= 0, b, torch.inf)


def _positive(basis: Tensor, used: Tensor, dtype: torch.dtype) -> Tensor:
    """Weights of at least 0 that span the columns of a basis [g, r], and one more where no r of them do.

    With a direction p > 0 in the span, any other becomes positive when enough of p is added to it.
    """
    rows = basis[used]
    solution = linprog(np.zeros(rows.shape[1]), -rows.numpy(), -np.ones(len(rows)), bounds=(None, None), method="highs")
    if solution.status == 0 and (rows @ torch.from_numpy(solution.x) > 0.5).all():
        y = torch.from_numpy(solution.x)
        p = rows @ y / y.norm()
        others = rows @ torch.linalg.svd(y[None])[2][1:].T
    else:
        p, others = rows.abs().amax(1), rows
    # The least multiple of p that makes each column 0 or more in every row.
    more = (-others / p.unsqueeze(1)).amax(0, keepdim=True).clamp_min(0)
    a = torch.zeros(len(basis), 1 + others.shape[1], dtype=torch.float64)
    a[used] = _stored(torch.cat([p.unsqueeze(1), others + more * p.unsqueeze(1)], dim=1).clamp_min(0), dtype)
    return a


def _paired(
    maps: Tensor, units: tuple[Tensor, Tensor], basis: Tensor, size: Tensor, dtype: torch.dtype, eps: float
) -> _Carried:
    """Pairs of units t and -t over all inputs, units of the layer itself taken where they serve."""
    incoming, bias = units
    chosen, rest = _inside(incoming, basis, eps), basis
    if len(chosen):
        q, _ = torch.linalg.qr(incoming[:, chosen])
        rest = torch.linalg.svd(basis - q @ (q.mT @ basis), full_matrices=False)[0]
    rest = _stored(rest[:, : basis.shape[1] - len(chosen)], dtype)
    used, offset = incoming[:, chosen], bias[chosen]
    a = torch.cat([used, rest], dim=1)
    shift = torch.cat([offset, offset.new_zeros(rest.shape[1])])
    c = torch.linalg.lstsq(a, maps).solution
    own_part = _none(incoming, maps)
    own_part[chosen] = c[: len(chosen)]
    new = torch.cat([-c[: len(chosen)], c[len(chosen) :], -c[len(chosen) :]])
    weights, biases = torch.cat([-used, rest, -rest], dim=1), torch.cat([-offset, rest.new_zeros(2 * rest.shape[1])])
    terms = (size @ a.abs() + shift.abs()) @ c.abs() + size @ maps.abs()
    off = size @ (maps - a @ c).abs() + gamma(2 * sum(a.shape)) * terms
    return _Carried(weights, biases, own_part, new, -(shift @ c), off * (1 + gamma(len(a))))


def _inside(weights: Tensor, basis: Tensor, eps: float) -> Tensor:
    """Independent columns of ``weights`` [g, n] that lie in the span of basis [g, r]: int64, at most r."""
    length = weights.norm(dim=0)
    unit = weights / torch.where(length > 0, length, 1)
    small = eps * max(weights.shape)
    candidates = (((unit - basis @ (basis.mT @ unit)).norm(dim=0) <= small) & (length > 0)).nonzero().flatten()
    chosen: list[int] = []
    left = unit.clone()
    for k in candidates.tolist():
        if left[:, k].norm() > 1e-3 and len(chosen) < basis.shape[1]:
            chosen.append(k)
            direction = left[:, k] / left[:, k].norm()
            left = left - direction.unsqueeze(1) * (direction @ left)
    return torch.tensor(chosen, dtype=torch.int64)
