"""Whether two networks differ by permuting and scaling hidden units alone, and which permutation and scales do it; and,
where they are the same function without that, why.

For networks that are related and general one pass from below finds the relation: incoming weights decide, and what they
leave open (units with the same incoming weights) sweeps with the layer above do. Residuals are measured, so that a
relation that is claimed was checked; one that is not found need not be absent. An assignment costs n^3 per layer.
"""

from dataclasses import dataclass

import scipy
import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.functions.bounds.normal import WORDS, Redundancy
from tutelage.functions.checks import in_double, same_function_space
from tutelage.functions.comparing.canonical import incoming, outgoing, reordered, scaled, turned, unit_lengths
from tutelage.networks import Network
from tutelage.printing import printed

_SWEEPS = 8  # times all layers are assigned anew, with the layers above taken into account
_BY_FAN_OUT = 1e-3  # weight of the fan-out beside incoming weights: it decides among units that are nearly equal
_FAR = 1e300  # the distance of units whose lengths float64 cannot hold
_NAMED = 4  # units of a kind that are named one by one in a sentence
_ROUNDINGS = 16  # roundings of weights and scales, per layer, up to which a residual is none


@printed
@dataclass(frozen=True, eq=False)
class Relation:
    r"""Permutation and scales that bring one network nearest to another (Phuong 2021, eq. 2.5).

    .. math:: W_l = M_l P_l W'_l P_{l-1}^{-1} M_{l-1}^{-1}, \qquad b_l = M_l P_l b'_l

    Attributes
    ----------
    permutations
        int64 [S, n_l] per hidden layer: unit k of the first network is unit ``permutations[k]`` of the second.
    scales
        [S, n_l] per hidden layer: the diagonal of M_l.
    residual
        [S, L]: largest distance of a unit's incoming weights and bias, scaled to length 1; for the top layer, that of
        an output's weights and bias relative to their length.
    aligned
        The second network with its units in the order and scale of the first.
    allowed
        [L]: residuals that rounding explains.
    """

    permutations: tuple[Tensor, ...]
    scales: tuple[Tensor, ...]
    residual: Tensor
    aligned: Network
    allowed: Tensor

    @property
    def holds(self) -> Tensor:
        """Whether permutation and scales explain every layer: bool [S]."""
        return (self.residual <= self.allowed).all(1)

    def failing_layer(self, member: int = 0) -> int | None:
        """The first layer (from 1) that they do not explain, or None."""
        failing = (self.residual[member] > self.allowed).nonzero()
        return int(failing[0]) + 1 if len(failing) else None


def match_parameters(first: Network, second: Network) -> Relation:
    """Match the units of two networks of one architecture, layer by layer (Phuong 2021, section 2).

    Units are compared by incoming weights and bias scaled to length 1, after the layer below was matched; where several
    are nearly equal, the fan-out decides.

    Parameters
    ----------
    first, second
        Networks with S members each; members are paired.

    Returns
    -------
    Relation

    Examples
    --------
    >>> a = Network((torch.tensor([[[3.0, 0.0], [0.0, 0.5]]]), torch.tensor([[[1.0], [4.0]]])))
    >>> b = Network((torch.tensor([[[0.0, 6.0], [1.0, 0.0]]]), torch.tensor([[[2.0], [0.5]]])))
    >>> found = match_parameters(a, b)
    >>> found.permutations[0].tolist(), found.scales[0].tolist(), found.holds.tolist()
    ([[1, 0]], [[0.5, 0.5]], [True])
    """
    _one_architecture(first, second)
    eps = max(torch.finfo(n.dtype).eps for n in (first, second))
    a, lengths_a = unit_lengths(in_double(first, "first network"))
    b, lengths_b = unit_lengths(in_double(second, "second network"))
    orders, signs = _assigned(a, b, eps)
    placed = _placed(b, orders, signs)
    scales = tuple(
        sign * la / lb.gather(1, order) for sign, la, lb, order in zip(signs, lengths_a, lengths_b, orders, strict=True)
    )
    aligned = _placed(in_double(second), orders, tuple(torch.ones_like(s) for s in signs))
    for layer, scale in enumerate(scales):
        aligned = scaled(aligned, layer, scale)
    return Relation(orders, scales, _residual(a, placed), aligned, _allowed(first.depth, eps))


def _allowed(depth: int, eps: float) -> Tensor:
    """What rounding leaves of a residual, per layer: [L]; lower layers' scales enter those above."""
    return _ROUNDINGS * eps * torch.arange(1, depth + 1, dtype=torch.float64)


def _one_architecture(first: Network, second: Network) -> None:
    same_function_space(first, second)
    if first.widths != second.widths:
        widths = " and ".join("-".join(map(str, n.widths)) for n in (first, second))
        raise TutelageError(
            f"the networks must have the same widths, got {widths}: use same_function for other architectures"
        )
    if kind(first) != kind(second):
        raise TutelageError(f"the networks must have the same activation, got {kind(first)} and {kind(second)}")


def kind(network: Network) -> str:
    """The kind of hidden units in words.

    >>> kind(Network((torch.ones(1, 1, 1), torch.ones(1, 1, 1)), activation="leaky", slope=0.1))
    'leaky (slope 0.1)'
    """
    if network.depth == 1:
        return "no hidden"
    return f"leaky (slope {network.slope:g})" if network.activation == "leaky" else network.activation


def _assigned(a: Network, b: Network, eps: float) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Order and signs of the units of b in every hidden layer; signs other than 1 for abs alone."""
    orders: list[Tensor] = []
    signs: list[Tensor] = []
    partly = b
    for layer in range(a.depth - 1):
        far, _ = _distances(incoming(a, layer), incoming(partly, layer), a.activation == "abs")
        orders.append(_assignment(far + _BY_FAN_OUT * _distances(outgoing(a, layer), outgoing(partly, layer))[0]))
        signs.append(_signs(a, partly, layer, orders[-1]))
        partly = turned(reordered(partly, layer, orders[-1]), layer, signs[-1])
    # Invariant: orders and signs are a permutation of every hidden layer. A greedy pass from below decides among units
    # with equal incoming weights by their fan-out, which is not matched yet; later sweeps look at both sides.
    for _ in range(_SWEEPS):
        now = _placed(b, tuple(orders), tuple(signs))
        if (_residual(a, now) <= _allowed(a.depth, eps)).all():
            break
        changed = False
        for layer in range(a.depth - 1):
            far, _ = _distances(incoming(a, layer), incoming(now, layer), a.activation == "abs")
            order = _assignment(far + _distances(a.weights[layer + 1].mT, now.weights[layer + 1].mT)[0])
            changed |= not torch.equal(order, torch.arange(order.shape[1]).expand_as(order))
            again = _signs(a, now, layer, order)
            now = turned(reordered(now, layer, order), layer, again)
            orders[layer], signs[layer] = orders[layer].gather(1, order), signs[layer].gather(1, order) * again
        if not changed:
            break
    return tuple(orders), tuple(signs)


def _placed(network: Network, orders: tuple[Tensor, ...], signs: tuple[Tensor, ...]) -> Network:
    for layer, (order, sign) in enumerate(zip(orders, signs, strict=True)):
        network = turned(reordered(network, layer, order), layer, sign)
    return network


def _distances(a: Tensor, b: Tensor, even: bool = False) -> tuple[Tensor, Tensor]:
    """Distances of columns, up to sign if even, and whether signs differ: [S, m, n], [S, m, n] -> [S, n, n] twice."""
    far = torch.cdist(a.mT.contiguous(), b.mT.contiguous(), compute_mode="donot_use_mm_for_euclid_dist")
    if not even:
        return far, torch.zeros_like(far, dtype=torch.bool)
    opposite = torch.cdist(a.mT.contiguous(), -b.mT.contiguous(), compute_mode="donot_use_mm_for_euclid_dist")
    return torch.minimum(far, opposite), opposite < far


def _signs(a: Network, b: Network, layer: int, order: Tensor) -> Tensor:
    """1, or -1 where a unit of an abs network is the negative of its partner: [S, n]."""
    if a.activation != "abs":
        return torch.ones(order.shape, dtype=torch.float64)
    w_a, w_b = incoming(a, layer), incoming(b, layer)
    product = (w_a * w_b.gather(2, order.unsqueeze(1).expand_as(w_b))).sum(1)
    return torch.where(product < 0, -torch.ones_like(product), 1)


def _assignment(cost: Tensor) -> Tensor:
    """The pairing of smallest total cost: [S, n, n] -> int64 [S, n], the column of every row."""
    return torch.stack(
        [
            torch.from_numpy(scipy.optimize.linear_sum_assignment(matrix)[1])
            for matrix in cost.nan_to_num(_FAR, _FAR).numpy()
        ]
    )


def _residual(a: Network, b: Network) -> Tensor:
    """Largest distance of paired units per layer, and of outputs relative to their own weights: [S, L]."""
    layers = [(incoming(a, l) - incoming(b, l)).norm(dim=1).amax(1) for l in range(a.depth - 1)]
    top, other = incoming(a, a.depth - 1), incoming(b, a.depth - 1)
    gap, size = (top - other).norm(dim=1), torch.maximum(top.norm(dim=1), other.norm(dim=1))
    return torch.stack([*layers, (gap / torch.where(size > 0, size, 1)).amax(1)], dim=1)


def explained(
    first: Network, second: Network, in_first: tuple[Redundancy, ...], in_second: tuple[Redundancy, ...]
) -> str:
    """Why two networks can be the same function without being related, in a sentence."""
    parts = []
    if kind(first) != kind(second):
        parts.append(f"{kind(first)} and {kind(second)} units are both made of linear maps and relu units")
    for name, network, redundant in (("first", first, in_first), ("second", second, in_second)):
        for what, layer in dict.fromkeys((r.kind, r.layer) for r in redundant):
            units = [str(r.unit) for r in redundant if (r.kind, r.layer) == (what, layer)]
            named = ", ".join(units[:_NAMED]) + (f" and {len(units) - _NAMED} more" if len(units) > _NAMED else "")
            parts.append(f"{WORDS[what]}: unit{'s' * (len(units) > 1)} {named} of layer {layer} of the {name} network")
            if what == "linear" and len(units) == network.widths[layer]:
                parts[-1] += ", which is all of them, so that any invertible mixture of them serves as well"
    return "; ".join(parts) or "no redundant unit was found that would explain it"
