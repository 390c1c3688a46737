"""Questions about two networks with sparse layers on a bounded domain."""

import heapq
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from tutelage.deadline import Deadline
from tutelage.errors import InternalError, TutelageError
from tutelage.functions.bounding.division import MOST_INPUTS
from tutelage.functions.bounding.questions import Question
from tutelage.functions.bounding.sparse.bounds import BoxBounds, bounded
from tutelage.functions.bounding.sparse.pairs import LayerPair, equal_graphs, joined
from tutelage.functions.bounding.sparse.search import SparseHunt, with_error
from tutelage.functions.checks import rounded_up
from tutelage.functions.pieces.domain import Domain
from tutelage.networks import Network, SparseNetwork

Pair = tuple[SparseNetwork, SparseNetwork]


def sparse_pair(first: Network | SparseNetwork, second: Network | SparseNetwork) -> Pair | None:
    """Both networks with sparse layers where one of them has such, else None; an error where they do not fit."""
    if isinstance(first, Network) and isinstance(second, Network):
        return None
    pair = tuple(n if isinstance(n, SparseNetwork) else SparseNetwork.of_network(n) for n in (first, second))
    for what, a, b in (
        ("inputs", pair[0].inputs, pair[1].inputs),
        ("outputs", pair[0].outputs, pair[1].outputs),
    ):
        if a != b:
            raise TutelageError(f"the networks have {a} and {b} {what}: give two networks with the same number")
    return pair  # type: ignore[return-value]


def equal(pair: Pair) -> bool:
    """Whether two networks compute the same operators with the same numbers."""
    return equal_graphs(pair[0].graph, pair[1].graph)


def decide_sparse(
    pair: Pair,
    hunt: SparseHunt,
    deadline: Deadline,
    on_progress: Callable[[float, float, int], None] | None = None,
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
    layers = joined(*pair)
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
    on_progress: Callable[[float, float, int], None] | None,
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


def _top_class(pair: Pair, domain: Domain) -> int:
    return int(pair[0].at(domain.centre[None])[0].argmax())


def _hold_against_search(pair: Pair, hunt: SparseHunt, at_most: Tensor) -> None:
    """Raise an internal error where a difference found exceeds what was proved."""
    (a, e), (b, h) = (with_error(n, hunt.at) for n in pair)
    gap, error = (a - b).abs(), 2 * (e + h)
    if (gap - error > at_most).any():
        worst = int((gap - error - at_most).argmax())
        raise InternalError(
            f"output {worst} was proved to differ by at most {rounded_up(at_most[worst].item())}, and a search found "
            f"{gap[worst].item():.3g}"
        )


def parting_layer(pair: Pair, at: Tensor, tolerance: float) -> int | None:
    """First layer, from 1, where pre-activations at an input differ by more than a share of their size; else None."""
    if pair[0].widths != pair[1].widths:
        return None
    f = g = at.double().numpy()
    for number, (a, b) in enumerate(zip(pair[0].layers, pair[1].layers, strict=True)):
        u, v = a.w @ f + a.b, b.w @ g + b.b
        if np.abs(u - v).max() > tolerance * max(1.0, np.abs(u).max()):
            return number + 1
        f, g = np.where(u > 0, u, pair[0].left * u), np.where(v > 0, v, pair[1].left * v)
    return None
