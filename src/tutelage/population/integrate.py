"""Ordinary differential equations for many members at once, each with a step size of its own.

Dormand and Prince's pair of orders 5 and 4 (1980): the difference of the two estimates the error of a step, which is
kept below the tolerance member by member; members that have arrived wait while the others go on.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from tutelage.errors import TutelageError

Slope = Callable[[Tensor, Tensor, Tensor], Tensor]
"""(time [A], state [A, D], which members [A]) -> derivative [A, D]."""

# Dormand and Prince's tableau. The last row of `_STAGES` is the solution of order 5 itself, so the last stage is the
# slope at its end; `_ERROR` holds the weights of order 5 less those of order 4.
_NODES = (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_STAGES = (
    (),
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
# No step is more than five times longer or shorter than the one before, because the estimate holds near the last step;
# nine tenths of the step that would just do keeps most of the next ones from being rejected.
_SHRINK, _GROW, _SAFETY = 0.2, 5.0, 0.9


def integrate(
    slope: Slope,
    start: Tensor,
    times: Sequence[float],
    *,
    relative: float = 1e-8,
    absolute: float = 1e-10,
    most: int = 100_000,
    on_progress: Callable[[float], None] | None = None,
) -> Tensor:
    """The states at the given times, from ``start`` [S, D] at time 0: [T, S, D].

    relative, absolute: the tolerated error of a step, of every number of the state; most: steps a member may take
    between two of the times, after which the equation counts as too stiff and raises an error.

    >>> decay = integrate(lambda t, y, who: -y, torch.ones(1, 1, dtype=torch.float64), [0.0, 1.0])
    >>> bool((decay[1] - torch.exp(torch.tensor(-1.0))).abs() < 1e-7)
    True
    """
    if start.dtype != torch.float64 or start.ndim != 2:
        raise TutelageError(f"a state is float64 [S, D], not {start.dtype} {list(start.shape)}")
    if not (0 <= relative < math.inf and 0 <= absolute < math.inf and relative + absolute > 0):
        raise TutelageError(f"tolerances must be finite, not negative and not both 0, got {relative} and {absolute}")
    times = recorded_times(times)
    tell = on_progress or (lambda share: None)
    everyone = torch.arange(len(start))
    now = torch.zeros(len(start), dtype=torch.float64)
    state, out = start.clone(), []
    derivative = slope(now, state, everyone)
    step = _first_step(state, derivative, relative, absolute)
    for target in times:
        _advance(slope, state, derivative, now, step, target, relative, absolute, most)
        out.append(state.clone())
        tell(target / times[-1] if times[-1] else 1.0)
    return torch.stack(out)


def recorded_times(times: Sequence[float]) -> tuple[float, ...]:
    """Times as floats; an error unless they are finite and grow from 0 on."""
    try:
        recorded = tuple(float(time) for time in times)
    except (TypeError, ValueError):
        raise TutelageError(f"times to record at must be a list of numbers, got {times!r}") from None
    if not recorded:
        raise TutelageError("there are no times to record at: give at least one")
    for time in recorded:
        if not math.isfinite(time):
            raise TutelageError(f"times to record at must be finite, got {time}")
    if recorded[0] < 0 or any(b <= a for a, b in pairwise(recorded)):
        raise TutelageError("times to record at must grow from 0 on")
    return recorded


def _first_step(state: Tensor, derivative: Tensor, relative: float, absolute: float) -> Tensor:
    """A hundredth of the time in which the state would change by its own size: [S]."""
    # The first guess of Hairer, Norsett and Wanner 1993 (section II.4), without its second evaluation: a bad guess
    # costs a few rejected steps.
    scale = absolute + relative * state.abs()
    size, speed = ((value / scale).square().mean(1).sqrt() for value in (state, derivative))
    usual = torch.where((size > 1e-5) & (speed > 1e-5), 0.01 * size / speed.clamp_min(1e-300), 1e-6)
    return usual


def _advance(
    slope: Slope, state: Tensor, derivative: Tensor, now: Tensor, step: Tensor, target: float, relative: float,
    absolute: float, most: int,
) -> None:  # fmt: skip
    """Move all members to the target time in place; ``derivative`` stays that of the state."""
    taken = 0
    # Invariant: `derivative` is the slope at `state` and `now` of every member. The last stage of a step is the slope
    # at its end, so a step that is taken costs one evaluation less, and one that is rejected leaves the first valid.
    # Steps are chosen member by member, so a member's course does not depend on who shares the stack.
    while len(who := (now < target).nonzero().flatten()):
        taken += 1
        if taken > most:
            slowest = int(who[0])
            raise TutelageError(
                f"member {slowest} took {most} steps and is at time {now[slowest]:.3g} of {target:.3g}: the equation "
                "is too stiff for this method, or the tolerance is too small"
            )
        t, y = now[who], state[who]
        left = target - t
        last = step[who] >= left
        h = torch.where(last, left, step[who])
        slopes = [derivative[who]]
        for node, row in zip(_NODES[1:], _STAGES[1:], strict=True):
            there = y + h.unsqueeze(1) * sum(a * k for a, k in zip(row, slopes, strict=True) if a)
            slopes.append(slope(t + node * h, there, who))
        off = h.unsqueeze(1) * sum(a * k for a, k in zip(_ERROR, slopes, strict=True) if a)
        error = (off / (absolute + relative * torch.maximum(y.abs(), there.abs()))).square().mean(1).sqrt()
        # A slope that is not finite is a step too long, not an error: it is retried shorter until it is fine or
        # vanishes.
        error = torch.where(error.isfinite(), error, torch.inf)
        good = error <= 1
        moved = who[good]
        state[moved], derivative[moved] = there[good], slopes[-1][good]
        now[moved] = torch.where(last, torch.full_like(t, target), t + h)[good]
        # The error of a step grows as h^5, so error^(-1/5) is the factor that makes it 1. A rejected step never grows.
        factor = (_SAFETY * error.clamp_min(1e-10) ** -0.2).clamp(_SHRINK, _GROW)
        proposed = h * torch.where(good, factor, factor.clamp_max(1.0))
        # A step that was cut short to end at the target says little of the next one: it never makes that shorter.
        step[who] = torch.where(good & last, torch.maximum(step[who], proposed), proposed)
        if bool((step[who] <= 1e-15 * (1 + t.abs())).any()):
            stuck = int(who[(step[who] <= 1e-15 * (1 + t.abs())).nonzero()[0, 0]])
            raise TutelageError(
                f"the equation of member {stuck} cannot be followed beyond time {now[stuck]:.6g}: its step vanishes"
            )
