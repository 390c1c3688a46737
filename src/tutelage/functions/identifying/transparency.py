"""Is a network transparent (Phuong 2021, section 2.2): has every hidden layer an active unit, whatever the input?"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.functions.bounds.ranges import bounds
from tutelage.functions.domain import Domain, Ends, as_domain, box_for
from tutelage.functions.identifying.conditions import Requirement, one_relu_network
from tutelage.functions.pieces.counts import chords
from tutelage.functions.pieces.regions import BUDGET, Regions, enumerate_regions
from tutelage.networks import Network, forward
from tutelage.printing import printed
from tutelage.whole import positive, whole

SAMPLES = 4096
"""Points looked at where there are too many regions to look at all of them."""


@printed
@dataclass(frozen=True, eq=False)
class Transparency:
    """Whether every hidden layer has an active unit at every input of a domain.

    Attributes
    ----------
    holds
        None where neither bounds prove it nor samples refute it.
    how
        "regions", "bounds" or "samples".
    layer, point
        int64 [n] and [n, d]: every region (or sample) in which a layer, from 1, has no active unit.
    """

    holds: bool | None
    how: Literal["regions", "bounds", "samples"]
    layer: Tensor
    point: Tensor

    def condition(self, name: str = "transparent") -> Requirement:
        """The same as a condition: the number of places without an active unit."""
        if self.holds is None:
            return Requirement(name, None, "", None, f"no place without an active unit among {SAMPLES} samples")
        count, words = len(self.layer), f"found by {self.how}"
        if not count:
            return Requirement(name, 0.0, "= 0", self.holds, words)
        layer, point = int(self.layer[0]), [round(x, 6) for x in self.point[0].tolist()]
        witness = f"no unit of layer {layer} is active at {point} ({words})"
        return Requirement(name, float(count), "= 0", False, witness, {"layer": layer, "point": point})


def transparency(
    network: Network, domain: Domain | Ends, upto: int | None = None, budget: int = BUDGET, seed: int = 0
) -> Transparency:
    """Look for regions of a domain in which a hidden layer has no active unit.

    Parameters
    ----------
    network
        One relu network.
    domain, budget
        As in :func:`enumerate_regions`; beyond the budget, bounds may still prove that there is none, or samples find
        one.
    upto
        Last hidden layer to examine; default: all.
    seed
        Of the samples.

    Returns
    -------
    Transparency

    Examples
    --------
    >>> net = Network((torch.eye(2)[None], torch.ones(1, 2, 1)))
    >>> transparency(net, (-1, 1)).point.tolist()
    [[-0.5, -0.5]]
    """
    network = one_relu_network(network)
    domain = as_domain(domain, network.inputs)
    number, budget = network.depth - 1 if upto is None else whole(upto), positive(budget, "budget")
    if number is None or not 0 <= number < network.depth:
        raise TutelageError(
            f"a network of {network.depth} layers has hidden layers 1 .. {network.depth - 1}, not {upto!r}"
        )
    try:
        regions = enumerate_regions(network, domain, budget)
    except TutelageError:
        return _without_regions(network, domain, number, seed)
    return transparency_of(regions, number)


def transparency_of(regions: Regions, upto: int | None = None) -> Transparency:
    """The same from regions at hand."""
    upto = regions.network.depth - 1 if upto is None else upto
    parts = regions.signs.split(regions.network.widths[1:-1], dim=1)[:upto]
    return _closed([(part < 0).all(1) for part in parts], regions.interior, "regions")


def _closed(off: list[Tensor], points: Tensor, how: Literal["regions", "samples"]) -> Transparency:
    """From whether each layer is off at each point: bool [N] per layer."""
    layer, at = torch.stack(off).nonzero(as_tuple=True) if off else torch.zeros(2, 0, dtype=torch.int64)
    holds = False if len(layer) else True if how == "regions" else None
    return Transparency(holds, how, layer + 1, points[at])


def _without_regions(network: Network, domain: Domain, upto: int, seed: int) -> Transparency:
    # Sufficient, not necessary: one unit per layer that is always active. Samples can only show the opposite.
    known = bounds(network, box_for(network, (domain.low, domain.high)))
    if all(bool((low >= 0).any()) for low, _ in known[:upto]):
        return Transparency(True, "bounds", torch.zeros(0, dtype=torch.int64), domain.centre[None][:0])
    points = sample(domain, SAMPLES, seed)
    features = forward(network, points).features[1 : upto + 1]
    return _closed([(f[0] == 0).all(1) for f in features], points, "samples")


def sample(domain: Domain, count: int, seed: int = 0) -> Tensor:
    """Points of a domain: uniform in a box, else on random chords: [count, d]."""
    key = draws.keys([seed], "points of a domain")
    if domain.is_box:
        unit = draws.uniforms(key, count * domain.dimension).view(count, domain.dimension)
        return domain.low + unit * (domain.high - domain.low)
    pairs = [chords(domain, seed * count + s) for s in range(-(-count // 16))]
    start, end = (torch.cat(ends)[:count] for ends in zip(*pairs, strict=True))
    return start + draws.uniforms(key, count).view(-1, 1) * (end - start)
