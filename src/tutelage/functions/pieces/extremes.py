"""Exact extremes over a domain, from the vertices of all pieces."""

from dataclasses import dataclass

from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.functions.pieces.regions import Regions
from tutelage.networks import outputs
from tutelage.printing import printed


@printed
@dataclass(frozen=True, eq=False)
class Extremes:
    """Exact range of each output over a domain.

    Attributes
    ----------
    low, high
        Smallest and largest value, [C].
    at_low, at_high
        Points where they are attained, [C, d].
    """

    low: Tensor
    high: Tensor
    at_low: Tensor
    at_high: Tensor


def extreme_values(regions: Regions, functional: Tensor | None = None) -> Extremes:
    """Exact range of each output over the domain of the regions.

    A function that is affine on every region takes its extremes at vertices.

    Parameters
    ----------
    regions
        Regions of one network.
    functional
        [C, k]: ranges of the columns of outputs @ functional instead.

    Returns
    -------
    Extremes

    Examples
    --------
    >>> import torch
    >>> from tutelage.functions.pieces.regions import enumerate_regions
    >>> from tutelage.networks import Network
    >>> net = Network((torch.eye(2)[None], torch.tensor([[[1.0], [-1.0]]])))
    >>> found = extreme_values(enumerate_regions(net, (-1, 2)))
    >>> found.low.item(), found.high.item()
    (-2.0, 2.0)
    """
    values = outputs(regions.network, regions.vertices)[0]
    if functional is not None:
        if functional.ndim != 2 or functional.shape[0] != values.shape[1]:
            raise TutelageError(f"a functional of {values.shape[1]} outputs has shape [{values.shape[1]}, k]")
        values = values @ functional.to(values.dtype)
    low, high = values.min(0), values.max(0)
    return Extremes(low.values, high.values, regions.vertices[low.indices], regions.vertices[high.indices])
