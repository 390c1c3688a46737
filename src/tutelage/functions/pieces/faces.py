"""What regions are made of: which of them meet across which unit's boundary, outlines in the plane, volumes."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.functions.pieces import _faces
from tutelage.functions.pieces.regions import Regions
from tutelage.printing import printed


@printed
@dataclass(frozen=True, eq=False)
class Facets:
    """Facets between regions.

    Attributes
    ----------
    regions
        int64 [F, 2]: the two regions that meet, the one where the unit is negative first.
    unit
        int64 [F]: the unit that changes sign; the first one where boundaries of several units coincide.
    """

    regions: Tensor
    unit: Tensor

    def __len__(self) -> int:
        return len(self.unit)


def facets(regions: Regions) -> Facets:
    """All facets inside the domain, with the two regions that meet across each.

    Parameters
    ----------
    regions
        Regions of one network.

    Returns
    -------
    Facets

    Examples
    --------
    >>> from tutelage.functions.pieces.regions import enumerate_regions
    >>> from tutelage.networks import Network
    >>> net = Network((torch.eye(2)[None], torch.ones(1, 2, 1)))
    >>> between = facets(enumerate_regions(net, (-1, 1)))
    >>> len(between), between.unit.bincount().tolist()
    (4, [2, 2])
    """
    first, second, unit, _ = _matched(regions)
    return Facets(torch.from_numpy(np.stack([first, second], 1).astype(np.int64)), torch.from_numpy(unit))


def segments(regions: Regions) -> tuple[Tensor, Tensor]:
    """Boundaries of units in the plane, for drawing.

    Parameters
    ----------
    regions
        Regions of a network with two inputs.

    Returns
    -------
    ends, unit
        Ends of each segment [F, 2, 2], and its unit [F].

    Examples
    --------
    >>> from tutelage.functions import box, enumerate_regions
    >>> from tutelage.networks import Network
    >>> network = Network((torch.eye(2)[None], torch.ones(1, 2, 1)))  # two folds: the axes
    >>> ends, unit = segments(enumerate_regions(network, box(-1, 1, dimension=2)))
    >>> ends.shape, unit.tolist()
    (torch.Size([4, 2, 2]), [1, 0, 1, 0])
    """
    _plane(regions)
    *_, unit, pair = _matched(regions)
    return regions.vertices[torch.from_numpy(pair)], torch.from_numpy(unit)


def _facet_lists(regions: Regions) -> tuple[np.ndarray, ...]:
    """Facets of each region: region, constraint, key and first two corners; cheap, so made when needed."""
    d = regions.domain.dimension
    return _faces.facets(regions.corners.numpy(), regions.corner_from.numpy(), regions.tight, d)


def _matched(regions: Regions) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Facets seen from both sides: negative region, positive region, unit [F], first two corners [F, 2]."""
    owner, constraint, key, pair = _facet_lists(regions)
    inside = constraint >= regions.domain.facets
    owner, unit, key, pair = owner[inside], constraint[inside] - regions.domain.facets, key[inside], pair[inside]
    sign = regions.signs.numpy()[owner, unit]
    # A facet inside the domain is met twice, with the same key: sorted by it the two stand side by side, negative side
    # first.
    order = np.lexsort((sign, key))
    below, above = order[0::2], order[1::2]
    fits = len(order) % 2 == 0 and (key[below] == key[above]).all() and (unit[below] == unit[above]).all()
    if not (fits and (sign[below] < 0).all() and (sign[above] > 0).all()):
        raise TutelageError(
            "some facets of the regions do not match from both sides: rounding has decided how boundaries meet; "
            "move the domain a little or change rounding"
        )
    return owner[below], owner[above], unit[below].astype(np.int64), pair[below]


def polygons(regions: Regions) -> list[Tensor]:
    """Outlines of the regions in the plane.

    Parameters
    ----------
    regions
        Regions of a network with two inputs.

    Returns
    -------
    list of Tensor
        Corners in anticlockwise order, [n, 2] per region.

    Examples
    --------
    >>> from tutelage.functions import box, enumerate_regions
    >>> from tutelage.networks import Network
    >>> network = Network((torch.eye(2)[None], torch.ones(1, 2, 1)))  # two folds: the axes
    >>> outlines = polygons(enumerate_regions(network, box(-1, 1, dimension=2)))
    >>> [len(outline) for outline in outlines]
    [4, 4, 4, 4]
    """
    _plane(regions)
    order = _outlines(regions)
    points = regions.vertices[order]
    bounds = regions.side_from
    forward = _plane_areas(regions, order) > 0
    outlines = torch.tensor_split(points, bounds[1:-1])
    return [p if ahead else p.flip(0) for p, ahead in zip(outlines, forward.tolist(), strict=True)]


def volumes(regions: Regions) -> Tensor:
    """Length, area or volume of each region, by triangulation.

    Parameters
    ----------
    regions
        Regions of one network; the number of simplices grows fast with the dimension.

    Returns
    -------
    Tensor
        [R].

    Examples
    --------
    >>> from tutelage.functions.pieces.regions import enumerate_regions
    >>> from tutelage.networks import Network
    >>> net = Network((torch.eye(2)[None], torch.ones(1, 2, 1)))
    >>> sorted(volumes(enumerate_regions(net, (-1, 2))).tolist())
    [1.0, 2.0, 2.0, 4.0]
    """
    arrays = regions.tight, regions.corners.numpy(), regions.corner_from.numpy()
    return torch.from_numpy(_faces.volumes(regions.vertices.numpy(), *arrays))


def _outlines(regions: Regions) -> Tensor:
    return torch.from_numpy(_faces.outlines(regions.sides.numpy(), regions.side_from.numpy(), regions.edges.numpy()))


def _plane_areas(regions: Regions, order: Tensor) -> Tensor:
    """Signed areas of outlines, from triangles with each region's interior point: [R]."""
    bounds = regions.side_from
    following = torch.arange(1, len(order) + 1)
    following[bounds[1:] - 1] = bounds[:-1]
    centre = regions.interior.repeat_interleave(bounds.diff(), dim=0)
    a, b = regions.vertices[order] - centre, regions.vertices[order[following]] - centre
    return torch.segment_reduce((a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) / 2, "sum", offsets=bounds)


def _plane(regions: Regions) -> None:
    if regions.domain.dimension != 2:
        raise TutelageError(
            f"outlines are drawn in the plane, and these regions lie in {regions.domain.dimension} dimensions: "
            "take a slice (slice_network) of two"
        )
