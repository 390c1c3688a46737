"""The compiled loop of online SGD on spheres: one fresh sample per step, one member after another.

Links: 1, 2, 3 are sums of Hermite polynomials of that degree with fan-outs, 4 is the staircase u1 + u1 u2 + u1 u2 u3, 5
its last product alone.
"""

import math

import numpy as np
from numba import njit

from tutelage.compiling import OPTIONS, compiled

STAIRCASE, PRODUCT = 4, 5


@njit(**{**OPTIONS, "fastmath": {"contract", "reassoc"}})
def _dot(x, y):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


@njit(**OPTIONS)
def _output(u, a, link):
    """The output for pre-activations u, of which the fan-outs are the first of a."""
    if link == STAIRCASE:
        return u[0] + u[0] * u[1] + u[0] * u[1] * u[2]
    if link == PRODUCT:
        return u[0] * u[1] * u[2]
    total = 0.0
    for k in range(u.shape[0]):
        if link == 1:
            total += a[k] * u[k]
        elif link == 2:
            total += a[k] * (u[k] * u[k] - 1) / math.sqrt(2.0)
        else:
            total += a[k] * (u[k] * u[k] * u[k] - 3 * u[k]) / math.sqrt(6.0)
    return total


@njit(**OPTIONS)
def _slope(u, a, k, link):
    """Derivative of the output by the k-th pre-activation."""
    if link == STAIRCASE:
        if k == 0:
            return 1 + u[1] + u[1] * u[2]
        return u[0] + u[0] * u[2] if k == 1 else u[0] * u[1]
    if link == PRODUCT:
        return u[(k + 1) % 3] * u[(k + 2) % 3]
    if link == 1:
        return a[k]
    if link == 2:
        return a[k] * math.sqrt(2.0) * u[k]
    return a[k] * (3 * u[k] * u[k] - 3) / math.sqrt(6.0)


@njit(**OPTIONS)
def _all_met(w, axes, level):
    """Whether every axis has an overlap above a level in size: vectors of even links and products may change places."""
    for j in range(axes):
        best = 0.0
        for k in range(w.shape[0]):
            best = max(best, abs(w[k, j]))
        if best <= level:
            return False
    return True


def sphere_steps(first, last, w, x, noise, a, rate, link, level, left, begin):
    """Steps of members first .. last-1 in place, on half the squared error, along the sphere and back to it.

    w [S, K, d], x [S, T, d], noise of the labels [S, T], a [M]; left [S]: the step, counted on from ``begin``, after
    which every one of the first M axes has an overlap above ``level`` in size with some vector, left alone where it is
    not 0.
    """
    u, v = np.empty(w.shape[1]), np.empty(a.shape[0])
    for s in range(first, last):
        for t in range(x.shape[1]):
            for k in range(w.shape[1]):
                u[k] = _dot(w[s, k], x[s, t])
            for j in range(a.shape[0]):
                v[j] = x[s, t, j]
            error = rate * (_output(u, a, link) - _output(v, a, link) - noise[s, t])
            for k in range(w.shape[1]):
                back = error * _slope(u, a, k, link)
                for i in range(w.shape[2]):
                    w[s, k, i] -= back * (x[s, t, i] - u[k] * w[s, k, i])
                size = 1 / math.sqrt(_dot(w[s, k], w[s, k]))
                for i in range(w.shape[2]):
                    w[s, k, i] *= size
            if left[s] == 0 and _all_met(w[s], a.shape[0], level):
                left[s] = begin + t + 1


sphere_steps = compiled(sphere_steps)
