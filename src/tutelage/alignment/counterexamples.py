r"""Counterexamples to Conjectures 5.5 and 5.8 of Zhu et al. 2021, in exact fractions.

Conjecture 5.5 says that for every angular distance (AD) function and three students or more some det M_i is at most 0.
The Poisson kernel

.. math:: f(\theta) = \frac{1 - r^2}{1 - 2 r \cos\theta + r^2} = 1 + 2 \sum_{n \ge 1} r^n \cos n\theta

is AD, since all its Fourier coefficients are positive. With r = 1/2 and students at pi/2, pi and 3 pi/2 all det M_i are
positive. Odd kernels, with :math:`f(\pi - \theta) = -f(\theta)`, violate it as well: moving student i to the opposite
direction changes the sign of det M_i / det M alone, so of the :math:`2^m` ways to choose directions on m lines one has
all signs positive (where no det M_i is 0). The kernel of erf is of this kind.

Conjecture 5.8 says that M is positive definite for a strictly decreasing AD function with
:math:`f(\alpha) f(\beta) > f(\alpha + \beta) f(0)`, where no two students are antipodal. The kernel cos theta of linear
units is such a function, since :math:`\cos\alpha \cos\beta - \cos(\alpha + \beta) = \sin\alpha \sin\beta > 0`, and its
M has rank 2. So is 1 + cos theta, which is not negative and vanishes at pi as that of relu does; its M has rank 3.

Theorem 5.9 assumes both conjectures, so that as printed it says nothing. Its proof needs them for
f(theta) = sin theta + (pi - theta) cos theta alone. There the second is not needed, because infinitely many Fourier
coefficients are positive (:mod:`tutelage.alignment.angular`), and the first is true (:mod:`.relu_theorem`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

Rows = tuple[tuple[Fraction, ...], ...]
Point = tuple[Fraction, Fraction]
"""Cosine and sine of an angle, where both are fractions."""

RATIO = Fraction(1, 2)
"""r of the Poisson kernel."""
_QUARTERS: tuple[Point, ...] = tuple((Fraction(c), Fraction(s)) for c, s in ((0, 1), (-1, 0), (0, -1)))
"""Students at pi/2, pi and 3 pi/2."""
SIXTHS = (Fraction(1, 3), Fraction(2, 3), Fraction(1))
"""Angles over pi whose differences have cosines 1/2 and -1/2."""
PYTHAGOREAN: tuple[Point, ...] = (
    (Fraction(0), Fraction(1)), (Fraction(3, 5), Fraction(4, 5)), (Fraction(-4, 5), Fraction(3, 5)),
    (Fraction(-1), Fraction(0)),
)  # fmt: skip
"""Four students with fractions as coordinates, no two of them antipodal."""


@dataclass(frozen=True)
class AssociatedMatrices:
    """M, f_0 and the exact determinants of M and of M_1 .. M_m (Zhu et al. 2021, Def. 5.3)."""

    matrix: Rows
    first: tuple[Fraction, ...]

    @property
    def full(self) -> Fraction:
        """det M."""
        return determinant(self.matrix)

    @property
    def each(self) -> tuple[Fraction, ...]:
        """det M_1 .. det M_m."""
        columns = range(len(self.first))
        return tuple(
            determinant(tuple((*row[:i], b, *row[i + 1 :]) for row, b in zip(self.matrix, self.first, strict=True)))
            for i in columns
        )


def determinant(rows: Sequence[Sequence[Fraction]]) -> Fraction:
    """Exact determinant by expansion along the first row.

    >>> determinant([[Fraction(1), Fraction(2)], [Fraction(3), Fraction(4)]])
    Fraction(-2, 1)
    """
    if not rows:
        return Fraction(1)
    minors = ([(*row[:j], *row[j + 1 :]) for row in rows[1:]] for j in range(len(rows)))
    return sum(((-1) ** j * rows[0][j] * determinant(minor) for j, minor in enumerate(minors)), Fraction(0))


def poisson(cosine: Fraction, ratio: Fraction = RATIO) -> Fraction:
    """The Poisson kernel at an angle with this cosine.

    >>> poisson(Fraction(1)), poisson(Fraction(0)), poisson(Fraction(-1))
    (Fraction(3, 1), Fraction(3, 5), Fraction(1, 3))
    """
    return (1 - ratio**2) / (1 - 2 * ratio * cosine + ratio**2)


def associated(students: Sequence[Point], kernel: Callable[[Fraction], Fraction]) -> AssociatedMatrices:
    """Associated matrices of a kernel of the cosine, for a teacher in direction (1, 0)."""
    cosines = [[a[0] * b[0] + a[1] * b[1] for b in students] for a in students]
    matrix = tuple(tuple(map(kernel, row)) for row in cosines)
    return AssociatedMatrices(matrix, tuple(kernel(a[0]) for a in students))


def against_5_5() -> AssociatedMatrices:
    """The Poisson kernel with r = 1/2 and students at pi/2, pi, 3 pi/2: all determinants are positive.

    >>> result = against_5_5()
    >>> min(result.full, *result.each) > 0
    True
    """
    return associated(_QUARTERS, poisson)


def against_5_8() -> dict[str, AssociatedMatrices]:
    """The kernels cos theta (three students) and 1 + cos theta (four): det M is 0 without antipodal students.

    >>> {name: result.full for name, result in against_5_8().items()}
    {'cos theta': Fraction(0, 1), '1 + cos theta': Fraction(0, 1)}
    """
    half = {0: Fraction(1), 1: Fraction(1, 2), 2: Fraction(-1, 2), 3: Fraction(-1)}  # cosines of multiples of pi/3
    steps = [[int(3 * abs(a - b)) for b in SIXTHS] for a in SIXTHS]
    thirds = tuple(tuple(half[step] for step in row) for row in steps)
    cosine = AssociatedMatrices(thirds, tuple(half[int(3 * a)] for a in SIXTHS))
    return {"cos theta": cosine, "1 + cos theta": associated(PYTHAGOREAN, lambda c: 1 + c)}
