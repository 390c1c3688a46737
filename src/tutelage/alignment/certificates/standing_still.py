"""Students of one teacher in the plane stand still only if aligned (Zhu et al. 2021, Theorems 3.1, 4.1, 5.1, 5.9).

These theorems speak of weights alone and of x ~ N(0, I), so they take no samples, and are functions of their own beside
the theorems that :func:`.scene.certify` holds against samples. Theorem 4.4 asks whether angles are rational
multiples of pi, which no float64 can tell: see :mod:`.standing_still`.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import mpmath  # type: ignore[import-untyped]
import numpy as np
import torch
from torch import Tensor

from tutelage.alignment.certificates.plane import PlaneScene, Rational, certificate
from tutelage.alignment.determinants import Signs, of_vectors, signs
from tutelage.certificates.records import Condition, Finding, Part, check, unknown
from tutelage.errors import TutelageError
from tutelage.population.expectations import Units, first_layer_gradient

_ANGLE = 1e-9
"""Radians within which a student counts as aligned, or as lying on the teacher's line."""
ROUNDING = 1e-13
"""Of the lengths of all units: what is left of a gradient that is zero."""


@certificate("few-students", "Theorem 3.1")
def few_students(scene: PlaneScene) -> list[Finding]:
    """With at most two students the gradient is zero only where all are aligned with the teacher."""
    return _standing_still(scene)["3.1"]


@certificate("one-side", "Theorem 4.1")
def one_side(scene: PlaneScene) -> list[Finding]:
    """With all students strictly on one side of the teacher's line the gradient is not zero."""
    return _standing_still(scene)["4.1"]


@certificate("determinants", "Theorem 5.1")
def determinants(scene: PlaneScene) -> list[Finding]:
    """Where det M > 0 and some det M_i <= 0, no lengths of students in these directions make the gradient zero."""
    return _standing_still(scene)["5.1"]


@certificate("only-aligned", "Theorem 5.9 for relu, without its conjectures")
def only_aligned(scene: PlaneScene) -> list[Finding]:
    """The gradient is zero only where all students lie on the teacher and their lengths add up to its own."""
    return _standing_still(scene)["5.9"]


@certificate("rational-angles", "Theorem 4.4", needs="turns")
def rational(scene: PlaneScene) -> list[Finding]:
    """With all polar angles rational multiples of pi the gradient is zero only where all students are aligned."""
    assert scene.turns is not None
    return rational_angles(scene.turns, scene.students.norm(dim=2), float(scene.teacher.norm()))


def _standing_still(scene: PlaneScene) -> dict[str, list[Finding]]:
    return scene.once("standing still", lambda: standing_still(scene.teacher, scene.students))


def standing_still(teacher: Tensor, students: Tensor) -> dict[str, list[Finding]]:
    """Hold students [S, m, 2] with fan-outs 1 against the theorems, one certificate per member each: teacher [2].

    The conclusion is looked up in the exact gradient of the population loss (Zhu et al. 2021, eq. 1).

    >>> students = torch.tensor([[[1.0, 1.0], [-1.0, 0.5], [0.0, -1.0]]], dtype=torch.float64)
    >>> theorems = standing_still(torch.tensor([1.0, 0.0], dtype=torch.float64), students)
    >>> {name: certificates[0].verdict for name, certificates in theorems.items()}
    {'3.1': 'not applicable', '4.1': 'not applicable', '5.1': 'holds', '5.9': 'holds'}
    """
    if students.ndim != 3 or students.shape[2] != 2 or teacher.shape != (2,):
        raise TutelageError(
            f"the theorems are about the plane: wanted a teacher [2] and students [S, m, 2], not "
            f"{list(teacher.shape)} and {list(students.shape)}"
        )
    angles = of_vectors(teacher.double().numpy(), students.double().numpy())
    proved = signs(angles)
    gradients, size = _gradients(teacher, students)
    lengths, length = students.double().norm(dim=2).numpy(), float(teacher.double().norm())
    out: dict[str, list[Finding]] = {name: [] for name in ("3.1", "4.1", "5.1", "5.9")}
    for s in range(len(angles)):
        moves = check("largest gradient of a student", float(gradients[s]), ">", ROUNDING * float(size[s]))
        conditions = {"3.1": _few(angles[s]), "4.1": _one_side(angles[s]), "5.1": _determinants(proved, s)}
        conditions["5.9"] = _not_trivial(angles[s], lengths[s], length)
        for name, required in conditions.items():
            part = Part("all students", (), moves)
            settings = {"aligned within": _ANGLE, "rounding": ROUNDING}
            out[name].append(Finding((part,), required, settings))
    return out


def _gradients(teacher: Tensor, students: Tensor) -> tuple[Tensor, Tensor]:
    """The largest norm of a student's gradient, and the lengths of all units together: [S] each."""
    fan_out = torch.ones(1, 1, 1, dtype=torch.float64)
    taught = Units(teacher.view(1, 1, 2), fan_out)
    units = Units(students, fan_out.expand(students.shape[0], students.shape[1], 1))
    size = students.double().norm(dim=2).sum(1) + teacher.double().norm()
    return first_layer_gradient(taught, units).norm(dim=2).amax(1), size


def _few(angles: np.ndarray) -> tuple[Condition, ...]:
    turned = np.minimum(angles, 2 * math.pi - angles)
    widest = int(turned.argmax())
    return (
        check("students", len(angles), "<=", 2),
        check("largest angle with the teacher", float(turned[widest]), ">", _ANGLE, f"student {widest}"),
    )


def _not_trivial(angles: np.ndarray, lengths: np.ndarray, teacher: float) -> tuple[Condition, ...]:
    """Some student off the teacher's direction, or lengths that do not add up to the teacher's."""
    off = float(np.minimum(angles, 2 * math.pi - angles).max())
    gap = abs(float(lengths.sum()) / teacher - 1)
    what = "largest angle with the teacher, or what the lengths lack of the teacher's or exceed it by, over it"
    return (check(what, max(off, gap), ">", _ANGLE),)


def _one_side(angles: np.ndarray) -> tuple[Condition, ...]:
    """The least height above the teacher's line, from the side on which it is greater."""
    heights = np.sin(angles)
    heights = heights if heights.min() >= (-heights).min() else -heights
    lowest = int(heights.argmin())
    return (check("least sine of an angle with the teacher", float(heights[lowest]), ">", _ANGLE, f"student {lowest}"),)


def _determinants(proved: Signs, s: int) -> tuple[Condition, ...]:
    m = proved.each.shape[1]
    several = check("students", m, ">=", 3)
    if proved.degenerate[s]:
        return several, unknown("some det M_i <= 0", "two units coincide or are antipodal, which is left out")
    least = int(np.where(proved.each[s] < 0, proved.ratio[s], np.inf).argmin())
    if not proved.nonpositive[s]:
        least = int(proved.ratio[s].argmin())
    settled = bool(proved.nonpositive[s] or proved.counterexample[s])
    value = float(proved.ratio[s, least])
    sure = settled and (value <= 0) == bool(proved.nonpositive[s])
    return (
        several,
        check("sign of det M", int(proved.full[s]), ">=", 1, decided=bool(proved.full[s])),
        check("smallest det M_i / det M", value, "<=", 0.0, f"student {least}", decided=sure),
    )


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
