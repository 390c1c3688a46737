"""The canonical form of the surface on which the units of a network vanish (Phuong 2021, section 2.4).

All of it is read off the regions: a region that no piece of the surface cuts lies on one side of a hyperplane or is
crossed by it, and a slice of a cell by a hyperplane lies in the surface exactly where the hyperplane crosses none of
the cell's regions.

The form is exact for regions that are; hyperplanes within a billionth of the size of the domain count as one, and what
then does not fit together is an error, never a guess. It costs (regions) times (hyperplanes), several times over.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.functions.identifying.folds import unit_pieces
from tutelage.functions.pieces.faces import facets
from tutelage.functions.pieces.regions import Regions
from tutelage.printing import printed

NEAR = 1e-9
"""The size, relative to that of the domain, up to which hyperplanes coincide and vertices lie on them."""
ENTRIES = 1 << 28
"""The most pairs of a corner or a region and a hyperplane that are looked at."""


@printed
@dataclass(frozen=True, eq=False)
class Surface:
    """P pieces of a surface in canonical form, on a domain that they cut into R regions.

    Attributes
    ----------
    regions
        The regions.
    normal, offset
        Hyperplanes of all pieces, [H, d] and [H].
    side
        int8 [R, H]: side of a hyperplane on which a region lies, 0 where it is crossed.
    order, plane
        int64 [P]: order and hyperplane of each piece.
    inside
        bool [P, R]: regions of the cell that a piece cuts in two.
    walls
        int8 [P, H]: hyperplanes around that cell and its side of them, 0 for others.
    """

    regions: Regions
    normal: Tensor
    offset: Tensor
    side: Tensor
    order: Tensor
    plane: Tensor
    inside: Tensor
    walls: Tensor

    def __len__(self) -> int:
        return len(self.order)

    @property
    def levels(self) -> tuple[int, ...]:
        """How many pieces there are of each order."""
        return tuple(self.order.bincount()[1:].tolist())

    @cached_property
    def facet_piece(self) -> Tensor:
        """The piece on which each facet between regions lies: int64 [F], in the order of :func:`.facets`."""
        between = facets(self.regions).regions
        low, high = between[:, 0], between[:, 1]
        on = self.inside[:, low] & self.inside[:, high]
        on &= (self.side[low][:, self.plane] * self.side[high][:, self.plane] == -1).T
        if not (on.sum(0) == 1).all():
            raise TutelageError(
                "some facets lie on no piece of the surface, or on two: hyperplanes are too close together"
            )
        return on.T.nonzero()[:, 1]

    @cached_property
    def owner(self) -> Tensor:
        """The unit, through all layers, on whose boundary each piece lies; -1 where it takes several: int64 [P]."""
        unit = facets(self.regions).unit
        low = torch.full((len(self),), torch.iinfo(torch.int64).max).scatter_reduce(0, self.facet_piece, unit, "amin")
        high = torch.full((len(self),), -1).scatter_reduce(0, self.facet_piece, unit, "amax")
        return torch.where(low == high, low, -1)

    @property
    def owner_layer(self) -> Tensor:
        """The layer of the owner, from 1; 0 where a piece has several: int64 [P]."""
        return torch.where(self.owner < 0, 0, self.regions.layers[self.owner.clamp_min(0)])


def canonical_surface(regions: Regions) -> Surface:
    r"""Canonical form of the surface on which some hidden unit vanishes.

    Pieces of order k are all slices of cells, cut by pieces of lower order, that lie in the surface: the largest
    surface :math:`\square_k S` of order k in it (Phuong 2021, eq. 2.8, Lemma A.3).

    Parameters
    ----------
    regions
        Regions of a network.

    Returns
    -------
    Surface

    Examples
    --------
    >>> from tutelage.functions.pieces.regions import enumerate_regions
    >>> from tutelage.networks import Network
    >>> bent = Network((torch.eye(2)[None], torch.ones(1, 2, 1), torch.ones(1, 1, 1)), (torch.zeros(1, 2),
    ...                torch.tensor([[-0.5]]), torch.zeros(1, 1)))
    >>> canonical_surface(enumerate_regions(bent, (-1, 1))).levels
    (2, 3)
    """
    normal, offset = _planes(regions)
    side = _sides(regions, normal, offset)
    group, walls = torch.zeros(len(regions), dtype=torch.int64), torch.zeros(1, len(normal), dtype=torch.int8)
    orders, planes, inside, around, k = [], [], [], [], 0
    # Invariant: `group` is the cell of every region after cutting by all pieces of orders below k, `walls` the
    # hyperplanes around each cell. A pass either cuts a cell or ends, and there are no more cells than regions.
    while True:
        k += 1
        cut = _slices_within(side, group, len(walls))
        cells, which = cut.nonzero(as_tuple=True)
        if not len(cells):
            break
        orders.append(torch.full_like(cells, k))
        planes.append(which)
        inside.append(group == cells.unsqueeze(1))
        around.append(walls[cells])
        key = torch.cat([group.unsqueeze(1).to(torch.int64), side * cut[group]], 1)
        parts, group = key.unique(dim=0, return_inverse=True)
        walls = walls[parts[:, 0]] + parts[:, 1:].to(torch.int8)
    if len(walls) != len(regions):
        raise TutelageError("the surface could not be put in canonical form: hyperplanes are too close together")
    none = torch.zeros(0, dtype=torch.int64)
    return Surface(
        regions, normal, offset, side,
        torch.cat([*orders, none]), torch.cat([*planes, none]),
        torch.cat([*inside, torch.zeros(0, len(regions), dtype=torch.bool)]),
        torch.cat([*around, walls[:0]]),
    )  # fmt: skip


def _slices_within(side: Tensor, group: Tensor, groups: int) -> Tensor:
    """Which hyperplanes pass through a cell without crossing any of its regions: [R, H], [R] -> bool [cells, H]."""
    index = group.unsqueeze(1).expand_as(side)
    blank = torch.zeros(groups, side.shape[1], dtype=torch.int8)
    high = blank.scatter_reduce(0, index, side, "amax", include_self=False)
    low = blank.scatter_reduce(0, index, side, "amin", include_self=False)
    clear = blank.scatter_reduce(0, index, side.abs(), "amin", include_self=False) > 0
    return (high > 0) & (low < 0) & clear


def _planes(regions: Regions) -> tuple[Tensor, Tensor]:
    """The distinct hyperplanes of all pieces: [H, d], [H]."""
    pieces = unit_pieces(regions)
    size = 1 + _reach(regions)
    forms = torch.cat([pieces.normal, pieces.offset.unsqueeze(1) / size], 1)
    if len(forms) ** 2 > ENTRIES:
        raise TutelageError(
            f"there are {len(forms):,} flat pieces, too many to compare: take a smaller domain or network"
        )
    if not len(forms):
        return pieces.normal, pieces.offset
    apart = torch.minimum(
        *(torch.cdist(forms, s * forms, compute_mode="donot_use_mm_for_euclid_dist") for s in (1, -1))
    )
    i, j = (apart <= NEAR).nonzero(as_tuple=True)
    _, label = connected_components(coo_array((torch.ones(len(i)).numpy(), (i.numpy(), j.numpy())), (len(forms),) * 2))
    labels = torch.from_numpy(label).long()
    first = torch.full((int(labels.max()) + 1,), len(forms)).scatter_reduce(0, labels, torch.arange(len(forms)), "amin")
    return pieces.normal[first], pieces.offset[first]


def _reach(regions: Regions) -> float:
    return torch.maximum(regions.domain.low.abs(), regions.domain.high.abs()).max().item()


def vertex_sides(regions: Regions, normal: Tensor, offset: Tensor) -> Tensor:
    """On which side of hyperplanes the vertices lie, 0 for on them: int8 [V, H]."""
    value = regions.vertices @ normal.T + offset
    return torch.where(value.abs() <= NEAR * (1 + _reach(regions)), 0, value.sign()).to(torch.int8)


def _sides(regions: Regions, normal: Tensor, offset: Tensor) -> Tensor:
    """On which side of hyperplanes the regions lie, 0 for both: int8 [R, H]."""
    if len(regions.corners) * len(normal) > ENTRIES:
        raise TutelageError(
            f"{len(regions):,} regions and {len(normal):,} hyperplanes are too many for the canonical form: "
            "take a smaller domain or network"
        )
    sides = vertex_sides(regions, normal, offset)[regions.corners.long()]
    owner = (
        torch.repeat_interleave(torch.arange(len(regions)), regions.corner_from.diff()).unsqueeze(1).expand_as(sides)
    )
    blank = torch.zeros(len(regions), len(normal), dtype=torch.int8)
    high = blank.scatter_reduce(0, owner, sides, "amax", include_self=False)
    low = blank.scatter_reduce(0, owner, sides, "amin", include_self=False)
    return (high + low).sign()  # corners on the hyperplane count for neither side
