"""The pieces of a network: every region of a domain on which it is one affine map, found exactly."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.functions.checks import bias
from tutelage.functions.domain import Domain, Ends
from tutelage.functions.pieces._skeleton import Complex
from tutelage.functions.pieces.counts import reject_beyond, too_many
from tutelage.functions.pieces.subdivision import BeyondBudget, checked, subdivide
from tutelage.functions.rounding import ROUNDING
from tutelage.networks import Network
from tutelage.networks.activations import gate
from tutelage.printing import printed
from tutelage.whole import positive, whole

BUDGET = 1_000_000
"""The most regions, and the most vertices, by default: about half a gigabyte in three dimensions."""
_MOST = 1 << 62  # of any budget, as a number of 64 bits


@printed
@dataclass(frozen=True, eq=False)
class Regions:
    """Linear regions of one network on a domain; hidden units are numbered 0 to K-1 through the layers.

    Attributes
    ----------
    network, domain
        What was cut.
    vertices, edges
        Of all regions, [V, d] and [E, 2].
    signs
        int8 [R, K]: sign of every pre-activation in each region, 0 where it vanishes throughout.
    corners, corner_from
        The vertices of region r are ``corners[corner_from[r] : corner_from[r + 1]]``.
    sides, side_from
        Its edges, likewise.
    per_layer
        Number of regions after each hidden layer.
    pieces
        [Q, 2]: every flat piece of a unit's boundary, as the unit and a region of the cell of lower layers in which it
        lies. Boundaries that coincide in a cell are one piece, of the first unit.
    tight
        Bounds that touch each region.
    """

    network: Network
    domain: Domain
    vertices: Tensor
    edges: Tensor
    signs: Tensor
    corners: Tensor
    corner_from: Tensor
    sides: Tensor
    side_from: Tensor
    per_layer: tuple[int, ...]
    pieces: Tensor
    tight: np.ndarray
    """uint64 [V, words]: bit i is 1 where constraint i holds with equality; the domain's facets come first."""

    def _title(self) -> str:
        return f"{len(self)} regions in {self.vertices.shape[1]} dimensions"

    def __len__(self) -> int:
        return self.signs.shape[0]

    @property
    def layers(self) -> Tensor:
        """The layer of every unit, from 1: int64 [K]."""
        widths = torch.tensor(self.network.widths[1:-1], dtype=torch.int64)
        return torch.repeat_interleave(torch.arange(1, len(widths) + 1), widths)

    @property
    def dead(self) -> Tensor:
        """Units that are nowhere positive on the domain: bool [K]."""
        return (self.signs <= 0).all(0)

    @property
    def always_on(self) -> Tensor:
        """Units that are nowhere negative on the domain, and not dead: bool [K]."""
        return (self.signs >= 0).all(0) & ~self.dead

    @cached_property
    def interior(self) -> Tensor:
        """A point inside each region, the mean of its corners: [R, d]."""
        sums = torch.segment_reduce(self.vertices[self.corners], "sum", offsets=self.corner_from)
        return sums / self.corner_from.diff()[:, None]

    def corners_of(self, region: int) -> Tensor:
        """Points at the corners of a region: [n, d]."""
        return self.vertices[self.corners[self.corner_from[region] : self.corner_from[region + 1]]]

    def maps(self, layer: int | None = None) -> tuple[Tensor, Tensor]:
        """The affine map of every region, x -> x A + c, to the pre-activations of a layer or to the outputs.

        layer in 1 .. L (L by default) -> A [R, d, n_layer], c [R, n_layer].
        """
        return local_maps(self.network, self.signs, layer)


def enumerate_regions(
    network: Network, domain: Domain | Ends, budget: int = BUDGET, rounding: float = ROUNDING
) -> Regions:
    """All linear regions of a network on a domain, exactly.

    Parameters
    ----------
    network
        One member with activation "relu", "leaky" or "abs".
    domain
        From :func:`box` or :func:`polytope`, or the ends (low, high) of a box, each a number or [d].
    budget
        Largest number of regions and of vertices; beyond it an error is raised.
    rounding
        Relative size up to which a pre-activation at a vertex counts as 0; default: that of float64 arithmetic. Weights
        are taken as they are: units that are meant to coincide but differ in float32 have thin regions between them
        unless this is raised.

    Returns
    -------
    Regions

    Examples
    --------
    >>> net = Network((torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]), torch.ones(1, 2, 1)))
    >>> regions = enumerate_regions(net, (-1, 1))
    >>> len(regions), len(regions.vertices), len(regions.edges)
    (4, 9, 12)
    """
    network, domain = checked(network, domain)
    budget = min(positive(budget, "budget"), _MOST)
    reject_beyond(network, domain, budget)
    try:
        state, per_layer, pieces = subdivide(network, domain, budget, rounding)
    except BeyondBudget as reason:
        raise too_many(network, domain, budget, str(reason)) from None
    return _record(network, domain, state, per_layer, pieces)


def _record(network: Network, domain: Domain, state: Complex, per_layer: tuple[int, ...], pieces: Tensor) -> Regions:
    def bounds(counts: np.ndarray) -> Tensor:
        return torch.from_numpy(np.concatenate([[0], np.cumsum(counts)]))

    return Regions(
        network=network,
        domain=domain,
        vertices=torch.from_numpy(state.points),
        edges=torch.from_numpy(state.ends),
        signs=torch.from_numpy(state.signs),
        corners=torch.from_numpy(state.corners),
        corner_from=bounds(state.corner_count),
        sides=torch.from_numpy(state.sides),
        side_from=bounds(state.side_count),
        per_layer=per_layer,
        pieces=pieces,
        tight=state.tight,
    )


def local_maps(network: Network, signs: Tensor, layer: int | None = None) -> tuple[Tensor, Tensor]:
    r"""Affine maps x -> x A + c of one network to the pre-activations of a layer, given the signs of the units below.

    .. math:: A_l = A_{l-1} D_{l-1} W_l, \qquad c_l = c_{l-1} D_{l-1} W_l + b_l \qquad (Tian 2020, section 3)

    signs [R, K], layer in 1 .. L (L by default) -> A [R, d, n_layer], c [R, n_layer].
    """
    number = network.depth if layer is None else whole(layer)
    if number is None or not 1 <= number <= network.depth:
        raise TutelageError(f"layer must be from 1 to {network.depth} for this network, got {layer!r}")
    slopes = network.weights[0][0].expand(len(signs), -1, -1)
    shifts = bias(network, 0)[0].expand(len(signs), -1)
    first = 0
    for upper in range(1, number):
        w = network.weights[upper][0]
        # A unit that vanishes throughout a region has sign 0: whatever its gate, it multiplies 0.
        z = gate(network.activation, signs[:, first : first + len(w)].to(w.dtype), network.slope)
        slopes = (slopes * z[:, None, :]) @ w
        shifts = (shifts * z) @ w + bias(network, upper)[0]
        first += len(w)
    return slopes, shifts
