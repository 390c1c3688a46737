"""Statistics of experiments that claims are made of: one value per member."""

import numpy as np
from scipy import stats

from tutelage.lab import TrainedStudents
from tutelage.measures import RECOVERED


def at_step(result: TrainedStudents, measure: str, step: int | None = None) -> np.ndarray:
    """A measure [S, ...] at a recorded step (default: the last)."""
    steps = result.report.steps
    return result.report[measure][-1 if step is None else steps.index(step)]


def recovered_share(result: TrainedStudents, step: int | None = None) -> np.ndarray:
    """Share of teacher units whose best student correlates above 0.95: [S]."""
    best = at_step(result, "best_correlation", step)
    return np.where(np.isfinite(best).all(1), (best > RECOVERED).mean(1), np.nan)


def recovery_steps(result: TrainedStudents, threshold: float = RECOVERED) -> np.ndarray:
    """First recorded step at which each teacher unit is recovered: [S, m], infinite where that never happened."""
    above = result.report["best_correlation"] > threshold
    steps = np.asarray(result.report.steps, float)
    return np.where(above.any(0), steps[above.argmax(0)], np.inf)


def rank_correlations(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Spearman's rank correlation of each member's units: [S, n] twice -> [S]; NaN where either is constant."""
    x_ranks, y_ranks = stats.rankdata(x, axis=1), stats.rankdata(y, axis=1)
    x_centred = x_ranks - x_ranks.mean(1, keepdims=True)
    y_centred = y_ranks - y_ranks.mean(1, keepdims=True)
    norm = np.sqrt((x_centred**2).sum(1) * (y_centred**2).sum(1))
    defined = (norm > 0) & np.isfinite(x).all(1) & ~np.isnan(y).any(1)
    return np.where(defined, (x_centred * y_centred).sum(1) / np.where(norm > 0, norm, 1), np.nan)


def mean_where(values: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Mean over the chosen units of each member: [S, n] twice -> [S]; NaN where none is chosen."""
    count = chosen.sum(1)
    return np.where(count > 0, np.where(chosen, values, 0).sum(1) / np.maximum(count, 1), np.nan)


def above_chance(values: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """How far a best correlation is on its way from chance to 1: 0 for an untrained student, 1 for a full match.

    The best of many random units resembles a teacher unit by chance, and the more units there are the better: students
    of different widths, and layers, can only be compared beyond that.

    Parameters
    ----------
    values
        Mean best correlations of trained students.
    chance
        The same of untrained students of the same width; the same shape.
    """
    return (values - chance) / (1 - chance)
