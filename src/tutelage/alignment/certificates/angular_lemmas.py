r"""What Zhu et al. 2021 says of kernels of the angle (Lemmas 4.2, 4.3, 4.5, Prop. 5.4, Thm 5.6, Conjecture 5.8).

These speak of a function and of angles alone, so like :mod:`.standing_still` they take no samples and are functions of
their own. The lemmas are about f(theta) = sin theta + (pi - theta) cos theta; for another kernel they are not
applicable, but what they would say is worked out all the same, with its margin and where it is smallest.
"""

import math
from collections.abc import Callable

import numpy as np

from tutelage.alignment.angular import AngularKernel, angularity, named, relu_shape
from tutelage.alignment.angular_shape import STEPS, ShapeFinding, falls, least_eigenvalues, log_concave
from tutelage.alignment.certificates.plane import PlaneScene, certificate
from tutelage.alignment.counterexamples import RATIO, SIXTHS, against_5_5, against_5_8
from tutelage.alignment.determinants import (
    _EXACT,
    DEGENERATE,
    checked,
    distances,
    matrices,
    precise_signs,
    separation,
    signs,
)
from tutelage.alignment.relu_theorem import covariance_bounds
from tutelage.certificates.records import Condition, Finding, Part, check, unknown
from tutelage.errors import TutelageError


@certificate("kernel-falls", "Lemma 4.2")
def kernel_falls(scene: PlaneScene, *, kernel: str = "relu") -> list[Finding]:
    """f(theta) = sin theta + (pi - theta) cos theta falls on [0, pi], from pi to 0."""
    return [kernel_lemmas(named(kernel))["4.2"]]


@certificate("kernel-products", "Lemma 4.3")
def kernel_products(scene: PlaneScene, *, kernel: str = "relu") -> list[Finding]:
    """f(alpha) f(beta) > f(alpha + beta) f(0) for alpha, beta and their sum between 0 and pi."""
    return [kernel_lemmas(named(kernel))["4.3"]]


@certificate("angular-kernel", "Theorem 5.6")
def angular_kernel(scene: PlaneScene, *, kernel: str = "relu") -> list[Finding]:
    """f(theta) = sin theta + (pi - theta) cos theta is an angular distance function: no Fourier coefficient < 0."""
    return [kernel_lemmas(named(kernel))["5.6"]]


@certificate("definite-arcs", "Lemma 4.5")
def definite_arcs(scene: PlaneScene) -> list[Finding]:
    """The matrix of pi - theta_ij is positive definite where no two angles coincide or are antipodal."""
    return positive_matrices(scene.angles)["4.5"]


@certificate("semidefinite-kernels", "Proposition 5.4")
def semidefinite_kernels(scene: PlaneScene, *, kernel: str = "relu") -> list[Finding]:
    """The matrix of an angular distance function is positive semi-definite."""
    return positive_matrices(scene.angles, named(kernel))["5.4"]


@certificate("definite-kernels", "Conjecture 5.8")
def definite_kernels(scene: PlaneScene, *, kernel: str = "relu") -> list[Finding]:
    """Conjectured: falling angular distance functions with f(a) f(b) > f(a + b) f(0) have definite matrices."""
    return positive_matrices(scene.angles, named(kernel))["5.8"]


def kernel_lemmas(kernel: AngularKernel | None = None) -> dict[str, Finding]:
    """Hold a kernel, relu's if none is given, against Lemmas 4.2 and 4.3 and Theorem 5.6.

    >>> {name: lemma.verdict for name, lemma in kernel_lemmas().items()}
    {'4.2': 'holds', '4.3': 'holds', '5.6': 'holds'}
    >>> print(kernel_lemmas(named("abs"))["4.2"].parts[0].conclusion)
    not met: least fall over a step (measured -0.01377, needed > 0; at 2.43, by the value at these angles)
    """
    kernel = kernel or named("relu")
    angles = np.linspace(0, math.pi, STEPS + 1)
    apart = np.abs(kernel(angles) - relu_shape(angles))
    k = int(apart.argmax())
    same = check("distance from the f of the paper", float(apart[k]), "<=", kernel.error + 1e-14, f"at {angles[k]:.4g}")
    ends = kernel(np.array([0.0, math.pi]))
    parts = {
        "4.2": (
            Part("falls", (), _shaped("least fall over a step", falls(kernel))),
            Part("f(0) = pi", (), check("|f(0) - pi|", abs(float(ends[0]) - math.pi), "<=", kernel.error)),
            Part("f(pi) = 0", (), check("|f(pi)|", abs(float(ends[1])), "<=", kernel.error)),
        ),
        "4.3": (Part("all pairs", (), _shaped(_PRODUCTS, log_concave(kernel))),),
        "5.6": (Part("f is an AD function", (), _angular(kernel)),),
    }
    return {name: Finding(each, (same,), {"kernel": kernel.name}) for name, each in parts.items()}


_PRODUCTS = "least f(alpha) f(beta) - f(alpha + beta) f(0)"


def _shaped(name: str, finding: ShapeFinding) -> Condition:
    where = f"at {', '.join(f'{angle:.4g}' for angle in finding.at)}, {finding.reason}"
    holds = finding.holds
    return Condition(name, finding.value, ">", 0.0, holds, where, {"at": list(finding.at), "error": finding.bound})


def positive_matrices(angles: np.ndarray, kernel: AngularKernel | None = None) -> dict[str, list[Finding]]:
    """Hold angle sets [S, m] of students in [0, 2 pi) against Lemma 4.5, Proposition 5.4 and Conjecture 5.8.

    Antipodal pairs are named. One alone does no harm: pi - theta is singular from two of them on, relu from three.
    Lemma 4.5 is about pi - theta whatever the kernel. A least eigenvalue within its error of 0 is decided by interval
    elimination with many digits, where the kernel has a formula for that (relu, arc), and else not.

    >>> lemmas = positive_matrices(np.array([[0.5, 2.0, 4.0]]))
    >>> {name: found[0].verdict for name, found in lemmas.items()}
    {'4.5': 'holds', '5.4': 'holds', '5.8': 'holds'}
    """
    kernel, angles = kernel or named("relu"), checked(angles)
    if angles.shape[1] < 2:
        raise TutelageError("a matrix of angles is of two students or more: give angle sets [S, m] with m at least 2")
    criterion = (
        _angular(kernel),
        _shaped("least fall over a step", falls(kernel)),
        _shaped(_PRODUCTS, log_concave(kernel)),
    )
    arcs, definite = (_definite(angles, k) for k in (named("arc"), kernel))
    out: dict[str, list[Finding]] = {name: [] for name in ("4.5", "5.4", "5.8")}
    for s, row in enumerate(angles):
        apart = _apart(row)
        checks = {
            "4.5": (apart, arcs(s, True)),
            "5.4": (criterion[:1], definite(s, False)),
            "5.8": ((*criterion, *apart), definite(s, True)),
        }
        for name, (conditions, conclusion) in checks.items():
            settings = {"kernel": "arc" if name == "4.5" else kernel.name}
            out[name].append(Finding((Part("the matrix", (), conclusion),), conditions, settings))
    return out


def _angular(kernel: AngularKernel) -> Condition:
    finding = angularity(kernel)
    where = f"n = {finding.witness}, {finding.reason}"
    if not math.isfinite(finding.bound):
        return unknown("f is an AD function", finding.reason)
    value = {"value": finding.value, "relation": ">=", "bound": 0.0}
    return Condition("least Fourier coefficient", **value, holds=finding.holds, witness=where)  # type: ignore[arg-type]


def _apart(angles: np.ndarray) -> tuple[Condition, Condition]:
    """Least angle of two students and least distance of such an angle from pi, with the pair."""
    upper = np.triu_indices(len(angles), 1)
    apart = distances(angles[None])[0, 1:, 1:][upper]
    out = []
    for name, gaps in (("least angle of two students", apart), ("least distance from antipodal", math.pi - apart)):
        k = int(gaps.argmin())
        i, j = int(upper[0][k]), int(upper[1][k])
        out.append(check(name, float(gaps[k]), ">", DEGENERATE, f"students {i} and {j}", students=[i, j]))
    return out[0], out[1]


def _definite(angles: np.ndarray, kernel: AngularKernel) -> Callable[[int, bool], Condition]:
    """(set, whether strictly) -> what is known of the least eigenvalue of M."""
    matrix = matrices(angles, kernel)[0]
    least, bound = least_eigenvalues((matrix + matrix.swapaxes(1, 2)) / 2, kernel.error)

    def of(s: int, strictly: bool) -> Condition:
        value, error = float(least[s]), float(bound[s])
        known, how = abs(value) > error, f"known to {error:.2g}"
        if not known and kernel.name in _EXACT and precise_signs(angles[s], kernel.name)[1]:
            return Condition("least eigenvalue", error, ">", 0.0, True, "at most that, and positive by elimination")
        return check("least eigenvalue", value, ">" if strictly else ">=", 0.0, how, decided=known, error=error)

    return of


@certificate("non-positive-determinants", "Conjecture 5.5")
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


@certificate("a-negative-determinant", "Conjecture 5.5 for relu, proved here")
def a_negative_determinant(scene: PlaneScene) -> list[Finding]:
    """For relu and three students or more no weights >= 0 solve M w = f_0; where det M > 0 some det M_i is negative.

    Two units may be antipodal. M may then be singular, and all det M_i be 0; the bounds of the covariances show by
    themselves that weights of one sign cannot solve the system.
    """
    angles = checked(scene.angles)
    (apart, opposite), proved = separation(angles), signs(angles)
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
            parts = (Part("students beyond the neighbours", (), given),)
            if opposite[s] >= DEGENERATE:
                parts += (Part("all students", (), ratio),)
        out.append(Finding(parts, conditions))
    return out


@certificate("conjecture-5-5-is-false", "Conjecture 5.5")
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


@certificate("conjecture-5-8-is-false", "Conjecture 5.8")
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
