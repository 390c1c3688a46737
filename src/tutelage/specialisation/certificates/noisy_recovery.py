"""Rough recovery from a gradient that is small on a whole region (Tian 2019, Theorem 5 with Lemmas 5 and 6)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from tutelage.certificates.records import Condition, Finding, Part, check
from tutelage.errors import TutelageError
from tutelage.networks.activations import gate
from tutelage.specialisation.certificates.alignment import REGULAR, Look, alpha_condition, look, observed_conditions
from tutelage.specialisation.certificates.hyperplanes import distances
from tutelage.specialisation.certificates.scene import Scene, certificate

GRADIENT = "gradient is at most epsilon on the region"
ROOM = "the region is wider than q = 5 epsilon/|alpha|"
APART = "no other teacher unit is within the bounds"
ALIGNED = "sine and offset of the nearest student unit over their bounds"


@dataclass(frozen=True, eq=False)
class Balls:
    """A ball for every teacher unit, [S, m] each: what is known of the gradient on it, and what the lemmas give."""

    radius: Tensor
    coefficient: Tensor
    lower: Tensor
    upper: Tensor
    epsilon: Tensor
    sine: Tensor
    offset: Tensor


def bounds(
    epsilon: Tensor,
    coefficient: Tensor,
    radius: Tensor,
    reach: Tensor,
    *,
    units: int,
    dimension: int,
    delta: float,
    epsilon_0: Tensor,
) -> tuple[Tensor, Tensor]:
    r"""What Lemma 6 of Tian 2019 promises of the angle and of the offset of the nearest unit, any shape.

    .. math:: \sin\theta \le \frac{M K \varepsilon^{1-\delta}}{|c_j|}, \quad
        |b - b'| \le \frac{M_2 \varepsilon^{1-2\delta}}{|c_j|}, \quad
        M = \frac{10 \varepsilon_0^\delta}{r'}\sqrt{\frac{d}{2\pi}}, \quad
        M_2 = 2 M_0 M K \varepsilon_0^\delta + 5 \varepsilon_0^{2\delta}

    radius: r', that of a ball in the boundary, already less :math:`q = 5\varepsilon/|c_j|`; reach: M_0, the largest
    |x| on it; coefficient: c_j, with the factor 1 - c_leaky.
    """
    m = 10 * epsilon_0**delta / radius * math.sqrt(dimension / (2 * math.pi))
    m_2 = 2 * reach * m * units * epsilon_0**delta + 5 * epsilon_0 ** (2 * delta)
    return m * units * epsilon ** (1 - delta) / coefficient, m_2 * epsilon ** (1 - 2 * delta) / coefficient


@certificate("noisy-recovery", source="Tian 2019, Theorem 5")
def noisy_recovery(
    scene: Scene,
    *,
    epsilon: float | None = None,
    radius: float | None = None,
    delta: float = 0.1,
    epsilon_0: float | None = None,
) -> Sequence[Finding]:
    r"""A gradient of at most epsilon on a region that a teacher boundary crosses brings a student unit near that unit.

    The region R is a ball around a point of boundary j where student k is active. The gradient's largest value there
    is bounded from above (:func:`gradient_over_ball`), and known at the centre. The bounds on angle and offset are
    those of Lemmas 5 and 6 (:func:`bounds`), all units of teacher and student counted; the nearest unit must not be
    another teacher. Offsets are compared with normals at an acute angle, which Lemma 5 tacitly does.

    epsilon: the upper bound itself by default; radius: the ball's, as far as the boundary of k by default;
    epsilon_0 >= epsilon: equal by default, and then delta drops out.
    """
    if not 0 < delta < 0.5:
        raise TutelageError(f"delta must lie between 0 and 1/2, got {delta}")
    for name, value in (("epsilon", epsilon), ("radius", radius)):
        if value is not None and not value > 0:
            raise TutelageError(f"{name} must be above 0, got {value}")
    view = look(scene, None, None, roomy=True)
    balls = _balls(scene, view, epsilon, radius, delta, epsilon_0)
    observed = observed_conditions(scene, view)
    share = torch.maximum(
        view.between.sine[:, : scene.m] / balls.sine.unsqueeze(2),
        view.between.offset[:, : scene.m] / balls.offset.unsqueeze(2),
    ).nan_to_num(torch.inf)  # [S, m, K]
    out = []
    for s in range(scene.members):
        parts = []
        for j in range(scene.m):
            others = share[s, j, : scene.m].clone()
            others[j] = torch.inf
            who = int(share[s, j, scene.m :].argmin())
            other = f"teacher unit {int(others.argmin())}" if scene.m > 1 else ""
            conditions = [check(REGULAR, float(not scene.flat[s, j]), ">=", 1), observed[s][j]]
            conditions += _of_ball(scene, view, balls, s, j)
            conditions.append(check(APART, float(others.min()), ">", 1, other))
            sine, offset = float(balls.sine[s, j]), float(balls.offset[s, j])
            text = f"student unit {who}; sine at most {sine:.3g}, offset at most {offset:.3g}"
            value = float(share[s, j, scene.m + who])
            conclusion = check(ALIGNED, value, "<=", 1, text, student=who, sine=sine, offset=offset)
            parts.append(Part(f"teacher unit {j}", tuple(conditions), conclusion))
        out.append(Finding(parts, (), {"delta": delta}))
    return out


def _balls(
    scene: Scene, view: Look, epsilon: float | None, radius: float | None, delta: float, epsilon_0: float | None
) -> Balls:
    pick = view.segment[:, :, None, None].expand(-1, -1, 1, scene.points.shape[2])
    centre = view.found.points[:, :, :, 0].gather(2, pick).squeeze(2)  # [S, m, d]
    observer = view.observer.unsqueeze(2)
    # Within this distance of its own boundary the observer stays active, so the gradient sees the same sum all over the
    # ball.
    room = scene.heights(centre)[..., scene.m :].gather(2, observer).squeeze(2).clamp_min(0) * (1 - 1e-9)
    wide = room if radius is None else room.clamp_max(radius)
    upper = torch.maximum(gradient_over_ball(scene, centre, wide, view.observer), scene.rounding[:, None])
    lower = scene.gradient_at(centre).gather(2, observer).squeeze(2).abs()
    size = upper if epsilon is None else torch.full_like(upper, epsilon)
    most = size if epsilon_0 is None else torch.full_like(size, epsilon_0)
    largest = float(torch.where(view.observed, size, 0).max())
    if epsilon_0 is not None and epsilon_0 < largest:
        raise TutelageError(f"epsilon_0 must be at least epsilon, which is {largest:.3g}: raise it or leave it out")
    coefficient = view.alpha * (1 - scene.leak)
    left = (wide - 5 * size / coefficient).clamp_min(torch.finfo(wide.dtype).tiny)
    sine, offset = bounds(
        size,
        coefficient,
        left,
        centre.norm(dim=2) + wide,
        units=scene.units,
        dimension=scene.students.inputs,
        delta=delta,
        epsilon_0=most,
    )
    return Balls(wide, coefficient, lower, upper, size, sine, offset)


def _of_ball(scene: Scene, view: Look, balls: Balls, s: int, j: int) -> list[Condition]:
    """alpha, gradient and room of one teacher unit."""
    e, c = float(balls.epsilon[s, j]), float(balls.coefficient[s, j])
    low, high, wide = (float(values[s, j]) for values in (balls.lower, balls.upper, balls.radius))
    proved = high <= e or low > e
    text = f"ball of radius {wide:.3g}, {low:.3g} at its centre"
    return [
        alpha_condition(scene, view, s, j),
        check(GRADIENT, low if low > e else high, "<=", e, text, decided=proved, lower=low, upper=high),
        check(ROOM, wide, ">", 5 * e / c if c > 0 else math.inf),
    ]


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
    # Students of one boundary are collected in the first of them before it is compared with a teacher unit: what they
    # add up to may cancel, while each alone would cost its whole height.
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
    # Invariant: kinked + linear + constant is the function h up to `cost` on the ball. Replacing moves a coefficient
    # from the student to its partner and pays for the difference.
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
