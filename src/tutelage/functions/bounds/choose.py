"""Which bounds are tried when two networks are asked about, and why in this order.

1. Intervals over the whole domain, where inputs are many or zonotopes do not fit into memory or time: one pass, and
   the difference of nearly equal networks stays small in it. Then ranges of f are bounded backwards, and with them the
   difference (:mod:`.carried`), signs included: for networks that differ in a few roundings nothing else is needed.
   A bound that is nearly enough is cut by what units hand on (:mod:`.branch_shares`), thousands of parts a second.
2. Branching on inputs (:mod:`.branch_inputs`), where at most 24 sides of the box are not flat: zonotopes of both
   networks and of their difference, on boxes that are cut in two; where that almost proves a box, ranges of units
   that may bend are bounded backwards (:mod:`._refining`), which leaves a fifth to a third of the boxes. Nothing
   closes small gaps faster. It has a second before a search for a witness, and goes on after it. Tried and worse:
   backward bounds of the outputs alone, which gain a fifth. Trying two or all sides of a box before it is cut saved
   2 to 8 % of the boxes, and cost two to five times as much.
3. Normal forms (:mod:`.normal`) after half a second of that: networks whose units were moved, scaled, turned round,
   merged or removed differ by rounding alone, which no cutting of boxes ever shows.
4. Branching on units (:mod:`.branch_units`), where inputs are many: cutting a box of 784 sides gets nowhere.

Networks with sparse layers have bounds of their own over the whole box (:mod:`.whole_box`). Whatever strategy found a
bound, it is held against the largest difference that a search met.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tutelage.deadline import Deadline, OutOfTime
from tutelage.functions.answers import BY_FORM, OnClosing, Question, Rooms, held_against
from tutelage.functions.bounds.at_once import bounded_at_once
from tutelage.functions.bounds.branch_inputs import MOST_INPUTS, Bounder, Dividing
from tutelage.functions.bounds.branch_units import prove_by_units
from tutelage.functions.bounds.intervals import interval_bounds
from tutelage.functions.bounds.normal import normal_apart
from tutelage.functions.bounds.whole_box import decide_sparse
from tutelage.functions.interruptible import interruptible
from tutelage.functions.layers.pairs import fits, joined, layers_of
from tutelage.functions.rounding import stored_eps
from tutelage.functions.search.hunt import Hunt
from tutelage.functions.search.sparse import SparseHunt
from tutelage.networks import Network

_GRACE = 0.2  # seconds in which small networks are bounded within any limit
_FIRST = 1.0  # seconds of division before a witness is searched at length
_BRIEFLY, _SOLVING = 0.5, 2.0  # seconds of division before normal forms are compared, and of linear programs for them
_LARGE = 300_000  # weights beyond which normal forms take too long

Decided = tuple[Tensor, bool, int, tuple[np.ndarray, np.ndarray] | None]


def bounded_whole(pair: tuple[Any, Any], hunt: Hunt, deadline: Deadline) -> Tensor:
    """Bounds [C] on the differences over the whole domain, in one pass; infinite for networks with sparse layers."""
    if isinstance(hunt, SparseHunt):
        return torch.full_like(hunt.largest, torch.inf)
    deadline = deadline.at_least(_GRACE)
    try:
        joint = joined(*pair, hunt.reach, deadline, _of_classes(hunt.question))
        free = int((hunt.high > hunt.low).sum())
        if not fits(joint, free, deadline):
            return torch.from_numpy(
                interval_bounds(layers_of(joint), hunt.low.numpy(), hunt.high.numpy(), deadline=deadline)
            )
    except OutOfTime:
        return torch.full_like(hunt.largest, torch.inf)
    bound = Bounder(joint, hunt.question, free, threads=1)
    return torch.from_numpy(bound(hunt.low.numpy()[None], hunt.high.numpy()[None], deadline)[0][0])


def _of_classes(question: Question) -> Rooms | None:
    """What outputs may be off by, where the question has no limits that are smaller for it."""
    return None if question.margin is None else question.rooms


def decide(
    pair: tuple[Any, Any],
    hunt: Hunt,
    deadline: Deadline,
    *,
    threads: int | None = None,
    device: str = "cpu",
    keep: bool = False,
    on_progress: OnClosing | None = None,
    forms: bool = True,
    limit: Deadline | None = None,
    search: Callable[[], None] = lambda: None,
) -> Decided:
    """Bounds [C], whether they answer with yes, how many parts they took, and the boxes of the proof if kept.

    search: looks for a witness at length, once: after a moment of branching on inputs, which proves many questions
    sooner than any search ends, and before all else where that is not tried or follows what a search finds.
    forms: whether normal forms are compared as well, after a short time without a proof; never where boxes are kept.
    limit: when to leave a bound of the whole domain that is under way, where that may take longer than the deadline.
    """
    if isinstance(hunt, SparseHunt):
        search()
        decided: Decided = (
            (bounded_whole(pair, hunt, deadline), False, 1, None)
            if hunt.refuted
            else (*decide_sparse(hunt, deadline, on_progress), None)
        )
    else:
        decided = _decide(pair, hunt, deadline, threads, device, keep, on_progress, forms, limit or deadline, search)
    held_against(decided[0], *hunt.gap(hunt.at))
    return decided


def _decide(
    pair: tuple[Network, Network],
    hunt: Hunt,
    deadline: Deadline,
    threads: int | None,
    device: str,
    keep: bool,
    on_progress: OnClosing | None,
    forms: bool,
    limit: Deadline,
    search: Callable[[], None],
) -> Decided:
    question, free, limit = hunt.question, int((hunt.high > hunt.low).sum()), limit.at_least(_GRACE)
    # Invariant: `known` holds everywhere on the domain, whatever strategy it came from; each later one is met with it
    # by a minimum, so that an answer is never worse for having tried more.
    known = torch.full((pair[0].outputs,), torch.inf, dtype=torch.float64)
    many = free > MOST_INPUTS
    first = many or question.follow > 0
    if first or hunt.refuted:
        if not hunt.refuted:
            search()
        if hunt.refuted:
            return bounded_whole(pair, hunt, deadline), False, 1, None
    try:
        joint = joined(*pair, hunt.reach, limit, _of_classes(question))
        if question.margin is None and (many or not fits(joint, free, limit)):
            known = bounded_at_once(layers_of(joint), question, hunt, limit)
            if (known <= question.limits).all():
                return known, True, 1, None
    except OutOfTime:
        if not first:  # it looks at a few points within any limit
            search()
        return known, False, 0, None
    # A zonotope has a column per unit that bends: its memory grows with the square of the width, and its time with the
    # cube. Beyond that only bounds without columns are left.
    if not fits(joint, free, limit):
        if not first:
            search()
        if hunt.refuted:
            return bounded_whole(pair, hunt, deadline), False, 1, None
        return _by_units(pair, hunt, known, deadline, device, on_progress)
    dividing = Dividing(
        joint, question, hunt, threads=threads, device=device, keep=keep, on_progress=on_progress, limit=limit
    )
    if not first:
        # A search at length takes as long as some thousand boxes, whose middles are looked at anyway.
        division = dividing.until(deadline.within(_FIRST))
        if not (division.proved or hunt.refuted):
            search()
        if division.proved or hunt.refuted:
            at_most = torch.minimum(division.at_most, known)
            return at_most, division.proved, division.boxes, division.leaves
    # The division is stopped and gone on with, not begun again: half a second proves most questions that boxes can
    # prove, and a normal form costs linear programs, which would be wasted on these. Kept boxes are the proof
    # themselves, and a proof by form has none.
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
    kinds = (torch.float32 if _in_single(n) else kind for n, kind in zip(pair, hunt.precisions, strict=True))
    eps = tuple(map(stored_eps, kinds))
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
