r"""Which function a network is, and whether two networks are the same one.

It answers, with a proof or with an input that shows the opposite: are two networks the same function, over all inputs
or on a domain; how far apart are they at most; do they choose the same class; is an export still the model; what can a
network do without; which unit of one is which of the other, and is there a path between them; does the function
determine the parameters, and what are they if only values can be asked for.

Start with :func:`same_function` (two networks, any widths and depths), :func:`prune` (one network, the same function
with fewer units) and :func:`match` (units of a student to those of its teacher). Every question about two networks is
answered by one record, :class:`Answer`.

The files, in the order to read them; no file imports from a line below its own.

- ``checks``, ``rounding``, ``domain``, ``answers``: what arguments must be, what rounding can do, where networks are
  looked at, and what is asked and answered.
- ``relaxations``: what one unit can do on an interval. ``layers``: two networks as pairs of layers.
- ``pieces``: the exact linear regions of a network. ``search``: the search for an input at which two networks differ.
  ``bounds``: bounds that hold for every input; ``bounds.choose`` says which are tried when, and why.
- ``proofs``: proofs written for ``tutelage verify``. ``comparing``: the questions about two networks.
- ``matching``: units matched, and paths between networks. ``pruning``: the same function with fewer units.
- ``querying``: the weights of a black box from its values. ``identifying``: whether the function determines the
  parameters (Phuong 2021, chapter 2).
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tutelage.functions.answers import Answer
    from tutelage.functions.comparing.canonical import canonical, orbit_size
    from tutelage.functions.comparing.difference import difference_bound, difference_curve, top_class_agreement
    from tutelage.functions.comparing.equivalence import same_function
    from tutelage.functions.comparing.exports import ExportCheck, check_export
    from tutelage.functions.comparing.gallery import exhibit
    from tutelage.functions.comparing.relation import match_parameters
    from tutelage.functions.domain import Domain, box, polytope
    from tutelage.functions.identifying.construction import construct
    from tutelage.functions.identifying.identifiability import identifiability
    from tutelage.functions.matching.barriers import Barrier, barrier
    from tutelage.functions.matching.channels import match_channels
    from tutelage.functions.matching.matching import Matching, match
    from tutelage.functions.matching.merging import Merged, merge
    from tutelage.functions.matching.paths import (
        Path,
        accuracy_along,
        connect,
        loss_along,
        straight,
        straight_after_matching,
    )
    from tutelage.functions.matching.reasons import BarrierReasons, explain_barrier
    from tutelage.functions.pieces.counts import estimate
    from tutelage.functions.pieces.faces import polygons, segments, volumes
    from tutelage.functions.pieces.regions import Regions, enumerate_regions
    from tutelage.functions.pieces.slices import slice_network
    from tutelage.functions.proofs.writing import save_proof
    from tutelage.functions.pruning.channels import prune_channels
    from tutelage.functions.pruning.results import Pruning
    from tutelage.functions.pruning.savings import Savings, savings
    from tutelage.functions.pruning.surgery import prune
    from tutelage.functions.querying.reconstruction import Reconstruction, identify

_PLACES = {
    "answers": ("Answer",),
    "comparing.canonical": ("canonical", "orbit_size"),
    "comparing.difference": ("difference_bound", "difference_curve", "top_class_agreement"),
    "comparing.equivalence": ("same_function",),
    "comparing.exports": ("ExportCheck", "check_export"),
    "comparing.gallery": ("exhibit",),
    "comparing.relation": ("match_parameters",),
    "domain": ("Domain", "box", "polytope"),
    "identifying.construction": ("construct",),
    "identifying.identifiability": ("identifiability",),
    "matching.barriers": ("Barrier", "barrier"),
    "matching.channels": ("match_channels",),
    "matching.matching": ("Matching", "match"),
    "matching.merging": ("Merged", "merge"),
    "matching.paths": ("Path", "accuracy_along", "connect", "loss_along", "straight", "straight_after_matching"),
    "matching.reasons": ("BarrierReasons", "explain_barrier"),
    "pieces.counts": ("estimate",),
    "pieces.faces": ("polygons", "segments", "volumes"),
    "pieces.regions": ("Regions", "enumerate_regions"),
    "pieces.slices": ("slice_network",),
    "proofs.writing": ("save_proof",),
    "pruning.channels": ("prune_channels",),
    "pruning.results": ("Pruning",),
    "pruning.savings": ("Savings", "savings"),
    "pruning.surgery": ("prune",),
    "querying.reconstruction": ("Reconstruction", "identify"),
}
"""Public names by the file that has them: a command imports those it needs alone, and starts sooner."""

__all__ = [
    "Answer",
    "Barrier",
    "BarrierReasons",
    "Domain",
    "ExportCheck",
    "Matching",
    "Merged",
    "Path",
    "Pruning",
    "Reconstruction",
    "Regions",
    "Savings",
    "accuracy_along",
    "barrier",
    "box",
    "canonical",
    "check_export",
    "connect",
    "construct",
    "difference_bound",
    "difference_curve",
    "enumerate_regions",
    "estimate",
    "exhibit",
    "explain_barrier",
    "identifiability",
    "identify",
    "loss_along",
    "match",
    "match_channels",
    "match_parameters",
    "merge",
    "orbit_size",
    "polygons",
    "polytope",
    "prune",
    "prune_channels",
    "same_function",
    "save_proof",
    "savings",
    "segments",
    "slice_network",
    "straight",
    "straight_after_matching",
    "top_class_agreement",
    "volumes",
]


def __getattr__(name: str) -> Any:
    for place, names in _PLACES.items():
        if name in names:
            value = getattr(importlib.import_module(f"{__name__}.{place}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
