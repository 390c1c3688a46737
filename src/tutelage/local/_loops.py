"""The compiled loops behind loss, gradient and descent: one member after another, two ways to the same numbers.

The plain way sums kernels over pairs of units, an angle between two students serving both: fast, with an error of
about 1e-16 of the squared scale (sum |w_j|^2 + sum |w*_i|)^2. The fine way groups students by teacher and sums what
they leave of the residual (:mod:`._wedges`, Zhou et al. 2021, eq. 3), with a small relative error however small the
loss. A member goes the fine way below a share of its squared scale.
"""

import math

import numpy as np

from tutelage.compiling import compiled, stamp_of
from tutelage.local import _fine, _plain, _wedges
from tutelage.local._fine import fine_gradient, fine_split
from tutelage.local._plain import copy, plain

# The plain way is off by 1e-16 of the squared scale: at 1e-4 of it a loss still has twelve digits, and a gradient,
# which is about a root of the loss, nearly as many at 1e-9. The fine way costs more, so it begins no earlier.
_FINE_LOSS = 1e-4
"""Share of the squared scale below which a loss is computed the fine way."""
_FINE_GRADIENT = 1e-9
"""The same for a gradient, which is larger than the loss and so needs it later."""


def _make(stamp: int):
    def losses_and_gradients(first, last, w, taught, top, fine, loss, dw, size):
        """Losses into loss [S], gradients into dw [S, m, d], their squared norms into size, of members first .. last-1.

        fine: whether the fine way may be gone (all of top is 1).
        """
        for s in range(first, last):
            t = s if taught.shape[0] > 1 else 0
            loss[s], scale, size[s] = plain(w[s], taught[t], top, dw[s])
            if fine and loss[s] < _FINE_LOSS * scale:
                flat, mixed, spiky = fine_split(w[s], taught[t])
                loss[s] = max(0.0, flat / 2 + mixed + spiky / 2)
                if loss[s] < _FINE_GRADIENT * scale:
                    size[s] = fine_gradient(w[s], taught[t], top, dw[s])
        return stamp

    def splits(first, last, w, taught, parts):
        """||R1||^2, <R1, R2>, ||R2||^2 into parts [S, 3]."""
        for s in range(first, last):
            parts[s, 0], parts[s, 1], parts[s, 2] = fine_split(w[s], taught[s if taught.shape[0] > 1 else 0])
        return stamp

    def descents(first, last, w, taught, top, fine, rate, record, levels, kept, end, losses, sizes, reached):
        """Gradient descent of members first .. last-1: w [S, m, d] is moved in place, at rate [S].

        After the steps record [T] (growing): kept [T, S, m, d] or none, losses [T, S], squared gradients sizes [T, S];
        after the last: end [S, m, d].
        reached [S, E]: the first step at which the loss is at most levels [S, E] (falling), -1 before.
        """
        dw = np.empty(w.shape[1:])
        for s in range(first, last):
            taught_s = taught[s if taught.shape[0] > 1 else 0]
            place, level, close = 0, 0, False
            # Invariant: at the head of the loop w[s] is after `step` steps, `level` levels have been passed and `place`
            # records made. `close` says whether the last gradient needed the fine way: then the plain one is not
            # computed at all, unless a loss is asked for, and the next time the plain loss decides again.
            for step in range(record[-1] + 1):
                wanted = place < len(record) and step == record[place]
                asked = wanted or level < levels.shape[1]
                scale, value, size, small = 0.0, 0.0, 0.0, close
                if not close or asked:
                    value, scale, size = plain(w[s], taught_s, top, dw)
                    if fine and asked and value < _FINE_LOSS * scale:
                        flat, mixed, spiky = fine_split(w[s], taught_s)
                        value = max(0.0, flat / 2 + mixed + spiky / 2)
                    small = fine and value < _FINE_GRADIENT * scale
                if close or small:
                    size = fine_gradient(w[s], taught_s, top, dw)
                close = small
                while level < levels.shape[1] and value <= levels[s, level]:
                    reached[s, level] = step
                    level += 1
                if wanted:
                    losses[place, s], sizes[place, s] = value, size
                    if kept.shape[0] > 0:
                        copy(w[s], kept[place, s])
                    place += 1
                if step == record[-1]:
                    copy(w[s], end[s])
                    break
                for j in range(dw.shape[0]):
                    for a in range(dw.shape[1]):
                        w[s, j, a] -= rate[s] * dw[j, a]
                # A diverged member ends here, and the caller finds its NaN; the others go on.
                if not math.isfinite(size):
                    end[s] = np.nan
                    break
        return stamp

    return compiled(losses_and_gradients), compiled(splits), compiled(descents)


losses_and_gradients, splits, descents = _make(stamp_of(__file__, _plain.__file__, _fine.__file__, _wedges.__file__))
