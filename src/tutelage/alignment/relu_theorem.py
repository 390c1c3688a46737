r"""Conjecture 5.5 of Zhu et al. 2021 is true for relu: with three students or more some det M_i is negative.

The proof is on the page `results/conjecture` of the documentation; this module computes the bounds it consists of.
Seen as a covariance, f(theta) = sin theta + (pi - theta) cos theta gives det M_i the sign of the weight of student i in
the best linear prediction of the teacher by the students. Let g and h be the gaps between the teacher and its two
neighbours on the circle, sigma = g + h, and for a student at the angle x, counted from the teacher to the side of g,

.. math:: N(x) = A f(x) - B f(x - g) - C f(x + h)

with :math:`A = \pi^2 - f(\sigma)^2`, :math:`B = \pi f(g) - f(\sigma) f(h)`, :math:`C = \pi f(h) - f(\sigma) f(g)`.
N(x) / A is the covariance of the teacher with that student, given the two neighbours. It is negative for every student
(:func:`covariance_bounds`). Weights that are not negative would, summed against these covariances, be at most 0 and at
the same time the variance of a sum: so one weight is negative.

Everything is written in :math:`k(t) = 1 - t \cot t = \sum_n 2 \zeta(2n) (t/\pi)^{2n}` and in
:math:`G(t) = k(t) \sin t`, for which :math:`f(\pi - t) = G(t)` and :math:`f(t) = \pi \cos t + G(t)`. Its coefficients
are positive, so that k is convex, and k(t) / t rises.
"""

import math

import numpy as np
from scipy import special

from tutelage.alignment.determinants import checked
from tutelage.errors import TutelageError

_TERMS = np.arange(1, 12)
_POWERS = 2 * special.zeta(2 * _TERMS) / math.pi ** (2 * _TERMS)
_SERIES = 0.4
"""Below, k is summed as a series; what is left out is below one unit in the last place."""


def shape(t: np.ndarray) -> np.ndarray:
    """k(t) = 1 - t cot t for t between 0 and pi, without cancellation near 0.

    >>> shape(np.array([1e-3, math.pi / 2])).round(12).tolist()
    [3.33333e-07, 1.0]
    """
    t = np.asarray(t, np.float64)
    small, large = np.minimum(t, _SERIES), np.maximum(t, _SERIES)
    near = (_POWERS * np.expand_dims(small, -1) ** (2 * _TERMS)).sum(-1)
    return np.where(t < _SERIES, near, 1 - large / np.tan(large))


def area(t: np.ndarray) -> np.ndarray:
    """G(t) = sin t - t cos t = f(pi - t), for t in [0, pi]."""
    return np.where(t < _SERIES, np.sin(t) * shape(t), np.sin(t) - t * np.cos(t))


def covariance_bounds(angles: np.ndarray) -> np.ndarray:
    """Negative upper bounds of A cov(teacher, student | the teacher's neighbours), for every other student.

    Parameters
    ----------
    angles
        Student angles [S, m] in (0, 2 pi), three or more a set and no two the same; the teacher is at 0.

    Returns
    -------
    np.ndarray
        Bounds [S, m - 2] of N for the students in the order of their angles, without the first and the last.

    Examples
    --------
    >>> bool((covariance_bounds(np.array([[1.0, 2.5, 4.0, 6.0]])) < 0).all())
    True
    """
    angles = np.sort(checked(angles), axis=1)
    if angles.shape[1] < 3 or (angles[:, :1] <= 0).any() or (np.diff(angles, axis=1) <= 0).any():
        raise TutelageError("the theorem is about three or more students, none on the teacher or on another one")
    first, middle, last = angles[:, :1], angles[:, 1:-1], angles[:, -1:]
    # The covariance is symmetric in teacher and student, so one may take the place of the other: of the two gaps,
    # around the teacher or around the student, one is at most pi wide, and the bounds are about that one.
    narrow = first + (2 * math.pi - last) <= math.pi  # else the roles of teacher and student are exchanged
    before, after = np.where(narrow, first, last - middle), np.where(narrow, 2 * math.pi - last, middle - first)
    place = np.where(narrow, middle, 2 * math.pi - middle)
    beyond = place > math.pi  # counted from the other side
    g, h = np.where(beyond, after, before), np.where(beyond, before, after)
    return _bound(g, h, np.where(beyond, 2 * math.pi - place, place))


def _bound(g: np.ndarray, h: np.ndarray, x: np.ndarray) -> np.ndarray:
    """N(x) is at most this, for gaps with g + h <= pi and g < x <= pi."""
    near = x <= math.pi - h
    before = _half_circle(g, h, np.where(near, x, g))
    around = _around_opposite(g, h, np.where(near, 0.0, math.pi - x))
    return np.where(near, before, around)


def _spare(gap: np.ndarray, width: np.ndarray) -> np.ndarray:
    """(1 - gap / pi) k(width) - k(width - gap), positive for 0 < gap < width <= pi, since k(t) / t rises; times pi."""
    return (math.pi - gap) * shape(width) - math.pi * shape(width - gap)


def falling(g: np.ndarray, h: np.ndarray) -> np.ndarray:
    """-N'(g) / (sin sigma sin g)."""
    s = g + h
    turned = (2 * math.pi - s) * np.cos(s) + np.sin(s)
    chord = (math.pi - s) * (shape(s) - shape(g)) + h * shape(s)
    return math.pi * h * (2 * math.pi - s) * np.sin(s) - turned * chord


def _half_circle(g: np.ndarray, h: np.ndarray, x: np.ndarray) -> np.ndarray:
    """For g <= x <= pi - h, where N(x) / sin(x - g) is convex: on the line between its ends, both negative."""
    s, y = g + h, x - g
    width = np.maximum(math.pi - s, np.finfo(float).tiny)
    start = -np.sin(s) * np.sin(g) * falling(g, h)
    end = -math.pi * np.sin(s) * np.sin(h) * _spare(g, s)
    share = np.minimum(y / width, 1.0)
    return np.sin(y) * ((1 - share) * start + share * end)


def _around_opposite(g: np.ndarray, h: np.ndarray, z: np.ndarray) -> np.ndarray:
    """For x = pi - z with 0 <= z <= h, where N = A G(z) - B G(z + g) - C G(h - z)."""
    s, k = g + h, shape(z)
    sine, turned = np.sin(s), (2 * math.pi - s) * np.cos(s) + np.sin(s)
    left = math.pi * k * np.sin(z + g) - (math.pi - g) * area(z + g)  # negative: k(t) / t rises
    right = math.pi * k * np.sin(h - z) + (math.pi - h) * area(h - z)
    folded = math.pi * sine * (np.sin(h) * left - np.sin(g) * right) + turned * area(g) * area(h - z)
    safe = np.minimum(s, 2.0)  # the other case has s < 2
    scaled = np.sin(z + g) * shape(np.minimum(z + g, safe)) / shape(safe) * _spare(g, safe)
    return np.where(turned <= 0, folded, -math.pi * np.sin(h) * sine * np.minimum(-left, scaled))
