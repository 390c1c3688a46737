"""Which function a network is.

pieces: its linear regions and what follows from them; pruning: the same function with fewer units; joining: units
matched, and paths between networks; comparing: whether two networks are the same function; identifying: whether the
function determines the parameters; querying: the weights of a black box from its values.
"""

from tutelage.geometry.comparing.canonical import Orbit, canonical, orbit_size
from tutelage.geometry.comparing.equivalence import same_function
from tutelage.geometry.comparing.gallery import Exhibit, exhibit
from tutelage.geometry.comparing.normal import Redundancy
from tutelage.geometry.comparing.relation import Relation, match_parameters
from tutelage.geometry.comparing.supremum import Supremum, as_relu, homogeneous, supremum
from tutelage.geometry.comparing.verdict import Comparison
from tutelage.geometry.identifying.construction import construct
from tutelage.geometry.identifying.dependency import Graph, dependency_graph
from tutelage.geometry.identifying.folds import FoldSet, fold_set
from tutelage.geometry.identifying.generality import generality
from tutelage.geometry.identifying.identifiability import Identifiability, identifiability
from tutelage.geometry.identifying.surfaces import Surface, canonical_surface
from tutelage.geometry.identifying.transparency import Transparency, transparency
from tutelage.geometry.joining.matching import Matching, match
from tutelage.geometry.joining.paths import Path, connect, loss_along, straight, straight_after_matching
from tutelage.geometry.pieces.counts import Estimate, estimate, zaslavsky
from tutelage.geometry.pieces.difference import Extremes, deepen, exact_deviation, extreme_values, side_by_side
from tutelage.geometry.pieces.domain import Domain, box, polytope
from tutelage.geometry.pieces.faces import Facets, facets, polygons, segments, volumes
from tutelage.geometry.pieces.regions import BUDGET, Regions, enumerate_regions, local_maps
from tutelage.geometry.pieces.slices import slice_network
from tutelage.geometry.pruning.bounds import bounds
from tutelage.geometry.pruning.deviation import Deviation, largest_deviation
from tutelage.geometry.pruning.intervals import Box, box_for
from tutelage.geometry.pruning.redundancy import Step
from tutelage.geometry.pruning.surgery import Proof, Pruning, prune
from tutelage.geometry.querying.reconstruction import Reconstruction, identify

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
    "Reconstruction",
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
    "identify",
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
