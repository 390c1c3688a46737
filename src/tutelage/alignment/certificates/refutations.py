"""Conjectures 5.5 and 5.8 of Zhu et al. 2021 for a kernel and angles at hand, and what refutes them as printed."""

import numpy as np

from tutelage.alignment.angular import AngularKernel, named
from tutelage.alignment.certificates.angular_lemmas import _angular
from tutelage.alignment.certificates.plane import PlaneScene, _certificate
from tutelage.alignment.counterexamples import RATIO, SIXTHS, against_5_5, against_5_8
from tutelage.alignment.determinants import DEGENERATE, checked, separation, signs
from tutelage.alignment.relu_theorem import covariance_bounds
from tutelage.certificates.records import Condition, Finding, Part, check, unknown


@_certificate("non-positive-determinants", "Conjecture 5.5")
def non_positive_determinants(scene: PlaneScene, *, kernel: str = "relu") -> list[Finding]:
    """Conjectured: for three students or more some det M_i of an angular distance function is at most 0."""
    return determinant_signs(scene.angles, named(kernel))


def determinant_signs(angles: np.ndarray, kernel: AngularKernel | None = None) -> list[Finding]:
    """Check Conjecture 5.5 for a kernel on angle sets.

    Parameters
    ----------
    angles
        Student angles [S, m]; the teacher is at 0.
    kernel
        f; default: that of relu.

    Returns
    -------
    list of Finding
        One per angle set.

    Examples
    --------
    >>> [determinant_signs(np.array([[1.6, 3.1, 4.6]]), named(k))[0].verdict for k in ("relu", "poisson")]
    ['holds', 'fails']
    """
    kernel, angles = kernel or named("relu"), checked(angles)
    proved, apart, angular = signs(angles, kernel), separation(angles)[0], _angular(kernel)
    out = []
    for s, row in enumerate(angles):
        settled = bool(proved.nonpositive[s] or proved.counterexample[s])
        least = int(proved.ratio[s].argmin())
        value = float(proved.ratio[s, least])
        conclusion = check("smallest det M_i / det M", value, "<=", 0.0, f"student {least}", decided=settled)
        conditions = (
            angular,
            check("students", len(row), ">=", 3),
            check("least angle of two units", float(apart[s]), ">", DEGENERATE),
        )
        part = Part("all students", (), conclusion)
        settings = {"kernel": kernel.name}
        out.append(Finding((part,), conditions, settings))
    return out


@_certificate("a-negative-determinant", "Conjecture 5.5 for relu, proved here")
def a_negative_determinant(scene: PlaneScene) -> list[Finding]:
    """For relu and three students or more some det M_i is negative where det M is positive."""
    angles = checked(scene.angles)
    apart, proved = separation(angles)[0], signs(angles)
    out = []
    for s, row in enumerate(angles):
        conditions = (
            check("students", len(row), ">=", 3),
            check("least angle of two units", float(apart[s]), ">", DEGENERATE),
        )
        silent = unknown("smallest det M_i / det M", "the theorem says nothing of these angles")
        parts: tuple[Part, ...] = (Part("all students", (), silent),)
        if all(condition.holds for condition in conditions):
            largest, least = float(covariance_bounds(row).max()), float(proved.ratio[s].min())
            given = check("bound of the covariance with the teacher, given its neighbours", largest, "<", 0.0)
            settled, where = bool(proved.nonpositive[s]), f"student {proved.ratio[s].argmin()}"
            ratio = check("smallest det M_i / det M", least, "<", 0.0, where, decided=settled)
            parts = (Part("students beyond the neighbours", (), given), Part("all students", (), ratio))
        out.append(Finding(parts, conditions))
    return out


@_certificate("conjecture-5-5-is-false", "Conjecture 5.5")
def conjecture_5_5_is_false(scene: PlaneScene) -> list[Finding]:
    """An angular distance function and three students with all det M_i positive, in exact fractions."""
    determinants = against_5_5()
    names = ("det M", *(f"det M_{i + 1}" for i in range(len(determinants.each))))
    parts = [
        Part(name, (), Condition(name, float(value), ">", 0.0, value > 0, f"exactly {value}", {"exact": str(value)}))
        for name, value in zip(names, (determinants.full, *determinants.each), strict=True)
    ]
    positive = Condition(
        "Fourier coefficients of the Poisson kernel", 0.0, ">=", 0.0, True, f"c_n = ({RATIO})^n, positive for every n"
    )
    return [Finding(parts, (positive,))]


@_certificate("conjecture-5-8-is-false", "Conjecture 5.8")
def conjecture_5_8_is_false(scene: PlaneScene) -> list[Finding]:
    """Angular distance functions that meet the criterion and have singular matrices, in exact fractions."""
    parts = tuple(
        Part(name, (), Condition(f"det M of {name}", float(m.full), "<=", 0.0, m.full <= 0, f"exactly {m.full}"))
        for name, m in against_5_8().items()
    )
    apart = min(abs(1 - abs(a - b)) for a in SIXTHS for b in SIXTHS)
    conditions = (
        Condition("Fourier coefficients", 0.0, ">=", 0.0, True, "c_0 is 0 or 1, c_1 = 1/2, all others are 0"),
        Condition("f falls", 0.0, ">=", 0.0, True, "f' = -sin theta, negative between 0 and pi"),
        Condition(
            "f(alpha) f(beta) - f(alpha + beta) f(0)", 0.0, ">=", 0.0, True,
            "sin alpha sin beta for cos, 4 (cos^2(alpha/2) cos^2(beta/2) - cos^2((alpha + beta)/2)) for 1 + cos: "
            "both positive",
        ),
        check("least distance from antipodal, over pi", float(apart), ">", 0.0),
    )  # fmt: skip
    return [Finding(parts, conditions)]
