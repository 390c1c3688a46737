"""Whether two networks with sparse layers are the same function: equal numbers, a witness, or bounds on a box."""

import numpy as np
import torch
from torch import Tensor

from tutelage.deadline import Deadline
from tutelage.functions.answers import SAME, Answer, Question, Verdict
from tutelage.functions.bounds.choose import decide
from tutelage.functions.checks import as_bound
from tutelage.functions.domain import Domain, Ends, box, domain_of, in_words
from tutelage.functions.layers.sparse import SparsePair, equal
from tutelage.functions.search.sparse import SparseHunt
from tutelage.networks import SparseNetwork

_SEARCH = 0.3  # of the time


def same_large(
    pair: SparsePair, domain: Domain | Ends | None, tolerance: float | None, seed: int, deadline: Deadline
) -> Answer:
    """Decide whether two networks are the same function, as far as bounds on the whole domain tell."""
    inputs = pair[0].inputs
    where = None if domain is None else domain_of(domain, inputs)
    tolerance = None if tolerance is None else as_bound(tolerance, "tolerance")
    zero = torch.zeros(pair[0].outputs, dtype=torch.float64)
    unknown = torch.full_like(zero, torch.inf)
    if equal(pair):
        return _record("same and related", "both have the same weights in the same order", where, 0.0, zero, zero, None)
    searched = where if where is not None else box(-1, 1, dimension=inputs)
    hunt = SparseHunt(pair, searched, Question(torch.full((pair[0].outputs,), 1e-12, dtype=torch.float64), follow=1.0))
    hunt.begin(seed, Deadline(None if deadline.seconds is None else _SEARCH * max(0.0, deadline.left)))
    allowed = rounding_at(pair, hunt.at) if tolerance is None else torch.full_like(hunt.largest, tolerance)
    # What rounding explains is compared at the worst input found, not over the domain: interval bounds on it are larger
    # than the outputs of large networks, and would call everything the same.
    gap, error = hunt.gap(hunt.at)
    if (gap - error > allowed).any():
        words = "they differ at the witness; the largest difference found is given"
        return _record("different", words, where, allowed.max().item(), gap, unknown, hunt.at)
    return _bounded(pair, where, tolerance, hunt, allowed, deadline)


def _bounded(
    pair: SparsePair,
    where: Domain | None,
    tolerance: float | None,
    hunt: SparseHunt,
    allowed: Tensor,
    deadline: Deadline,
) -> Answer:
    """Same where bounds stay within a tolerance that was given."""
    largest = hunt.largest
    if where is None:
        words = "no difference was found between -1 and 1, and layers this large are bounded on a box only: give one"
        return _record(
            "not decided", words, where, allowed.max().item(), largest, torch.full_like(largest, torch.inf), None
        )
    limits = torch.full_like(hunt.largest, tolerance or 0.0)
    asked = SparseHunt(pair, where, Question(limits))
    asked.at, asked.largest = hunt.at, hunt.largest
    most, proved, _, _ = decide(pair, asked, deadline)
    if proved:
        words = "bounds on the difference over the whole domain stay within the tolerance"
        return _record("same, not related", words, where, tolerance or 0.0, largest, most, None)
    hint = "" if tolerance is not None else "; give a tolerance to count differences up to it as equal"
    words = f"no difference beyond rounding was found, and bounds on the whole domain leave one open{hint}"
    return _record("not decided", words, where, allowed.max().item(), largest, most, None)


def rounding_at(pair: SparsePair, at: Tensor) -> Tensor:
    """How far rounding all stored weights may move the outputs of both networks at an input, to first order: [C]."""
    return sum((_rounding(n, at) for n in pair), torch.zeros(pair[0].outputs, dtype=torch.float64))


def _rounding(network: SparseNetwork, at: Tensor) -> Tensor:
    eps = torch.finfo(network.dtype).eps
    f, error = at.double().numpy(), np.zeros(network.inputs)
    for number, layer in enumerate(network.layers):
        size = abs(layer.w)
        error = size @ (error + eps * np.abs(f)) + eps * np.abs(layer.b) + 2 * layer.slack
        f = layer.w @ f + layer.b
        if number < len(network.layers) - 1:
            error = np.where(f + error > 0, error, abs(network.left) * error)
            f = np.where(f > 0, f, network.left * f)
    return torch.from_numpy(error)


def _record(
    verdict: Verdict,
    reason: str,
    where: Domain | None,
    tolerance: float,
    largest: Tensor,
    at_most: Tensor,
    witness: Tensor | None,
) -> Answer:
    bounded = where is not None
    return Answer(verdict, SAME, reason, in_words(where), at_most, largest, witness, bounded, tolerance=tolerance)
