"""Is a network general (Phuong 2021, section 2.2)? Nothing in it cancels, coincides, or touches zero without crossing
it.

Formal patterns are 2^units: beyond some 65,000 patterns a condition is sampled, which can refute it and never prove it.
Distances and singular values are relative to the sizes of what was added up, so that rounding counts as 0.
"""

from typing import Literal

import numpy as np
import torch
from scipy.spatial import KDTree
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError, unknown
from tutelage.functions.domain import Domain, Ends
from tutelage.functions.identifying.conditions import EXACT, Requirement, below, one_relu_network, tolerance, undecided
from tutelage.functions.identifying.optima import touches_zero
from tutelage.functions.pieces.regions import BUDGET, Regions, enumerate_regions, local_maps
from tutelage.networks import Network
from tutelage.whole import positive

Mode = Literal["formal", "realised"]
PATTERNS, SAMPLED = 1 << 16, 1 << 12
"""The most patterns of active units looked at for one condition; if there are more, so many are drawn, which proves
nothing."""

ENTRIES = 1 << 24
"""The most numbers in an array of products or pieces: networks with wide layers have fewer patterns looked at."""

AXES = 8
"""Dimensions beyond which nearest pieces are looked for in projections."""

G1 = "zero is no local optimum of a unit (G1)"
G2 = "products of weights have full rank (G2)"
G3 = "no two affine pieces are multiples of one another (G3)"


def generality(
    network: Network,
    domain: Domain | Ends,
    mode: Mode = "formal",
    patterns: int = PATTERNS,
    budget: int = BUDGET,
    seed: int = 0,
) -> tuple[Requirement, Requirement, Requirement]:
    """Conditions G1, G2 and G3 of general networks, each with its worst case (Phuong 2021, section 2.2).

    Parameters
    ----------
    network
        One relu network.
    domain
        As in :func:`enumerate_regions`.
    mode
        G2 and G3 over all "formal" patterns of active units, as in the lemmas, or over those "realised" in the domain.
    patterns, budget
        Numbers of patterns and regions beyond which a condition is sampled or left undecided; it then does not hold.
    seed
        Of the samples.

    Returns
    -------
    tuple
        Three conditions.

    Examples
    --------
    >>> corner = Network((torch.eye(2)[None], torch.ones(1, 2, 1)))
    >>> for condition in generality(corner, (-1, 1)):
    ...     print(condition.holds, condition.witness)
    False unit 0 of layer 2 at [-0.5, -0.5]
    True layer 1 with active units 11
    False unit 0 of layer 1 and unit 0 of layer 2
    """
    if mode not in ("formal", "realised"):
        raise unknown("mode", mode, ("formal", "realised"))
    tol, network = tolerance(network), one_relu_network(network)
    patterns, budget = positive(patterns, "patterns"), positive(budget, "budget")
    try:
        first = touches_zero(network, domain, G1, budget)
        regions = enumerate_regions(network, domain, budget) if mode == "realised" else None
    except TutelageError as reason:
        if mode == "realised":
            return undecided(G1, str(reason)), undecided(G2, str(reason)), undecided(G3, str(reason))
        first, regions = undecided(G1, str(reason)), None
    return first, full_rank(network, tol, patterns, regions, seed), no_multiples(network, tol, patterns, regions, seed)


def full_rank(
    network: Network, tol: float, patterns: int, regions: Regions | None = None, seed: int = 0
) -> Requirement:
    r"""G2: the smallest singular value that a product of masked weights should have.

    .. math:: \operatorname{rank}(I_l W_l I_{l-1} \cdots I_k W_k)
        = \min\{d_{k-1}, \operatorname{rank} I_k, \ldots, \operatorname{rank} I_l\} \qquad (Phuong 2021, eq. 2.6)

    It is relative to the product of absolute values, so that what cancels to rounding error counts as 0.
    """
    worst, witness, whole, data = float("inf"), "", True, {}
    for k in range(1, network.depth + 1):
        for l in range(k, network.depth + 1):
            masks, complete = _masks(network, k, l, patterns, regions, seed)
            whole &= complete
            value, at = _smallest(network, k, l, masks)
            if value < worst:
                pattern = [part.int().tolist() for part in masks[at].split(network.widths[k : l + 1])]
                worst, witness, data = value, _words(k, l, pattern), {"k": k, "l": l, "pattern": pattern}
    return _judged(G2, worst, tol, whole, witness, data)


def no_multiples(
    network: Network, tol: float, patterns: int, regions: Regions | None = None, seed: int = 0
) -> Requirement:
    """G3: the smallest distance between two affine pieces [w, b] of units, as unit vectors up to sign (Phuong 2021,
    A.11).

    In many dimensions it is a lower bound of that distance. A piece that vanishes is a multiple of every other, and its
    distance is 0.
    """
    forms, names, whole = [], [], True
    for layer in range(1, network.depth + 1):
        signs, complete = _signs_below(network, layer, patterns, regions, seed)
        whole &= complete
        pieces = _unit_forms(network, layer, signs)
        forms.append(pieces.flatten(0, 1))
        names += [(layer, i, r) for r in range(len(signs)) for i in range(pieces.shape[1])]
    every = torch.cat(forms)
    lengths = every.norm(dim=1)
    if lengths.min() <= EXACT:
        at = int(lengths.argmin())
        data = {"units": [names[at][:2]]}
        return _judged(G3, 0.0, tol, whole, f"unit {names[at][1]} of layer {names[at][0]} vanishes on a piece", data)
    value, i, j = _nearest(every / lengths.unsqueeze(1), tol)
    pair = [names[i][:2], names[j][:2]]
    witness = f"unit {pair[0][1]} of layer {pair[0][0]} and unit {pair[1][1]} of layer {pair[1][0]}"
    return _judged(G3, value, tol, whole, witness, {"units": pair})


def _nearest(unit: Tensor, tol: float) -> tuple[float, int, int]:
    """The smallest distance of two unit vectors [N, m] up to sign, and which two they are.

    In many dimensions vectors are first projected onto a few, which only brings them closer: if that leaves them
    apart, so they are, and the value is that of the projections; else all pairs that it brings together are looked at.
    """
    low = unit.shape[1] <= AXES
    vectors = (unit if low else unit @ _few_axes(unit.shape[1])).numpy()
    both = np.concatenate([vectors, -vectors])
    count = len(vectors)
    # Trees of more than about eight dimensions look at nearly all points. A projection only brings vectors closer, so
    # that pairs it leaves apart are apart; the few it brings together are measured in full.
    if not low:
        pairs = KDTree(both).query_pairs(tol, output_type="ndarray")
        pairs = pairs[(pairs[:, 0] % count != pairs[:, 1] % count)]
        if len(pairs):
            full = np.concatenate([unit.numpy(), -unit.numpy()])
            apart = np.linalg.norm(full[pairs[:, 0]] - full[pairs[:, 1]], axis=1)
            at = int(apart.argmin())
            return float(apart[at]), int(pairs[at, 0] % count), int(pairs[at, 1] % count)
    near, other = (np.asarray(a) for a in KDTree(both).query(vectors, k=min(3, 2 * count)))
    near = np.where(other % count == np.arange(count)[:, None], np.inf, near)
    i, k = np.unravel_index(int(near.argmin()), near.shape)
    return float(min(near[i, k], 2.0)), int(i), int(other[i, k] % count)


def _few_axes(dimension: int) -> Tensor:
    """Orthonormal columns in fixed random directions: [dimension, AXES]."""
    return torch.linalg.qr(draws.normals(draws.keys([0], "few axes"), dimension * AXES).view(dimension, AXES))[0]


def _judged(name: str, value: float, tol: float, whole: bool, witness: str, data: dict) -> Requirement:
    """Holds above the tolerance where every case was looked at; fails below what counts as 0 in float64."""
    holds = False if value <= EXACT else True if value > tol and whole else None
    note = "" if whole else " (smallest of a sample, which proves nothing)"
    return Requirement(name, value, f"> {tol:.2g}", holds, witness + note, data)


def _words(k: int, l: int, pattern: list[list[int]]) -> str:
    span = f"layer {k}" if k == l else f"layers {k} to {l}"
    return f"{span} with active units {'/'.join(''.join(map(str, part)) for part in pattern)}"


def _smallest(network: Network, k: int, l: int, masks: Tensor) -> tuple[float, int]:
    """The smallest relative singular value that should not vanish, over masks [N, d_k + .. + d_l], and its place."""
    parts = masks.double().split(network.widths[k : l + 1], dim=1)
    # The rank that eq. 2.6 asks for; the singular value at that place is what must not vanish.
    rank = torch.stack([part.sum(1) for part in parts]).amin(0).clamp_max(network.widths[k - 1]).long()
    product, size = network.weights[k - 1][0] * parts[0].unsqueeze(1), network.weights[k - 1][0].abs()
    size = size * parts[0].unsqueeze(1)
    for w, part in zip(network.weights[k:l], parts[1:], strict=True):
        product, size = (product @ w[0]) * part.unsqueeze(1), (size @ w[0].abs()) * part.unsqueeze(1)
    if not bool(product.isfinite().all() and size.isfinite().all()):
        raise TutelageError(f"the weights of layers {k} to {l} multiply to numbers beyond float64: scale them down")
    values = torch.linalg.svdvals(product)
    least = values.gather(1, (rank - 1).clamp_min(0).unsqueeze(1)).squeeze(1)
    length = size.flatten(1).norm(dim=1)
    share = torch.where(rank > 0, least / torch.where(length > 0, length, 1), torch.inf)
    at = int(share.argmin())
    return share[at].item(), at


def _unit_forms(network: Network, layer: int, signs: Tensor) -> Tensor:
    """Affine pieces [w, b] of a layer's units under patterns [R, K below], over their size: [R, n, d + 1] (A.14)."""
    positive = below(network, layer).map(torch.abs)
    slopes, shifts = local_maps(network, signs, layer)
    sizes, heights = local_maps(positive, signs, layer)
    size = torch.cat([sizes, heights.unsqueeze(1)], 1).norm(dim=1, keepdim=True)
    return (torch.cat([slopes, shifts.unsqueeze(1)], 1) / torch.where(size > 0, size, 1)).mT


def _masks(network: Network, k: int, l: int, patterns: int, regions: Regions | None, seed: int) -> tuple[Tensor, bool]:
    """0/1 patterns of layers k .. l: [N, d_k + .. + d_l], and whether these are all."""
    widths = network.widths[k : l + 1]
    if regions is not None:
        first = sum(network.widths[1:k])
        hidden = _distinct(regions.signs[:, first : first + sum(widths)] > 0)
        missing = sum(widths) - hidden.shape[1]  # the output units, which are looked at whole
        return torch.cat([hidden, hidden.new_ones(len(hidden), missing)], 1), True
    return _all_or_some(sum(widths), _most(patterns, network.widths[k - 1] * max(widths)), f"rank {k} {l}", seed)


def _signs_below(
    network: Network, layer: int, patterns: int, regions: Regions | None, seed: int
) -> tuple[Tensor, bool]:
    """Patterns of the layers below one that leave no layer without an active unit: [N, K below], and whether all."""
    widths = network.widths[1:layer]
    if regions is not None:
        signs, whole = _distinct(regions.signs[:, : sum(widths)] > 0), True
    else:
        most = _most(patterns, network.inputs * max(network.widths[1 : layer + 1]))
        signs, whole = _all_or_some(sum(widths), most, f"pieces {layer}", seed)
    if not widths:
        return signs[:1], whole
    alive = torch.stack([part.any(1) for part in signs.split(widths, dim=1)]).all(0)
    return signs[alive], whole


def _all_or_some(bits: int, patterns: int, name: str, seed: int) -> tuple[Tensor, bool]:
    """All 0/1 patterns of so many bits where they are few enough, else random ones: bool [N, bits]."""
    # All patterns prove; a sample can show a condition to fail and never to hold.
    if bits < 63 and 1 << bits <= patterns:
        return (torch.arange(1 << bits).unsqueeze(1) >> torch.arange(bits)) & 1 > 0, True
    count = min(patterns, SAMPLED)
    drawn = draws.uniforms(draws.keys([seed], f"general {name}"), count * bits).view(count, bits) > 0.5
    return _distinct(drawn), False


def _most(patterns: int, numbers: int) -> int:
    """How many patterns are looked at when each takes so many numbers."""
    return max(1, min(patterns, ENTRIES // numbers))


def _distinct(rows: Tensor) -> Tensor:
    return rows.unique(dim=0) if rows.shape[1] else rows[:1]
