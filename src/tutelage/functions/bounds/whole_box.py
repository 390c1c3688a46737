"""The differences of two networks with sparse layers bounded on a box: intervals first, then backwards where time
allows.

Layers of convolutions have too many units for zonotopes, whose columns are dense. Rows that are substituted backwards
stay sparse: a unit looks at its receptive field alone. Any unit may be left at its interval, so that a limit ends the
refinement anywhere and the bound still holds. Boxes of few inputs are cut in two as in :mod:`.branch_inputs`.
"""

import heapq
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from tutelage.deadline import Deadline
from tutelage.functions.answers import OnClosing, Question
from tutelage.functions.bounds.backward_pairs import LinesAround, Rows, chosen, combined, lines_around, upper_bounds
from tutelage.functions.bounds.branch_inputs import MOST_INPUTS
from tutelage.functions.bounds.coupled_planes import best_bounds
from tutelage.functions.bounds.intervals import Middle, Ranges, after, around, by_intervals
from tutelage.functions.domain import Domain
from tutelage.functions.layers.pairs import LayerPair
from tutelage.functions.layers.sparse import SparsePair, joined
from tutelage.functions.relaxations import Ends
from tutelage.functions.search.sparse import SparseHunt
from tutelage.networks import SparseNetwork
from tutelage.networks.graphs.unclipping import unclipped

_CHUNK = 2_000_000  # entries of the coefficients that are substituted at a time
_SHARE = 0.85  # of the time for the ranges of hidden units


@dataclass
class BoxBounds:
    """Bounds on one box; layers: of both networks; low, high: [d].

    ranges: of every layer that was bounded so far; refined: how many units were bounded backwards.
    """

    layers: list[LayerPair]
    low: np.ndarray
    high: np.ndarray
    ranges: list[Ranges] = field(default_factory=list)
    refined: int = 0
    _lines: list[LinesAround] = field(default_factory=list)
    _sizes: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)

    def work(self, deadline: Deadline | None) -> None:
        """Ranges of all layers; hidden units that may bend are bounded backwards until the deadline, None for none."""
        below: tuple[Middle, Middle] = around(self.low, self.high), around(np.zeros_like(self.low), self.low * 0)
        self.ranges, self._lines, self._sizes = [], [], []
        for number, layer in enumerate(self.layers):
            (f, d) = below
            self._sizes.append((np.abs(f[0]) + f[1], np.abs(d[0]) + d[1]))
            ranges = by_intervals(layer, f, d)
            if number and number < len(self.layers) - 1 and deadline is not None:
                ranges = self._better(number, ranges, deadline)
            self.ranges.append(ranges)
            if number < len(self.layers) - 1:
                self._lines.append(lines_around(layer, ranges))
                below = after(ranges.f, ranges.d, layer.left_f, layer.left_g)

    def _better(self, number: int, ranges: Ranges, deadline: Deadline) -> Ranges:
        """Ranges with those of units that may bend made narrower: first of f, then of d where f still bends."""
        layer = self.layers[number]
        units = np.flatnonzero(~ranges.straight(layer))
        # f first: where f no longer bends, neither network may, and the difference needs no lines of its own.
        ranges = Ranges(self._both(number, ranges.f, units, False, deadline), ranges.d, layer.positive_g)
        units = np.flatnonzero(~ranges.straight(layer))
        return Ranges(ranges.f, self._both(number, ranges.d, units, True, deadline), layer.positive_g)

    def _both(self, number: int, known: Ends, units: np.ndarray, of_d: bool, deadline: Deadline) -> Ends:
        low, high = known[0].copy(), known[1].copy()
        # Rows of units fill up on their way down, to the receptive field and beyond: the chunk bounds their memory.
        per = max(1, _CHUNK // max(1, self.layers[number].terms * 8))
        for start in range(0, len(units), per):
            if deadline.passed:
                break
            some = units[start : start + per]
            width = self.layers[number].wf.shape[0]
            high[some] = np.minimum(high[some], self._upper(number, chosen(width, some, of_d, 1.0)))
            low[some] = np.maximum(low[some], -self._upper(number, chosen(width, some, of_d, -1.0)))
            self.refined += len(some)
        return low, high

    def _upper(self, number: int, rows: Rows) -> np.ndarray:
        return upper_bounds(self.layers[: number + 1], self._lines, rows, self.low, self.high, self._sizes)

    def differences(self) -> np.ndarray:
        """Bounds [C] on the differences of the outputs."""
        top, eye = self.ranges[-1], np.eye(self.layers[-1].wf.shape[0])
        simple = np.maximum(np.abs(top.d[0]), np.abs(top.d[1]))
        rows = combined(np.concatenate([eye, -eye]), np.zeros((2 * len(eye), len(eye))))
        both = self._upper(len(self.layers) - 1, rows)
        bounds = np.maximum(np.maximum(both[: len(eye)], both[len(eye) :]), 0.0)
        least = np.minimum(simple, bounds)
        return np.where(np.isnan(least), np.inf, least)

    def tightened(self, known: Tensor, limits: Tensor, deadline: Deadline) -> Tensor:
        """Bounds [C] on the differences, known ones made smaller where they exceed their limits; the largest first."""
        open_ = ((known > limits) & (limits < torch.inf)).nonzero().flatten()
        order = open_[(known - limits)[open_].argsort(descending=True)].numpy()
        eye = np.eye(len(known))[order]
        objectives = np.stack([eye, -eye], 1).reshape(-1, len(known))
        box = self.low, self.high
        both = best_bounds(self.layers, self.ranges, self._lines, self._sizes, box, objectives, deadline)
        new = known.clone()
        # No bound on the size of a difference is below 0.
        new[order] = torch.minimum(known[order], torch.from_numpy(both.reshape(-1, 2).max(1)).clamp_min(0.0))
        return new

    def leads(self, top: int) -> tuple[np.ndarray, np.ndarray]:
        """Upper bounds [C - 1] of every other output minus output ``top``, of f and of g = f - d."""
        count = self.layers[-1].wf.shape[0]
        eye = np.eye(count)
        apart = np.delete(eye - eye[top], top, 0)
        none = np.zeros_like(apart)
        both = self._upper(len(self.layers) - 1, combined(np.concatenate([none, -apart]), np.concatenate([apart] * 2)))
        return both[: count - 1], both[count - 1 :]


def bounded(layers: list[LayerPair], low: np.ndarray, high: np.ndarray, deadline: Deadline, enough) -> BoxBounds:
    """Bounds on a box: without and, where ``enough`` of these says no, with hidden units bounded backwards."""
    box = BoxBounds(layers, low, high)
    box.work(None)
    if enough(box) or deadline.passed:
        return box
    share = None if deadline.seconds is None else max(0.0, deadline.left * _SHARE)
    box.work(Deadline(share))
    return box


def decide_sparse(
    hunt: SparseHunt,
    deadline: Deadline,
    on_progress: OnClosing | None = None,
) -> tuple[Tensor, bool, int]:
    """Bounds [C] on the differences, whether the answer is yes, and how many parts were bounded: one box."""
    pair, question = hunt.sparse, hunt.question
    top = _top_class(pair, hunt.domain)

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
    low, high = hunt.low.numpy(), hunt.high.numpy()
    layers = _closest(pair, hunt, low, high)
    few = int((high > low).sum()) <= MOST_INPUTS
    whole = Deadline(0.0) if few else deadline
    box = bounded(layers, low, high, whole, proved)
    done, parts = proved(box), 1
    at_most = torch.stack(best).amin(0)
    if not (few or done) and question.margin is None:
        at_most = box.tightened(at_most, question.limits, deadline)
        done = bool((at_most <= question.limits).all())
    if few and not done:
        done, divided_bounds, parts = _divided(layers, hunt, box, at_most, deadline, on_progress)
        at_most = torch.minimum(at_most, divided_bounds)
    return at_most, done, parts


def _closest(pair: SparsePair, hunt: SparseHunt, low: np.ndarray, high: np.ndarray) -> list[LayerPair]:
    """The layers of both networks, quantised ones without clips that the box hardly reaches if that is closer."""
    pairs = [pair]
    if any(network.quantised for network in pair):
        graphs = [unclipped(network.graph, low, high) for network in pair]
        new = [n if g is None else SparseNetwork.of(g, n.dtype) for n, g in zip(pair, graphs, strict=True)]
        pairs.append((new[0], new[1]))
    made, most = [], []
    for networks in pairs:
        layers = joined(*networks)
        rooms = [n.error(hunt.low, hunt.high).numpy() for n in networks]
        top = layers[-1]
        layers[-1] = replace(top, slack_f=top.slack_f + rooms[0], slack_g=top.slack_g + rooms[1])
        made.append(layers)
        if len(pairs) > 1:
            box = BoxBounds(layers, low, high)
            box.work(None)
            most.append(box.differences().max())
    return made[int(np.argmin(most))] if most else made[0]


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
    # Invariant: the boxes that wait and those whose bounds went into `closed` cover the domain.
    while waiting and not (deadline.passed or hunt.refuted):
        _, _, low, high, above = heapq.heappop(waiting)
        middle = 0.5 * low + 0.5 * high
        # The side that was cut least so far, relative to the domain: rows are sums over many pixels or units, and no
        # score of a side is kept for them.
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
