"""Removing what a network does not need, with a proof that the function stays the same or a bound on how far it moves.

Theorem 2 and Corollary 1 of Tian 2020 say why there is something to remove: units that are aligned with no teacher unit
end with no fan-out, and units aligned with the same one are co-linear.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor

from tutelage.deadline import Deadline, rows_at_a_time
from tutelage.errors import TutelageError
from tutelage.functions.bounds.ranges import underflow
from tutelage.functions.checks import as_network, bias, in_double, points_for, slopes
from tutelage.functions.domain import Domain, box_for
from tutelage.functions.pruning.budget import spend
from tutelage.functions.pruning.folding import folded
from tutelage.functions.pruning.normalising import Normalised, normalised, unsplit
from tutelage.functions.pruning.redundancy import Work, colinear, constant, idle
from tutelage.functions.pruning.results import Pruning, finished, searched
from tutelage.functions.pruning.stability import Decided, settled
from tutelage.functions.rounding import with_error
from tutelage.networks import Network

_EPS = 16 * torch.finfo(torch.float64).eps
"""Two weights count as equal, and a sum as cancelled, up to this share; stored weights of any precision are exact."""
_SMALLEST_SHARE, _LARGEST_SHARE = 1e-9, 2.0**-10  # of an output's variation that may be called rounding
_SAMPLES = 256  # points on which the variation is measured, fewer for networks of more than a million weights


def prune(
    network: Network,
    points: Tensor | None = None,
    box: tuple | Domain | Literal["points"] | None = None,
    tolerance: float = 0.0,
    *,
    within: float = 0.0,
    on_samples: bool = False,
    seconds: float | Deadline | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> Pruning:
    """Remove units without changing the function, with a proof.

    Idle and constant units are removed, co-linear ones merged, linear ones folded into the next layer; units that were
    split or put into a layer of their own are put together, and linear layers go. On a box, units that bounds leave
    open are decided by a search and by branch and bound. With tolerance 0, within 0 and without ``on_samples`` a step
    is made only if all steps together provably change no output by more than rounding: a small share of how much that
    output varies, the rounding of the stored weights included.

    Parameters
    ----------
    network
        S members.
    points
        Inputs [S, N, d] or [N, d]: units that never or always fire on them are reported, and how the outputs of both
        networks agree on them.
    box
        (low, high), inputs that matter, each a number or [d]; "points" for the smallest box around the points; default:
        all inputs.
    tolerance
        Above 0, units also count as idle when fan-out times weights is at most this share of the layer's largest, and
        as co-linear when weights scaled to length 1 differ by at most this.
    within
        Above 0, units are also replaced by constants, the cheapest first, as long as no output provably moves by more
        than this on the box.
    on_samples
        Whether to remove units on the evidence of the points alone.
    seconds
        Time limit; the steps made so far are then the result.
    on_progress
        Called with the share of units removed.

    Returns
    -------
    Pruning

    Examples
    --------
    >>> w = torch.tensor([[[1.0, 2.0, 0.0], [1.0, 2.0, 1.0]]], dtype=torch.float64)
    >>> small = prune(Network((w, torch.tensor([[[1.0], [1.0], [0.0]]], dtype=torch.float64))))
    >>> small.network.widths, [(s.unit, s.action, s.reason) for s in small.steps]
    ((2, 1, 1), [(2, 'removed', 'no fan-out'), (0, 'merged', 'co-linear with unit 1')])
    """
    _check(points, box, tolerance, within, on_samples)
    deadline = Deadline.of(seconds)
    network = as_network(network)
    double = in_double(network)
    if double.biases is None:
        double = replace(double, biases=tuple(bias(double, layer) for layer in range(double.depth)))
    shown = None if points is None else points_for(double, points)
    around = _box(double, box, shown)
    allowed = _allowed(double, searched(around, shown), network.dtype)
    start, numbers, moved = unsplit(double, around, network.dtype)
    if deadline.passed or (moved > allowed).any():
        start, numbers, moved = double, tuple(range(1, double.depth)), torch.zeros_like(moved)
    slack = 4 * underflow(double, around)
    work = Work(start, around, shown, tolerance, _EPS, on_samples, network.dtype, allowed, slack, deadline)
    work.moved = work.moved + moved
    decided: tuple[Decided, ...] = ()
    fresh = later = None

    def settle() -> bool:
        nonlocal decided
        decided = _settle(work, deadline)
        return True

    def build(early: bool) -> bool:
        nonlocal fresh, later
        if early:
            fresh = normalised(work)
        else:
            later = normalised(work)
        return True

    # Three roads, of which the smallest network wins: single steps; the normal form at once, which sees splits that no
    # single step does; and the normal form after the steps, which starts from fewer units. A lossy step moves the
    # function, and a normal form of the original would undo it.
    lossy = bool(tolerance or within or on_samples)
    work.attempt(settle)
    if not (deadline.passed or lossy):
        work.attempt(lambda: build(early=True))
    _take_out(work, deadline, on_progress)
    if within:
        spend(double, work, within - 2 * allowed.max().item(), deadline)
        _take_out(work, deadline, on_progress)
    if not deadline.passed and (work.steps or lossy):
        work.attempt(lambda: build(early=False))
    late = deadline.seconds if deadline.passed else None
    result = finished(network, double, work, numbers, moved, _smallest(work, moved, fresh, later))
    return replace(result, decided=tuple(replace(d, layer=numbers[d.layer - 1]) for d in decided), cut_short=late)


def _check(points: Tensor | None, box: object, tolerance: float, within: float, on_samples: bool) -> None:
    if not isinstance(tolerance, int | float) or not 0 <= tolerance < 1:
        raise TutelageError(f"tolerance must be a number from 0 to below 1, got {tolerance!r}")
    if not isinstance(within, int | float) or not 0 <= within < float("inf"):
        raise TutelageError(f"within must be a finite number of at least 0, got {within!r}")
    if on_samples and points is None:
        raise TutelageError("on_samples=True needs points: pass the inputs to look at")
    if isinstance(box, str) and (box != "points" or points is None):
        raise TutelageError(f"box={box!r} must be (low, high), or 'points' together with points")
    if within and box is None:
        raise TutelageError(f"within={within!r} needs a box, since constants differ from units far away: pass box")


def _box(network: Network, box: tuple | Domain | str | None, points: Tensor | None) -> Domain:
    """The box that was asked for; the smallest one around the points for "points"."""
    if isinstance(box, str):
        assert points is not None
        return Domain(points.amin(1), points.amax(1))
    return box_for(network, box)


def _take_out(work: Work, deadline: Deadline, on_progress: Callable[[float], None] | None) -> None:
    """Single steps until none finds anything."""
    total = max(1, sum(work.network.widths[1:-1]) * work.network.members)
    while not deadline.passed and work.attempt(lambda: _pass(work)):
        if on_progress:
            on_progress(min(1.0, len(work.steps) / total))


def _settle(work: Work, deadline: Deadline) -> tuple[Decided, ...]:
    """Prove as many units as possible to be on one side of their kink over the box; how each layer was decided."""
    if not work.box.bounded or not 0 <= slopes(work.network)[0] < 1 or deadline.passed:
        return ()
    tight, decided = settled(work.network, work.box, work.view.known, work.points, deadline)
    work.prove(tight)
    return decided


def _smallest(work: Work, moved: Tensor, fresh: Normalised | None, later: Normalised | None) -> Normalised | None:
    """The smallest of three: networks after single steps (None), those built again after them, those built at once.

    Steps and how far outputs moved become those of the choice; moved: [S, C], how far they had before.
    """
    if later is not None and (fresh is None or later.size <= fresh.size):
        work.steps, work.moved = [*work.steps, *later.steps], work.moved + later.moved
        return later
    if fresh is not None and fresh.size < _size(work):
        work.steps, work.moved = list(fresh.steps), moved + fresh.moved
        return fresh
    return None


def _size(work: Work) -> tuple[int, int]:
    """Number of hidden units of all members that are left, and of weights of a member."""
    hidden = [max(1, int(alive.sum(1).max())) for alive in work.alive]
    widths = [work.network.inputs, *hidden, work.network.outputs]
    return sum(int(alive.sum()) for alive in work.alive), sum(a * b for a, b in pairwise(widths))


def _allowed(network: Network, box: Domain, dtype: torch.dtype) -> Tensor:
    """How far outputs may move and the function still count as equal up to rounding: [S, C].

    A share of how much an output varies over the box, which is small even where the precision is coarse, and some
    roundings of its value in float64.
    """
    share = min(_LARGEST_SHARE, max(_SMALLEST_SHARE, 2.0**10 * torch.finfo(dtype).eps))
    samples = min(_SAMPLES, max(8, rows_at_a_time(sum(w.numel() for w in network.weights))))
    value, error = with_error(network, box.sample(samples))
    spread = ((value - error).amax(1) - (value + error).amin(1)).clamp_min(0)
    size = (value.abs() - error).amax(1).clamp_min(0)
    return share * spread + 32 * _EPS * size


def _pass(work: Work) -> bool:
    """The first step that finds something in some layer, cheap and telling ones first; whether any did."""
    layers = range(1, work.network.depth)
    return (
        any(constant(work, layer) for layer in layers)
        or any(idle(work, layer) for layer in reversed(layers))
        or any(colinear(work, layer) for layer in layers)
        or any(folded(work, layer) for layer in reversed(layers))  # from above: folding changes the signs above it
    )
