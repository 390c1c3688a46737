r"""What Zhu et al. 2021 says of kernels of the angle (Lemmas 4.2, 4.3, 4.5, Prop. 5.4, Conjecture 5.8), for a kernel at
hand.

These speak of a function and of angles alone, so like :mod:`.standing_still` they take no samples and are functions of
their own. The lemmas are about f(theta) = sin theta + (pi - theta) cos theta; for another kernel they are not
applicable, but what they would say is worked out all the same, with its margin and where it is smallest.
"""

import math
from collections.abc import Callable

import numpy as np

from tutelage.alignment.angular import AngularKernel, angularity, named, relu_shape
from tutelage.alignment.angular_shape import STEPS, ShapeFinding, falls, log_concave
from tutelage.alignment.definite import least_eigenvalues
from tutelage.alignment.determinants import _EXACT, DEGENERATE, checked, distances, matrices, precise_signs
from tutelage.certificates.records import Condition, Finding, Part, check, unknown
from tutelage.errors import TutelageError


def kernel_lemmas(kernel: AngularKernel | None = None) -> dict[str, Finding]:
    """Hold a kernel, relu's if none is given, against Lemmas 4.2 and 4.3.

    >>> {name: lemma.verdict for name, lemma in kernel_lemmas().items()}
    {'4.2': 'holds', '4.3': 'holds'}
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
        "4.3": (Part("all pairs", (), _shaped(PRODUCTS, log_concave(kernel))),),
    }
    return {name: Finding(each, (same,), {"kernel": kernel.name}) for name, each in parts.items()}


PRODUCTS = "least f(alpha) f(beta) - f(alpha + beta) f(0)"


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
        _shaped(PRODUCTS, log_concave(kernel)),
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
