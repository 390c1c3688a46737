r"""Proofs about two networks at inputs of their own that a VNN-LIB file ties to one another, as for monotonicity.

Equal inputs are one input of both networks, the others are side by side: both networks then have one domain, a box with
the inequalities between its sides, and a claim about the difference of two outputs is one of :func:`difference_bound`.
A claim that the difference stays above c is symmetrical about the middle of c and an upper bound M that holds anyway:
:math:`|d - (c + M) / 2| \le (M - c) / 2`. Boxes where the inputs are in the other order are left out.

Where c is 0 and both are one network, the difference is 0 wherever both inputs are the same, so that no cutting of
boxes proves it; the signs of derivatives do (:mod:`..bounds.slopes`): from one input to the other leads a path along
which one input at a time grows.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from tutelage import verifying
from tutelage.deadline import Deadline
from tutelage.errors import TutelageError
from tutelage.functions.bounds.slopes import never_falls
from tutelage.functions.checks import bias, in_double
from tutelage.functions.comparing.difference import difference_bound, equal_weights
from tutelage.functions.comparing.vnnlib import Property
from tutelage.functions.comparing.vnnlib_formulas import Formula, Inequality
from tutelage.functions.domain import Domain, box, polytope
from tutelage.functions.layers.sparse import reading_errors
from tutelage.networks import Network, SparseNetwork

_SHARE = 0.5  # of the time for derivatives, where these may answer
_UPPER = 0.5  # seconds for the bound that holds anyway
_EPS = torch.finfo(torch.float64).eps

Claim = tuple[int, float, int, float, float]
"""Output of f and its factor, output of g and its factor, and what their sum is never below."""


def proved_apart(question: Property, pair: Sequence[Network | SparseNetwork], limit: Deadline) -> bool:
    """Whether a question about two networks at inputs of their own has no counterexample, by a proof.

    False where none was found: the claims are not differences of two outputs, the networks have sparse layers or other
    units than relu in the last resort, or the time was too short.
    """
    claims = [_claim(question.formula, part) for part in question.formula.alternatives]
    if None in claims or any(isinstance(n, SparseNetwork) for n in pair):
        return False
    f, g = (in_double(network) for network in pair if isinstance(network, Network))
    low, high = question.low.view(2, -1), question.high.view(2, -1)
    rooms = reading_errors(pair[0], pair[1], low.amin(0), high.amax(0))
    exact = not any(room.any() for room in rooms)
    tied, signs = _ties(question.formula)
    domain, first, second = _together(question, f, g, tied)
    for i, a, j, b, least in [claim for claim in claims if claim is not None]:
        along = f.activation == "relu" and exact and equal_weights(f, g) and i == j and a == -b and least <= 0
        if along and signs is not None:
            ends = low.amin(0).numpy(), high.amax(0).numpy()
            if never_falls(_layers(f), i, a * signs, *ends, limit.share(_SHARE)):
                continue
        room = float(rooms[0][i] + rooms[1][j]) * (1 + 4 * _EPS)
        if not _above(_output(first, i, a), _output(second, j, -b), domain, least + room, limit):
            return False
    return True


def _claim(formula: Formula, part: tuple[Inequality, ...]) -> Claim | None:
    """What refutes an alternative: the sum of one output of each network, times 1 or -1, is never below a number."""
    about = [i for i in (*formula.always, *part) if not i.about_inputs]
    if len(about) != 1:
        return None
    (terms, most, strict) = about[0]
    of = {v.network: (v.place, float(c)) for v, c in terms if not v.input}
    if len(terms) != 2 or len(of) != 2 or any(abs(c) != 1 for _, c in of.values()):
        return None
    # A counterexample has a sum of at most ``most``: the sum has to stay above it, or at it where that is strict.
    least = float(most)
    least = least if strict and least >= most else math.nextafter(least, math.inf)
    return (*of[0], *of[1], least)


def _ties(formula: Formula) -> tuple[set[int], np.ndarray | None]:
    """Inputs that are equal for both networks; and 1 for those that are larger for f, -1 for smaller, 0 for equal ones.

    None for the latter where some input is neither.
    """
    below = {
        (v.place, v.network, w.place)
        for terms, most, _ in formula.always
        if len(terms) == 2 and most <= 0
        for (v, c), (w, k) in [terms, terms[::-1]]
        if v.input and w.input and v.network != w.network and (c, k) == (1, -1)
    }  # the input of v is at most that of w
    count = formula.networks[0].size(True)
    ordered = [((k, 0, k) in below, (k, 1, k) in below) for k in range(count)]
    tied = {k for k, (down, up) in enumerate(ordered) if down and up}
    signs = np.array([0.0 if k in tied else 1.0 if up else -1.0 for k, (_, up) in enumerate(ordered)])
    return tied, signs if all(down or up for down, up in ordered) else None


def _together(question: Property, f: Network, g: Network, tied: set[int]) -> tuple[Domain, Network, Network]:
    """One domain for both: all inputs of f, then those of g that are not tied; and both networks on it."""
    d = f.inputs
    own = [k for k in range(d) if k not in tied]
    place = {(0, k): k for k in range(d)} | {(1, k): k for k in tied} | {(1, k): d + n for n, k in enumerate(own)}
    low, high = (torch.cat([end[:d], end[d:][own]]) for end in (question.low, question.high))
    for k in tied:
        low[k], high[k] = max(question.low[k], question.low[d + k]), min(question.high[k], question.high[d + k])
    first, second = (_on(network, [place[n, k] for k in range(d)], len(low)) for n, network in enumerate((f, g)))
    rows, offsets = [], []
    for terms, most, _ in question.formula.always:
        if len(terms) > 1 and all(v.input for v, _ in terms) and all(float(c) == c for _, c in terms):
            row = torch.zeros(len(low), dtype=torch.float64)
            for v, c in terms:
                row[place[v.network, v.place]] += float(c)
            if row.any():
                # Rounded outwards: a larger domain holds the one of the file.
                rows.append(row)
                offsets.append(math.nextafter(float(most), math.inf) + 1e-12 * float(row.abs() @ _sizes(low, high)))
    domain = box(low, high, flat=True)
    if not rows:
        return domain, first, second
    eye = torch.eye(len(low), dtype=torch.float64)
    try:
        inside = polytope(torch.cat([torch.stack(rows), eye, -eye]), torch.cat([torch.tensor(offsets), high, -low]))
    except TutelageError:  # flat: the box holds it
        return domain, first, second
    return replace(inside, low=low, high=high), first, second


def _sizes(low: Tensor, high: Tensor) -> Tensor:
    return torch.maximum(low.abs(), high.abs())


def _on(network: Network, places: list[int], inputs: int) -> Network:
    """The network with more inputs, of which it uses those in some places."""
    w = network.weights[0].new_zeros(1, inputs, network.weights[0].shape[2])
    w[:, places] = network.weights[0]
    return replace(network, weights=(w, *network.weights[1:]))


def _output(network: Network, output: int, factor: float) -> Network:
    """One output, times 1 or -1."""
    w, b = network.weights[-1][..., [output]] * factor, bias(network, network.depth - 1)[:, [output]] * factor
    below = tuple(bias(network, layer) for layer in range(network.depth - 1))
    return replace(network, weights=(*network.weights[:-1], w), biases=(*below, b))


def _above(first: Network, second: Network, domain: Domain, least: float, limit: Deadline) -> bool:
    """Whether the difference of two networks of one output is nowhere below a number on a domain."""
    most = difference_bound(first, second, domain, seconds=limit.within(_UPPER)).at_most.item()
    if not math.isfinite(most) or most < least:
        return False
    if -most >= least:
        return True
    middle = 0.5 * least + 0.5 * most
    assert second.biases is not None
    moved = second.biases[-1] + middle
    rounded = 4 * _EPS * (abs(middle) + float(second.biases[-1].abs().max()) + abs(most) + abs(least))
    shifted = replace(second, biases=(*second.biases[:-1], moved))
    epsilon = 0.5 * (most - least) - rounded
    return epsilon > 0 and difference_bound(first, shifted, domain, epsilon, seconds=limit).holds


def _layers(network: Network) -> list[verifying.StoredLayer]:
    """A network of one member as bounds on its derivatives take it."""
    layers = []
    for number, w in enumerate(network.weights):
        a = torch.cat([w[0], bias(network, number)], 0).T.numpy()
        layers.append(verifying.StoredLayer(a, 0 * a))
    return layers
