"""Layer after layer of a black box, from the points on its folds (Phuong 2021, constructive form of Theorem A.1)."""

from dataclasses import dataclass, field, replace

import numpy as np

from tutelage.functions.querying._stream import QueryDraws
from tutelage.functions.querying.fold_equations import Known, Layer, features
from tutelage.functions.querying.fold_points import FoldPoints, sample
from tutelage.functions.querying.oracle import Oracle, OutOfTime
from tutelage.functions.querying.orientation import by_gradients, by_readers
from tutelage.functions.querying.polish import least_squares, outputs, polished
from tutelage.functions.querying.unit_search import UnitSearchSetting, find_units

_ATTEMPTS = 24  # starting points without a new unit before a layer is taken for complete
_HOPELESS = 0.3  # a larger unexplained share is not polished
_FITTED = 4_000  # values the output layer is fitted to


@dataclass(frozen=True, eq=False)
class Peeled:
    """Layers found, the output layer last; passing: per hidden layer the units added to carry what no fold explains;
    open_signs: hidden layers (from 1) whose orientation stayed open.
    """

    layers: tuple[Layer, ...]
    passing: tuple[int, ...] = ()
    open_signs: tuple[int, ...] = ()
    unexplained: float = float("inf")
    left: FoldPoints | None = field(default=None, repr=False)


def peel(
    oracle: Oracle, folds: FoldPoints, setting: UnitSearchSetting, draw: QueryDraws, enough: float, most: int, seed: int
) -> Peeled:
    """Find hidden layers, at most so many, until what is left unexplained of the values is at most ``enough``."""
    points = sample(setting.low, setting.high, _FITTED, seed, "fit")
    values = oracle.values(points)
    known, state = Known(), Peeled(())
    best = _with_output(known, state, points, values, setting, oracle.rounding)
    left = folds
    for _ in range(most):
        if best.unexplained <= enough or oracle.deadline.passed:
            break
        try:
            known, state, left, found = _next_layer(oracle, known, state, folds, left, setting, draw)
        except OutOfTime:
            break
        if not found:
            break
        now = _with_output(known, state, points, values, setting, oracle.rounding)
        best = now if now.unexplained <= best.unexplained else best
    open_end = best.unexplained < _HOPELESS and (best.unexplained > enough or any(best.passing))
    if open_end and not oracle.deadline.passed:
        layers = polished(best.layers, points, values, 0.05 * oracle.rounding)
        share = _share(values - outputs(layers, points), values, oracle.rounding)
        best = replace(best, layers=layers, unexplained=share)
        again = _without_passing(best, points, values, setting, oracle.rounding)
        best = again if again.unexplained <= max(best.unexplained, enough) else best
    return replace(best, left=left)


def _next_layer(
    oracle: Oracle,
    known: Known,
    state: Peeled,
    folds: FoldPoints,
    left: FoldPoints,
    setting: UnitSearchSetting,
    draw: QueryDraws,
) -> tuple[Known, Peeled, FoldPoints, bool]:
    """One more hidden layer, the fold points it leaves, and whether a unit was found."""
    theta, left = find_units(oracle, known, left, setting, draw, _ATTEMPTS)
    if known.top is not None:
        if not len(theta):
            return known, state, left, False
        known, state, theta = _oriented(known, state, theta, setting)
        more, left = find_units(oracle, known, left, setting, draw, _ATTEMPTS)
        theta = np.concatenate([theta, more])
    if known.below:
        more, left = find_units(oracle, known, left, setting, draw, _ATTEMPTS // 2, partly=True)
        theta = np.concatenate([theta, more])
    if not len(theta):
        return known, state, left, False
    size = np.linalg.norm(theta[:, :-1], axis=1)
    known = replace(known, top=((theta[:, :-1] / size[:, None]).T, theta[:, -1] / size))
    state = replace(state, layers=known.below, passing=(*state.passing, 0))
    signs = by_gradients(known, folds, setting.size, setting.near)
    return (known if signs is None else known.oriented(signs)), state, left, True


def _oriented(
    known: Known, state: Peeled, theta: np.ndarray, setting: UnitSearchSetting
) -> tuple[Known, Peeled, np.ndarray]:
    """The top layer with the signs that its readers [K, m] tell, and the readers written over its activations.

    What the signs cannot explain of a reader is linear in the layer's input: it is carried by units that are active
    on the whole box.
    """
    assert known.top is not None
    w, b = known.top
    n = w.shape[1]
    alpha, beta, gamma = theta[:, :n], theta[:, n:-1], theta[:, -1]
    signs, rest = by_readers(w, alpha, beta, 100 * setting.tolerance)
    gamma = gamma - (alpha * signs) @ b
    coefficients = 2 * alpha
    w, b = w * signs, b * signs
    u, s, v = np.linalg.svd(rest, full_matrices=False)
    rank = int((s > 100 * setting.tolerance * np.linalg.norm(beta)).sum())
    if rank:
        ways = v[:rank].T
        shift = 1.0 - _least(known.below, ways, setting)
        carried = u[:, :rank] * s[:rank]
        w, b = np.concatenate([w, ways], axis=1), np.r_[b, shift]
        coefficients, gamma = np.concatenate([coefficients, carried], axis=1), gamma - carried @ shift
        state = replace(
            state,
            passing=(*state.passing[:-1], rank),
            open_signs=(*state.open_signs, len(known.below) + 1),
        )
    return Known((*known.below, (w, b))), state, np.concatenate([coefficients, gamma[:, None]], axis=1)


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
    theta = least_squares(phi, values, 1e-13)
    unexplained = _share(values - phi @ theta, values, rounding)
    coefficients = theta.T
    if known.top is not None:
        known, state, coefficients = _oriented(known, state, coefficients, setting)
    output = (coefficients[:, :-1].T, coefficients[:, -1])
    return replace(state, layers=(*known.below, output), unexplained=unexplained)


def _share(rest: np.ndarray, values: np.ndarray, rounding: float) -> float:
    """Root mean square of what is left over the standard deviation of the values."""
    spread = max(float((values - values.mean(0)).std()), rounding, 1e-300)
    return float(np.sqrt(np.square(rest).mean())) / spread
