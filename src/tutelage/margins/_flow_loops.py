r"""The compiled loop behind :mod:`.flow`: one member after another, each with steps of its own.

The independent variable is tau = log(1 + t), in which the flow

.. math:: \frac{d w_j}{d\tau} = (1+t) \sum_i r_i \mathbf 1\{w_j x_i > 0\}\, a_j P_{w_j} x_i, \qquad
          \frac{d a_j}{d\tau} = (1+t) \sum_i r_i \rho(w_j x_i), \qquad r_i = -\ell_i'

moves at an even pace; (1+t) r_i is formed from logarithms. Between two events the pattern of active samples is fixed
and the equations are smooth: Dormand and Prince's pair of orders 5 and 4. An event is a unit that meets the boundary
of a sample: it is located on the step's cubic, and the shortest speed in the subdifferential says whether the sample
is switched or the unit slides along the boundary (tied), which is asked again after every step.
"""

import math

import numpy as np
from numba import njit

from tutelage.compiling import OPTIONS, PART, compiled, stamp_of

ARRIVED, TOO_MANY, STUCK = 0, 1, 2
OFF, ON, TIED = np.int8(0), np.int8(1), np.int8(2)
_UNBALANCED = 1e-6  # of |w|^2: how far a^2 may be from it
# Of coordinate descent; they end as soon as nothing moves.
_SWEEPS = 500
_NEAR = 1e-7  # of |w||x|: within this of a boundary a unit has met it
_LANDED = 1e-10  # of |w||x|: how far beyond a boundary a unit may be before that counts as an event
_NODES = np.array([0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0])
_STAGES = np.array(
    [
        [0, 0, 0, 0, 0, 0],
        [1 / 5, 0, 0, 0, 0, 0],
        [3 / 40, 9 / 40, 0, 0, 0, 0],
        [44 / 45, -56 / 15, 32 / 9, 0, 0, 0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ]
)
_ERROR = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])


# Speeds while the pattern of active samples stays as it is.


@njit(**OPTIONS)
def _log_slope(code, m):
    """log -phi'(m), as :func:`.losses.log_slope`."""
    if code == 0:
        return -(m + math.log1p(math.exp(-m))) if m > 0 else -math.log1p(math.exp(m))
    if code == 1:
        return -m
    return -3 * math.log1p(m) if m > 0 else 0.0


@njit(**OPTIONS)
def dot(v, j, x, i):
    """Inner product of row j of v and row i of x."""
    total = 0.0
    for k in range(x.shape[1]):
        total += v[j, k] * x[i, k]
    return total


@njit(**OPTIONS)
def heights(w, x, out):
    """w_j.x_i for all units and samples: [p, n]."""
    for j in range(w.shape[0]):
        for i in range(x.shape[0]):
            out[j, i] = dot(w, j, x, i)


@njit(**OPTIONS)
def pulls(tau, a, height, y, pattern, code, pull, seen):
    """(1 + t) y_i |l_i'| for samples that some unit is active on or tied to, 0 for others: [n]."""
    for i in range(y.shape[0]):
        pull[i], seen[i] = 0.0, False
    # Tied samples get a pull, which their multipliers need, but add nothing to the output, since their height is 0.
    for j in range(a.shape[0]):
        for i in range(y.shape[0]):
            if pattern[j, i] != OFF:
                seen[i] = True
            if pattern[j, i] == ON:
                pull[i] += a[j] * height[j, i]
    for i in range(y.shape[0]):
        if seen[i]:
            # (1 + t) |l'| from logarithms: at t = 1e300 the factors are 1e300 and 1e-300. The cap keeps exp finite
            # within a step that is rejected afterwards.
            pull[i] = y[i] * math.exp(min(tau + _log_slope(code, y[i] * pull[i]), 700.0))


@njit(**OPTIONS)
def plain_speed(j, a, x, pull, pattern, row, out):
    """a_j times the pulls of the active samples of unit j, before ties are taken out, into row ``row`` of out."""
    for k in range(x.shape[1]):
        out[row, k] = 0.0
    for i in range(x.shape[0]):
        if pattern[j, i] == ON:
            for k in range(x.shape[1]):
                out[row, k] += pull[i] * x[i, k]
    for k in range(x.shape[1]):
        out[row, k] *= a[j]


@njit(**OPTIONS)
def tied_samples(pattern, j):
    number = 0
    for i in range(pattern.shape[1]):
        if pattern[j, i] == TIED:
            number += 1
    tied = np.empty(number, np.int64)
    number = 0
    for i in range(pattern.shape[1]):
        if pattern[j, i] == TIED:
            tied[number] = i
            number += 1
    return tied


@njit(**OPTIONS)
def _multipliers(v, row, x, tied):
    """c with v[row] + sum c_k x_k orthogonal to all tied samples, by elimination in their Gram matrix."""
    number = tied.shape[0]
    gram, c = np.empty((number, number)), np.empty(number)
    for b in range(number):
        for e in range(number):
            gram[b, e] = dot(x, tied[b], x, tied[e])
        c[b] = -dot(v, row, x, tied[b])
    for b in range(number):
        # Elimination without pivots: a Gram matrix of independent samples is positive definite.
        for e in range(b + 1, number):
            factor = gram[e, b] / gram[b, b]
            for k in range(b, number):
                gram[e, k] -= factor * gram[b, k]
            c[e] -= factor * c[b]
    for b in range(number - 1, -1, -1):
        for e in range(b + 1, number):
            c[b] -= gram[b, e] * c[e]
        c[b] /= gram[b, b]
    return c


@njit(**OPTIONS)
def _take_out(v, row, x, tied):
    if tied.shape[0]:
        c = _multipliers(v, row, x, tied)
        for b in range(tied.shape[0]):
            for k in range(x.shape[1]):
                v[row, k] += c[b] * x[tied[b], k]


@njit(**OPTIONS)
def onto(w, j, x, tied):
    """Unit j moved onto the boundaries it is tied to, its length kept, which balance asks for."""
    if tied.shape[0]:
        before = dot(w, j, w, j)
        _take_out(w, j, x, tied)
        factor = math.sqrt(before / dot(w, j, w, j))
        for k in range(x.shape[1]):
            w[j, k] *= factor


@njit(**OPTIONS)
def balance(w, a, balanced):
    """Units that began with |a_j| = |w_j| and shrank until rounding and steps tell them apart are made so again.

    The flow keeps a_j^2 - |w_j|^2 (Phuong 2021, Lemma B.4), so an error made while a unit was long is seen once it is
    short.
    """
    for j in range(a.shape[0]):
        size = dot(w, j, w, j)
        if balanced[j] and abs(a[j] * a[j] - size) > _UNBALANCED * size:
            a[j] = math.copysign(math.sqrt(size), a[j])


@njit(**OPTIONS)
def slope(tau, w, a, x, y, pattern, sliding, code, height, pull, seen, dw, da):
    """Speeds in tau into dw [p, d] and da [p]."""
    heights(w, x, height)
    pulls(tau, a, height, y, pattern, code, pull, seen)
    for j in range(a.shape[0]):
        plain_speed(j, a, x, pull, pattern, j, dw)
        total = 0.0
        for i in range(x.shape[0]):
            if pattern[j, i] == ON:
                total += pull[i] * height[j, i]
        da[j] = total
        if sliding[j]:
            _take_out(dw, j, x, tied_samples(pattern, j))


# Events, and steps between them.


@njit(**OPTIONS)
def _settle(j, a, x, pull, pattern, vector):
    """New states of the samples that unit j is tied to; whether any changed.

    The flow takes the shortest speed v + sum q_k c_k x_k, 0 <= q <= 1, that the tied samples allow (Phuong 2021, eq.
    B.23): q = 0 lets the sample be inactive, q = 1 active, and in between the unit slides. Found one q after the other.
    """
    tied = tied_samples(pattern, j)
    q = np.zeros(tied.shape[0])
    plain_speed(j, a, x, pull, pattern, 0, vector)
    # Invariant: vector = v + sum_k q_k c_k x_k with every q in [0, 1]. Minimising |vector|^2 over one q with the others
    # fixed is a division and a clip, and the problem is convex, so the sweeps descend to the shortest speed.
    for _ in range(_SWEEPS):
        moved = 0.0
        for b in range(tied.shape[0]):
            i = tied[b]
            c, size = a[j] * pull[i], dot(x, i, x, i)
            new = min(1.0, max(0.0, q[b] - dot(vector, 0, x, i) / (c * size)))
            change = (new - q[b]) * c
            for k in range(x.shape[1]):
                vector[0, k] += change * x[i, k]
            moved = max(moved, change * change * size)
            q[b] = new
        if moved <= 1e-28 * dot(vector, 0, vector, 0):
            break
    changed, size = False, dot(vector, 0, vector, 0)
    for b in range(tied.shape[0]):
        # A q strictly inside (0, 1) holds the unit on the boundary. One at its end leaves, if the speed points away
        # from the boundary at all; where it does not, the sample stays tied and is asked again after the next step.
        away = dot(vector, 0, x, tied[b])
        if (q[b] == 0.0 or q[b] == 1.0) and away * away > 1e-16 * size * dot(x, tied[b], x, tied[b]):
            pattern[j, tied[b]] = OFF if q[b] == 0.0 else ON
            changed = True
    return changed


@njit(**OPTIONS)
def _meet(j, i, a, y, pattern):
    """Unit j meets the boundary of sample i: passes it where the sample pulls it on, else is tied until settled."""
    if a[j] * y[i] > 0:
        pattern[j, i] = ON if pattern[j, i] == OFF else OFF
    else:
        pattern[j, i] = TIED


@njit(**OPTIONS)
def _cubic(s, u0, v0, u1, v1):
    return (1 + 2 * s) * (1 - s) ** 2 * u0 + s * (1 - s) ** 2 * v0 + s * s * (3 - 2 * s) * u1 + s * s * (s - 1) * v1


@njit(**OPTIONS)
def _crossing(u0, v0, u1, v1):
    """The share of the step at which the cubic through both ends and speeds last comes to the side of u1."""
    low, high = 0.0, 1.0
    # From the end backwards in sixteenths, for the last change of side: a unit may cross a boundary and come back
    # within one step, and the side it ends on is the one that counts.
    for back in range(15, 0, -1):
        if (_cubic(back / 16, u0, v0, u1, v1) > 0) != (u1 > 0):
            low = back / 16
            break
    if low == 0.0 and (u0 == 0.0 or (u0 > 0) == (u1 > 0)):
        return 0.0 if v0 * u1 > 0 else 1 / 32  # on the boundary: leaves at once, or turns within a short while
    # Invariant: the cubic has the side of u1 at `high` and not at `low`. Sixty halvings use up the digits of a double.
    for _ in range(60):
        s = 0.5 * (low + high)
        if (_cubic(s, u0, v0, u1, v1) > 0) == (u1 > 0):
            high = s
        else:
            low = s
    return high


@njit(**OPTIONS)
def _first_event(w0, w1, dw0, dw1, h, x, length_x, pattern, height0, height1):
    """The earliest boundary passed within a step: unit, sample and share of the step; unit -1 where none was."""
    heights(w0, x, height0)
    heights(w1, x, height1)
    unit, sample, share = -1, -1, 2.0
    for j in range(w0.shape[0]):
        length = math.sqrt(dot(w1, j, w1, j))
        for i in range(x.shape[0]):
            u0, u1 = height0[j, i], height1[j, i]
            slack = _LANDED * length * length_x[i]
            moved = u1 - u0 if abs(u1 - u0) > 1e-3 * slack else 0.0  # else by rounding alone
            left = pattern[j, i] == ON and u1 < -slack and moved < 0
            entered = pattern[j, i] == OFF and u1 > slack and moved > 0
            if left or entered:
                v0, v1 = h * dot(dw0, j, x, i), h * dot(dw1, j, x, i)
                at = _crossing(u0, v0, u1, v1)
                if at < share:
                    unit, sample, share = j, i, at
    return unit, sample, share


@njit(**PART)
def _try_step(tau, h, w, a, x, y, pattern, sliding, code, kw, ka, w1, a1, height, pull, seen, relative):
    """One step from (w, a), whose speeds are in kw[0], ka[0], into (w1, a1); the error in tolerances."""
    p, d = w.shape
    for stage in range(1, 7):
        for j in range(p):
            for k in range(d):
                total = 0.0
                for b in range(stage):
                    total += _STAGES[stage, b] * kw[b, j, k]
                w1[j, k] = w[j, k] + h * total
            total = 0.0
            for b in range(stage):
                total += _STAGES[stage, b] * ka[b, j]
            a1[j] = a[j] + h * total
        slope(tau + _NODES[stage] * h, w1, a1, x, y, pattern, sliding, code, height, pull, seen, kw[stage], ka[stage])
    worst = 0.0
    # The error is relative to each unit by itself: short units are followed as well as long ones, and the worst one
    # decides.
    for j in range(p):
        off, size = 0.0, 0.0
        for k in range(d):
            e = 0.0
            for b in range(7):
                e += _ERROR[b] * kw[b, j, k]
            off += e * e
            size += w[j, k] * w[j, k]
        e = 0.0
        for b in range(7):
            e += _ERROR[b] * ka[b, j]
        off += e * e
        if not off < math.inf:
            return math.inf  # a stage overflowed: a shorter step will not
        if off > 0:
            worst = max(worst, h * math.sqrt(off) / (relative * math.sqrt(size + a[j] * a[j])))
    return worst


@njit(**OPTIONS)
def _group(j, a, pattern, plus, minus):
    """0: no sample active; 1, -1: in the extremal sector of its sign; 2: none of these."""
    dead, positive, negative = True, a[j] > 0, a[j] < 0
    for i in range(pattern.shape[1]):
        state = pattern[j, i]
        code = 1 if state == ON else (0 if state == TIED else -1)
        dead = dead and state != ON
        positive = positive and code == plus[i]
        negative = negative and code == minus[i]
    return 0 if dead else (1 if positive else (-1 if negative else 2))


@njit(**OPTIONS)
def _regroup(tau, a, pattern, plus, minus, groups, entered, left):
    """Note which units have changed their group, when, and which have left an extremal sector of their sign."""
    for j in range(a.shape[0]):
        new = _group(j, a, pattern, plus, minus)
        if new != groups[j]:
            if groups[j] == 1 or groups[j] == -1:
                left[j] += 1
            groups[j] = new
            entered[j] = tau


@njit(**PART)
def _to_first_event(
    tau, step, w, a, x, y, length_x, pattern, sliding, code, kw, ka, w1, a1, height, height1, pull, seen, relative
):
    """Shorten a step until its end is the first boundary: unit and sample that meet there (-1 where none do), how
    often the step was shortened, and the step.
    """
    unit, sample, tries = -1, -1, 0
    j, i, share = _first_event(w, w1, kw[0], kw[6], step, x, length_x, pattern, height, height1)
    # Invariant: (w1, a1) is the end of a step of length `step` from (w, a). As long as it passes a boundary it is
    # shortened to the first one passed and taken again, because the cubic only estimates where that is.
    while j >= 0 and tries < 40:
        unit, sample = j, i
        step *= share
        tries += 1
        _try_step(tau, step, w, a, x, y, pattern, sliding, code, kw, ka, w1, a1, height, pull, seen, relative)
        if share == 0.0:
            break
        j, i, share = _first_event(w, w1, kw[0], kw[6], step, x, length_x, pattern, height, height1)
    if unit >= 0:  # where the step was only shortened, the boundary is still ahead
        length = math.sqrt(dot(w1, unit, w1, unit)) * length_x[sample]
        if abs(dot(w1, unit, x, sample)) > _NEAR * length:
            unit = -1
    return unit, sample, tries, step


@njit(**PART)
def _begin(tau, w, a, x, pattern, plus, minus, length_x, sliding, balanced, groups, entered):
    """Lengths of the samples, and of every unit whether it slides, whether it is balanced, and its group."""
    for i in range(x.shape[0]):
        length_x[i] = math.sqrt(dot(x, i, x, i))
    for j in range(w.shape[0]):
        sliding[j] = tied_samples(pattern, j).shape[0] > 0
        size = dot(w, j, w, j)
        balanced[j] = abs(a[j] * a[j] - size) <= _UNBALANCED * size
        groups[j] = _group(j, a, pattern, plus, minus)
        entered[j] = tau


@njit(**PART)
def _settle_all(tau, w, a, x, y, pattern, sliding, code, height, pull, seen, vector):
    """Ask every sliding unit again what it is tied to, and put it there; whether any state changed."""
    changed = False
    if sliding.any():
        heights(w, x, height)
        pulls(tau, a, height, y, pattern, code, pull, seen)
    for j in range(w.shape[0]):
        if sliding[j]:
            changed = _settle(j, a, x, pull, pattern, vector) or changed
            tied = tied_samples(pattern, j)
            sliding[j] = tied.shape[0] > 0
            onto(w, j, x, tied)
    return changed


@njit(**OPTIONS)
def _copy(w, a, to_w, to_a):
    """w [p, d] and a [p] into others; an assignment of whole arrays would compile the words of its error as well."""
    for j in range(w.shape[0]):
        to_a[j] = a[j]
        for k in range(w.shape[1]):
            to_w[j, k] = w[j, k]


def _make_follow(stamp: int):
    def follow(
        first, last, x, y, plus, minus, w, a, pattern, frozen, taus, code, relative, most,
        kept_w, kept_a, groups, entered, left, counts, ends,
    ):  # fmt: skip
        """Members first .. last-1 from (w, a, pattern) at taus[0], kept at every tau; all written in place.

        x [S, n, d], y [S, n], plus, minus int8 [S, n], w [S, p, d], a [S, p], pattern int8 [S, p, n]; kept_w
        [T, S, p, d], kept_a [T, S, p]; groups int8 [S, p]; entered [S, p]: tau since which a unit is in its group; left
        int64 [S, p]: how often it left an extremal sector of its sign; counts int64 [S, 3]: steps, rejected, events;
        ends [S, 2]: how it ended and at which tau.
        """
        p, d = w.shape[1], w.shape[2]
        n = x.shape[1]
        kw, ka = np.empty((7, p, d)), np.empty((7, p))
        w1, a1 = np.empty((p, d)), np.empty(p)
        height, height1, pull, vector = np.empty((p, n)), np.empty((p, n)), np.empty(n), np.empty((1, d))
        length_x, seen = np.empty(n), np.empty(n, np.bool_)
        sliding, balanced = np.zeros(p, np.bool_), np.zeros(p, np.bool_)
        for s in range(first, last):
            ws, as_, pat, tau, h = w[s], a[s], pattern[s], taus[0], 1e-6
            _begin(tau, ws, as_, x[s], pat, plus[s], minus[s], length_x, sliding, balanced, groups[s], entered[s])
            slope(tau, ws, as_, x[s], y[s], pat, sliding, code, height, pull, seen, kw[0], ka[0])
            ended = ARRIVED
            for place in range(taus.shape[0]):
                target = taus[place]
                # Invariant at the head: kw[0], ka[0] are the speeds at (ws, as_) with the present pattern, and no unit
                # is beyond a boundary that its pattern does not know of. A rejected step changes nothing but h.
                while tau < target and ended == ARRIVED:
                    if counts[s, 0] + counts[s, 1] >= most:
                        ended = TOO_MANY
                        break
                    last_one = h >= target - tau
                    step = target - tau if last_one else h
                    error = _try_step(
                        tau, step, ws, as_, x[s], y[s], pat, sliding, code, kw, ka, w1, a1, height, pull, seen, relative
                    )
                    if not error <= 1:
                        counts[s, 1] += 1
                        h = step * (max(0.2, 0.9 * error**-0.2) if error < 1e30 else 0.2)
                        if h < 1e-15 * (1 + tau):
                            ended = STUCK
                        continue
                    unit, sample, tries = -1, -1, 0
                    if not frozen:
                        unit, sample, tries, step = _to_first_event(
                            tau, step, ws, as_, x[s], y[s], length_x, pat, sliding, code, kw, ka, w1, a1, height,
                            height1, pull, seen, relative,
                        )  # fmt: skip
                        last_one = last_one and tries == 0
                    counts[s, 0] += 1
                    tau = target if last_one else tau + step
                    _copy(w1, a1, ws, as_)
                    balance(ws, as_, balanced)
                    # A step cut short by an event says little of the next one, so h does not shrink to it.
                    h = max(h, step) if tries > 0 else step * min(5.0, 0.9 * max(error, 1e-10) ** -0.2)
                    if unit >= 0:
                        counts[s, 2] += 1
                        _meet(unit, sample, as_, y[s], pat)
                        sliding[unit] = sliding[unit] or pat[unit, sample] == TIED
                    settled = _settle_all(tau, ws, as_, x[s], y[s], pat, sliding, code, height, pull, seen, vector)
                    if settled or unit >= 0:
                        _regroup(tau, as_, pat, plus[s], minus[s], groups[s], entered[s], left[s])
                    slope(tau, ws, as_, x[s], y[s], pat, sliding, code, height, pull, seen, kw[0], ka[0])
                _copy(ws, as_, kept_w[place, s], kept_a[place, s])
            ends[s, 0], ends[s, 1] = ended, tau
        return stamp

    return compiled(follow)


follow = _make_follow(stamp_of(__file__))
