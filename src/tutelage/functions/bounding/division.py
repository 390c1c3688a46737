"""Branch and bound on the inputs: a box is cut in two until every part is proved, or an input refutes the claim."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch

from tutelage.functions.bounding._boxes import Pair, bounded
from tutelage.functions.bounding._device_boxes import DeviceBounds
from tutelage.functions.bounding.frontier import Frontier
from tutelage.functions.bounding.pairs import columns_for, joined
from tutelage.functions.bounding.questions import Hunt, Question
from tutelage.functions.checks import Deadline
from tutelage.functions.pieces.domain import Domain
from tutelage.networks import Network
from tutelage.whole import positive

MOST_INPUTS = 24
"""The most inputs that are not flat for which cutting boxes can get anywhere."""
_FIRST, _MOST = 16, 512  # boxes per thread in a batch
_ON_DEVICE = 4096  # boxes in a batch on a GPU
_OPEN = 4_000_000  # boxes that may wait

Tell = Callable[[float, float, int], None]
"""Called with the proven bound, the largest difference found and the number of open boxes."""


@dataclass(frozen=True, eq=False)
class Division:
    """What branch and bound came to.

    Attributes
    ----------
    proved
        Whether every part of the box was proved.
    at_most
        [C]: no difference of an output exceeds this anywhere on the box.
    boxes
        Number of boxes that were bounded.
    leaves
        (low, high) of the boxes that make up the proof, [N, d] each; None unless asked for.
    """

    proved: bool
    at_most: torch.Tensor
    boxes: int
    leaves: tuple[np.ndarray, np.ndarray] | None = None


@cache
def compile_bounds() -> None:
    """Compile the bounds, or read them from disk, so that no time limit is spent on it."""
    eye = Network((torch.ones(1, 1, 1, dtype=torch.float64), torch.ones(1, 1, 1, dtype=torch.float64)))
    question = Question(torch.ones(1, dtype=torch.float64))
    Bounder(joined(eye, eye), question, 1, threads=1)(np.zeros((1, 1)), np.ones((1, 1)))


class Bounder:
    """Bounds on batches of boxes, on several threads."""

    def __init__(
        self, pair: Pair, question: Question, free: int, threads: int | None = None, device: str = "cpu"
    ) -> None:
        self.pair, self.columns = pair, columns_for(pair, free)
        self.limits = question.limits.numpy()
        self.margin = np.nan if question.margin is None else float(question.margin)
        self.threads = positive(threads, "threads") if threads else len(os.sched_getaffinity(0))
        self.split = free <= MOST_INPUTS
        self._device = None
        if device != "cpu" and self.split:
            self._device = DeviceBounds(pair, self.limits, self.margin, device)
        self._pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None

    def __call__(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Bounds [B, C], what is missing for a proof [B], scores [B, d]."""
        if self._device is not None:
            return self._device(low, high)
        count, d = low.shape
        both, values = np.empty((count, self.pair.widths[-1], 2)), np.empty(count)
        scores = np.empty((count, d if self.split else 0))

        def part(own: slice) -> None:
            bounded(
                self.pair, low[own], high[own], self.limits, self.margin, self.columns, both[own], values[own],
                scores[own],
            )  # fmt: skip

        parts = min(self.threads, count)
        slices = [slice(i * count // parts, (i + 1) * count // parts) for i in range(parts)]
        if self._pool is None or parts == 1:
            for own in slices:
                part(own)
        else:
            list(self._pool.map(part, slices))
        return np.maximum(-both[:, :, 0], both[:, :, 1]), values, scores


def divide(
    pair: Pair,
    question: Question,
    hunt: Hunt,
    deadline: Deadline,
    *,
    threads: int | None = None,
    device: str = "cpu",
    keep: bool = False,
    on_progress: Tell | None = None,
) -> Division:
    """Prove a claim about two networks on a domain, or stop at a refutation or the deadline."""
    low, high = hunt.low.numpy(), hunt.high.numpy()
    bound = Bounder(pair, question, int((high > low).sum()), threads, device)
    frontier = Frontier(len(low), int(pair.widths[-1]))
    frontier.add(low[None], high[None], np.full((1, int(pair.widths[-1])), np.inf), np.array([np.inf]))
    closed, boxes, batch = np.zeros(int(pair.widths[-1])), 0, _FIRST * bound.threads
    leaves: list[tuple[np.ndarray, np.ndarray]] = []
    while len(frontier):
        if (boxes and deadline.passed) or hunt.refuted or len(frontier) > _OPEN:
            break
        lows, highs, above = frontier.take(batch)
        sizes, values, scores = bound(lows, highs)
        boxes, batch = boxes + len(lows), min(2 * batch, _MOST * bound.threads if device == "cpu" else _ON_DEVICE)
        sizes = np.minimum(sizes, above)
        done = values <= 0
        if not hunt.domain.is_box:
            outside = _outside(hunt.domain, lows, highs)
            sizes[outside], done = 0.0, done | outside
        closed = np.maximum(closed, sizes[done].max(0, initial=0.0))
        if keep:
            leaves.append((lows[done], highs[done]))
        if done.all():
            continue
        lows, highs, sizes, values, scores = (a[~done] for a in (lows, highs, sizes, values, scores))
        hunt.look(torch.from_numpy(0.5 * lows + 0.5 * highs))
        if not bound.split or not _cut(frontier, lows, highs, sizes, values, scores):
            frontier.add(lows, highs, sizes, values)
            break
        if on_progress:
            on_progress(float(np.maximum(closed, frontier.bounds()).max()), float(hunt.largest.max()), len(frontier))
    proved = not len(frontier)
    at_most = closed if proved else np.maximum(closed, frontier.bounds())
    kept = (np.concatenate([a for a, _ in leaves]), np.concatenate([b for _, b in leaves])) if leaves else None
    return Division(proved, torch.from_numpy(at_most), boxes, kept)


def _outside(domain: Domain, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Which boxes [B, d] lie outside a polytope: bool [B]."""
    normals, offsets = domain.normals.numpy(), domain.offsets.numpy()
    middle, reach = 0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low
    size = (np.abs(middle) + reach) @ np.abs(normals).T + np.abs(offsets)
    room = 4 * (len(domain.low) + 8) * np.finfo(np.float64).eps * size
    return (middle @ normals.T - reach @ np.abs(normals).T - room > offsets).any(1)


def _cut(
    frontier: Frontier, low: np.ndarray, high: np.ndarray, sizes: np.ndarray, values: np.ndarray, scores: np.ndarray
) -> bool:
    """Cut every box in the middle of the side with the highest score; False where one is too small to be cut."""
    middle = 0.5 * low + 0.5 * high
    possible = (middle > low) & (middle < high)
    if not possible.any(1).all():
        return False
    side = np.where(possible, scores, -1.0).argmax(1)
    rows = np.arange(len(low))
    left, right = high.copy(), low.copy()
    left[rows, side] = right[rows, side] = middle[rows, side]
    frontier.add(low, left, sizes, values)
    frontier.add(right, high, sizes, values)
    return True
