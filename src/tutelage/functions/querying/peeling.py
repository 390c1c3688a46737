"""Layer after layer of a black box, from the bends along lines (Phuong 2021, constructive form of Theorem A.1)."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from tutelage.functions.querying.confirming import UnitSearchSetting
from tutelage.functions.querying.known import Known, Layer, features, region
from tutelage.functions.querying.lines import Lines, sample
from tutelage.functions.querying.oracle import Oracle, QueryDraws, Spent
from tutelage.functions.querying.orientation import Agreement, agreement, by_equations, by_readers, filled, nothing_open
from tutelage.functions.querying.polish import least_squares, outputs, parameters, polished
from tutelage.functions.querying.unit_search import FoundUnits, Rivals, explained, find_units

_FLOOR = 0.05  # share of the largest error at which a fit ends: its root mean square is ten times as large in noise
_LEVER = 100  # over the tolerance of normals, for coefficients that follow from many of them
_FULL = 1e-13  # singular values below are rounding in the fit of the output layer
_ATTEMPTS = 96  # starting points without a new unit before a layer is taken for complete
_AGAIN = 16  # the same in later rounds, where deeper units were found
_HOPELESS = 0.3  # a larger unexplained share is not polished
_PROMISING = 0.1  # a smaller unexplained share is polished before deeper layers are looked for
_UNITS_MISSING = 1e-3  # the same where a step of polishing takes seconds: more lines find the missing units sooner
_DEAR = 1e11  # products of a step that takes seconds
_CANDIDATES = 30_000  # points among which rare meetings of units are looked for, without a question
_COVERED = 6  # points wanted per meeting
_FITTED = 4_000  # values the output layer is fitted to
_UNREAD = 1e-9  # share of the largest weight below which a unit is not read


@dataclass(frozen=True, eq=False)
class Peeled:
    """Layers found, the output layer last; passing: per hidden layer the units added to carry what no fold explains;
    open_signs: hidden layers (from 1) whose orientation stayed open; left: bends that belong to no unit found.
    """

    layers: tuple[Layer, ...]
    passing: tuple[int, ...] = ()
    open_signs: tuple[int, ...] = ()
    unexplained: float = float("inf")
    left: int = 0


@dataclass(frozen=True, eq=False)
class Round:
    """Units found over known layers; read: the layers that the units are written over, which are the known ones, or
    these with the signs of the top layer where readers settled them; tried: knots that led to no unit, bool [K].
    """

    known: Known
    read: Known
    units: FoundUnits
    tried: np.ndarray


@dataclass(eq=False)
class Memory:
    """What earlier rounds found, per hidden layer; rivals: of each layer, which of parallel units to believe."""

    rounds: list[Round] = field(default_factory=list)
    rivals: dict[int, Rivals] = field(default_factory=dict)

    def recalled(self, known: Known) -> Round | None:
        """What was found over the same known layers."""
        depth = len(known.layers)
        same = depth < len(self.rounds) and _equal(self.rounds[depth].known, known)
        return self.rounds[depth] if same else None

    def keep(self, new_round: Round) -> None:
        depth = len(new_round.known.layers)
        same = self.recalled(new_round.known) is not None
        self.rounds[depth : depth + 1 if same else None] = [new_round]

    def doubting(self, depth: int, unit: np.ndarray) -> "Memory":
        """What is known below a layer, one of whose units, given by points of its fold, is not believed any more."""
        rivals = {layer: Rivals(of_layer.doubts) for layer, of_layer in self.rivals.items() if layer <= depth}
        rivals[depth] = Rivals((*rivals[depth].doubts, unit))
        return Memory(self.rounds[:depth], rivals)

    def unexplained(self, lines: Lines, setting: UnitSearchSetting) -> np.ndarray:
        """Which bends belong to no unit of any layer: bool [K]."""
        out = lines.bend.copy()
        for earlier in self.rounds:
            out &= ~explained(earlier.read, lines, earlier.units, setting)
        return out


def _equal(known: Known, other: Known) -> bool:
    pairs = zip(known.layers, other.layers, strict=True)
    same = len(known.layers) == len(other.layers) and (known.top is None) == (other.top is None)
    return same and all(np.array_equal(a, b) for first, second in pairs for a, b in zip(first, second, strict=True))


def peel(
    oracle: Oracle,
    lines: Lines,
    setting: UnitSearchSetting,
    draw: QueryDraws,
    enough: float,
    most: int,
    seed: int,
    memory: Memory | None = None,
    better: Callable[[Peeled], None] | None = None,
) -> Peeled:
    """Find hidden layers, at most so many, until what is left unexplained of the values is at most ``enough``.

    better: called with every reconstruction that explains more than those before.
    """
    memory = Memory() if memory is None else memory
    points = sample(setting.low, setting.high, oracle.affordable(_FITTED), seed, "fit")
    values = oracle.values(points)
    known, state, free = Known(), Peeled(()), lines.bend
    first = memory.unexplained(lines, setting) if memory.rounds else np.zeros(len(free), bool)
    best = _with_output(known, state, points, values, setting, oracle.rounding)
    # invariant: `known` are right up to the signs of its top layer, and `best` is the network of the layers so far that
    # explains most; a layer that explains no more is kept only as a step to the next
    for _ in range(most):
        if better is not None:
            better(best)
        if best.unexplained <= enough:
            break
        try:
            known, state, free, has_units = _next_layer(
                oracle, known, state, lines, free, setting, draw, points, memory, first
            )
        except Spent:
            break
        if not has_units:
            break
        points, values = _covered(oracle, known, points, values, setting, seed)
        now = _with_output(known, state, points, values, setting, oracle.rounding)
        if oracle.noise and enough < now.unexplained < _PROMISING and not oracle.spent:
            # folds are as inexact as their bends: only with all weights fitted does it show whether units are missing
            now = _last_steps(now, points, values, setting, oracle, enough)
        best = replace(now if now.unexplained <= best.unexplained else best, left=int(free.sum()))
    weights = parameters(best.layers)
    hopeless = _UNITS_MISSING if values.size * weights**2 > _DEAR else _HOPELESS
    open_end = best.unexplained < hopeless and (best.unexplained > enough or any(best.passing))
    if open_end and not oracle.spent and weights * 2 <= values.size:
        best = _last_steps(best, points, values, setting, oracle, enough)
    return _without_unread(best, points, values, oracle.rounding, enough)


def _covered(oracle: Oracle, known: Known, points, values, setting: UnitSearchSetting, seed: int):
    """Points and values with some added where a unit of the top layer, on either side, meets an active unit below, for
    pairs that are rarely seen together.
    """
    trial = sample(setting.low, setting.high, _CANDIDATES, seed, "cover")
    met, rare = _meetings(known, points), _meetings(known, trial)
    # A weight between two units shows only where both are active: pairs that are seldom met get points of their own,
    # found through the known layers without a question.
    wanted = met.sum(0) < _COVERED
    order = np.cumsum(rare & wanted, axis=0, dtype=np.int32)
    some = (rare & wanted & (order <= _COVERED - met.sum(0))).any(1)
    try:
        more = oracle.values(trial[some])
    except Spent:
        return points, values
    return np.concatenate([points, trial[some]]), np.concatenate([values, more])


def _meetings(known: Known, points: np.ndarray) -> np.ndarray:
    """Which units below are active with which sides of the units of the top layer: bool [N, pairs]."""
    assert known.top is not None
    below = features(Known(known.below), points) > 0
    top = region(known, points).units[:, known.first[-2] :] > 0
    if not known.below:
        below = below[:, -1:]
    both = [(below[:, :, None] & side[:, None]).reshape(len(points), -1) for side in (top, ~top)]
    return np.concatenate(both, axis=1)


def _last_steps(best: Peeled, points, values, setting: UnitSearchSetting, oracle: Oracle, enough: float) -> Peeled:
    """All weights polished at once, and the last hidden layer oriented anew with them."""
    rounding = oracle.rounding
    layers = polished(best.layers, points, values, _FLOOR * rounding, oracle.deadline)
    share = _share(values - outputs(layers, points), values, rounding)
    best = replace(best, layers=layers, unexplained=share)
    again = _without_passing(best, points, values, setting, rounding)
    return again if again.unexplained <= max(best.unexplained, enough) else best


def _without_unread(best: Peeled, points, values, rounding: float, enough: float) -> Peeled:
    """Without units that no later unit reads: folds of deeper units that were taken for units of their own."""
    layers = list(best.layers)
    for number, added in enumerate(best.passing):
        (w, b), (reads, constant) = layers[number : number + 2]
        weight = np.abs(reads).max(1)
        read = weight > _UNREAD * weight.max()
        read[w.shape[1] - added :] = True
        layers[number : number + 2] = [(w[:, read], b[read]), (reads[read], constant)]
    share = _share(values - outputs(tuple(layers), points), values, rounding)
    return replace(best, layers=tuple(layers), unexplained=share) if share <= max(best.unexplained, enough) else best


def _next_layer(
    oracle: Oracle,
    known: Known,
    state: Peeled,
    lines: Lines,
    free: np.ndarray,
    setting: UnitSearchSetting,
    draw: QueryDraws,
    points: np.ndarray,
    memory: Memory,
    first: np.ndarray,
) -> tuple[Known, Peeled, np.ndarray, bool]:
    """One more hidden layer, the bends it leaves, and whether a unit was found."""
    before = memory.recalled(known) or Round(
        known, known, FoundUnits.none(known.count(oracle.inputs)), np.zeros(0, bool)
    )
    read, units, bends = before.read, before.units, free
    tried = np.r_[before.tried, np.zeros(len(bends) - len(before.tried), bool)]
    deeper = len(known.layers) + 1 < len(memory.rounds)
    rivals = memory.rivals.setdefault(len(known.layers), Rivals())
    rivals.believed.clear()
    search = partial(
        find_units,
        oracle,
        lines=lines,
        setting=setting,
        draw=draw,
        attempts=_AGAIN if deeper else _ATTEMPTS,
        first=first,
        rivals=rivals,
    )
    if read.top is not None:  # a few readers settle the signs; all others are found more easily once these are known
        settled = partial(_agreement, read, tolerance=_LEVER * setting.tolerance)
        units, free = search(read, free=bends, units=units, enough=lambda now: settled(now) is not None, tried=tried)
        agreed = settled(units) if len(units) else None
        if agreed is not None:
            read, units = _signed(read, units.chosen(agreed.readers), agreed.signs, agreed.more)
            units, tried = units.united(), np.zeros(len(bends), bool)
    if read.top is None:
        units, free = search(read, free=bends, units=units, tried=tried)
    memory.keep(Round(known, read, units, tried))
    if not len(units):
        return known, state, free, False
    known = read
    if known.top is not None:
        known, state, units = _oriented(known, state, units, setting)
        units = units.united()
    theta, left_open = filled(known, units, features(known, points))
    size = np.linalg.norm(theta[:, :-1], axis=1)
    size = np.where(size > 0, size, 1.0)  # a unit that turns out to read nothing stays a constant, not 0 / 0
    top = (theta[:, :-1] / size[:, None]).T, theta[:, -1] / size
    left_open = replace(left_open, taken=left_open.taken / size[left_open.unit])
    known = replace(known, top=top, open=left_open)
    return known, replace(state, layers=known.below, passing=(*state.passing, 0)), free, True


def _oriented(
    known: Known, state: Peeled, units: FoundUnits, setting: UnitSearchSetting
) -> tuple[Known, Peeled, FoundUnits]:
    """The top layer with the signs that its readers tell, and the readers written over its activations.

    What the signs cannot explain of a reader is linear in the layer's input: it is carried by units that are active
    on the whole box.
    """
    assert known.top is not None
    w, b = known.top
    n = w.shape[1]
    # Readers with open coefficients would enter the equations of signs with numbers that are merely the shortest.
    sure = units.determined if units.determined.any() else np.ones(len(units), bool)
    alpha, beta = units.theta[sure, :n], units.theta[sure, n:-1]
    left_open = known.open if known.open is not None else nothing_open(len(w) + 1)
    solution = by_equations((w, b), left_open, units.theta, units.bases, _LEVER * setting.tolerance)
    if solution is not None:
        return _signed(known, units, *solution)[0], state, _signed(known, units, *solution)[1]
    signs, rest = by_readers(w, alpha, beta, _LEVER * setting.tolerance)
    full = np.concatenate([w, b[None]])
    w, b = full[:-1] * signs, full[-1] * signs
    # What no sign explains is linear in the layer's input and of low rank: as many units that are always active carry
    # it, so that the layers above can be searched all the same.
    _, s, v = np.linalg.svd(rest, full_matrices=False)
    rank = int((s > _LEVER * setting.tolerance * max(np.linalg.norm(beta), np.linalg.norm(alpha))).sum())
    matrix = np.concatenate([np.eye(n), full * signs]) / 2
    if rank:
        ways = v[:rank].T
        shift = 1.0 - _least(known.below, ways, setting)
        w, b = np.concatenate([w, ways], axis=1), np.r_[b, shift]
        matrix = np.concatenate([matrix, np.concatenate([np.zeros((n, rank)), ways, shift[None]])], axis=1)
        state = replace(
            state,
            passing=(*state.passing[:-1], rank),
            open_signs=(*state.open_signs, len(known.below) + 1),
        )
    return Known((*known.below, (w, b))), state, units.rewritten(_with_constant(matrix))


def _agreement(known: Known, units: FoundUnits, tolerance: float) -> Agreement | None:
    assert known.top is not None
    left_open = known.open if known.open is not None else nothing_open(len(known.top[0]) + 1)
    return agreement(known.top, left_open, units.theta, units.bases, tolerance)


def _signed(known: Known, units: FoundUnits, signs: np.ndarray, more: np.ndarray) -> tuple[Known, FoundUnits]:
    """The top layer with its signs [n] and with what its open weights add to its readers [Q], and the readers over its
    activations.
    """
    assert known.top is not None
    w, b = known.top
    full, reads = np.concatenate([w, b[None]]), np.zeros((len(w) + 1, w.shape[1]))
    if known.open is not None and len(known.open):
        k, side = known.open.unit, known.open.side
        moved = np.where(signs[k] == side, (more * side - known.open.taken) / 2, 0.0)  # true less taken weight
        np.add.at(full.T, k, moved[:, None] * known.open.direction)
        np.add.at(reads.T, k, (side * moved)[:, None] * known.open.direction)
    matrix = _with_constant(np.concatenate([np.eye(len(signs)), full * signs + reads]) / 2)
    return Known((*known.below, (full[:-1] * signs, full[-1] * signs))), units.rewritten(matrix)


def _with_constant(matrix: np.ndarray) -> np.ndarray:
    """[m, n] with a column for the constant, which stays what it is."""
    return np.concatenate([matrix, np.eye(len(matrix))[:, -1:]], axis=1)


def _without_passing(
    best: Peeled, points: np.ndarray, values: np.ndarray, setting: UnitSearchSetting, rounding: float
) -> Peeled:
    """The last hidden layer oriented anew, now that its folds are exact, without the units added to carry the rest."""
    if not best.passing or not best.passing[-1]:
        return best
    *below, (w, b), _ = best.layers
    kept = w.shape[1] - best.passing[-1]
    known = Known(tuple(below), (w[:, :kept], b[:kept]))
    signs = tuple(layer for layer in best.open_signs if layer <= len(below))
    state = Peeled(known.below, (*best.passing[:-1], 0), signs)
    return _with_output(known, state, points, values, setting, rounding)


def _least(below: tuple[Layer, ...], ways: np.ndarray, setting: UnitSearchSetting) -> np.ndarray:
    """A lower bound of z ways over the box, by intervals."""
    low, high = setting.low, setting.high
    for w, b in (*below, (ways, np.zeros(ways.shape[1]))):
        plus, minus = np.maximum(w, 0), np.minimum(w, 0)
        low, high = low @ plus + high @ minus + b, high @ plus + low @ minus + b
        if w is not ways:
            low, high = np.maximum(low, 0), np.maximum(high, 0)
    return low


def _with_output(
    known: Known, state: Peeled, points: np.ndarray, values: np.ndarray, setting: UnitSearchSetting, rounding: float
) -> Peeled:
    """The layers with the output layer that fits the values best, and what it leaves unexplained."""
    phi = features(known, points)
    theta = least_squares(phi, values, _FULL)
    unexplained = _share(values - phi @ theta, values, rounding)
    readers = FoundUnits(theta.T, (np.eye(phi.shape[1]),) * theta.shape[1])
    if known.top is not None:
        known, state, readers = _oriented(known, state, readers, setting)
    output = (readers.theta[:, :-1].T, readers.theta[:, -1])
    return replace(state, layers=(*known.below, output), unexplained=unexplained)


def _share(rest: np.ndarray, values: np.ndarray, rounding: float) -> float:
    """Root mean square of what is left over the standard deviation of the values; inf where it is no number."""
    spread = max(float((values - values.mean(0)).std()), rounding, 1e-300)
    share = float(np.sqrt(np.square(rest).mean())) / spread
    return share if np.isfinite(share) else np.inf
