"""Which function a network is: its pieces, matching units, removing what does nothing, paths between networks."""

from tutelage.geometry.bounds import bounds
from tutelage.geometry.canonical import Orbit, canonical, orbit_size
from tutelage.geometry.construction import construct
from tutelage.geometry.counts import Estimate, estimate, zaslavsky
from tutelage.geometry.dependency import Graph, dependency_graph
from tutelage.geometry.deviation import Deviation, largest_deviation
from tutelage.geometry.difference import Extremes, deepen, exact_deviation, extreme_values, side_by_side
from tutelage.geometry.domain import Domain, box, polytope
from tutelage.geometry.equivalence import Comparison, same_function
from tutelage.geometry.faces import Facets, facets, polygons, segments, volumes
from tutelage.geometry.folds import FoldSet, fold_set
from tutelage.geometry.gallery import Exhibit, exhibit
from tutelage.geometry.generality import generality
from tutelage.geometry.identifiability import Identifiability, identifiability
from tutelage.geometry.intervals import Box, box_for
from tutelage.geometry.matching import Matching, match
from tutelage.geometry.normal import Redundancy
from tutelage.geometry.paths import Path, connect, loss_along, straight, straight_after_matching
from tutelage.geometry.redundancy import Step
from tutelage.geometry.regions import BUDGET, Regions, enumerate_regions, local_maps
from tutelage.geometry.relation import Relation, match_parameters
from tutelage.geometry.slices import slice_network
from tutelage.geometry.supremum import Supremum, as_relu, homogeneous, supremum
from tutelage.geometry.surfaces import Surface, canonical_surface
from tutelage.geometry.surgery import Proof, Pruning, prune
from tutelage.geometry.transparency import Transparency, transparency

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
    "FoldSet",
    "Graph",
    "Identifiability",
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
    "Surface",
    "Transparency",
    "as_relu",
    "bounds",
    "box",
    "box_for",
    "canonical",
    "canonical_surface",
    "connect",
    "construct",
    "deepen",
    "dependency_graph",
    "enumerate_regions",
    "estimate",
    "exact_deviation",
    "exhibit",
    "extreme_values",
    "facets",
    "fold_set",
    "generality",
    "homogeneous",
    "identifiability",
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
    "transparency",
    "volumes",
    "zaslavsky",
]
