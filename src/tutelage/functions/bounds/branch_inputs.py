r"""Branch and bound on the inputs: a box is cut in two until every part is proved, or an input refutes the claim.

The idea (Land and Doig 1960; for networks Bunel et al. 2018): a bound that is never too small and shrinks with the box
closes every small enough box. Boxes are cut along the input that contributes most to the bound, the middle of every
open box is tried as a witness, and the boxes furthest from a proof come first, so that the bound of the whole domain
falls as fast as it can. The number of boxes grows like (size / epsilon)^d with the d inputs that matter.
"""

import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch

from tutelage.deadline import NEVER, Deadline
from tutelage.functions.answers import OnClosing, Question
from tutelage.functions.bounds._boxes import bounded
from tutelage.functions.bounds._device_boxes import DeviceBounds
from tutelage.functions.domain import Domain
from tutelage.functions.layers.pairs import Pair, bytes_of_forms, columns_for, joined, memory_for_forms
from tutelage.functions.search.hunt import Hunt
from tutelage.networks import Network
from tutelage.threads import usable_cores
from tutelage.whole import positive

MOST_INPUTS = 24
"""The most inputs that are not flat for which cutting boxes can get anywhere."""
# Small batches see what earlier ones found; large ones keep threads and a GPU busy between two looks at the clock.
_FIRST, _MOST = 16, 512  # boxes per thread in a batch
_ON_DEVICE = 4096  # boxes in a batch on a GPU
_BATCH = 1.0  # seconds that a batch may take, by those before it
_OPEN = 4_000_000  # boxes that may wait: some hundred bytes each
_FLOOR = 2.0  # times the rounding in a bound that it need not be brought below
# Refining a range of each unit that may bend makes a bound three to ten times as small where these are few; a cut
# halves it. Its cost grows with their number, and where that is large no unit alone holds much of the bound.
_HOPE = 8.0  # times its limit that a bound may be for ranges to be refined
_BENDS = 48.0  # units above the first layer that may bend for ranges to be refined; both trade time per box for boxes


_ROOM = 1024


class Frontier:
    """Boxes [N, d] with the bounds [N, C] of the box each was cut from, and how doubtful that is [N].

    >>> frontier = Frontier(1, 1)
    >>> frontier.add(np.array([[0.0], [1.0]]), np.array([[1.0], [2.0]]), np.ones((2, 1)), np.array([3.0, 5.0]))
    >>> frontier.take(1)[0].item(), len(frontier)
    (1.0, 1)
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        self.inputs, self._used = inputs, 0
        self._rows = np.empty((_ROOM, 2 * inputs + outputs + 1))

    def __len__(self) -> int:
        return self._used

    def add(self, low: np.ndarray, high: np.ndarray, bounds: np.ndarray, doubt: np.ndarray) -> None:
        rows = np.concatenate([low, high, bounds, doubt[:, None]], axis=1)
        while self._used + len(rows) > len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        self._rows[self._used : self._used + len(rows)] = rows
        self._used += len(rows)

    def take(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Remove the most doubtful boxes: low, high [n, d] and bounds [n, C]."""
        rows = self._rows[: self._used]
        if count < self._used:
            chosen = np.argpartition(rows[:, -1], self._used - count)[self._used - count :]
        else:
            chosen = np.arange(self._used)
        taken = rows[chosen]
        kept = np.ones(self._used, dtype=bool)
        kept[chosen] = False
        # Taking rows out costs as many moves as were taken, not as many as are left: millions of boxes may wait.
        holes = chosen[chosen < self._used - len(chosen)]  # the last rows fill the holes
        last = np.arange(self._used - len(chosen), self._used)
        rows[holes] = rows[last[kept[last]]]
        self._used -= len(chosen)
        d = self.inputs
        return taken[:, :d].copy(), taken[:, d : 2 * d].copy(), taken[:, 2 * d : -1]

    def bounds(self) -> np.ndarray:
        """Largest bound per output of all boxes: [C]."""
        return self._rows[: self._used, 2 * self.inputs : -1].max(0)


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
        threads = positive(threads, "threads") if threads else usable_cores()
        self.threads = max(1, min(threads, memory_for_forms() // bytes_of_forms(pair, free)))
        self.split, self.hope = free <= MOST_INPUTS, (_HOPE, _BENDS)
        self._device = None
        if device != "cpu" and self.split:
            self._device = DeviceBounds(pair, self.limits, self.margin, device)
        self._pool = ThreadPoolExecutor(self.threads)

    def __call__(
        self, low: np.ndarray, high: np.ndarray, deadline: Deadline = NEVER
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Bounds [B, C], what is missing for a proof [B], scores [B, d]; boxes that a deadline leaves out have infinite
        bounds."""
        if self._device is not None:
            return self._device(low, high)
        count, d = low.shape
        both, values = np.empty((count, self.pair.widths[-1], 2)), np.empty(count)
        scores, stop = np.empty((count, d if self.split else 0)), np.zeros(1, np.int8)

        def part(rows: slice) -> None:
            bounded(
                self.pair, low[rows], high[rows], self.limits, self.margin, self.hope, self.columns, both[rows],
                values[rows], scores[rows], stop,
            )  # fmt: skip

        parts = min(self.threads, count)
        running = [self._pool.submit(part, slice(i * count // parts, (i + 1) * count // parts)) for i in range(parts)]
        try:  # this thread only waits, so that it can end the others at the deadline, or when it is interrupted
            wait(running, None if deadline.seconds is None else max(0.0, deadline.left))
        finally:
            stop[0] = 1
        for done in running:
            done.result()
        return np.maximum(-both[:, :, 0], both[:, :, 1]), values, scores


class Dividing:
    """The proof of a claim about two networks on a domain, box by box; it can be stopped and gone on with.

    limit: when even a batch under way ends; ``until`` may stop it earlier, between two batches. bound: what bounds
    boxes; default: a :class:`Bounder` of the pair.
    """

    def __init__(
        self,
        pair: Pair | None,
        question: Question,
        hunt: Hunt,
        *,
        threads: int | None = None,
        device: str = "cpu",
        keep: bool = False,
        on_progress: OnClosing | None = None,
        limit: Deadline = NEVER,
        bound: Any = None,
    ) -> None:
        self.hunt, self.keep, self.tell, self.limit = hunt, keep, on_progress, limit
        low, high = hunt.low.numpy(), hunt.high.numpy()
        outputs = len(question.limits)
        if bound is None:
            assert pair is not None
            bound = Bounder(pair, question, int((high > low).sum()), threads, device)
        self.bound = bound
        self.frontier = Frontier(len(low), outputs)
        self.frontier.add(low[None], high[None], np.full((1, outputs), np.inf), np.array([np.inf]))
        self.closed, self.boxes, self.batch = np.zeros(outputs), 0, _FIRST * self.bound.threads
        self.most = _MOST * self.bound.threads if device == "cpu" else _ON_DEVICE
        self.leaves: list[tuple[np.ndarray, np.ndarray]] = []
        self.stuck = False
        if question.follow:
            hunt.raise_limits(_FLOOR * self._rounding_at(hunt.at[None]))

    def _rounding_at(self, point: torch.Tensor) -> torch.Tensor:
        """By how much bounds [C] at a single input [1, d] exceed the differences there."""
        first, second = self.hunt.values(point)
        sizes = torch.from_numpy(self.bound(point.numpy(), point.numpy(), self.limit)[0])
        return (sizes - (first - second).abs())[0].clamp_min(0)

    def until(self, deadline: Deadline) -> Division:
        """Go on until everything is proved, an input refutes the claim, no box can be cut or the deadline passes."""
        # Invariant: the boxes in the frontier and those that were closed cover the domain, and `closed` bounds the
        # differences on the latter. So an empty frontier is a proof, and until then the larger of both bounds is valid.
        while len(self.frontier) and not self.stuck:
            if (self.boxes and deadline.passed) or self.hunt.refuted or len(self.frontier) > _OPEN:
                break
            self._step()
        proved = not len(self.frontier)
        at_most = self.closed if proved else np.maximum(self.closed, self.frontier.bounds())
        parts = self.leaves if proved else []
        kept = (np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts])) if parts else None
        return Division(proved, torch.from_numpy(at_most), self.boxes, kept)

    def _step(self) -> None:
        """Bound some of the open boxes, and cut those that are not proved."""
        hunt, frontier = self.hunt, self.frontier
        lows, highs, above = frontier.take(self.batch)
        begin = time.monotonic()
        sizes, values, scores = self.bound(lows, highs, self.limit)
        speed = len(lows) / max(time.monotonic() - begin, 1e-6)
        self.boxes, self.batch = self.boxes + len(lows), max(1, min(2 * self.batch, self.most, int(speed * _BATCH)))
        sizes = np.minimum(sizes, above)  # a part is never worse than the box it was cut from
        done = values <= 0
        if not hunt.domain.is_box:
            outside = _outside(hunt.domain, lows, highs)
            sizes[outside], done = 0.0, done | outside
        self.closed = np.maximum(self.closed, sizes[done].max(0, initial=0.0))
        if self.keep:
            self.leaves.append((lows[done], highs[done]))
        if done.all():
            return
        lows, highs, sizes, values, scores = (a[~done] for a in (lows, highs, sizes, values, scores))
        middles, halves = torch.from_numpy(0.5 * lows + 0.5 * highs), torch.from_numpy(0.5 * highs - 0.5 * lows)
        hunt.climb(middles, hunt.look(middles), halves)
        # All boxes of a step are cut, or none: a box too small to be cut goes back, so that the cover stays whole.
        if not self.bound.split or not _cut(frontier, lows, highs, sizes, values, scores):
            frontier.add(lows, highs, sizes, values)
            self.stuck = True
        elif self.tell:
            most = np.maximum(self.closed, frontier.bounds()).max()
            self.tell(float(most), float(hunt.largest.max()), len(frontier))


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
    side = np.where(possible, scores, -1.0).argmax(1)  # the halves share the cut: no point is lost to rounding
    rows = np.arange(len(low))
    left, right = high.copy(), low.copy()
    left[rows, side] = right[rows, side] = middle[rows, side]
    frontier.add(low, left, sizes, values)
    frontier.add(right, high, sizes, values)
    return True
