"""Proofs of answers, written to files that :mod:`tutelage.verifying` checks without this library.

What is written is the claim, the box, how the units of both networks stand side by side, and how the box is cut. The
boxes of branch and bound say where to cut. The bounds of the checker are not those that found the answer, so that they
are computed here too: a part that they prove is left whole, and one that they leave open is cut further. An answer that
came by other means (branching on units, normal forms with merged units, exact regions) gets a proof where this
suffices, else none.
"""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from tutelage import verifying
from tutelage.deadline import Deadline
from tutelage.errors import TutelageError
from tutelage.files import write_atomically
from tutelage.functions.answers import Answer
from tutelage.functions.domain import Domain
from tutelage.functions.layers.collapsing import Layer
from tutelage.functions.layers.placing import placed

_SURE = 1e-9  # share of a limit that a bound has to stay below it: sums in another order must not exceed it
_INPUTS = 24  # sides that are not flat, beyond which cutting a box hardly helps
_FEW = 500  # parts that are tried all the same

Tree = list[Any]
"""Empty for a part as it is, or the side that is halved and the trees of both halves."""


def save_proof(
    path: str | Path,
    answer: Answer,
    a: str | Path,
    b: str | Path,
    domain: Domain | None,
    *,
    epsilon: float | list[float] | None = None,
    margin: float | None = None,
    seconds: float | Deadline | None = 60.0,
) -> int:
    """Write a proof of an answer to a file, for ``tutelage verify``.

    Parameters
    ----------
    path
        File to write, JSON; compressed where it ends in ``.gz``.
    answer
        "holds", asked with ``keep=True``, or one of the answers "same".
    a, b
        The ONNX files of both networks, of dense layers, convolutions and relu units.
    domain
        What was asked about: a box; None for all inputs.
    epsilon
        Largest difference allowed, one for all outputs or one per output, infinite for outputs that were not asked
        about; default: the bound of the answer.
    margin
        Of the question about top classes.
    seconds
        Time limit. None for no limit.

    Returns
    -------
    int
        Number of parts of the box in the proof.

    Raises
    ------
    TutelageError
        If the answer has no proof that can be checked so, or none was found in time; nothing is written then.

    Examples
    --------
    >>> import tempfile
    >>> import torch
    >>> from tutelage.functions import box, difference_bound
    >>> from tutelage.networks import Network
    >>> from tutelage.networks.exporting import save_onnx
    >>> first = Network((torch.eye(2)[None], torch.ones(1, 2, 1)))
    >>> second = Network((torch.eye(2)[None], 1.01 * torch.ones(1, 2, 1)))
    >>> where = box(-1, 1, dimension=2)
    >>> answer = difference_bound(first, second, where, 0.1, keep=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     a, b, proof = (Path(folder) / name for name in ("a.onnx", "b.onnx", "proof.json"))
    ...     save_onnx(first, a), save_onnx(second, b)
    ...     parts = save_proof(proof, answer, a, b, where, epsilon=0.1)
    ...     verifying.verified(proof, a, b)[0]
    (None, None)
    True
    """
    if not (answer.holds or answer.same):
        raise TutelageError(f'only "holds" and "same" have a proof, and the answer is "{answer.verdict}"')
    if domain is not None and not domain.is_box:
        raise TutelageError("a proof on a polytope has no form that can be checked: ask about a box")
    try:
        f, g = (verifying.read_network(file) for file in (a, b))
        low, high = (None, None) if domain is None else (domain.low.numpy(), domain.high.numpy())
        networks = _side_by_side(f, g, answer, low, high)
        pair = verifying.joined(*(verifying.rewritten(n, networks[k]) for n, k in ((f, "a"), (g, "b"))))
    except verifying.ProofError as error:
        raise TutelageError(f"the answer has no proof that can be checked: {error}") from None
    proof: dict[str, Any] = {"format": verifying.FORMAT, "box": None, "networks": networks, "cuts": []}
    everywhere = verifying.everywhere(pair)
    if answer.same and (everywhere <= (answer.tolerance or 0.0)).all():
        proof["claim"] = {"at_most": everywhere.tolist()}
    elif low is None or high is None:
        raise TutelageError(
            "the answer has no proof that can be checked: aligned weights leave differences of up to "
            f"{everywhere.max():.3g} max(1, |x|) possible over all inputs"
        )
    else:
        limits = answer.tolerance if answer.same else answer.at_most.tolist() if epsilon is None else epsilon
        each = [limits] * len(everywhere) if isinstance(limits, int | float) else list(limits)  # type: ignore[arg-type]
        at_most = {"at_most": [None if v == np.inf else float(v) for v in each]}
        proof |= {
            "claim": at_most if margin is None else {"margin": float(margin)},
            "box": [low.tolist(), high.tolist()],
        }
        tree = _tree(low, high, *answer.leaves) if answer.leaves is not None else []
        _finished(tree, pair, proof["claim"], low, high, Deadline.of(seconds))
        proof["cuts"] = _preorder(tree)
    data = json.dumps(proof).encode()
    write_atomically(Path(path), gzip.compress(data, mtime=0) if str(path).endswith(".gz") else data)
    return proof["cuts"].count(-1)


def _side_by_side(
    f: list[verifying.StoredLayer],
    g: list[verifying.StoredLayer],
    answer: Answer,
    low: np.ndarray | None,
    high: np.ndarray | None,
) -> dict[str, Any]:
    """How both networks are rewritten: layers made one, units in places, factors of units."""
    if answer.relation is not None:
        orders, scales = answer.relation.permutations, answer.relation.scales
        aligned = {
            "units": [order[0].tolist() for order in orders],
            "factors": [scale[0].tolist() for scale in scales],
        }
        return {"a": {"made_one": [], **_as_they_are(f)}, "b": {"made_one": [], **aligned}}
    (f, made_f), (g, made_g) = _made_one(f), _made_one(g)
    new_f, new_g = _dense(f, len(g)), _dense(g, len(f))
    reach = None if low is None or high is None else np.maximum(np.abs(low), np.abs(high))
    places = placed(new_f, new_g, reach)[2]
    if any((place.p * place.q > 1).any() for place in places):  # groups of copies share their fan-out
        places = placed(new_f, new_g)[2]
    return {
        "a": {
            "made_one": made_f,
            "units": [p.f.tolist() for p in places],
            "factors": [p.scale_f.tolist() for p in places],
        },
        "b": {
            "made_one": made_g,
            "units": [p.g.tolist() for p in places],
            "factors": [p.scale_g.tolist() for p in places],
        },
    }


def _dense(layers: list[verifying.StoredLayer], depth: int) -> list[Layer]:
    """Layers for :mod:`.placing`, with layers that hand on below the top one up to a depth."""
    n = layers[-1].a.shape[1] - 1
    through = [verifying.identity(n)] * max(0, depth - len(layers) if len(layers) > 1 else 0)
    deep = [*layers[:-1], *through, layers[-1]]
    return [Layer(layer.a[:, :-1], layer.a[:, -1], 0.0, np.zeros(len(layer.a))) for layer in deep]


def _as_they_are(layers: list[verifying.StoredLayer]) -> dict[str, Any]:
    widths = [len(layer.a) for layer in layers[:-1]]
    return {"units": [list(range(n)) for n in widths], "factors": [[1.0] * n for n in widths]}


def _made_one(layers: list[verifying.StoredLayer]) -> tuple[list[verifying.StoredLayer], list[int]]:
    """Layers that only put together what the ones below took apart made one with these, and which they were."""
    at, made = 0, []
    while at + 2 < len(layers):
        try:
            layers = verifying.made_one(layers, at)
            made.append(at)
        except verifying.ProofError:
            at += 1
    return layers, made


def _tree(low: np.ndarray, high: np.ndarray, lows: np.ndarray, highs: np.ndarray) -> Tree:
    """The cuts that leave given boxes [N, d], which came from halving a box."""
    root: Tree = []
    waiting = [(root, low, high, np.arange(len(lows)))]
    while waiting:
        node, a, b, inside = waiting.pop()
        if len(inside) <= 1:  # where boxes are missing, bounds will tell
            continue
        # Any side whose middle cuts none of the boxes in two will do, whichever was cut first.
        middle = 0.5 * a + 0.5 * b
        below = highs[inside] <= middle
        clean = (below | (lows[inside] >= middle)).all(0) & (a < b)
        if not clean.any():
            raise TutelageError(
                "the boxes of the answer do not come from halving its domain: ask difference_bound for it"
            )
        side = int(clean.argmax())
        left, right = b.copy(), a.copy()
        left[side] = right[side] = middle[side]
        node[:] = [side, [], []]
        waiting += [(node[1], a, left, inside[below[:, side]]), (node[2], right, b, inside[~below[:, side]])]
    return root


def _finished(
    tree: Tree,
    pair: list[verifying.StoredLayer],
    claim: dict[str, Any],
    low: np.ndarray,
    high: np.ndarray,
    deadline: Deadline,
) -> None:
    """Cut parts until the bounds of the checker prove every one, and leave whole what they prove at once."""
    sure = -_SURE * max((m for m in claim.get("at_most", ()) if m is not None), default=0.0)
    free, count = high > low, 0
    # Invariant: every part of the tree is proved, or below an entry that waits. Neighbours are tried together.
    waiting = [(tree, low, high)]
    while waiting:
        some = [waiting.pop() for _ in range(min(verifying.PARTS, len(waiting)))]
        lows, highs = (np.array(ends) for ends in list(zip(*some, strict=True))[1:])
        with np.errstate(all="ignore"):
            left, slopes = verifying.missing(claim, verifying.Boxes(pair, lows, highs))
        proved, scores = left <= sure, np.abs(slopes).sum(1) * (highs - lows)
        count += len(some)
        for (node, a, b), score, good in list(zip(some, scores, proved, strict=True))[::-1]:
            if good:
                node.clear()
                continue
            stuck = (free.sum() > _INPUTS and count > _FEW) or not np.isfinite(score).all() or not score.any()
            if deadline.passed or (stuck and not node):
                over = ", and the time is over" if deadline.passed else ""
                raise TutelageError(f"the bounds of the checker leave the claim open on a part of the box{over}")
            if not node:
                node[:] = [int(score.argmax()), [], []]
            left_high, right_low = b.copy(), a.copy()
            left_high[node[0]] = right_low[node[0]] = 0.5 * a[node[0]] + 0.5 * b[node[0]]
            waiting += [(node[2], right_low, b), (node[1], a, left_high)]


def _preorder(tree: Tree) -> list[int]:
    cuts, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        cuts.append(node[0] if node else -1)
        waiting += reversed(node[1:])
    return cuts
