"""Students at rational multiples of pi cannot stand still unless aligned (Zhu et al. 2021, Theorem 4.4).

Whether an angle is a rational multiple of pi no float64 can tell, so angles are given as fractions, in units of pi.
"""

from collections.abc import Sequence
from fractions import Fraction

import mpmath  # type: ignore[import-untyped]
import torch
from torch import Tensor

from tutelage.alignment.certificates.standing_still import ROUNDING, _gradients
from tutelage.certificates.records import Finding, Part, check
from tutelage.errors import TutelageError

Rational = Fraction | int | str


def rational_angles(angles: Sequence[Sequence[Rational]], lengths: Tensor, teacher: float = 1.0) -> list[Finding]:
    """Hold students at ``angles`` times pi from the teacher, [S][m], with ``lengths`` [S, m] against Theorem 4.4.

    teacher: its length. The conclusion is looked up in the exact gradient of the population loss (Zhu et al. 2021, eq.
    1).

    >>> [certificate] = rational_angles([["1/3", "5/4", Fraction(7, 5)]], torch.tensor([[0.5, 1.0, 0.25]]))
    >>> certificate.verdict
    'holds'
    """
    turns = [[_fraction(angle, s, i) for i, angle in enumerate(row)] for s, row in enumerate(angles)]
    shape = (len(turns), len(turns[0]) if turns else 0)
    if 0 in shape or any(len(row) != shape[1] for row in turns) or lengths.shape != shape:
        raise TutelageError(
            f"wanted the same number of angles for every member and lengths of the same shape, not "
            f"{[len(row) for row in turns]} angles and lengths {list(lengths.shape)}"
        )
    lengths = lengths.double()
    if not ((lengths > 0).all() and lengths.isfinite().all() and 0 < teacher < float("inf")):
        raise TutelageError(
            "lengths have to be positive and finite: leave out students of length 0, which have no angle"
        )
    units = torch.tensor([[_unit(turn) for turn in row] for row in turns], dtype=torch.float64)
    gradients, size = _gradients(torch.tensor([teacher, 0.0], dtype=torch.float64), lengths[..., None] * units)
    out = []
    for s, row in enumerate(turns):
        moves = check("largest gradient of a student", float(gradients[s]), ">", ROUNDING * float(size[s]))
        out.append(_finding(row, Part("all students", (), moves)))
    return out


def _finding(turns: list[Fraction], part: Part) -> Finding:
    widest = max(range(len(turns)), key=lambda i: min(turns[i], 2 - turns[i]))
    finest = max(range(len(turns)), key=lambda i: turns[i].denominator)
    turned = float(min(turns[widest], 2 - turns[widest]))
    conditions = (
        check("angles that are rational", len(turns), ">=", len(turns), f"all; the finest is {turns[finest]} pi"),
        check("largest angle with the teacher, over pi", turned, ">", 0.0, f"student {widest}"),
    )
    settings = {"rounding": ROUNDING}
    return Finding((part,), conditions, settings)


def _fraction(angle: Rational, member: int, student: int) -> Fraction:
    """An angle over pi, taken modulo 2."""
    who = f"the angle of student {student} of member {member}"
    if isinstance(angle, bool) or not isinstance(angle, Fraction | int | str):
        raise TutelageError(
            f"{who} is {angle!r}, and no floating-point number can be known to be a rational multiple of pi: give it "
            "over pi as a fraction, such as Fraction(1, 3) or '1/3'"
        )
    try:
        return Fraction(angle) % 2
    except (ValueError, ZeroDivisionError):
        raise TutelageError(f"{who} is '{angle}', which is no fraction: write it over pi as '1/3'") from None


def _unit(turn: Fraction) -> tuple[float, float]:
    """Cosine and sine of the angle, to the last place."""
    with mpmath.workdps(40):
        over = mpmath.mpf(turn.numerator) / turn.denominator
        return float(mpmath.cospi(over)), float(mpmath.sinpi(over))
