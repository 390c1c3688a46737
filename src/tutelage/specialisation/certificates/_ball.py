"""The largest gradient of a student unit on a ball, bounded from above without a search."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from tutelage.networks.activations import gate
from tutelage.specialisation.certificates.hyperplanes import distances
from tutelage.specialisation.certificates.scene import Scene

NEAR = 0.05
"""Boundaries at most this far apart (Tian 2020, Def. 3) are tried as one even where a unit is linear on the ball."""


@dataclass(frozen=True, eq=False)
class Sum:
    """h = sum_s kinked_s sigma(u_s) + sum_s linear_s u_s + const, up to ``cost`` on the ball: [S, J, K], [S, J]."""

    kinked: Tensor
    linear: Tensor
    cost: Tensor


def gradient_over_ball(scene: Scene, centre: Tensor, radius: Tensor, observer: Tensor) -> Tensor:
    r"""An upper bound on :math:`|v_k \cdot (f^* - f)(x)|` over :math:`\|x - x_0\| \le r`, two layers.

    centre x_0 [S, J, d], radius r [S, J], observer k [S, J] -> [S, J].

    Students that bend on the ball, or whose like does, are replaced by the first of those near them, and then by their
    nearest teacher unit, wherever that costs less than leaving them alone (:func:`_replaced`), so that what they add
    cancels as it should. Units that are linear on the ball are added up to one linear function, bounded exactly by its
    value at x_0 and r times its slope; what is left of the others is bounded unit by unit.
    """
    height, r = scene.heights(centre), radius.unsqueeze(2)
    crossing = height.abs() < r
    between = distances(scene).worst
    coefficient = _coefficients(scene, observer)
    h = Sum(coefficient, torch.zeros_like(coefficient), torch.zeros_like(radius))
    near = between[:, scene.m :, scene.m :] <= NEAR
    first = near | torch.eye(scene.n, dtype=torch.bool, device=near.device)
    h = _replaced(scene, h, height, r, scene.m + first.int().argmax(2))
    h = _replaced(scene, h, height, r, between[:, scene.m :, : scene.m].argmin(2))
    slope = gate(scene.students.activation, height, scene.leak)
    linear = h.linear + torch.where(crossing, 0, h.kinked * slope)
    loose = (torch.where(crossing, h.kinked.abs(), 0) * (height.abs() + r)).sum(2)
    steep = torch.bmm(linear, scene.normals).norm(dim=2)
    return ((linear * height).sum(2) + _constant(scene, observer)).abs() + steep * radius + loose + h.cost


def _replaced(scene: Scene, h: Sum, height: Tensor, r: Tensor, partner: Tensor) -> Sum:
    r"""Students that bend on the ball, or whose partners do, replaced by these where that costs less.

    partner: one of all K units for every student [S, n].

    :math:`|\sigma(u_s) - \sigma(\pm u_p)| \le |u_s \mp u_p|`, and a partner that is turned over is turned back with
    :math:`\sigma(-u) = \sigma(u) - (1 + c_\mathrm{leaky})u`.
    """
    turned = distances(scene).reversed[:, scene.m :].gather(2, partner.unsqueeze(2)).squeeze(2)
    sign = torch.where(turned, -1.0, 1.0).to(height.dtype)
    across = partner.unsqueeze(1).expand(-1, height.shape[1], -1)
    normal = scene.normals.gather(1, partner.unsqueeze(2).expand(-1, -1, scene.normals.shape[2]))
    tilt = (scene.normals[:, scene.m :] - sign.unsqueeze(2) * normal).norm(dim=2).unsqueeze(1)
    student, other = height[..., scene.m :], height.gather(2, across)
    cost = (student - sign.unsqueeze(1) * other).abs() + tilt * r
    near = distances(scene).worst[:, scene.m :].gather(2, partner.unsqueeze(2)).squeeze(2).unsqueeze(1) <= NEAR
    cheaper = ((student.abs() < r) | (near & (other.abs() < r))) & (cost < student.abs() + r)
    given = torch.where(cheaper, h.kinked[..., scene.m :], 0)
    kinked = h.kinked.clone()
    kinked[..., scene.m :] -= given
    kinked = kinked.scatter_add(2, across, given)
    back = torch.where(turned.unsqueeze(1), -(1 + scene.leak) * given, 0)
    linear = h.linear.scatter_add(2, across, back)
    return replace(h, kinked=kinked, linear=linear, cost=h.cost + (given.abs() * cost).sum(2))


def _coefficients(scene: Scene, observer: Tensor) -> Tensor:
    """c_s of every regular unit in h: alpha for the teacher's, minus beta for the student's; [S, J] -> [S, J, K]."""
    every = torch.cat([scene.alpha, -scene.beta], dim=2)
    return every.gather(1, observer.unsqueeze(2).expand(-1, -1, scene.units))


def _constant(scene: Scene, observer: Tensor) -> Tensor:
    """v_k . (b*_2 - b_2): [S, J]."""
    biases = [n.biases[1] if n.biases else n.weights[1].new_zeros(n.members, n.outputs) for n in scene.both]
    every = torch.bmm(scene.students.weights[1], (biases[0] - biases[1]).unsqueeze(2)).squeeze(2)
    return every.gather(1, observer)
