"""Which network does training pick on orthogonally separable data (Phuong 2021, chapter 3)?

Start with :func:`cones` (data), :func:`flow` (the exact projected gradient flow to t = 1e300) and :func:`limits` (what
Theorem 3.1 promises of its end).

To read, in this order: :mod:`.datasets`, :mod:`.losses`, :mod:`.flow` and its loop ``_flow_loops``, :mod:`.sectors`
(where units go first), :mod:`.max_margin`, :mod:`.limits`, :mod:`.orthogonal`. Theorems: ``certificates``; figures:
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
