"""A domain as a complex of one cell, cut by all units of a network, layer after layer.

The boundary of a unit (where its pre-activation is 0) cuts the regions it passes through; see :mod:`._cutting` for how.
Signs that rounding error could have decided count as 0: a region thinner than that is not told from none, and where
such zeros do not fit together the answer is an error, never a guess. A vertex lies on its boundaries to rounding
error; along boundaries that are nearly parallel its place is known only as well as their angle allows.
"""

import numpy as np
import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.functions.checks import bias, in_double, only_networks
from tutelage.functions.domain import Domain, Ends, as_domain
from tutelage.functions.pieces._cutting import cut_layer
from tutelage.functions.pieces._skeleton import DONE, TOO_CLOSE, TOO_MANY, Complex
from tutelage.functions.rounding import ROUNDING
from tutelage.networks import Network
from tutelage.networks.forward import activate


class BeyondBudget(TutelageError):
    """There are more regions or vertices than the budget allows."""


def subdivide(
    network: Network, domain: Domain, budget: int, rounding: float = ROUNDING
) -> tuple[Complex, tuple[int, ...], Tensor]:
    r"""The complex of all regions, how many there are after each hidden layer, and the pieces of boundaries [Q, 2].

    Values at vertices are carried along edges as means of two, which never enlarges an error. Those of layer l are off
    by no more than :math:`e_l = e_{l-1} |W_l| + u\,(\max|f_{l-1}|\,|W_l| + |b_l|)`, u the relative rounding error, and
    count as 0 up to that.
    """
    state = skeleton(domain, sum(network.widths[1:-1]), budget)
    features = torch.from_numpy(state.points)
    error = rounding * features.abs().amax(0)
    per_layer, pieces, offset = [], [torch.zeros(0, 2, dtype=torch.int64)], 0
    for layer in range(network.depth - 1):
        w, b = network.weights[layer][0], bias(network, layer)[0]
        size = features.abs().amax(0) @ w.abs() + b.abs()
        # Invariant: the values of this layer at every vertex are within `error` of those in exact arithmetic.
        error = error @ w.abs() + max(rounding, len(w) * np.finfo(np.float64).eps) * size
        roots = np.arange(len(state.corner_from), dtype=np.int32)
        state = state._replace(values=(features @ w + b).numpy(), roots=roots)
        state, cut, ended, unit, _ = cut_layer(state, offset, domain.facets, error.numpy(), budget, False)
        if ended == TOO_MANY or len(state.roots) > budget:
            met = f"{len(state.roots):,} regions and {len(state.points):,} vertices"
            raise BeyondBudget(f"{met} were there when layer {layer + 1} was given up")
        if ended == TOO_CLOSE:
            raise TutelageError(
                f"the boundary of unit {unit} of layer {layer + 1} passes so close to vertices of the regions that "
                "rounding decides on which side they lie: move the domain or the unit a little, or change rounding"
            )
        where = torch.from_numpy(cut).nonzero()
        pieces.append(torch.stack([where[:, 1] + offset, where[:, 0]], 1))
        features = activate(network, torch.from_numpy(state.values.copy()))
        per_layer.append(len(state.corner_from))
        offset += w.shape[1]
    return state, tuple(per_layer), torch.cat(pieces)


def checked(network: Network, domain: Domain | Ends) -> tuple[Network, Domain]:
    """The network in float64 and the domain; an error when regions are not defined or not of one network."""
    only_networks(network)
    if network.members != 1:
        raise TutelageError(
            f"regions are enumerated for one network, got a stack of {network.members}: choose one, such as network[0]"
        )
    if network.activation == "linear":
        raise TutelageError("a linear network is one affine map everywhere: regions are for relu, leaky and abs")
    domain = as_domain(domain, network.inputs)
    if network.inputs != domain.dimension:
        raise TutelageError(
            f"the domain must have {network.inputs} dimensions, as many as the network has inputs, got "
            f"{domain.dimension}"
        )
    return in_double(network), domain


def skeleton(domain: Domain, units: int, budget: int) -> Complex:
    """The domain as a complex of one cell, with room for the bits and signs of all units."""
    words = (domain.facets + units + 63) // 64
    if domain.is_flat:
        raise TutelageError(
            "a box with a side of length 0 has no pieces: take a slice (slice_network) without that side"
        )
    if domain.is_box:
        return _cube(domain, words, units, budget)
    return _cut_out(domain, words, units, budget)


def _cube(domain: Domain, words: int, units: int, budget: int) -> Complex:
    """A box: vertex v is high in coordinate i where bit i of v is 1; edges change one bit."""
    d = domain.dimension
    if 2**d > budget:
        raise TutelageError(
            f"a box in {d} dimensions has 2^{d} corners, and pieces are found from corners: take a slice "
            f"(slice_network) of fewer dimensions, or a budget of more than {budget:,} vertices"
        )
    number = np.arange(1 << d)
    up = (number[:, None] >> np.arange(d)) & 1
    points = np.where(up, domain.high.numpy(), domain.low.numpy())
    tight = np.zeros((len(number), words), np.uint64)
    for i in range(d):
        for constraint, chosen in ((i, up[:, i] == 0), (d + i, up[:, i] == 1)):
            tight[chosen, constraint // 64] |= np.uint64(1) << np.uint64(constraint % 64)
    ends = [np.stack([number[up[:, i] == 0], number[up[:, i] == 0] | (1 << i)], 1) for i in range(d)]
    return _one_cell(points, tight, np.concatenate(ends), units)


def _one_cell(points: np.ndarray, tight: np.ndarray, ends: np.ndarray, units: int) -> Complex:
    def number(n: int) -> np.ndarray:
        return np.array([n], np.int64)

    return Complex(
        points=np.ascontiguousarray(points, np.float64),
        values=np.empty((len(points), 0)),
        tight=tight,
        ends=ends.astype(np.int32),
        corners=np.arange(len(points), dtype=np.int32),
        corner_from=number(0),
        corner_count=number(len(points)),
        sides=np.arange(len(ends), dtype=np.int32),
        side_from=number(0),
        side_count=number(len(ends)),
        signs=np.zeros((1, units), np.int8),
        roots=np.zeros(1, np.int32),
    )


def _cut_out(domain: Domain, words: int, units: int, budget: int) -> Complex:
    """A polytope, cut out of a simplex around it; the bits of the simplex are taken away again at the end."""
    d, m = domain.dimension, domain.facets
    low, high = domain.low.numpy(), domain.high.numpy()
    # The simplex is far enough around the polytope that no facet of both meets: its bits are taken away afterwards.
    margin = (high - low).max()
    reach = (high - low).sum() + (d + 1) * margin
    points = np.concatenate([np.zeros((1, d)), reach * np.eye(d)]) + (low - margin)
    everything = sum(1 << (m + i) for i in range(d + 1))  # vertex i lies on all facets of the simplex but one
    tight = np.zeros((d + 1, (m + d + 1 + 63) // 64), np.uint64)
    for v in range(d + 1):
        mask = everything & ~(1 << (m + v))
        tight[v] = [(mask >> (64 * w)) & (2**64 - 1) for w in range(tight.shape[1])]
    start = _one_cell(points, tight, np.stack(np.triu_indices(d + 1, 1), 1), m)
    normals, offsets = domain.normals.numpy(), domain.offsets.numpy()
    scale = (np.abs(points).max(0) @ np.abs(normals).T) + np.abs(offsets)
    values = np.ascontiguousarray(offsets - points @ normals.T)
    cell, _, ended, _, _ = cut_layer(start._replace(values=values), 0, 0, ROUNDING * scale, budget, True)
    if ended != DONE or (cell.signs < 0).any():
        raise TutelageError(
            f"the corners of a polytope of {m} constraints in {d} dimensions are too many, or too close together to "
            "be told apart: drop constraints that matter little, or take a box"
        )
    return _without_the_rest(cell, m, words, units)


def _without_the_rest(cell: Complex, facets: int, words: int, units: int) -> Complex:
    """One cell alone: vertices and edges numbered anew, the bits of its own constraints in as many words as asked."""
    place = np.full(len(cell.points), -1)
    place[cell.corners] = np.arange(len(cell.corners))
    kept = np.zeros((len(cell.corners), words), np.uint64)
    common = min(words, cell.tight.shape[1])
    kept[:, :common] = cell.tight[cell.corners, :common]
    if facets % 64 and facets // 64 < words:
        kept[:, facets // 64] &= np.uint64((1 << (facets % 64)) - 1)
    kept[:, (facets + 63) // 64 :] = 0
    return _one_cell(cell.points[cell.corners], kept, place[cell.ends[cell.sides]], units)
