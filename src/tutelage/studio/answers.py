"""Questions without a timeline: two networks compared, a network pruned, results browsed."""

import base64
import io
import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tutelage.errors import TutelageError, unknown
from tutelage.functions import Answer, Domain, Pruning, box, match, prune, same_function
from tutelage.functions.checks import rounded_up
from tutelage.measures.unit_classes import CLASSES
from tutelage.networks import Network, outputs
from tutelage.networks.files import to_bytes
from tutelage.settings import one_line
from tutelage.studio.browsing import browsed, student
from tutelage.studio.uploads import Uploads
from tutelage.threads import single_threaded

SECONDS = 20.0
"""Time limit of a comparison."""
_WEIGHTS = 2_000_000  # of a network that is compared here


def answered(asked: dict[str, Any], uploads: Uploads, results: Path | None) -> dict[str, Any] | bytes:
    """The answer to a question of the page.

    Parameters
    ----------
    asked
        What it is ``about``: "compare", "pruned", "results" or "student", with its details.
    uploads
        Files that the page sent.
    results
        Folder of results.

    Returns
    -------
    dict or bytes
        Plain data, or the bytes of a file.
    """
    about = asked.get("about")
    if about == "compare":
        single_threaded()
        return compared(asked, uploads)
    if about == "pruned":
        return to_bytes(_pruned(_chosen(asked, "first", uploads)[1], asked).network)
    if about in ("results", "student"):
        if results is None:
            raise TutelageError("this server was started without results: use tutelage studio --results DIR")
        return browsed(results) if about == "results" else student(results, asked)
    raise unknown("question", about, ["compare", "pruned", "results", "student"])


def _chosen(asked: dict[str, Any], which: str, uploads: Uploads) -> tuple[str, Network]:
    """Name and one member of a file."""
    name, network = uploads.network(asked.get(which))
    member = asked.get(f"{which}_member", 0)
    if not isinstance(member, int) or not 0 <= member < network.members:
        raise TutelageError(f"{name} has members 0 to {network.members - 1}, got {one_line(str(member))[:20]}")
    weights = sum(a[0].numel() for a in network.parameters)
    if weights > _WEIGHTS:
        raise TutelageError(
            f"{name} has {weights:,} weights, and this page compares up to {_WEIGHTS:,}: use tutelage compare"
        )
    return name, network[member]


def _ends(asked: dict[str, Any]) -> tuple[float, float] | None:
    """Lower and upper bound of the box, None for all inputs."""
    ends = asked.get("box")
    if ends is None:
        return None
    try:
        low, high = (float(end) for end in ends)
    except (TypeError, ValueError):
        raise TutelageError("the box must be two numbers, its lower and upper bound") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise TutelageError(f"the box must have a lower bound below its upper one, got {low:g} and {high:g}")
    return low, high


def _domain(asked: dict[str, Any], inputs: int) -> Domain | None:
    ends = _ends(asked)
    return None if ends is None else box(*ends, dimension=inputs)


def compared(asked: dict[str, Any], uploads: Uploads) -> dict[str, Any]:
    """Verdict, bound, witness, slice, units side by side, and sizes after pruning."""
    (name_a, first), (name_b, second) = (_chosen(asked, which, uploads) for which in ("first", "second"))
    domain = _domain(asked, first.inputs)
    comparison = same_function(first, second, domain, seconds=SECONDS)
    witness = comparison.witness
    smaller = [_pruned(network, asked) for network in (first, second)]
    return {
        "names": [name_a, name_b],
        "widths": [list(first.widths), list(second.widths)],
        "verdict": comparison.verdict,
        "domain": comparison.domain,
        "reason": comparison.reason,
        "sentences": _sentences(comparison),
        "witness": None if witness is None else witness.tolist()[:50],
        "values": None if witness is None else [_at(network, witness) for network in (first, second)],
        "picture": _picture(first, second, domain, witness),
        "units": _units(first, second, smaller),
        "pruned": [_sizes(network, result) for network, result in zip((first, second), smaller, strict=True)],
    }


def _sentences(comparison: Answer) -> list[str]:
    over = "" if comparison.bounded else " times max(1, |x|)"
    lines = []
    if comparison.witness is not None:
        kind = "The largest difference is" if comparison.exact else "The largest difference found is"
        lines.append(f"{kind} {comparison.difference:.6g}{over}.")
    if comparison.bound is not None and not comparison.exact:
        lines.append(
            f"No difference exceeds {rounded_up(comparison.bound, 3)}{over}: proved for all inputs of the domain."
        )
    return [*lines, f"Differences up to {comparison.tolerance:.3g}{over} count as equal."]


def _at(network: Network, witness: Tensor) -> list[float]:
    return outputs(network.to(dtype=torch.float64), witness[None])[0, 0].tolist()[:20]


def _picture(first: Network, second: Network, domain: Domain | None, witness: Tensor | None) -> str | None:
    """Both networks on a plane through the witness, as the address of a PNG."""
    if first.inputs < 2:
        return None
    from tutelage.functions.drawing import draw_comparison
    from tutelage.studies.figures import house_style

    buffer = io.BytesIO()
    try:
        with house_style():
            draw_comparison(first, second, domain, witness).savefig(buffer, format="png")
    except TutelageError:  # too many pieces to draw
        return None
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def _units(first: Network, second: Network, smaller: list[Pruning]) -> list[dict[str, Any]]:
    """For every hidden layer the units of both networks: why they go, and for the second their match and class."""
    lost = [{(step.layer, step.unit): f"{step.action}: {step.reason}" for step in each.steps} for each in smaller]
    pairs: tuple[Tensor, ...] | None = None
    classes: tuple[Tensor, ...] = ()
    if first.depth == second.depth:
        try:
            matching = match(first, second)
            pairs, classes = matching.teacher_of, matching.classes
        except TutelageError:
            pairs = None
    rows: list[dict[str, Any]] = []
    for which, network in enumerate((first, second)):
        for layer in range(1, network.depth):
            for unit in range(min(network.widths[layer], 200)):
                row = {"network": which, "layer": layer, "unit": unit, "redundant": lost[which].get((layer, unit), "")}
                if which and pairs is not None:
                    other = int(pairs[layer - 1][0, unit])
                    row |= {"match": other if other >= 0 else None, "class": CLASSES[int(classes[layer - 1][0, unit])]}
                rows.append(row)
    return rows


def _pruned(network: Network, asked: dict[str, Any]) -> Pruning:
    return prune(network, None, _ends(asked), seconds=SECONDS)


def _sizes(network: Network, smaller: Pruning) -> dict[str, Any]:
    """Hidden units before and after pruning, and what is proved."""
    widths = list(network.widths[1:-1]), smaller.widths[0].tolist()
    return {"before": widths[0], "after": widths[1], "proof": str(smaller.proof)}
