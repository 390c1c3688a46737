"""Proofs that are stored: the boxes that make up a domain, each small enough for simple bounds, and their checker.

The checker shares no arithmetic with what found the proof: it sees that the boxes cover the domain, and bounds both
networks on each of them with :class:`fractions.Fraction`, where nothing is rounded. It is slow, and simple to read.
"""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tutelage.errors import TutelageError
from tutelage.files import write_atomically
from tutelage.functions.answers import Answer
from tutelage.functions.checks import in_double
from tutelage.functions.layers.pairs import joined
from tutelage.functions.layers.sparse import reading_errors
from tutelage.functions.proofs.exact_forms import AffineForm, Both, Row, combined, ends, exact_layers, output_forms
from tutelage.networks import Network

FORMAT = "tutelage-boxes-1"
_HALVINGS = 4  # times a box may be halved where its bound does not suffice


def save_certificate(
    proof: Answer, epsilon: float | list[float] | None, path: str | Path, margin: float | None = None
) -> None:
    """Store the boxes of a proof that differences stay within epsilon, or that top classes agree.

    Parameters
    ----------
    proof
        From :func:`difference_bound` or :func:`top_class_agreement` with ``keep=True`` and the verdict "holds".
    epsilon
        Largest difference allowed, one for all outputs or one per output; infinite for outputs that are not asked
        about. None for top classes.
    path
        File to write, as JSON. Numbers are stored exactly.
    margin
        Of the question about top classes; None for epsilon.

    Examples
    --------
    >>> import tempfile
    >>> from tutelage.functions import difference_bound
    >>> network = Network((torch.eye(2)[None], torch.ones(1, 2, 1)))
    >>> other = Network((torch.eye(2)[None], 1.01 * torch.ones(1, 2, 1)))
    >>> proof = difference_bound(network, other, (-1, 1), 0.1, keep=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_certificate(proof, 0.1, Path(folder) / "proof.json")
    ...     (Path(folder) / "proof.json").stat().st_size > 0
    True
    """
    if (epsilon is None) == (margin is None):
        raise TutelageError("a proof is about epsilon or about top classes: give epsilon, or a margin of 0 or more")
    if not proof.holds or proof.leaves is None:
        raise TutelageError("only a proof with its boxes can be stored: ask difference_bound with keep=True")
    low, high = proof.leaves
    boxes = [[[v.hex() for v in row] for row in pair] for pair in zip(low.tolist(), high.tolist(), strict=True)]
    each = [epsilon] * len(proof.at_most) if isinstance(epsilon, int | float) else epsilon
    asked = {"margin": float(margin or 0.0).hex()} if each is None else {"epsilon": [float(e).hex() for e in each]}
    write_atomically(Path(path), json.dumps({"format": FORMAT, **asked, "boxes": boxes}))


def load_certificate(path: str | Path) -> tuple[list[float] | float, np.ndarray, np.ndarray]:
    """Read a stored proof.

    Parameters
    ----------
    path
        File that :func:`save_certificate` wrote.

    Returns
    -------
    tuple
        epsilon [C], or the margin of a question about top classes; and the low and high ends of the boxes, [N, d] each.
    """
    try:
        record: dict[str, Any] = json.loads(Path(path).read_text())
        if record["format"] != FORMAT:
            raise TutelageError(f"{path} has the format {record['format']}, and {FORMAT} is understood")
        boxes = np.array([[[float.fromhex(v) for v in row] for row in pair] for pair in record["boxes"]])
        asked = record["margin"] if "margin" in record else record["epsilon"]
        limit = float.fromhex(asked) if isinstance(asked, str) else [float.fromhex(e) for e in asked]
        return limit, boxes[:, 0], boxes[:, 1]
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise TutelageError(f"{path} is not a stored proof ({error})") from None


def check_certificate(
    path: str | Path, first: Network, second: Network, low: torch.Tensor, high: torch.Tensor
) -> tuple[bool, str]:
    """Check a stored proof with exact arithmetic.

    Parameters
    ----------
    path
        File that :func:`save_certificate` wrote.
    first, second
        The networks, one member each, of any widths and depths.
    low, high
        Ends [d] of the domain.

    Returns
    -------
    tuple
        Whether the boxes cover the domain and every one of them is proved, and a sentence that says so or why not.

    Examples
    --------
    >>> import tempfile
    >>> from tutelage.functions import difference_bound, save_certificate
    >>> network = Network((torch.eye(2)[None], torch.ones(1, 2, 1)))
    >>> other = Network((torch.eye(2)[None], 1.01 * torch.ones(1, 2, 1)))
    >>> proof = difference_bound(network, other, (-1, 1), 0.1, keep=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_certificate(proof, 0.1, Path(folder) / "proof.json")
    ...     check_certificate(Path(folder) / "proof.json", network, other, -torch.ones(2), torch.ones(2))[0]
    True
    """
    asked, lows, highs = load_certificate(path)
    pair = in_double(first), in_double(second)
    ends_ = [_row(end.tolist()) for end in (low, high)]
    boxes = [(_row(a), _row(b)) for a, b in zip(lows.tolist(), highs.tolist(), strict=True)]
    if any(len(a) != len(ends_[0]) for a, _ in boxes) or (isinstance(asked, list) and len(asked) != pair[0].outputs):
        return False, f"{path} is about other numbers of inputs or outputs than these networks have"
    if not _cover(boxes, ends_[0], ends_[1]):
        return False, f"the {len(boxes):,} boxes of {path} do not cover the domain"
    rooms = reading_errors(first, second, low, high)
    both = exact_layers(joined(*pair, torch.maximum(low.abs(), high.abs()).double().numpy(), rooms=rooms))
    for number, (a, b) in enumerate(boxes):
        wrong = _unproved(both, asked, a, b, _HALVINGS)
        if wrong is not None:
            return False, f"box {number} {wrong}"
    return True, f"{len(boxes):,} boxes cover the domain, and the bound holds on each of them without rounding"


def _unproved(both: Both, asked: list[float] | float, low: Row, high: Row, halvings: int) -> str | None:
    """Why a box is not proved, in words, or None; a box that is not proved at once is halved some times."""
    f, d = output_forms(both, low, high)
    wrong = _too_far(d, asked) if isinstance(asked, list) else _disagreement(f, d, Fraction(asked))
    if wrong is None or not halvings:
        return wrong
    # Bounds in fractions are not those of floats: other lines may be the narrower ones by a rounding. A few halvings
    # make up for it; a box that is not proved after four was not proved by anything near.
    side = max(range(len(low)), key=lambda k: high[k] - low[k])
    middle = (low[side] + high[side]) / 2
    left, right = [*high], [*low]
    left[side] = right[side] = middle
    return _unproved(both, asked, low, left, halvings - 1) or _unproved(both, asked, right, high, halvings - 1)


def _too_far(d: list[AffineForm], epsilon: list[float]) -> str | None:
    for k, form in enumerate(d):
        bound = max(abs(end) for end in ends(form))
        if epsilon[k] < float("inf") and bound > Fraction(epsilon[k]):
            return f"bounds output {k} by {float(bound):.3g} only, above {epsilon[k]:g}"
    return None


def _disagreement(f: list[AffineForm], d: list[AffineForm], margin: Fraction) -> str | None:
    """Whether some class that f may be sure of by the margin need not be the top class of g = f - d."""
    one, none = Fraction(1), Fraction(0)
    classes = range(len(f))
    for c in classes:
        if any(ends(combined([(one, f[c]), (-one, f[k])], none))[1] < margin for k in classes if k != c):
            continue  # f is never sure of this class
        for j in classes:
            if j == c:
                continue
            above = ends(combined([(one, f[j]), (-one, f[c]), (-one, d[j]), (one, d[c])], none))[1]  # g_j - g_c
            apart = ends(combined([(one, d[c]), (-one, d[j])], none))[1] - margin
            if min(above, apart) > 0:
                return f"leaves open whether class {j} exceeds class {c} by up to {float(min(above, apart)):.3g}"
    return None


def _row(numbers: list[float]) -> Row:
    return [Fraction(v) for v in numbers]


def _holds(box: tuple[Row, Row], low: Row, high: Row) -> bool:
    """Whether a box holds all of another one."""
    below = all(p <= x for p, x in zip(box[0], low, strict=True))
    return below and all(q >= y for q, y in zip(box[1], high, strict=True))


def _cover(boxes: list[tuple[Row, Row]], low: Row, high: Row) -> bool:
    """Whether boxes that came from halving a box cover it: they are cut at a middle again until one is met."""
    # Invariant: the domain is covered if every entry of the stack is covered by its own boxes; a cut at which no box is
    # cut in two leaves nothing out.
    stack = [(low, high, boxes)]
    while stack:
        a, b, inside = stack.pop()
        if any(_holds(box, a, b) for box in inside):
            continue
        cut = _cut(a, b, inside)
        if cut is None:
            return False
        side, middle = cut
        left, right = [*b], [*a]
        left[side] = right[side] = middle
        stack.append((a, left, [box for box in inside if box[0][side] < middle]))
        stack.append((right, b, [box for box in inside if box[1][side] > middle]))
    return True


def _cut(low: Row, high: Row, boxes: list[tuple[Row, Row]]) -> tuple[int, Fraction] | None:
    """A side and a place inside it where every box ends or begins, so that none is cut in two."""
    for side in range(len(low)):
        ends = {v for box in boxes for v in (box[0][side], box[1][side]) if low[side] < v < high[side]}
        for place in ends:
            if all(box[1][side] <= place or box[0][side] >= place for box in boxes):
                return side, place
    return None
