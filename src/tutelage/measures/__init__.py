"""What is seen on a network: one file per subject, every function stacked over members."""

from tutelage.discover import import_all
from tutelage.measures.correlation import RECOVERED, correlations
from tutelage.measures.curvature import hessian_eigenvalues
from tutelage.measures.diagnosis import diagnose
from tutelage.measures.losses import half_squares
from tutelage.measures.modules import LayerMatch, match_modules
from tutelage.measures.registry import MEASURES, measure_of
from tutelage.measures.report import Report, measure
from tutelage.measures.second_moments import second_moments
from tutelage.measures.similarity import INDICES, minibatch_cka, similarity
from tutelage.measures.snapshot import Snapshot
from tutelage.measures.table import table
from tutelage.measures.unit_classes import CLASSES, classify

import_all(__name__, __path__)

__all__ = [
    "CLASSES",
    "INDICES",
    "MEASURES",
    "RECOVERED",
    "LayerMatch",
    "Report",
    "Snapshot",
    "classify",
    "correlations",
    "diagnose",
    "half_squares",
    "hessian_eigenvalues",
    "match_modules",
    "measure",
    "measure_of",
    "second_moments",
    "minibatch_cka",
    "similarity",
    "table",
]
