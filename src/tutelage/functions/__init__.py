"""Which function a network is.

pieces: its linear regions and what follows from them; pruning: the same function with fewer units; joining: units
matched, and paths between networks; comparing: whether two networks are the same function; identifying: whether the
function determines the parameters; querying: the weights of a black box from its values.
"""

from tutelage.functions.answers import Comparison, Deviation, Supremum
from tutelage.functions.bounds.normal import Redundancy
from tutelage.functions.bounds.pieces import supremum
from tutelage.functions.bounds.ranges import bounds
from tutelage.functions.comparing.canonical import Orbit, canonical, orbit_size
from tutelage.functions.comparing.difference import Closeness, difference_bound, difference_curve, top_class_agreement
from tutelage.functions.comparing.equivalence import same_function
from tutelage.functions.comparing.exports import ExportCheck, check_export
from tutelage.functions.comparing.gallery import Exhibit, exhibit
from tutelage.functions.comparing.relation import Relation, match_parameters
from tutelage.functions.domain import Domain, box, polytope
from tutelage.functions.identifying.construction import construct
from tutelage.functions.identifying.dependency import Graph, dependency_graph
from tutelage.functions.identifying.folds import FoldSet, fold_set
from tutelage.functions.identifying.generality import generality
from tutelage.functions.identifying.identifiability import Identifiability, identifiability
from tutelage.functions.identifying.surfaces import Surface, canonical_surface
from tutelage.functions.identifying.transparency import Transparency, transparency
from tutelage.functions.layers.joint import side_by_side
from tutelage.functions.matching.aligning import weight_matched
from tutelage.functions.matching.barriers import Barrier, barrier
from tutelage.functions.matching.channels import ChannelMatching, match_channels
from tutelage.functions.matching.matching import Matching, match
from tutelage.functions.matching.paths import (
    Path,
    accuracy_along,
    connect,
    loss_along,
    straight,
    straight_after_matching,
)
from tutelage.functions.pieces.counts import Estimate, estimate, zaslavsky
from tutelage.functions.pieces.extremes import Extremes, exact_deviation, extreme_values
from tutelage.functions.pieces.faces import Facets, facets, polygons, segments, volumes
from tutelage.functions.pieces.regions import Regions, enumerate_regions
from tutelage.functions.pieces.slices import slice_network
from tutelage.functions.proofs.certificates import check_certificate, load_certificate, save_certificate
from tutelage.functions.pruning.channels import ChannelPruning, prune_channels
from tutelage.functions.pruning.results import Pruning, PruningProof, Samples
from tutelage.functions.pruning.savings import Savings, savings
from tutelage.functions.pruning.stability import Decided
from tutelage.functions.pruning.surgery import prune
from tutelage.functions.querying.reconstruction import Reconstruction, identify
from tutelage.functions.search.stacks import largest_deviation

__all__ = [
    "ChannelPruning",
    "prune_channels",
    "ChannelMatching",
    "match_channels",
    "Barrier",
    "accuracy_along",
    "barrier",
    "weight_matched",
    "Domain",
    "Closeness",
    "Comparison",
    "Decided",
    "Deviation",
    "Estimate",
    "Exhibit",
    "ExportCheck",
    "Extremes",
    "Facets",
    "FoldSet",
    "Graph",
    "Identifiability",
    "Matching",
    "Orbit",
    "Path",
    "Pruning",
    "PruningProof",
    "Reconstruction",
    "Redundancy",
    "Regions",
    "Relation",
    "Samples",
    "Savings",
    "Supremum",
    "Surface",
    "Transparency",
    "bounds",
    "box",
    "canonical",
    "canonical_surface",
    "check_certificate",
    "check_export",
    "connect",
    "construct",
    "dependency_graph",
    "difference_bound",
    "difference_curve",
    "enumerate_regions",
    "estimate",
    "exact_deviation",
    "exhibit",
    "extreme_values",
    "facets",
    "fold_set",
    "generality",
    "identifiability",
    "identify",
    "largest_deviation",
    "load_certificate",
    "loss_along",
    "match",
    "match_parameters",
    "orbit_size",
    "polygons",
    "polytope",
    "prune",
    "same_function",
    "save_certificate",
    "savings",
    "segments",
    "side_by_side",
    "slice_network",
    "straight",
    "straight_after_matching",
    "supremum",
    "top_class_agreement",
    "transparency",
    "volumes",
    "zaslavsky",
]
