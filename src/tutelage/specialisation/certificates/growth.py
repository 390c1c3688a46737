r"""How the weights of a student unit move: growth of their norm, and the pull of a teacher unit (Tian 2019, sec. 5).

Both statements are about the flow :math:`\dot w_k = E[f_{l-1} z_k e^\top v_k]` of the squared loss (eq. 5), with the
bias as one more weight. They need no trained student: any network meets them.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from tutelage.certificates.records import Finding, Part, check
from tutelage.networks import Network, fan_out, forward, outputs
from tutelage.specialisation.certificates.scene import Scene, certificate

_AGREES = "difference of the two sides, relative to their terms"
_RELATIVE = 1e-10


@certificate("norm-growth", source="Tian 2019, eq. 6", layers="any")
def norm_growth(scene: Scene, *, samples: int = 256) -> Sequence[Finding]:
    r"""The norm of a hidden unit's weights grows by the correlation of its activation with the error it can reach.

    .. math:: \tfrac12 \frac{d\|w_k\|^2}{dt} = w_k^\top \dot w_k = E[f_k\, e^\top v_k] \qquad (Tian 2019, eq. 6)

    with e = f* - f, the fan-out v_k(x) of the unit, and the bias among the weights, for any depth. The left side is
    taken from automatic differentiation of the loss on the first ``samples`` samples, the right side from activations
    and fan-outs; a difference of 1e-10 of what the terms add up to without their signs is allowed.
    """
    points = scene.points[:, : min(samples, scene.samples)]
    error = outputs(scene.teacher, points) - outputs(scene.students, points)
    activity = forward(scene.students, points)
    layers = []
    for layer, speed in enumerate(_half_growth(scene.students, points, error), start=1):
        v = fan_out(scene.students, activity, layer)[..., : scene.students.widths[layer]]
        terms = activity.features[layer] * torch.einsum("snc,sncj->snj", error, v)
        # What rounding can do is measured by the terms of the network itself, since those of eq. 6 may all be 0.
        size = terms.abs().mean(1).amax(1) + scene.size * torch.finfo(points.dtype).eps
        difference, unit = (speed - terms.mean(1)).abs().max(1)
        layers.append((difference / size, unit, speed))
    out = []
    for s in range(scene.members):
        parts = []
        for layer, (difference, unit, speed) in enumerate(layers, start=1):
            who = int(unit[s])
            witness = f"unit {who}, half the growth of its squared norm {float(speed[s, who]):.3g}"
            conclusion = check(_AGREES, float(difference[s]), "<=", _RELATIVE, witness, growth=speed[s].tolist())
            parts.append(Part(f"layer {layer}", (), conclusion))
        out.append(Finding(parts, (), {"samples": points.shape[1]}))
    return out


def _half_growth(students: Network, points: Tensor, error: Tensor) -> list[Tensor]:
    """w_k . dw_k/dt of every hidden unit by automatic differentiation of the squared loss: [S, n_l] per layer."""
    net = students.map(lambda a: a.detach().clone().requires_grad_())
    target = error + outputs(students, points)
    with torch.enable_grad():
        (outputs(net, points) - target).square().sum(2).mean(1).sum().div(2).backward()
    speeds = []
    for layer in range(students.depth - 1):
        speed = -(net.weights[layer] * _gradient(net.weights[layer])).sum(1)
        if net.biases is not None:
            speed = speed - net.biases[layer] * _gradient(net.biases[layer])
        speeds.append(speed.detach())
    return speeds


def _gradient(weights: Tensor) -> Tensor:
    assert weights.grad is not None  # left by the call of backward above
    return weights.grad


_NO_BIAS = "units have no bias"
_WEIGHTS = "units have weights"
_PULL = "difference of the formula and the integral, relative to the pull at angle 0"
_NODES = 32  # of Gauss and Legendre in each sector, where products of cosines are integrated to the last digit


@certificate("teacher-pull", source="Tian 2019, Theorem 6", layers="any")
def teacher_pull(scene: Scene) -> Sequence[Finding]:
    r"""For spherically symmetric inputs, a teacher unit pulls a student unit into the angle between their weights.

    .. math:: E[x\, z_k f^*_j] = \frac{E\|x\|^2}{2\pi d}\Bigl[(\pi - \theta) w^*_j + \|w^*_j\| \sin\theta\,
        \frac{w_k}{\|w_k\|}\Bigr]

    for relu, and both weights are at least 0; a leak c gives the bracket the factor (1 - c)^2 and adds :math:`E\|x\|^2
    c\, w^*_j / d`. The paper prints :math:`\|w^*_j\| \|w_k\| [(\pi - \theta) w^*_j + \sin\theta\, w_k] / 2`, whose
    direction is right for units of equal length. What is compared with the formula is the mean over all rotations of
    the samples, an integral over the angle in the plane of the two units (:func:`pull`).
    """
    both = scene.both
    biases = torch.cat([n.biases[0] if n.biases else n.weights[0].new_zeros(scene.members, 1) for n in both], 1)
    largest = biases.abs().amax(1)
    theta = _angles(scene.normals[:, : scene.m], scene.normals[:, scene.m :])
    first, second = closed_pull(theta, scene.leak)
    x, y = pull(theta, scene.leak)
    off = torch.hypot(x - first - second * theta.cos(), y - second * theta.sin())
    worst, unit = off.max(2)
    out = []
    for s in range(scene.members):
        flat = int(scene.flat[s].sum())
        conditions = (
            check(_NO_BIAS, float(largest[s]), "<=", 0, "largest bias of the first layer"),
            check(_WEIGHTS, flat, "<=", 0, f"{flat} units without weights"),
        )
        parts = []
        for j in range(scene.m):
            k = int(unit[s, j])
            weights = [float(weight[s, j, k]) for weight in (first, second)]
            witness = f"student unit {k}, at {math.degrees(float(theta[s, j, k])):.1f} degrees"
            conclusion = check(_PULL, 2 * float(worst[s, j]), "<=", _RELATIVE, witness, weights=weights)
            parts.append(Part(f"teacher unit {j}", (), conclusion))
        out.append(Finding(parts, conditions, {}))
    return out


def _angles(first: Tensor, second: Tensor) -> Tensor:
    """Angles between unit vectors [S, m, d] and [S, n, d], exact near 0 and pi too: [S, m, n]."""
    exact = "donot_use_mm_for_euclid_dist"
    ahead, behind = (torch.cdist(first, sign * second, compute_mode=exact) for sign in (1, -1))
    return 2 * torch.atan2(ahead, behind)


def closed_pull(theta: Tensor, leak: float = 0.0) -> tuple[Tensor, Tensor]:
    r"""Weights of w*_j and of |w*_j| w_k / |w_k| in E[x z_k f*_j], for E|x|^2 = d and units at an angle theta."""
    bent = (1 - leak) ** 2 / (2 * math.pi)
    return bent * (math.pi - theta) + leak, bent * theta.sin()


def pull(theta: Tensor, leak: float = 0.0) -> tuple[Tensor, Tensor]:
    r"""The same vector along w*_j and across it, by integration over the angle phi of x in the plane of both units.

    .. math:: \frac1\pi \int_0^{2\pi} (\cos\phi, \sin\phi)\, z(\phi - \theta)\, z(\phi) \cos\phi\, d\phi

    where z is 1 within a right angle of 0 and the leak elsewhere; w*_j is the unit vector at 0, w_k is at theta.
    Between the four angles at which a unit changes side the integrand is smooth.
    """
    nodes, weights = (torch.as_tensor(a, dtype=theta.dtype) for a in np.polynomial.legendre.leggauss(_NODES))
    begin = torch.full_like(theta, -math.pi / 2)
    ends = torch.stack([begin, begin + theta, begin + math.pi, begin + math.pi + theta, begin + 2 * math.pi], -1)
    low, high = ends[..., :-1, None], ends[..., 1:, None]
    phi = (low + high) / 2 + (high - low) / 2 * nodes
    middle = (low + high) / 2
    gates = (leak + (1 - leak) * ((middle - turn).cos() > 0).to(theta.dtype) for turn in (0.0, theta[..., None, None]))
    density = math.prod(gates) * phi.cos() * (high - low) / 2 * weights / math.pi
    return (density * phi.cos()).sum((-2, -1)), (density * phi.sin()).sum((-2, -1))
