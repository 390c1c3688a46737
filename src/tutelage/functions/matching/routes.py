"""The knots of one path: which unit moves where, and with which fan-out (Tian 2020, App. E)."""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.functions.checks import bias
from tutelage.measures import RECOVERED, correlations
from tutelage.measures.unit_classes import IDLE
from tutelage.networks import Network, forward

_ROUNDING = 1e-14  # of the labels' power: losses below it are rounding


_DEPENDENT = 1e-10  # singular values below this share of the largest are rounding


class FanOutFit:
    """Least-squares fan-outs for any choice among the units of both students, numbered 0 .. 2n-1, and a constant.

    One orthogonal factorisation of all features serves every choice.
    """

    def __init__(self, first: Network, second: Network, points: Tensor, labels: Tensor) -> None:
        features = [forward(student, points).features[1][0] for student in (first, second)]
        self.features = torch.cat(features, dim=1)
        self.constant = first.biases is not None
        columns = torch.cat([self.features, torch.ones_like(points[:, :1])], dim=1) if self.constant else self.features
        q, self.triangle = torch.linalg.qr(columns)
        if not self.triangle.isfinite().all():
            raise TutelageError("hidden units are too large at the points for a fit in float64: scale the points down")
        self.wanted = q.mT @ labels
        self.outside = (labels - q @ self.wanted).square().sum()
        self.samples = len(points)
        self.smallest = _ROUNDING * labels.square().sum().item() / (2 * len(points))

    def fan_out(self, units: list[int]) -> Tensor:
        """The best fan-outs of these units, the output bias last (0 where there is none): [k + 1, C]."""
        chosen = [*units, self.features.shape[1]] if self.constant else units
        v = torch.linalg.lstsq(self.triangle[:, chosen], self.wanted, driver="gelsd").solution
        return v if self.constant else torch.cat([v, v.new_zeros(1, v.shape[1])])

    def loss(self, units: list[int], v: Tensor) -> float:
        """J with these units and fan-outs [k + 1, C]."""
        chosen = [*units, self.features.shape[1]] if self.constant else units
        off = self.triangle[:, chosen] @ v[: len(chosen)] - self.wanted
        return ((off.square().sum() + self.outside) / (2 * self.samples)).item()

    def least(self, units: list[int]) -> float:
        """The loss of the best fan-outs."""
        return self.loss(units, self.fan_out(units))

    def cheapest(self, units: list[int], among: list[int]) -> int:
        r"""Which of some units to leave out for the least loss.

        Without column j of A, the least squares grow by :math:`|c_j|^2 / [(A^\top A)^{-1}]_{jj}` for the solution c;
        a column that depends on others costs nothing.
        """
        a = self.triangle[:, [*units, self.features.shape[1]] if self.constant else units]
        a = a / a.norm(dim=0).clamp_min(torch.finfo(a.dtype).tiny)
        u, s, vh = torch.linalg.svd(a, full_matrices=False)
        rank = int((s > _DEPENDENT * s[0]).sum())
        inverse = vh[:rank].mT / s[:rank]
        cost = (inverse @ (u[:, :rank].mT @ self.wanted)).square().sum(1) / inverse.square().sum(1)
        free = 1 - vh[:rank].square().sum(0)  # how much of each column's direction the others can replace
        cost = torch.where(free > _DEPENDENT, -free, cost)
        return min(among, key=lambda k: cost[units.index(k)].item())


def leaders(fit: FanOutFit, student: Network, offset: int, excess: float | None) -> list[int]:
    """As few units of a student as keep its loss, numbered from ``offset``; all but one at most for any excess (None).

    Begins with one of each group of duplicates and no idle ones, adds the largest of the others until the loss is
    reached, and drops what costs least as long as it stays there.
    """
    n = student.widths[1]
    v = student.weights[1][0]
    bound = fit.loss([offset + k for k in range(n)], torch.cat([v, bias(student, 1)])) * (1 + (excess or 0))
    bound = max(bound, fit.smallest)
    chosen, rest = _groups(fit.features[:, offset : offset + n], v)
    order = [offset + k for k in (*chosen, *rest)]
    counts = range(len(chosen), n + 1)
    needed = bisect_left(counts, True, key=lambda count: fit.least(order[:count]) <= bound)
    kept = order[: counts[min(needed, len(counts) - 1)]]
    while len(kept) > 1:
        out = fit.cheapest(kept, kept)
        fewer = [k for k in kept if k != out]
        if fit.least(fewer) > bound and not (excess is None and len(kept) == n):
            break
        kept = fewer
    return kept


def _groups(features: Tensor, v: Tensor) -> tuple[list[int], list[int]]:
    """The largest unit of each group of duplicates that is not idle, and the other units, both largest first."""
    size = v.norm(dim=1) * features.std(0, correction=0)
    alike = (correlations(features.unsqueeze(0), features.unsqueeze(0))[0] > RECOVERED).tolist()
    order = size.argsort(descending=True).tolist()
    chosen: list[int] = []
    for unit in order:
        if size[unit] > IDLE * size.sum() and not any(alike[unit][k] for k in chosen):
            chosen.append(unit)
    return chosen, [k for k in order if k not in set(chosen)]


@dataclass
class _Walk:
    """A student on its way: incoming weights and bias [d + 1, n], fan-out and output bias [n + 1, C], knots so far."""

    kind: Network
    w: Tensor
    v: Tensor
    knots: list[Network] = field(default_factory=list)
    what: list[str] = field(default_factory=list)

    def place(self, where: dict[int, Tensor], words: str) -> None:
        """Give free units new incoming weights."""
        assert not self.v[list(where)].any(), "a unit with fan-out would move the function"
        w = self.w.clone()
        for unit, column in where.items():
            w[:, unit] = column
        self._knot(w, self.v, words)

    def hand_over(self, v: Tensor, words: str) -> None:
        """Change fan-outs and output bias."""
        self._knot(self.w, v, words)

    def _knot(self, w: Tensor, v: Tensor, words: str) -> None:
        if self.knots and torch.equal(w, self.w) and torch.equal(v, self.v):
            return
        self.w, self.v = w, v
        self.what += [words] if self.knots else []
        weights = (w[:-1].unsqueeze(0), v[:-1].unsqueeze(0))
        biases = None if self.kind.biases is None else (w[-1:], v[-1:])
        self.knots.append(replace(self.kind, weights=weights, biases=biases))


def _arrays(student: Network) -> tuple[Tensor, Tensor]:
    return torch.cat([student.weights[0][0], bias(student, 0)]), torch.cat([student.weights[1][0], bias(student, 1)])


def route(
    first: Network, second: Network, points: Tensor, labels: Tensor, excess: float | None, member: int
) -> tuple[list[Network], list[str]]:
    """Knots from one student to another and what happens between them; see :func:`.paths.connect`."""
    n = first.widths[1]
    fit = FanOutFit(first, second, points, labels)
    (w_a, v_a), (w_b, v_b) = _arrays(first), _arrays(second)
    columns = torch.cat([w_a, w_b], dim=1)
    first_leaders, second_leaders = leaders(fit, first, 0, excess), leaders(fit, second, n, excess)
    for name, needed in (("first", first_leaders), ("second", second_leaders)):
        if len(needed) == n:
            raise TutelageError(
                f"the {name} student of member {member} needs all its {n} units to keep its loss, so none is free to "
                "move to: train wider students, or allow an excess"
            )
    walk = _Walk(first, w_a, v_a)
    walk.hand_over(v_a, "")
    seat = {unit: unit for unit in first_leaders}  # where each unit with fan-out sits
    walk.hand_over(_spread(fit, seat, n), "idle units and duplicates hand over")
    _swap(walk, fit, seat, second_leaders, columns, n)
    _reseat(walk, seat, columns, n)
    free = {unit: w_b[:, unit] for unit in range(n) if unit not in seat.values()}
    walk.place(free, "free units take their own weights")
    walk.hand_over(v_b, "idle units and duplicates take their share")
    return walk.knots, walk.what


def _spread(fit: FanOutFit, seat: dict[int, int], n: int) -> Tensor:
    """Fitted fan-outs of the units at their seats, nothing elsewhere: [n + 1, C]."""
    fitted = fit.fan_out(list(seat))
    v = fitted.new_zeros(n + 1, fitted.shape[1])
    v[[*seat.values(), n]] = fitted
    return v


def _swap(
    walk: _Walk, fit: FanOutFit, seat: dict[int, int], second_leaders: list[int], columns: Tensor, n: int
) -> None:
    """Blend the second student's units into free ones, move the fan-out to them, free the old; until all are in."""
    waiting, level = list(second_leaders), max(fit.least(list(seat)), fit.least(second_leaders), fit.smallest)
    # Invariant: units with fan-out sit at different places, each known by its number in `seat`. Each pass seats at
    # least one waiting unit and frees at least one old one, so that it ends.
    while waiting or any(k < n for k in seat):  # the latter at first, where the second student needs no unit at all
        free = [unit for unit in range(n) if unit not in seat.values()]
        batch = _next(fit, list(seat), waiting, len(free), n)
        waiting = [k for k in waiting if k not in batch]
        spare = sorted(set(free) - {k - n for k in batch}, key=lambda unit: unit + n in second_leaders)
        new = {k: k - n if k - n in free else spare.pop(0) for k in batch}
        walk.place({unit: columns[:, k] for k, unit in new.items()}, "blend into free units")
        seat.update(new)
        for number, out in enumerate(_leaving(fit, list(seat), n) if waiting else [k for k in seat if k < n]):
            if waiting and number and fit.least([k for k in seat if k != out]) > level:
                break  # one at least makes room; the others go as long as the loss stays
            del seat[out]
        walk.hand_over(_spread(fit, seat, n), "move the fan-out")


def _leaving(fit: FanOutFit, active: list[int], n: int) -> Iterator[int]:
    """The first student's units in the order in which they can best be spared."""
    while any(k < n for k in active):
        out = fit.cheapest(active, [k for k in active if k < n])
        yield out
        active = [k for k in active if k != out]


def _next(fit: FanOutFit, active: list[int], waiting: list[int], room: int, n: int) -> list[int]:
    """Which units to take in next: all if there is room, else those that replace an old one at the least loss."""
    if len(waiting) <= room:
        return waiting

    def loss(k: int) -> float:
        out = fit.cheapest([*active, k], [u for u in active if u < n] or active)
        return fit.least([u for u in (*active, k) if u != out])

    return sorted(waiting, key=loss)[:room]


def _reseat(walk: _Walk, seat: dict[int, int], columns: Tensor, n: int) -> None:
    """Move the second student's units to their own places, by way of a free one where they stand in a ring."""
    while any(seat[k] != k - n for k in seat):
        taken = set(seat.values())
        moves = {k: k - n for k in seat if seat[k] != k - n and k - n not in taken}
        # Every misplaced unit waits for a place that another one holds: one of them steps aside, which opens the ring.
        if not moves:
            ring = next(k for k in seat if seat[k] != k - n)
            moves = {ring: next(unit for unit in range(n) if unit not in taken)}
        walk.place({unit: columns[:, k] for k, unit in moves.items()}, "blend into free units")
        v = walk.v.clone()
        for k, unit in moves.items():
            v[unit], v[seat[k]] = walk.v[seat[k]], 0
        seat.update(moves)
        walk.hand_over(v, "move the fan-out")
