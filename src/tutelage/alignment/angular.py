r"""Angular distance functions (Zhu et al. 2021, section 5.2): even kernels on the circle, and which of them are
non-negative forms.

With :math:`F(\theta) = f(\min(|\theta|, 2\pi - |\theta|)) = c_0 + 2\sum_{n \ge 1} c_n \cos n\theta` the form of
(Zhu et al. 2021, Def. 5.2) is :math:`4\pi^2 \sum_n c_n |\hat h_n|^2` over all integers n, so F is AD exactly if no c_n
is negative. An AD function is PAD (Zhu et al. 2021, Def. 5.7) if all c_n of even n, or all of odd n, are positive: a
vector in the kernel of M is then orthogonal to all powers of the distinct numbers :math:`e^{2i\theta_j}`. For relu,

.. math:: c_n = \frac{4}{\pi (n^2 - 1)^2} \text{ (n even)}, \quad c_1 = \frac{\pi}{4}, \quad c_n = 0 \text{ (else)},

which proves Theorem 5.6, and that f is PAD without Conjecture 5.8.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import fft

from tutelage.errors import TutelageError, unknown
from tutelage.population.kernels import KINDS, odd_and_even
from tutelage.printing import printed

_PROBES = 1024
"""Steps over half the circle at which a user's kernel is looked at."""
_HALVINGS = 30
JUMP = 1e-6
"""Of a kernel's range: what is left of its largest step after that many halvings of the step, if it does not jump."""


@printed
@dataclass(frozen=True)
class AngularKernel:
    """A continuous kernel f on [0, pi].

    Parameters
    ----------
    name
        In words.
    function
        f on float64 arrays of angles.
    variation
        Total variation V of f' over the whole circle, jumps included, which bounds the Fourier coefficients by
        V / (2 pi n^2); None where it is not known.
    coefficient
        From n to the Fourier coefficient c_n, where there is a closed form whose first signs show all of them.
    error
        Bound on the rounding of f.
    pieces
        Number of equal steps between which f is straight, 0 where it is not.
    shaped
        Whether a closed form shows that f falls strictly and is log-concave where it is positive.
    """

    name: str
    function: Callable[[np.ndarray], np.ndarray]
    variation: float | None = None
    coefficient: Callable[[np.ndarray], np.ndarray] | None = None
    error: float = 1e-14
    pieces: int = 0
    shaped: bool = False

    def __call__(self, angles: np.ndarray) -> np.ndarray:
        return self.function(np.asarray(angles, dtype=np.float64))


def relu_shape(angles: np.ndarray) -> np.ndarray:
    """f(theta) = sin theta + (pi - theta) cos theta on [0, pi] (Zhu et al. 2021, Thm 5.1).

    >>> relu_shape(np.array([0.0, math.pi / 2])).round(6).tolist()
    [3.141593, 1.0]
    """
    return np.sin(angles) + (math.pi - angles) * np.cos(angles)


def named(kind: str = "relu", slope: float = 0.01) -> AngularKernel:
    r"""Kernel of an activation at unit lengths times 2 pi, or "arc": pi - theta (Zhu et al. 2021, Lemma 4.5).

    It is :math:`2\pi a^2 \cos\theta + 4 b^2 (\sin\theta + (\pi/2 - \theta)\cos\theta)` with a, b of
    :mod:`tutelage.population.kernels`, and :math:`4 \arcsin(\cos\theta / 2)` for erf. With :math:`B = 4b^2` and
    :math:`L = 2\pi a^2 + B(\pi/2 - \theta)` the former is :math:`B \sin\theta + L \cos\theta`, so
    :math:`f' = -L \sin\theta` and :math:`f f'' - f'^2 = B^2 \sin^2\theta - L^2`: with :math:`a^2 \ge b^2` both are
    negative between 0 and pi.

    Parameters
    ----------
    kind
        "relu", "leaky", "abs", "linear", "erf", "arc" or "poisson" (with r = 1/2).
    slope
        Of "leaky".

    Returns
    -------
    AngularKernel
    """
    if kind == "arc":
        odd_alone = lambda n: np.where(n == 0, math.pi / 2, _odd(n))  # noqa: E731
        return AngularKernel(kind, lambda t: math.pi - t, 4.0, odd_alone, shaped=True)
    if kind == "poisson":
        return poisson()
    if kind == "erf":
        return AngularKernel(kind, lambda t: 4 * np.arcsin(np.cos(t) / 2), 8.0)
    if kind not in KINDS:
        raise unknown("angular kernel", kind, ("arc", "poisson", *KINDS))
    if not math.isfinite(slope):
        raise TutelageError(f"slope must be a finite number, got {slope}")
    a, b = odd_and_even(kind, slope)

    def shape(t: np.ndarray) -> np.ndarray:
        if kind == "relu":
            return relu_shape(t)
        return 2 * math.pi * a * a * np.cos(t) + 4 * b * b * (np.sin(t) + (math.pi / 2 - t) * np.cos(t))

    def coefficient(n: np.ndarray) -> np.ndarray:
        n = np.asarray(n, dtype=np.float64)
        even = 16 * b * b / (math.pi * np.where(n == 1, np.inf, n * n - 1) ** 2)
        return np.where(n % 2 == 0, even, 0) + np.where(n == 1, math.pi * a * a, 0)

    # f' is 2 pi a^2 times a sine (variation 4) and 4 b^2 times -(pi/2 - theta) sin theta (variation below 2 pi)
    return AngularKernel(kind, shape, 8 * math.pi * a * a + 8 * math.pi * b * b, coefficient, shaped=a * a >= b * b)


def poisson(ratio: float = 0.5) -> AngularKernel:
    r"""The Poisson kernel (1 - r^2) / (1 - 2 r cos theta + r^2), whose Fourier coefficients are r^n.

    Parameters
    ----------
    ratio
        r, between 0 and 1.

    Examples
    --------
    >>> poisson()(np.array([0.0, math.pi / 2, math.pi])).round(12).tolist()
    [3.0, 0.6, 0.333333333333]
    """
    if not 0 < ratio < 1:
        raise TutelageError(f"ratio must lie between 0 and 1, got {ratio}")

    def shape(t: np.ndarray) -> np.ndarray:
        return (1 - ratio**2) / (1 - 2 * ratio * np.cos(t) + ratio**2)

    error = 1e-15 * 16 / (1 - ratio) ** 2  # rounding of the denominator, which is at least (1 - r)^2
    name = f"poisson, r = {ratio:g}"
    return AngularKernel(name, shape, None, lambda n: ratio ** np.abs(np.asarray(n, dtype=np.float64)), error)


def _odd(n: np.ndarray) -> np.ndarray:
    n = np.asarray(n, dtype=np.float64)
    return np.where(n % 2 == 1, 2 / (math.pi * np.where(n == 0, np.inf, n) ** 2), 0)


def from_formula(
    function: Callable[[np.ndarray], np.ndarray], name: str = "formula", *, variation: float | None = None,
    circle: bool = False, error: float = 1e-12,
) -> AngularKernel:  # fmt: skip
    """A user's kernel, an error where it is not finite, not continuous or (on the whole circle) not even.

    circle: whether the formula is meant on [-pi, pi], and so has to be even; else it is only asked on [0, pi].

    >>> from_formula(lambda t: t > 1)
    Traceback (most recent call last):
    ...
    tutelage.errors.TutelageError: 'formula' jumps by 1 near 1: an angular kernel has to be continuous on [0, pi]
    """
    angles = np.linspace(0, math.pi, _PROBES + 1)
    values = _evaluated(function, angles, name)
    if circle:
        apart = np.abs(_evaluated(function, -angles, name) - values)
        worst = int(apart.argmax())
        if apart[worst] > 1e-9 * max(1.0, np.abs(values).max()):
            raise TutelageError(
                f"'{name}' is not even: it differs by {apart[worst]:.3g} between {angles[worst]:.4g} and minus that; "
                "an angular kernel depends on the angle alone, so make it even"
            )
    steps = np.abs(np.diff(values))
    k, size = int(steps.argmax()), np.ptp(values)
    low, high, step = angles[k], angles[k + 1], steps[k]
    # Invariant: of all halves so far, the one kept has the larger step. Thirty halvings of pi / 1024 leave a step of
    # 3e-12 radians: what a continuous kernel still does there is far below a jump.
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        a, b, c = _evaluated(function, np.array([low, middle, high]), name)
        low, high, step = (low, middle, abs(b - a)) if abs(b - a) >= abs(c - b) else (middle, high, abs(c - b))
    if step > JUMP * size and size > 0 and step > error:
        text = f"'{name}' jumps by {step:.4g} near {low:.4g}: an angular kernel has to be continuous on [0, pi]"
        raise TutelageError(text)
    return AngularKernel(name, lambda t: _evaluated(function, t, name), variation, None, error)


def _evaluated(function: Callable[[np.ndarray], np.ndarray], angles: np.ndarray, name: str) -> np.ndarray:
    try:
        values = np.asarray(function(angles), dtype=np.float64)
    except TypeError as error:  # such as of math.cos
        raise TutelageError(f"'{name}' has to take an array of angles, as np.cos does ({error})") from None
    if values.shape != angles.shape or not np.isfinite(values).all():
        some = "" if np.isfinite(values).all() else " with some not finite"
        raise TutelageError(
            f"'{name}' has to turn an array of angles in [0, pi] into finite numbers of the same shape "
            f"{angles.shape}, and gave shape {values.shape}{some}"
        )
    return values


def from_samples(values: np.ndarray, name: str = "samples", *, circle: bool = False) -> AngularKernel:
    """The kernel through values at equal steps from 0 to pi, straight in between; its variation is then exact.

    circle: values at equal steps from 0 over the whole circle (the last before 2 pi), which have to be even.
    """
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or len(values) < 3 or not np.isfinite(values).all():
        raise TutelageError(f"'{name}' needs a row of at least 3 finite values, not an array of shape {values.shape}")
    if circle:
        apart = np.abs(values - np.roll(values[::-1], 1))
        if len(values) % 2 or apart.max() > 1e-9 * max(1.0, np.abs(values).max()):
            raise TutelageError(
                f"'{name}' over the circle has to be an even number of values with v[k] = v[-k], and these differ by "
                f"up to {apart.max():.3g}"
            )
        values = values[: len(values) // 2 + 1]
    step = math.pi / (len(values) - 1)
    slopes = np.diff(values) / step
    # The circle is [0, pi] and its mirror image, so each bend counts twice, and at 0 and pi the slope changes its sign.
    turns = 2 * np.abs(np.diff(slopes)).sum() + 2 * abs(slopes[0]) + 2 * abs(slopes[-1])
    nodes = np.linspace(0, math.pi, len(values))
    return AngularKernel(
        name, lambda t: np.interp(t, nodes, values), float(turns), None, 1e-14 * max(1, turns), pieces=len(values) - 1
    )


@dataclass(frozen=True, eq=False)
class Fourier:
    """c_0 .. c_N with a bound on the error of each, [N + 1] both; bounds are infinite where no variation is known."""

    values: np.ndarray
    bounds: np.ndarray


def fourier(kernel: AngularKernel, terms: int = 64, steps: int = 1 << 14) -> Fourier:
    r"""Cosine coefficients by the trapezoidal rule with a bound on what it leaves out.

    The rule with K steps on [0, pi] gives the sum of all :math:`c_{n + 2Kj}`; those with j not 0 add up to less than
    :math:`\pi V / (8 K^2)` for n up to K, since :math:`|c_k| \le V / (2\pi k^2)`.

    >>> fourier(named("relu"), 2).values.round(6).tolist()
    [1.27324, 0.785398, 0.141471]
    """
    if not 1 <= terms <= steps:
        raise TutelageError(f"coefficients up to {terms} need 1 to {steps} of them, the number of steps")
    # The trapezoidal rule on the circle is a cosine transform of the values on half of it.
    values = fft.dct(kernel(np.linspace(0, math.pi, steps + 1)), type=1)[: terms + 1] / (2 * steps)
    if kernel.variation is None:
        return Fourier(values, np.full(terms + 1, np.inf))
    bound = math.pi * kernel.variation / (8 * steps**2) + 4 * kernel.error
    return Fourier(values, np.full(terms + 1, bound))


@dataclass(frozen=True, eq=False)
class Angularity:
    """Whether a kernel is AD or PAD. holds: True by closed form, False by a negative coefficient, None else.

    witness: the n of the smallest coefficient; value, bound: that coefficient and its error. "None" with a positive
    smallest coefficient means that none of the first ``terms`` is negative, which proves nothing of the others.
    """

    notion: Literal["AD", "PAD"]
    holds: bool | None
    witness: int
    value: float
    bound: float
    terms: int
    reason: str


def angularity(kernel: AngularKernel, notion: Literal["AD", "PAD"] = "AD", terms: int = 64) -> Angularity:
    """Test of (Zhu et al. 2021, Def. 5.2 and 5.7) by Fourier coefficients, with the witness where it fails.

    >>> angularity(from_formula(lambda t: t, variation=4.0)).holds, angularity(named("relu"), "PAD").holds
    (False, True)
    """
    series = _known(kernel, terms) if kernel.coefficient else fourier(kernel, terms)
    n = int(series.values.argmin())
    value, bound = float(series.values[n]), float(series.bounds[n])
    measured = (n, value, bound, terms)
    if value < -bound:
        return Angularity(notion, False, *measured, f"the coefficient of cos {n} theta is negative")
    if not math.isfinite(bound):
        return Angularity(notion, None, *measured, "the variation of f' is not known, so no coefficient has a bound")
    if kernel.coefficient is None:
        return Angularity(notion, None, *measured, f"no coefficient up to {terms} is negative beyond its error")
    if notion == "AD":
        return Angularity(notion, True, *measured, "by the closed form of the coefficients")
    even, odd = series.values[0::2].min() > 0, series.values[1::2].min() > 0
    if even or odd:
        text = f"all coefficients of {'even' if even else 'odd'} n are positive"
        return Angularity(notion, True, *measured, text)
    return Angularity(notion, None, *measured, "neither all even nor all odd coefficients are positive")


def _known(kernel: AngularKernel, terms: int) -> Fourier:
    assert kernel.coefficient is not None
    return Fourier(kernel.coefficient(np.arange(terms + 1)), np.zeros(terms + 1))
