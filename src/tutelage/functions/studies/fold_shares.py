"""Shares of folds, regions and canonical pieces of networks for which the lemmas of Phuong 2021 hold."""

from typing import Literal

import numpy as np
import torch

from tutelage.functions.domain import box
from tutelage.functions.identifying.construction import construct
from tutelage.functions.identifying.dependency import dependency_graph
from tutelage.functions.identifying.identifiability import layer_folds
from tutelage.functions.identifying.surfaces import Surface, canonical_surface
from tutelage.functions.pieces.faces import facets, segments
from tutelage.functions.pieces.regions import Regions, enumerate_regions
from tutelage.functions.studies._random_relu import with_transparency
from tutelage.lab import Context, Experiment
from tutelage.lab.experiment import Arrays
from tutelage.networks import Network, outputs
from tutelage.settings import Seeds

BIAS = 0.5
JUMP = 1e-9
"""Relative to the steepest slope: gradients on two sides of a fold that differ by less do not differ."""

Source = Literal["transparent", "not transparent", "constructed"]


class FoldShares(Experiment, kind="fold-shares", numerics=1):
    """Shares of folds and pieces for which the lemmas hold, of random or constructed networks on the box -1 to 1.

    Members of whose seed no such network was found are NaN.
    """

    source: Source
    widths: tuple[int, ...]
    seeds: Seeds
    bias: float = BIAS

    @property
    def cost(self) -> float:
        return (0.25 if self.source == "constructed" else 0.08) * self.members

    def run(self, context: Context) -> Arrays:
        constructed = self.source == "constructed"
        rows: list[dict[str, float]] = []
        for seed in self.seeds:
            network = self.network(seed)
            rows.append({} if network is None else measured(network, identified=constructed))
            context.progress(len(rows) / self.members)
        return {name: np.array([row.get(name, np.nan) for row in rows]) for name in measures(constructed)}

    def network(self, seed: int) -> Network | None:
        """The network of a seed, None where there is none."""
        domain = box(-1, 1, dimension=self.widths[0])
        if self.source == "constructed":
            return construct(self.widths, domain, seed)
        return with_transparency(self.widths, self.bias, seed, domain, self.source == "transparent")


class FoldExamples(Experiment, kind="fold-examples", numerics=1):
    """Transparent random networks in the plane, judged as examples for a figure.

    telling: their folds have three orders, some of them lower than their layer; shortest_piece: length of the shortest
    canonical piece, -1 where no transparent network was found.
    """

    widths: tuple[int, ...]
    seeds: Seeds
    bias: float = BIAS

    @property
    def cost(self) -> float:
        return 0.06 * self.members

    def run(self, context: Context) -> Arrays:
        telling, shortest = [], []
        for seed in self.seeds:
            surface = self.surface(seed)
            telling.append(surface is not None and len(surface.levels) == 3 and _some_too_low(surface))
            shortest.append(-1.0 if surface is None else _shortest(surface))
            context.progress(len(telling) / self.members)
        return {"telling": np.array(telling), "shortest_piece": np.array(shortest)}

    def surface(self, seed: int) -> Surface | None:
        """The folds of the network of a seed, None where it has none that is transparent."""
        domain = box(-1, 1, dimension=self.widths[0])
        network = with_transparency(self.widths, self.bias, seed, domain, True)
        return None if network is None else canonical_surface(enumerate_regions(network, domain))


def _some_too_low(surface: Surface) -> bool:
    return bool((surface.order < surface.owner_layer).any())


def _shortest(surface: Surface) -> float:
    """The length of the shortest piece of a surface in the plane."""
    length = segments(surface.regions)[0].diff(dim=1)[:, 0].norm(dim=1)
    return torch.zeros(len(surface)).double().index_add(0, surface.facet_piece, length).min().item()


MEASURES = (
    "seen", "bent", "surface_order", "hidden_layers", "within_layers", "within_layers_by_bends", "too_low", "folds",
    "pieces", "edges",
)  # fmt: skip


def measures(identified: bool) -> tuple[str, ...]:
    """Names of what is measured."""
    return (*MEASURES, "told") if identified else MEASURES


def measured(network: Network, identified: bool = False) -> dict[str, float]:
    """Shares of folds, regions and canonical pieces of one network for which the lemmas hold.

    identified: whether to measure how many units of each layer are identified by their paths.
    """
    regions = enumerate_regions(network, (-1, 1))
    surface = canonical_surface(regions)
    graph = dependency_graph(surface)
    deepest = network.depth - 1
    layer = regions.layers[facets(regions).unit]
    above = surface.order <= surface.owner_layer
    values = {
        "seen": _share(_jumps(network, regions)),
        "bent": 1 - _share(_affine(network, regions)),
        "surface_order": float(len(surface.levels)),
        "hidden_layers": float(deepest),
        "within_layers": _share(above & (surface.owner_layer <= deepest - graph.longest_of_all)),
        "within_layers_by_bends": _share(above & (surface.owner_layer <= deepest - graph.longest)),
        "too_low": _share(surface.order[surface.facet_piece] < layer),
        "folds": float(len(layer)),
        "pieces": float(len(surface)),
        "edges": float(len(graph.edges)),
    }
    if identified:
        by_layer = [layer_folds(network, regions.domain, l) for l in range(1, network.depth)]
        values["told"] = sum(len(folds.found) for folds in by_layer) / sum(network.widths[1:-1])
    return values


def _share(mask: torch.Tensor) -> float:
    """The share that is true; NaN of nothing."""
    return mask.double().mean().item() if len(mask) else float("nan")


def _jumps(network: Network, regions: Regions) -> torch.Tensor:
    """Whether the network's gradient, by differentiating it, differs on the two sides of each fold: bool [F]."""
    x = regions.interior.clone().requires_grad_()
    (slope,) = torch.autograd.grad(outputs(network, x).sum(), x)
    ends = slope[facets(regions).regions]
    return (ends[:, 0] - ends[:, 1]).norm(dim=1) > JUMP * slope.norm(dim=1).max()


def _affine(network: Network, regions: Regions) -> torch.Tensor:
    """Whether the network at the middle of each region is the mean of its values at the corners: bool [R]."""
    at_corners = outputs(network, regions.vertices)[0, regions.corners.long(), 0]
    mean = torch.segment_reduce(at_corners, "mean", offsets=regions.corner_from)
    return (outputs(network, regions.interior)[0, :, 0] - mean).abs() <= JUMP * at_corners.abs().max()
