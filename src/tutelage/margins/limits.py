r"""What a course comes to: smoothed margins, growth, cosines, residuals of Theorem 3.1, and their limits (Phuong 2021).

With J_+ and J_- both non-empty and a loss of exponential tail, as t grows

.. math:: \frac{\|W_\pm\|^2}{\log t} \to \|w_\pm\|, \quad \frac{\|W_+\|^2}{\|W\|^2} \to \frac{\|w_+\|}{\|w_+\|+\|w_-\|},
          \quad \tilde\gamma_\pm \to \frac{1}{2\|w_\pm\|}, \quad
          \frac{h(x)}{\|\theta\|^2} \to \frac{\rho(w_+ \cdot x) - \rho(w_- \cdot x)}{2(\|w_+\|+\|w_-\|)},

all at the pace 1/log t. The paper proves that the limits exist; their values follow from its Lemma B.6.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.margins.datasets import LabelledPoints
from tutelage.margins.flow import MarginFlow
from tutelage.margins.losses import log_loss, margin_of
from tutelage.margins.max_margin import MaxMargins
from tutelage.margins.sectors import class_sums
from tutelage.networks import Network, outputs


@dataclass(frozen=True, eq=False)
class Growth:
    """One class's linear network along a course: all [T, S].

    log_loss: of the samples of the class; norm: the sum of |w_j|^2 over the units of its sign that see it;
    smoothed_margin: (Phuong 2021, eq. 3.19); pace: norm / log t; 0 where no unit sees the class or where t <= e.
    """

    log_loss: Tensor
    norm: Tensor
    smoothed_margin: Tensor
    pace: Tensor


def growth(course: MarginFlow, sign: int) -> Growth:
    """The growth of the units of one sign on their class."""
    member = course.data.y == sign
    heights = course.heights()
    active = ((heights > 0) & member[None, :, None]).any(3) & (course.a * sign > 0)
    margin = course.data.y * (heights.relu() * course.a.unsqueeze(3)).sum(2)
    value = torch.where(member, log_loss(course.loss, margin), -torch.inf).logsumexp(2)
    norm = (course.w.square().sum(3) * active).sum(2)
    there = norm > 0
    # The margin that one sample would need to have the loss of the whole class, over |theta|^2 = 2 |W|^2 of balanced
    # units: homogeneous of degree 2 as the network is, so it does not grow by scale alone.
    smoothed = torch.where(there, margin_of(course.loss, value) / (2 * norm).clamp_min(1e-300), 0.0)
    log_t = torch.tensor(course.log_times, dtype=torch.float64)[:, None]
    return Growth(value, norm, smoothed, torch.where(log_t > 1, norm / log_t.clamp_min(1), 0.0))


@dataclass(frozen=True, eq=False)
class Cosines:
    """Of every unit with two directions of its own sign's class: [T, S, p] each.

    class_sum: the extremal direction, where the early phase leads; max_margin: w_+ or w_-, where the late phase leads.
    """

    class_sum: Tensor
    max_margin: Tensor


def cosines(w: Tensor, a: Tensor, data: LabelledPoints, margins: MaxMargins) -> Cosines:
    """Cosines of units w [.., S, p, d] with fan-outs a [.., S, p]."""
    plus, minus = class_sums(data)
    sums = torch.where(a.unsqueeze(-1) > 0, plus[:, None], minus[:, None])
    unit = torch.nn.functional.normalize(w, dim=-1)
    wanted = torch.nn.functional.normalize(margins.for_units(a), dim=-1)
    return Cosines((unit * sums).sum(-1), (unit * wanted).sum(-1))


@dataclass(frozen=True, eq=False)
class TwoVectorFit:
    """A network read as u w_+^T + z w_-^T (Phuong 2021, eqs. 3.8 and 3.9).

    u, z: non-negative, disjoint [.., S, p]; first, second: what is left of W/|W| and of a/|a| [.., S].
    """

    u: Tensor
    z: Tensor
    first: Tensor
    second: Tensor


def fit(w: Tensor, a: Tensor, margins: MaxMargins) -> TwoVectorFit:
    """Coordinates of trained units along the max-margin directions.

    Parameters
    ----------
    w, a
        First layer [..., S, p, d] and second layer [..., S, p].
    margins
        From :func:`max_margins`.

    Returns
    -------
    TwoVectorFit
        u_j = What_j.w_+ / |w_+|^2 for a_j > 0, and z_j likewise for a_j < 0.
    """
    plus, minus = margins.positive, margins.negative
    scaled = w / w.flatten(-2).norm(dim=-1)[..., None, None]
    # Least squares unit by unit: each has one coordinate, along the vector of its own sign, and negative ones are cut
    # to 0.
    u = torch.where(a > 0, _along(scaled, plus.w), 0.0).clamp_min(0)
    z = torch.where(a < 0, _along(scaled, minus.w), 0.0).clamp_min(0)
    made = u.unsqueeze(-1) * plus.w[:, None] + z.unsqueeze(-1) * minus.w[:, None]
    second = a / a.norm(dim=-1, keepdim=True) - (u * plus.norm[:, None] - z * minus.norm[:, None])
    return TwoVectorFit(u, z, (scaled - made).flatten(-2).norm(dim=-1), second.norm(dim=-1))


def _along(w: Tensor, target: Tensor) -> Tensor:
    return (w * target[:, None]).sum(-1) / target.square().sum(1)[:, None]


@dataclass(frozen=True, eq=False)
class Limits:
    """Where a course with units in both groups tends: all [S]. share: of |W_+|^2 in |W|^2; factor: both of (3.10)."""

    pace_plus: Tensor
    pace_minus: Tensor
    smoothed_plus: Tensor
    smoothed_minus: Tensor
    share: Tensor
    factor: Tensor


def limits(margins: MaxMargins) -> Limits:
    """Limits of the flow predicted from the max-margin vectors alone (Phuong 2021, Theorem 3.1).

    Parameters
    ----------
    margins
        From :func:`max_margins`.

    Returns
    -------
    Limits

    Examples
    --------
    >>> from tutelage.margins import cones, max_margins
    >>> limits(max_margins(cones([0], count=10, dimension=2))).pace_plus.round(decimals=3)
    tensor([1.7900], dtype=torch.float64)
    """
    plus, minus = margins.positive.norm, margins.negative.norm
    return Limits(plus, minus, 1 / (2 * plus), 1 / (2 * minus), plus / (plus + minus), 1 / (2 * (plus + minus)))


def two_neurons(network: Network, groups: Tensor) -> Network:
    """Two units in place of p, one per group: the sums of a_j w_j over J_+ and over J_-; groups [S, p].

    Each unit is balanced; on points where all units of a group are active together nothing changes.
    """
    w, a = network.weights[0].mT, network.weights[1].squeeze(2)
    kept, fan_outs = [], []
    for sign in (1, -1):
        total = ((a.abs() * (groups == sign)).unsqueeze(2) * w).sum(1)
        length = total.norm(dim=1, keepdim=True)
        # A balanced unit with this a w has |a| = |w| = sqrt|total|.
        kept.append(total / length.clamp_min(1e-300).sqrt())
        fan_outs.append(sign * length.sqrt())
    return Network((torch.stack(kept, 2), torch.stack(fan_outs, 1)))


def kkt_point(margins: MaxMargins, u: Tensor, z: Tensor) -> Network:
    """The point of Lemma B.6: u, z [S, p] scaled to |u| = |w_+|^-1/2 and |z| = |w_-|^-1/2 (Phuong 2021, eqs. B.45 and
    B.46).
    """
    plus, minus = margins.positive, margins.negative
    u = torch.nn.functional.normalize(u, dim=1) * plus.norm.rsqrt()[:, None]
    z = torch.nn.functional.normalize(z, dim=1) * minus.norm.rsqrt()[:, None]
    w = u.unsqueeze(2) * plus.w[:, None] + z.unsqueeze(2) * minus.w[:, None]
    a = u * plus.norm[:, None] - z * minus.norm[:, None]
    return Network((w.mT.contiguous(), a.unsqueeze(2)))


@dataclass(frozen=True, eq=False)
class Kkt:
    """Residuals of the KKT conditions of min |theta|^2/2 subject to y_i h(x_i) >= 1 (Phuong 2021, eq. B.47): all [S].

    infeasible: the largest 1 - y_i h(x_i), at least 0; slack: the largest lambda_i |y_i h(x_i) - 1| over the largest
    lambda; stationary: |theta - sum lambda_i y_i g_i| / |theta|.
    """

    infeasible: Tensor
    slack: Tensor
    stationary: Tensor

    @property
    def worst(self) -> Tensor:
        return torch.stack([self.infeasible, self.slack, self.stationary]).amax(0)


def kkt(network: Network, data: LabelledPoints, margins: MaxMargins) -> Kkt:
    """Residuals with the multipliers of (Phuong 2021, eq. B.59), lambda_i = alpha_i / |w_+| or alpha_i / |w_-|."""
    w, a = network.weights[0].mT, network.weights[1].squeeze(2)
    multiplier = (
        margins.positive.dual / margins.positive.norm[:, None] + margins.negative.dual / margins.negative.norm[:, None]
    )
    gap = data.y * outputs(network, data.x).squeeze(2) - 1
    height = w @ data.x.mT
    pull = (multiplier * data.y).unsqueeze(1)
    made_w = a.unsqueeze(2) * (((height > 0) * pull) @ data.x)
    made_a = (height.relu() * pull).sum(2)
    size = (w.square().sum((1, 2)) + a.square().sum(1)).sqrt()
    off = ((w - made_w).square().sum((1, 2)) + (a - made_a).square().sum(1)).sqrt()
    slack = (multiplier * gap).abs().amax(1) / multiplier.amax(1)
    return Kkt((-gap).clamp_min(0).amax(1), slack, off / size)


def rescaled(network: Network, data: LabelledPoints) -> Network:
    """The same directions with least margin min_i y_i h(x_i) = 1; members that misclassify are left as they are."""
    least = (data.y * outputs(network, data.x).squeeze(2)).amin(1)
    factor = torch.where(least > 0, least.clamp_min(1e-300).rsqrt(), 1.0)
    return network.map(lambda v: v * factor[:, None, None])
