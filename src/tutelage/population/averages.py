r"""The expectations behind the equations of the overlaps, by the way that suits the activation.

.. math:: E[\delta_k \lambda_l], \quad E[\delta_k \rho_n], \quad E[\delta_k \delta_l], \qquad
    \delta_k = \sigma'(\lambda_k)\, c_k \cdot (f - f^*)

The first two are products of the exact gradient of :mod:`.expectations` with the vectors. The third is had from
closed forms (erf), one integral (piecewise linear), product rules that are exact (Hermite polynomials), closed forms
of sums of erfs that are near (odd bounded activations such as tanh), and from :mod:`.nodes` for any other activation.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.population import biased
from tutelage.population._fourfold import fourfold
from tutelage.population.biased_noise import biased_noise
from tutelage.population.erf_sums import ErfSum, erf_sum
from tutelage.population.expectations import gradient
from tutelage.population.kernels import KINDS, odd_and_even
from tutelage.population.nodes import sampled_noise
from tutelage.population.overlaps import Biases, Overlaps, overlaps
from tutelage.population.quadrature import expected

_SAFETY = 3.0
"""Times the difference from a shorter rule that is stated as the error; points of low discrepancy promise no more."""
_SMALL = 1e-12
"""Noise below this is that of a perfect student, whose error is not judged."""


def noise_term(now: Overlaps, label_noise: float = 0.0) -> Tensor:
    r"""E[delta_k delta_l], what single samples add to Q over eta^2: [S, K, K].

    .. math:: \sum_{p, q} (c_k \cdot a_p)(c_l \cdot a_q)\, I_4(k, l, p, q) + s^2 (c_k \cdot c_l)\, E[\sigma'(\lambda_k)
        \sigma'(\lambda_l)], \qquad a = (c, -c^*)

    label_noise: the deviation s of the noise in every output.
    """
    added = single_samples(now)
    return added + label_noise**2 * (now.c @ now.c.mT) * _slopes(now) if label_noise else added


def single_samples(now: Overlaps, shorter: bool = False) -> Tensor:
    """The part that the error of the student causes: [S, K, K]; shorter: by a shorter rule, where there is one."""
    if not closed(now.activation) or (now.biases is not None and now.activation not in KINDS):
        return sampled_noise(now, shorter)
    if now.biases is not None:
        return biased_noise(now, shorter)
    count = now.q.shape[1]
    both = torch.cat([now.c, -now.taught], 1)
    lean = now.c @ both.mT  # c_k . a_p
    integrals = fourfold(now.covariance, count, now.activation, now.slope)
    return torch.einsum("skp,slq,sklpq->skl", lean, lean, integrals)


@dataclass(frozen=True, eq=False)
class Averages:
    """What the equations need of overlaps.

    towards: the gradient by the students' vectors [S, K, K + M], those of :meth:`Overlaps.vectors`; fan_outs: that by
    the fan-outs [S, K, C]; noise: E[delta_k delta_l] [S, K, K]; biases: the gradient by the biases of units, E[delta_k]
    [S, K], and of outputs, E[f - f*] [S, C], where there are some.
    """

    towards: Tensor
    fan_outs: Tensor
    noise: Tensor
    biases: Biases | None = None


def averages(now: Overlaps, label_noise: float = 0.0) -> Averages:
    """Gradient of the loss and noise of single samples at these overlaps."""
    if (parts := stand_in(now.activation)) is not None:
        return _as_erfs(now, parts, label_noise)
    noise = noise_term(now, label_noise)
    if now.biases is None:
        return Averages(*gradient(*now.vectors()), noise)
    found = biased.gradient(*now.networks())
    assert found.biases is not None
    return Averages(found.weights[0].mT, found.weights[1], noise, (found.biases[0], found.biases[1]))


def stand_in(activation: str) -> ErfSum | None:
    """The sum of erfs that is used for an activation: an odd bounded one without closed forms."""
    if closed(activation):
        return None
    try:
        return erf_sum(activation)
    except TutelageError:
        return None


def closed(activation: str) -> bool:
    """Whether all integrals of an activation are closed forms or one-dimensional."""
    return activation in KINDS or activation.startswith("hermite-")


def error_of(now: Overlaps) -> float:
    """Error of the averages at these overlaps, relative to the largest: see :class:`OverlapTrajectory`."""
    if closed(now.activation) and (now.biases is None or now.activation in ("erf", "linear")):
        return 0.0
    if (parts := stand_in(now.activation)) is not None:
        return max(parts.error, parts.slope_error)
    fine, coarse = single_samples(now), single_samples(now, shorter=True)
    largest = torch.maximum(fine.abs().amax((1, 2)), torch.full((len(fine),), _SMALL, dtype=fine.dtype))
    return float(_SAFETY * ((fine - coarse).abs().amax((1, 2)) / largest).max())


def _as_erfs(now: Overlaps, parts: ErfSum, label_noise: float) -> Averages:
    """Averages of the network of erf units that stands for this one, its tied parts added up."""
    biases: Biases | None = None
    if now.biases is None:
        taught, learnt = (parts.units(units) for units in now.vectors())
        by_part, dc = gradient(taught, learnt)
        noise = noise_term(overlaps(taught, learnt), label_noise)  # [S, K n, K n]
    else:
        teacher, students = (parts.network(network) for network in now.networks())
        found = biased.gradient(teacher, students)
        by_part, dc = found.weights[0].mT, found.weights[1]
        noise = noise_term(overlaps(teacher, students), label_noise)
        assert found.biases is not None
        biases = parts.collected(found.biases[0], parts.widths), found.biases[1]
    once = parts.collected(noise, parts.widths)
    return Averages(
        parts.collected(by_part, parts.widths),
        parts.collected(dc, parts.weights),
        parts.collected(once.mT, parts.widths).mT,
        biases,
    )


def _slopes(now: Overlaps) -> Tensor:
    """E[sigma'(lambda_k) sigma'(lambda_l)]: [S, K, K]."""
    if now.biases is not None:
        w, means = now.vectors()[1].w, now.biases[0]
        return torch.from_numpy(biased.slopes(w, means, w, means, now.activation, now.slope)[0])
    size = now.q.diagonal(dim1=1, dim2=2)
    if now.activation == "erf":
        inner = (1 + size).unsqueeze(2) * (1 + size).unsqueeze(1) - now.q**2
        return 2 / torch.pi / inner.sqrt()
    if now.activation not in KINDS:
        root = size.sqrt()
        cosine = (now.q / (root.unsqueeze(2) * root.unsqueeze(1))).clamp(-1, 1)
        return expected(root, root, cosine, now.activation, "slopes")[0]
    a, b = odd_and_even(now.activation, now.slope)
    cosine = (now.q / (size.unsqueeze(2) * size.unsqueeze(1)).sqrt()).clamp(-1, 1)
    return a * a + b * b * 2 / torch.pi * torch.asin(cosine)
