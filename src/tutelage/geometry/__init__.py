"""Which function a network is: its pieces, matching units, removing what does nothing, paths between networks."""

from tutelage.geometry.bounds import bounds
from tutelage.geometry.counts import Estimate, estimate, zaslavsky
from tutelage.geometry.deviation import Deviation, largest_deviation
from tutelage.geometry.difference import Extremes, deepen, exact_deviation, extreme_values, side_by_side
from tutelage.geometry.domain import Domain, box, polytope
from tutelage.geometry.faces import Facets, facets, polygons, segments, volumes
from tutelage.geometry.intervals import Box, box_for
from tutelage.geometry.matching import Matching, match
from tutelage.geometry.paths import Path, connect, loss_along, straight, straight_after_matching
from tutelage.geometry.redundancy import Step
from tutelage.geometry.regions import Regions, enumerate_regions, local_maps
from tutelage.geometry.slices import slice_network
from tutelage.geometry.surgery import Proof, Pruning, prune

__all__ = [
    "Box",
    "Deviation",
    "Domain",
    "Estimate",
    "Extremes",
    "Facets",
    "Matching",
    "Path",
    "Proof",
    "Pruning",
    "Regions",
    "Step",
    "bounds",
    "box",
    "box_for",
    "connect",
    "deepen",
    "enumerate_regions",
    "estimate",
    "exact_deviation",
    "extreme_values",
    "facets",
    "largest_deviation",
    "local_maps",
    "loss_along",
    "match",
    "polygons",
    "polytope",
    "prune",
    "segments",
    "side_by_side",
    "slice_network",
    "straight",
    "straight_after_matching",
    "volumes",
    "zaslavsky",
]
