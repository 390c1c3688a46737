"""Questions about two networks with sparse layers on a bounded domain."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from tutelage.errors import InternalError, TutelageError
from tutelage.functions.bounding.sparse.bounds import BoxBounds, bounded
from tutelage.functions.bounding.sparse.pairs import equal_graphs, joined
from tutelage.functions.bounding.sparse.search import SparseHunt, with_error
from tutelage.functions.checks import Deadline, rounded_up
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
            raise TutelageError(f"the networks have {a} and {b} {what}: give two with as many of them")
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
    box = bounded(layers, hunt.low.numpy(), hunt.high.numpy(), deadline, proved)
    done = proved(box)
    at_most = torch.stack(best).amin(0)
    _hold_against_search(pair, hunt, at_most)
    return at_most, done, 1


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
