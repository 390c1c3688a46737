"""Which network training picks on orthogonally separable data (Phuong 2021, chapter 3).

Data sets (:mod:`.datasets`), the exact projected gradient flow to t = 1e300 (:mod:`.flow`), max-margin vectors
(:mod:`.max_margin`) and the limits that Theorem 3.1 promises (:mod:`.limits`). Theorems: ``certificates``; figures:
``studies``.
"""

from tutelage.margins.datasets import LabelledPoints, cones, orthants
from tutelage.margins.flow import MarginFlow, balanced_start, flow
from tutelage.margins.limits import limits
from tutelage.margins.max_margin import MaxMargins, max_margins
from tutelage.margins.orthogonal import separability

__all__ = [
    "LabelledPoints",
    "MarginFlow",
    "MaxMargins",
    "balanced_start",
    "cones",
    "flow",
    "limits",
    "max_margins",
    "orthants",
    "separability",
]
