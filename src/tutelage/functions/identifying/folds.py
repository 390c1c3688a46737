"""The folds of a network: where it, or one of its units, is not differentiable (Phuong 2021, section 2.3)."""

from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.functions.identifying.conditions import EXACT
from tutelage.functions.pieces.faces import facets
from tutelage.functions.pieces.regions import Regions
from tutelage.printing import printed
from tutelage.whole import whole


@dataclass(frozen=True, eq=False)
class Pieces:
    """Flat pieces of the units' boundaries: unit int64 [Q], a region of the cell each lies in [Q], w [Q, d], b [Q].

    On its cell a unit vanishes where w x + b = 0, w of length 1 (Phuong 2021, Lemma A.16).
    """

    unit: Tensor
    region: Tensor
    normal: Tensor
    offset: Tensor


@printed
@dataclass(frozen=True, eq=False)
class FoldSet:
    """Facets between regions, with the jump of a function's slope across each.

    Attributes
    ----------
    regions, unit
        As in :class:`Facets`.
    jump
        Length of the jump of the gradient, the largest of all outputs, [F].
    visible
        Whether it is more than rounding, bool [F].
    """

    regions: Tensor
    unit: Tensor
    jump: Tensor
    visible: Tensor


def unit_pieces(regions: Regions) -> Pieces:
    """Every flat piece of the boundary of a hidden unit, with its hyperplane.

    >>> from tutelage.functions.pieces.regions import enumerate_regions
    >>> from tutelage.networks import Network
    >>> bent = Network((torch.eye(2)[None], torch.ones(1, 2, 1), torch.ones(1, 1, 1)), (torch.zeros(1, 2),
    ...                torch.tensor([[-0.5]]), torch.zeros(1, 1)))
    >>> unit_pieces(enumerate_regions(bent, (-1, 1))).unit.tolist()
    [0, 1, 2, 2, 2]
    """
    unit, region = regions.pieces[:, 0].long(), regions.pieces[:, 1].long()
    w, b = unit_maps(regions, unit, region)
    length = w.norm(dim=1)
    return Pieces(unit, region, w / length.unsqueeze(1), b / length)


def unit_maps(regions: Regions, unit: Tensor, region: Tensor) -> tuple[Tensor, Tensor]:
    """The affine map of hidden unit unit[i] (through all layers) in region region[i]: [n, d], [n] (Phuong 2021, Lemma
    A.7).
    """
    w, b = torch.zeros(len(unit), regions.domain.dimension, dtype=torch.float64), torch.zeros(len(unit)).double()
    first = 0
    for layer, width in enumerate(regions.network.widths[1:-1], start=1):
        in_layer = ((unit >= first) & (unit < first + width)).nonzero().flatten()
        slopes, shifts = regions.maps(layer)
        w[in_layer] = slopes[region[in_layer], :, unit[in_layer] - first]
        b[in_layer] = shifts[region[in_layer], unit[in_layer] - first]
        first += width
    return w, b


def fold_set(regions: Regions, layer: int | None = None, unit: int | None = None) -> FoldSet:
    """Folds of the outputs, or of the pre-activations of a layer.

    Parameters
    ----------
    regions
        Regions of one network.
    layer
        Hidden layer, from 1; default: the outputs.
    unit
        One unit of that layer, from 0; default: all.

    Returns
    -------
    FoldSet

    Examples
    --------
    >>> from tutelage.functions.pieces.regions import enumerate_regions
    >>> from tutelage.networks import Network
    >>> net = Network((torch.eye(2)[None], torch.ones(1, 2, 1)))
    >>> fold_set(enumerate_regions(net, (-1, 1))).visible.tolist()
    [True, True, True, True]
    """
    between = facets(regions)
    slopes, _ = regions.maps(layer)
    if unit is not None:
        place = whole(unit)
        if place is None or not 0 <= place < slopes.shape[2]:
            raise TutelageError(f"unit must be from 0 to {slopes.shape[2] - 1} for this layer, got {unit!r}")
        slopes = slopes[:, :, place : place + 1]
    jump = (slopes[between.regions[:, 0]] - slopes[between.regions[:, 1]]).norm(dim=1).amax(1)
    # Relative to the steepest piece: gradients on both sides are sums of the same products but for one unit.
    size = slopes.norm(dim=1).max() if len(slopes) else 0.0
    return FoldSet(between.regions, between.unit, jump, jump > EXACT * size)
