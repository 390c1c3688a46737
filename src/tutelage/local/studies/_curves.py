"""What the studies of local convergence measure on curves: powers, steps to a level, steps to record."""

from collections.abc import Sequence

import numpy as np
import torch

from tutelage.local import LocalSetting, groups, local_students

PLANE = (20.0, 80.0, 140.0)
"""Degrees of the three unit teachers in the plane."""


def powers(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The exponent p of y ~ x^p by least squares on logarithms: x [T] or [T, S], y [T, S] -> [S].

    >>> x = np.array([1.0, 2.0, 4.0])
    >>> powers(x, np.stack([3 * x**2, 1 / x], 1)).round(6).tolist()
    [2.0, -1.0]
    """
    log_x, log_y = np.log(x if x.ndim == 2 else x[:, None]), np.log(y)
    off = log_x - log_x.mean(0)
    return (off * (log_y - log_y.mean(0))).sum(0) / (off**2).sum(0)


def steps_to(level: float, steps: np.ndarray, losses: np.ndarray) -> np.ndarray:
    """Steps [S] at which losses [T, S] first fall to a level, log L straight between recorded steps; NaN where never.

    >>> steps_to(0.01, np.array([0, 10, 20]), np.array([[1.0], [0.1], [0.001]])).tolist()
    [15.0]
    """
    below = losses <= level
    after = below.argmax(0)
    before, each = np.maximum(after - 1, 0), np.arange(losses.shape[1])
    high, low = np.log(losses[before, each]), np.log(losses[after, each])
    share = np.where(high > low, (high - np.log(level)) / np.where(high > low, high - low, 1), 1)
    crossing = steps[before] + share * (steps[after] - steps[before])
    return np.where(below[0], steps[0], np.where(below.any(0), crossing, np.nan))


def geometric_steps(last: int, count: int = 120) -> list[int]:
    """0 and growing numbers of steps up to the last, about evenly on a logarithmic axis.

    >>> geometric_steps(8, 4)
    [0, 1, 2, 4, 8]
    """
    return [0, *sorted({round(step) for step in np.geomspace(1, last, count)})]


def attached_students(teachers: torch.Tensor, students: int, seeds: Sequence[int]) -> torch.Tensor:
    """Students near teachers such that each teacher is the nearest of some student: [S, m, d].

    Where the noise has left a teacher without one, a tenth of a radian of noise is taken, which cannot do that.
    """
    drawn = local_students(teachers, students, seeds)
    without = (groups(LocalSetting(teachers, drawn)).mass() == 0).any(1)
    return torch.where(without[:, None, None], local_students(teachers, students, seeds, spread=0.1), drawn)
