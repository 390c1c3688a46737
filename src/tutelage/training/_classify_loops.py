"""The compiled loop behind :mod:`.classify`: one member after another, its weights in cache from step to step."""

import math

import numpy as np
from numba import njit

from tutelage.compiling import OPTIONS, compiled, stamp_of

_FAST = {**OPTIONS, "fastmath": {"contract", "reassoc"}}
_ZERO, _ONE = np.float32(0), np.float32(1)


@njit(**_FAST)
def _top(h, a, y, rate, active, fed):
    """Last layer: its own update, and rate times dl/dh_{L-1} with the sign turned into ``fed`` [p, B].

    h [p, B] pre-activations, a [1, p] the weights on top, y [B] labels.
    """
    p, b = h.shape
    error = np.zeros(b, np.float32)
    for j in range(p):
        weight = a[0, j]
        for i in range(b):
            active[j, i] = max(h[j, i], _ZERO)
            error[i] += weight * active[j, i]
    for i in range(b):
        error[i] = rate * y[i] / (_ONE + np.float32(math.exp(min(y[i] * error[i], np.float32(80)))))
    for j in range(p):
        weight, total = a[0, j], _ZERO
        for i in range(b):
            total += error[i] * active[j, i]
            fed[j, i] = weight * error[i] if h[j, i] > 0 else _ZERO
        a[0, j] += total


@njit(**_FAST)
def _step(weights, xb, y, rate):
    """One step of gradient descent on a batch xb [B, d]; weights W_l [out, in], in place."""
    layers = len(weights)
    b, p = xb.shape[0], weights[0].shape[0]
    h, active = np.empty((layers - 1, p, b), np.float32), np.empty((layers - 1, p, b), np.float32)
    fed = np.empty((p, b), np.float32)
    np.dot(weights[0], xb.T, h[0])
    for l in range(1, layers - 1):
        for j in range(p):
            for i in range(b):
                active[l - 1, j, i] = max(h[l - 1, j, i], _ZERO)
        np.dot(weights[l], active[l - 1], h[l])
        for j in range(p):
            for i in range(b):
                h[l, j, i] += h[l - 1, j, i]
    _top(h[layers - 2], weights[layers - 1], y, rate, active[layers - 2], fed)
    for l in range(layers - 2, 0, -1):
        back = np.dot(weights[l].T, fed)
        change = np.dot(fed, active[l - 1].T)
        for j in range(p):
            for i in range(p):
                weights[l][j, i] += change[j, i]
        for j in range(p):
            for i in range(b):
                if h[l - 1, j, i] > 0:
                    fed[j, i] += back[j, i]
    change = np.dot(fed, xb)
    for j in range(p):
        for i in range(xb.shape[1]):
            weights[0][j, i] += change[j, i]


def _make_descend(stamp: int):
    def descend(first, last, weights, x, y, rows, n, batch, rate):
        """Members first .. last-1 through rows int64 [S, epochs n], n a pass, ``batch`` a step; rate: of a mean loss.

        weights: a tuple of float32 [S, out, in]; x [S, n, d], y [S, n].
        """
        for s in range(first, last):
            member_weights = weights_of(weights, s)
            for begin in range(0, rows.shape[1], n):
                for at in range(begin, begin + n, batch):
                    chosen = rows[s, at : min(at + batch, begin + n)]
                    count = chosen.shape[0]
                    xb, yb = np.empty((count, x.shape[2]), np.float32), np.empty(count, np.float32)
                    for i in range(count):
                        for k in range(x.shape[2]):
                            xb[i, k] = x[s, chosen[i], k]
                        yb[i] = y[s, chosen[i]]
                    _step(member_weights, xb, yb, rate / np.float32(count))
        return stamp

    return compiled(descend)


@njit(**OPTIONS)
def weights_of(weights, s):
    """The layers of one member, as a list of views."""
    return [w[s] for w in weights]


descend = _make_descend(stamp_of(__file__))
