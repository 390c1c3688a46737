"""Questions about two networks with sparse layers on a bounded domain."""

import heapq
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from tutelage.deadline import Deadline, OutOfTime
from tutelage.errors import InternalError
from tutelage.functions.answers import BY_FORM, OnClosing, Question, Rooms
from tutelage.functions.bounds.branch_inputs import MOST_INPUTS, Bounder, Dividing
from tutelage.functions.bounds.branch_units import prove_by_units
from tutelage.functions.bounds.intervals import bounded_at_once, interval_bounds
from tutelage.functions.bounds.normal import normal_apart
from tutelage.functions.bounds.whole_box import BoxBounds, bounded
from tutelage.functions.checks import rounded_up
from tutelage.functions.domain import Domain
from tutelage.functions.interruptible import interruptible
from tutelage.functions.layers.pairs import fits, joined
from tutelage.functions.layers.sparse import LayerPair, SparsePair
from tutelage.functions.layers.sparse import joined as joined_sparse
from tutelage.functions.search.hunt import Hunt
from tutelage.functions.search.sparse import SparseHunt, with_error
from tutelage.networks import Network


def decide_sparse(
    pair: SparsePair,
    hunt: SparseHunt,
    deadline: Deadline,
    on_progress: OnClosing | None = None,
) -> tuple[Tensor, bool, int]:
    """Bounds [C] on the differences, whether the answer is yes, and how many parts were bounded: one box."""
    question, top = hunt.question, _top_class(pair, hunt.domain)

    def proved(box: BoxBounds) -> bool:
        bounds = torch.from_numpy(box.differences())
        if on_progress:
            on_progress(float(bounds.max()), float(hunt.largest.max()), 1)
        best.append(bounds)
        if question.margin is None:
            return bool((bounds <= question.limits).all())
        f, g = box.leads(top)
        return bool((f < question.margin).all() and (g < 0).all())

    best: list[Tensor] = []
    layers = joined_sparse(*pair)
    rooms = [n.error(hunt.low, hunt.high).numpy() for n in pair]
    top_layer = layers[-1]
    layers[-1] = replace(top_layer, slack_f=top_layer.slack_f + rooms[0], slack_g=top_layer.slack_g + rooms[1])
    low, high = hunt.low.numpy(), hunt.high.numpy()
    few = int((high > low).sum()) <= MOST_INPUTS
    whole = Deadline(0.0) if few else deadline
    box = bounded(layers, low, high, whole, proved)
    done, parts = proved(box), 1
    at_most = torch.stack(best).amin(0)
    if few and not done:
        done, divided_bounds, parts = _divided(layers, hunt, box, at_most, deadline, on_progress)
        at_most = torch.minimum(at_most, divided_bounds)
    _hold_against_search(pair, hunt, at_most)
    return at_most, done, parts


def _divided(
    layers: list[LayerPair],
    hunt: SparseHunt,
    box: BoxBounds,
    at_most: Tensor,
    deadline: Deadline,
    on_progress: OnClosing | None,
) -> tuple[bool, Tensor, int]:
    """Branch and bound on few inputs: whether every part is proved, bounds [C], and how many parts were bounded."""
    question, closed, parts = hunt.question, torch.zeros_like(at_most), 1
    waiting = [(_missing(question, at_most, box, hunt), 0, box.low, box.high, at_most)]
    while waiting and not (deadline.passed or hunt.refuted):
        _, _, low, high, above = heapq.heappop(waiting)
        middle = 0.5 * low + 0.5 * high
        side = int(np.argmax((high - low) / hunt.widths))
        if not low[side] < middle[side] < high[side]:
            heapq.heappush(waiting, (-np.inf, parts, low, high, above))
            break
        for upper in (False, True):
            a, b = low.copy(), high.copy()
            (a if upper else b)[side] = middle[side]
            part = BoxBounds(layers, a, b)
            part.work(Deadline(max(0.0, deadline.left)) if deadline.seconds is not None else Deadline(None))
            bounds = torch.minimum(torch.from_numpy(part.differences()), above)
            missing, parts = _missing(question, bounds, part, hunt), parts + 1
            if missing >= 0:  # minus what is missing: a heap gives the smallest first
                closed = torch.maximum(closed, bounds)
            else:
                hunt.look(torch.from_numpy(0.5 * a + 0.5 * b)[None])
                heapq.heappush(waiting, (missing, parts, a, b, bounds))
        if on_progress:
            most = max([closed, *(w[4] for w in waiting)], key=lambda t: float(t.max()))
            on_progress(float(most.max()), float(hunt.largest.max()), len(waiting))
    for *_, bounds in waiting:
        closed = torch.maximum(closed, bounds)
    return not waiting, closed, parts


def _missing(question: Question, bounds: Tensor, box: BoxBounds, hunt: SparseHunt) -> float:
    """Minus what is missing for a proof on a box: at least 0 where it is proved."""
    if question.margin is None:
        asked = question.limits < torch.inf
        return min(0.0, -float((bounds[asked] - question.limits[asked]).max()))
    centre = torch.from_numpy(0.5 * box.low + 0.5 * box.high)[None]
    f, g = box.leads(int(hunt.sparse[0].at(centre)[0].argmax()))
    lead = max(float(np.max(f - question.margin)), float(np.max(g)))
    return 0.0 if (f < question.margin).all() and (g < 0).all() else -max(lead, 5e-324)


def _top_class(pair: SparsePair, domain: Domain) -> int:
    return int(pair[0].at(domain.centre[None])[0].argmax())


def _hold_against_search(pair: SparsePair, hunt: SparseHunt, at_most: Tensor) -> None:
    """Raise an internal error where a difference found exceeds what was proved."""
    (a, e), (b, h) = (with_error(n, hunt.at) for n in pair)
    gap, error = (a - b).abs(), 2 * (e + h)
    if (gap - error > at_most).any():
        worst = int((gap - error - at_most).argmax())
        raise InternalError(
            f"output {worst} was proved to differ by at most {rounded_up(at_most[worst].item())}, and a search found "
            f"{gap[worst].item():.3g}"
        )


_GRACE = 0.2  # seconds in which small networks are bounded within any limit


_BRIEFLY, _SOLVING = 0.5, 2.0  # seconds of division before normal forms are compared, and of linear programs for them


_LARGE = 300_000  # weights beyond which normal forms take too long


def _bounded_whole(pair: tuple[Network, Network], hunt: Hunt, deadline: Deadline) -> Tensor:
    """Bounds [C] on the differences over the whole domain, in one pass."""
    deadline = deadline.at_least(_GRACE)
    try:
        joint = joined(*pair, hunt.reach, deadline, _of_classes(hunt.question))
        free = int((hunt.high > hunt.low).sum())
        if not fits(joint, free, deadline):
            return torch.from_numpy(interval_bounds(joint, hunt.low.numpy(), hunt.high.numpy(), deadline=deadline))
    except OutOfTime:
        return torch.full_like(hunt.largest, torch.inf)
    bound = Bounder(joint, hunt.question, free, threads=1)
    return torch.from_numpy(bound(hunt.low.numpy()[None], hunt.high.numpy()[None], deadline)[0][0])


def _of_classes(question: Question) -> Rooms | None:
    """What outputs may be off by, where the question has no limits that are smaller for it."""
    return None if question.margin is None else question.rooms


def decide(
    pair: tuple[Network, Network],
    hunt: Hunt,
    deadline: Deadline,
    *,
    threads: int | None = None,
    device: str = "cpu",
    keep: bool = False,
    on_progress: OnClosing | None = None,
    forms: bool = True,
    limit: Deadline | None = None,
) -> tuple[Tensor, bool, int, tuple[np.ndarray, np.ndarray] | None]:
    """Branch and bound on inputs, and on units where inputs are many: bounds [C], whether proved, parts, leaves.

    forms: whether normal forms are compared as well, after a short time without a proof; never where boxes are kept.
    limit: when to leave a bound of the whole domain that is under way, where that may take longer than the deadline.
    """
    question, free, limit = hunt.question, int((hunt.high > hunt.low).sum()), (limit or deadline).at_least(_GRACE)
    known = torch.full((pair[0].outputs,), torch.inf, dtype=torch.float64)
    many = free > MOST_INPUTS
    try:
        joint = joined(*pair, hunt.reach, limit, _of_classes(question))
        if question.margin is None and (many or not fits(joint, free, limit)):
            known = bounded_at_once(joint, question, hunt, limit)
            if (known <= question.limits).all():
                return known, True, 1, None
    except OutOfTime:
        return known, False, 0, None
    if not fits(joint, free, limit):
        return _by_units(pair, hunt, known, deadline, device, on_progress)
    dividing = Dividing(
        joint, question, hunt, threads=threads, device=device, keep=keep, on_progress=on_progress, limit=limit
    )
    if forms and not keep and hunt.weights <= _LARGE:
        division = dividing.until(deadline.within(_BRIEFLY))
        if not (division.proved or hunt.refuted or deadline.passed):
            known = torch.minimum(known, _bound_by_form(pair, hunt, deadline))
            if question.proved_by(known):
                return torch.minimum(division.at_most, known), True, BY_FORM, None
    division = dividing.until(deadline)
    proved, at_most, parts = division.proved, torch.minimum(division.at_most, known), division.boxes
    if not (proved or hunt.refuted or deadline.passed) and many:
        at_most, proved, more, _ = _by_units(pair, hunt, at_most, deadline, device, on_progress)
        parts += more
    return at_most, proved, parts, division.leaves


def _by_units(
    pair: tuple[Network, Network],
    hunt: Hunt,
    at_most: Tensor,
    deadline: Deadline,
    device: str,
    on_progress: OnClosing | None,
) -> tuple[Tensor, bool, int, None]:
    """Branch and bound on units, for boxes alone: bounds [C], no worse than those known, whether proved, parts."""
    if not hunt.domain.is_box:
        return at_most, False, 1, None
    try:
        with interruptible(deadline, hunt.weights):
            proved, at_most, parts = prove_by_units(pair, hunt.question, hunt, at_most, deadline, device, on_progress)
    except OutOfTime:
        return at_most, False, 1, None
    return at_most, proved, parts, None


def _bound_by_form(pair: tuple[Network, Network], hunt: Hunt, deadline: Deadline) -> Tensor:
    """Bounds [C] on the difference where one network is the other with units moved, scaled, removed or merged.

    Infinite where that does not explain it. Linear programs about the signs of units are solved only where numbers of
    units differ, as they do where some were removed.
    """
    single = [_in_single(n) or kind == torch.float32 for n, kind in zip(pair, hunt.precisions, strict=True)]
    eps = tuple(torch.finfo(torch.float32 if s else torch.float64).eps for s in single)
    solving = deadline.within(0.0 if pair[0].widths == pair[1].widths else _SOLVING)
    box = hunt.domain.stacked()
    try:
        with interruptible(deadline, hunt.weights):
            return normal_apart(pair, box, (eps[0], eps[1]), solving)[0]
    except OutOfTime:
        return torch.full_like(hunt.largest, torch.inf)


def _in_single(network: Network) -> bool:
    """Whether float32 holds all weights, so that two that are nearly equal may be meant to be equal."""
    return all(torch.equal(a.float().double(), a) for a in network.parameters)
