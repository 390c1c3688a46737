"""Which function a network is: its pieces, matching units, removing what does nothing, paths between networks."""

from tutelage.geometry.bounds import bounds
from tutelage.geometry.canonical import Orbit, canonical, orbit_size
from tutelage.geometry.counts import Estimate, estimate, zaslavsky
from tutelage.geometry.deviation import Deviation, largest_deviation
from tutelage.geometry.difference import Extremes, deepen, exact_deviation, extreme_values, side_by_side
from tutelage.geometry.domain import Domain, box, polytope
from tutelage.geometry.equivalence import Comparison, same_function
from tutelage.geometry.faces import Facets, facets, polygons, segments, volumes
from tutelage.geometry.gallery import Exhibit, exhibit
from tutelage.geometry.intervals import Box, box_for
from tutelage.geometry.matching import Matching, match
from tutelage.geometry.normal import Redundancy
from tutelage.geometry.paths import Path, connect, loss_along, straight, straight_after_matching
from tutelage.geometry.redundancy import Step
from tutelage.geometry.regions import BUDGET, Regions, enumerate_regions, local_maps
from tutelage.geometry.relation import Relation, match_parameters
from tutelage.geometry.slices import slice_network
from tutelage.geometry.supremum import Supremum, as_relu, homogeneous, supremum
from tutelage.geometry.surgery import Proof, Pruning, prune

__all__ = [
    "BUDGET",
    "Box",
    "Comparison",
    "Deviation",
    "Domain",
    "Estimate",
    "Exhibit",
    "Extremes",
    "Facets",
    "Matching",
    "Orbit",
    "Path",
    "Proof",
    "Pruning",
    "Redundancy",
    "Regions",
    "Relation",
    "Step",
    "Supremum",
    "as_relu",
    "bounds",
    "box",
    "box_for",
    "canonical",
    "connect",
    "deepen",
    "enumerate_regions",
    "estimate",
    "exact_deviation",
    "exhibit",
    "extreme_values",
    "facets",
    "homogeneous",
    "largest_deviation",
    "local_maps",
    "loss_along",
    "match",
    "match_parameters",
    "orbit_size",
    "polygons",
    "polytope",
    "prune",
    "same_function",
    "segments",
    "side_by_side",
    "slice_network",
    "straight",
    "straight_after_matching",
    "supremum",
    "volumes",
    "zaslavsky",
]
