r"""Deep linear students: balanced starts, what Theorem 5.2 guarantees of their end, and where they end exactly.

A student of L layers without biases is a linear :class:`Network` with weights W_l [S, in, out]; its product
w = W_1 W_2 ... W_L, as one vector [S, d], is all that its outputs depend on.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from tutelage import draws
from tutelage.arrays import doubles
from tutelage.distillation.learners import learned
from tutelage.distillation.transfer import TransferSet
from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.whole import positive


@dataclass(frozen=True, eq=False)
class Start:
    """A balanced start with less loss than 0 has: the network, and |w(0)| of each member, which may be less than asked.

    network: linear, W_l = scale^(1/L) u_{l-1} u_l^T; scale [S]; asked: the scale before it was halved [S].
    """

    network: Network
    scale: Tensor
    asked: Tensor

    @property
    def w(self) -> Tensor:
        return end_to_end(self.network)


def end_to_end(network: Network) -> Tensor:
    """w = W_1 ... W_L as one vector per member: [S, d]."""
    if network.activation != "linear" or network.biases is not None or network.outputs != 1:
        raise TutelageError(
            "wanted linear students without biases and with one output: Network(weights, activation='linear')"
        )
    product = network.weights[0]
    for weight in network.weights[1:]:
        product = product @ weight
    return product.squeeze(2)


def balanced_start(
    transfer: TransferSet, seeds: Sequence[int], layers: int, scale: float = 0.01, width: int = 10
) -> Start:
    """Random balanced start of a deep linear student (Phuong 2021, eqs. 5.12 and 5.13).

    The sign is flipped where the loss is not below that of 0, and the length halved where neither sign helps.

    Parameters
    ----------
    transfer
        Transfer sets.
    seeds
        One per member.
    layers
        Number of layers.
    scale
        Length of the product w(0).
    width
        Of the hidden layers.

    Returns
    -------
    Start

    Examples
    --------
    >>> from tutelage.distillation import Polynomial
    >>> balanced_start(Polynomial(dimension=5).transfer([0], 3), [0], layers=3).network
    Network(1 member, widths 5-10-10-1, linear, float64 on cpu)
    """
    layers, width, seeds = positive(layers, "layers"), positive(width, "width"), draws.as_seeds(seeds)
    if not 0 < scale < math.inf:
        raise TutelageError(f"scale must be positive and finite, got {scale}")
    if len(seeds) != transfer.members:
        raise TutelageError(f"wanted a seed for each of the {transfer.members} sets, not {len(seeds)}")
    widths = [transfer.dimension, *[width] * (layers - 1), 1]
    drawn = [draws.normals(draws.keys(seeds, f"balanced {layer}"), w) for layer, w in enumerate(widths[:-1])]
    units = [torch.nn.functional.normalize(v, dim=1) for v in drawn]
    sign, size = _signs_and_sizes(transfer, units[0], scale)
    units.append(sign.unsqueeze(1))
    share = size[:, None, None] ** (1 / layers)
    weights = tuple(share * a.unsqueeze(2) * b.unsqueeze(1) for a, b in pairwise(units))
    asked = torch.full_like(size, scale)
    return Start(Network(weights, activation="linear"), size, asked)


def _signs_and_sizes(transfer: TransferSet, u: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    """The sign of -u.gradient(0), and the largest scale / 2^k with less loss than 0: [S], [S]."""
    zero = torch.zeros_like(u)
    pull = -(transfer.gradient(zero) * u).sum(1)
    if bool((pull == 0).any()):
        raise TutelageError(
            f"the start of set {int((pull == 0).nonzero()[0])} is orthogonal to its gradient: draw another"
        )
    sign, size, at_zero = pull.sign(), torch.full_like(pull, scale), transfer.loss(zero)
    least = 1e-12 * learned(transfer).norm(dim=1).clamp_max(scale)

    def too_high(w: Tensor) -> Tensor:
        """Not below the loss at 0: by its value, or by convexity where rounding hides the difference."""
        return ~((transfer.loss(w) < at_zero) | ((transfer.gradient(w) * w).sum(1) < 0))

    # Invariant: `size` is the scale asked for over a power of two. The loss falls along sign * u at 0, so some halving
    # ends below the loss at 0, unless rounding hides the fall: then the slope decides, because the loss is convex in w.
    while bool((high := too_high((sign * size).unsqueeze(1) * u)).any()):
        size = torch.where(high, size / 2, size)
        if bool((size < least).any()):
            member = int((size < least).nonzero()[0])
            raise TutelageError(
                f"the start of set {member} has no less loss than 0 at lengths from scale={scale:g} down to "
                f"{float(least[member]):.1e}: use another seed for it"
            )
    return sign, size


def imbalance(network: Network) -> Tensor:
    """The largest entry of W_l^T W_l - W_{l+1} W_{l+1}^T over all layers (Phuong 2021, eq. 5.13): [S]; 0 for one
    layer.
    """
    pairs = zip(network.weights[:-1], network.weights[1:], strict=True)
    off = [(low.mT @ low - high @ high.mT).abs().amax((1, 2)) for low, high in pairs]
    return torch.stack(off).amax(0) if off else torch.zeros(network.members, dtype=torch.float64)


def guaranteed(start: Tensor, goal: Tensor, layers: int) -> Tensor:
    r"""Smallest eps of Phuong 2021, Theorem 5.2 (eq. D.40).

    .. math:: \epsilon^2 = |w(0)|^{2/L} |\hat w|^2 / (|\hat w|^{2/L} - |w(0)|^{2/L})

    Eq. D.41 prints another right side, which does not follow from D.40.

    Parameters
    ----------
    start, goal
        |w(0)| and |w_hat|, any shape.
    layers
        L.

    Returns
    -------
    Tensor
        Infinite where |w(0)| >= |w_hat|.

    Examples
    --------
    >>> guaranteed(torch.tensor([0.01, 0.1]), torch.tensor([1.0, 1.0]), layers=2)
    tensor([0.1005, 0.3333], dtype=torch.float64)
    """
    start, goal, layers = doubles(start, "start"), doubles(goal, "goal"), positive(layers, "layers")
    if bool((start < 0).any() or (goal < 0).any()):
        raise TutelageError("start and goal must be lengths of at least 0")
    ratio = (start / goal) ** (2 / layers)
    return torch.where(ratio < 1, goal * (ratio / (1 - ratio).clamp_min(1e-300)).sqrt(), torch.inf)


def largest_start(eps: Tensor, goal: Tensor, layers: int) -> Tensor:
    """|w(0)| must stay below this for an end within eps (Phuong 2021, eq. 5.11), any shape.

    >>> goal = torch.tensor(2.0, dtype=torch.float64)
    >>> round(float(guaranteed(largest_start(goal / 10, goal, 3), goal, 3)), 12)
    0.2
    """
    return goal * (eps.square() / (goal.square() + eps.square())) ** (layers / 2)


def norm_cap(start: Tensor, goal: Tensor, layers: int) -> Tensor:
    """An upper bound for limsup |w(t)| with two layers or more (Phuong 2021, eq. D.39); infinite where |w(0)| >=
    |w_hat|.
    """
    if layers < 2:
        raise TutelageError("the cap on the norm is for two layers or more: with one layer the limit is known outright")
    ratio = (start / goal) ** (2 / layers)
    power = -layers / (2 * (layers - 1))
    return torch.where(ratio < 1, goal * (1 - ratio).clamp_min(1e-300) ** power, torch.inf)


def limit(transfer: TransferSet, start: Tensor, layers: int) -> Tensor:
    r"""Exact limit of gradient flow of a deep linear student from a balanced start.

    .. math:: w(\infty) = \hat w + (\nu / |w(0)|)^{(L-1)/L} P_Q w(0), \qquad
        \nu^2 = |\hat w|^2 + |P_Q w(0)|^2 (\nu / |w(0)|)^{2(L-1)/L}

    It follows from the conserved quantity (Phuong 2021, eq. D.32) and the loss going to 0; P_Q removes the span of the
    data, and for one layer w(inf) = w_hat + P_Q w(0). Theorem 5.2 bounds the distance from w_hat; this is its value.

    Parameters
    ----------
    transfer
        Transfer sets.
    start
        w(0) [S, d].
    layers
        L.

    Returns
    -------
    Tensor
        [S, d].

    Examples
    --------
    >>> from tutelage.distillation import Polynomial, learned
    >>> transfer = Polynomial(dimension=5).transfer([0], 3)
    >>> start = 1e-3 * torch.ones(1, 5, dtype=torch.float64)
    >>> bool((limit(transfer, start, layers=2) - learned(transfer)).norm() < 0.1)
    True
    """
    start, layers = doubles(start, "start").detach().cpu(), positive(layers, "layers")
    if start.shape != transfer.teacher.shape:
        raise TutelageError(f"start must have the shape {list(transfer.teacher.shape)}, got {list(start.shape)}")
    goal, rest = learned(transfer), transfer.across(start)
    if layers == 1:
        return goal + rest
    length = start.norm(dim=1)
    if bool((length == 0).any()):
        raise TutelageError("a deep linear student that starts at 0 stays there: start it elsewhere")
    share, power = (rest.norm(dim=1) / length).square(), (layers - 1) / layers
    target = goal.norm(dim=1).square()
    # z = nu^2 solves z = target + rest^2 (z / length^2)^power: concave on the right, so one root above target
    # Newton's method on a convex function: from the second step on it comes down from above and never passes the root.
    z = torch.maximum(target, length.square()) * 2
    for _ in range(200):
        right = share * length.square() ** (1 - power) * z**power
        new = z - (z - target - right) / (1 - power * right / z)
        if bool(((new - z).abs() <= 1e-15 * z).all()):
            break
        z = new
    return goal + (z.sqrt() / length).unsqueeze(1) ** power * rest
