"""Questions about two networks on a bounded domain: how far apart they are, and whether their top classes agree."""

import time
from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from tutelage.arrays import doubles
from tutelage.deadline import Deadline
from tutelage.devices import pick_device
from tutelage.errors import TutelageError
from tutelage.functions.answers import BY_FORM, Answer, OnClosing, Question, Verdict, held_against
from tutelage.functions.bounds.branch_inputs import MOST_INPUTS, compile_bounds
from tutelage.functions.bounds.choose import decide
from tutelage.functions.checks import (
    as_bound,
    as_network,
    in_double,
    points_for,
    single_pair,
    slopes,
)
from tutelage.functions.comparing.curved import CurvedHunt, curved, curved_pair, decide_curved
from tutelage.functions.domain import Domain, Ends, domain_of, in_words
from tutelage.functions.layers.sparse import SparsePair, equal, reading_errors, sparse_pair, sparser
from tutelage.functions.search.hunt import Hunt
from tutelage.functions.search.sparse import SparseHunt
from tutelage.networks import Network, SparseNetwork
from tutelage.networks.activations import find
from tutelage.networks.adapting import adapted
from tutelage.networks.graphs.sparse import stored_precision
from tutelage.threads import small_operations

Read = tuple[Network | SparseNetwork, Network | SparseNetwork]
_FOLLOW = 1.05  # times the largest difference found that a bound without a limit is brought down to
_SEARCH = 0.3  # of the time of a question about networks with sparse layers
_SMALL = 100_000  # weights of networks whose products are too short for several threads
_LEAST = 1e-12  # a difference that is not worth bounding any closer
_SLIVER = 1 + 1e-6  # times a bound that a difference in floats may be where it is a real one, rounded


def difference_bound(
    first: object,
    second: object,
    domain: Domain | Ends,
    epsilon: float | Sequence[float] | Tensor | None = None,
    *,
    output: int | None = None,
    enough: float = _LEAST,
    seconds: float | Deadline | None = 60.0,
    seed: int = 0,
    threads: int | None = None,
    device: str = "auto",
    keep: bool = False,
    points: Tensor | None = None,
    on_progress: OnClosing | None = None,
) -> Answer:
    """Bound how far two networks are apart on a bounded domain, or decide whether they stay within epsilon.

    Parameters
    ----------
    first, second
        Networks with one member each, torch modules, MLPs of scikit-learn or paths of files; of any widths and depths.
    domain
        From :func:`box` or :func:`polytope`, or (low, high); sides of length 0 are allowed.
    epsilon
        Largest difference allowed, one for all outputs or one per output; default: find the smallest bound.
    output
        The only output that the question is about, counted from 0; default: all.
    enough
        Without an epsilon: a bound that need not be made any smaller.
    seconds
        Time limit; the best bound and the largest difference so far are then returned. None for no limit.
    seed
        Of the search for a witness.
    threads
        Threads to compute on; default: as many as the process may use.
    device
        "cpu", "cuda" or "auto", which takes a GPU where there is one.
    keep
        Keep the boxes that the proof consists of.
    points
        Inputs [N, d] that the search for a witness looks at first; those outside the domain are left out.
    on_progress
        Called with the bound, the largest difference found and the number of open boxes.

    Returns
    -------
    Answer
        Bounds hold in exact arithmetic of the stored weights: rounding is accounted for.

    Examples
    --------
    >>> a = Network((torch.eye(2).unsqueeze(0), torch.ones(1, 2, 1)))
    >>> b = Network((torch.eye(2).unsqueeze(0), torch.tensor([[[1.0], [1.5]]])))
    >>> difference_bound(a, b, (-1, 1), 0.51).verdict
    'holds'
    """
    read, pair = _pair(first, second)
    # Proofs that are kept, and GPUs, have dense layers alone.
    if not keep and device != "cuda" and (sparse := _sparser(read, domain)) is not None:
        read = pair = sparse
    enough = as_bound(enough, "enough")
    limits = _limits(pair[0].outputs, max(enough, _LEAST) if epsilon is None else epsilon, output)
    name = "every output" if output is None else f"output {output}"
    if epsilon is None:
        question = Question(limits, follow=_FOLLOW)
        words = "the largest difference" + (" of any output" if output is None else f" of output {output}")
    else:
        question = Question(limits)
        words = f"{name} differs by at most {limits[limits < torch.inf].max().item():g}"
    return _answer(read, pair, domain, question, words, seconds, seed, threads, device, keep, points, on_progress)


def top_class_agreement(
    first: object,
    second: object,
    domain: Domain | Ends,
    margin: float = 0.0,
    *,
    seconds: float | Deadline | None = 60.0,
    seed: int = 0,
    threads: int | None = None,
    device: str = "auto",
    keep: bool = False,
    points: Tensor | None = None,
    on_progress: OnClosing | None = None,
) -> Answer:
    """Decide whether two classifiers have the same top class everywhere on a bounded domain.

    Parameters
    ----------
    first, second
        Networks with one member each and two outputs or more, or what :func:`difference_bound` takes.
    domain
        From :func:`box` or :func:`polytope`, or (low, high); sides of length 0 are allowed.
    margin
        Ask only where the top output of the first network exceeds its others by this or more.
    seconds
        Time limit. None for no limit.
    seed
        Of the search for a witness.
    threads
        Threads to compute on; default: as many as the process may use.
    device
        "cpu", "cuda" or "auto", which takes a GPU where there is one.
    keep
        Keep the boxes that the proof consists of.
    points
        Inputs [N, d] that the search for a witness looks at first; those outside the domain are left out.
    on_progress
        Called with the bound, the largest difference found and the number of open boxes.

    Returns
    -------
    Answer
        It holds where no output of the second network exceeds its output for the top class of the first; a tie counts
        as agreement.

    Examples
    --------
    >>> a = Network((torch.eye(2).unsqueeze(0),))
    >>> top_class_agreement(a, a.map(lambda w: 2 * w), ((1, -1), (2, 0))).verdict
    'holds'
    """
    read, pair = _pair(first, second)
    margin = as_bound(margin, "margin")
    question = Question(torch.full((pair[0].outputs,), torch.inf, dtype=torch.float64), margin)
    words = "both have the same top class" + (f" wherever the first leads by {margin:g} or more" if margin else "")
    return _answer(read, pair, domain, question, words, seconds, seed, threads, device, keep, points, on_progress)


def difference_curve(
    first: object,
    second: object,
    centre: Tensor,
    radii: Sequence[float],
    *,
    seconds: float = 10.0,
) -> list[Answer]:
    """How far two networks are apart in boxes of growing size around an input.

    Parameters
    ----------
    first, second
        Networks with one member each, or what :func:`difference_bound` takes.
    centre
        Input [d].
    radii
        Half the side of each box.
    seconds
        Time limit per box.

    Returns
    -------
    list of Answer
        One bound per radius.

    Examples
    --------
    >>> one = Network((torch.eye(2)[None], torch.ones(1, 2, 1)))
    >>> two = Network((torch.eye(2)[None], torch.ones(1, 2, 1) * 1.5))
    >>> [round(answer.at_most.item(), 3) for answer in difference_curve(one, two, torch.zeros(2), [0.1, 1.0])]
    [0.1, 1.0]
    """
    centre = doubles(centre, "centre").detach().cpu()
    sizes = doubles(radii, "radii").detach().cpu()
    if sizes.ndim != 1:
        raise TutelageError(f"radii must be a list of numbers, got {radii!r}")
    ends = [(centre - r, centre + r) for r in sizes.tolist()]
    return [difference_bound(first, second, end, seconds=seconds) for end in ends]


def _pair(first: object, second: object) -> tuple[Read, tuple[Network, Network] | SparsePair]:
    """Two networks as they were read, and in float64."""
    read = adapted(first, "first network"), adapted(second, "second network")
    bent = curved_pair(*read)
    if bent is not None:
        # A batch norm is folded in with a rounding that only graphs of piecewise linear units keep.
        for given in (first, second):
            if isinstance(given, nn.Module) and any(isinstance(part, _NormBase) for part in given.modules()):
                raise TutelageError("networks with batch norms and smooth units are not compared: fold the norms first")
        return read, bent
    large = sparse_pair(*read)
    if large is not None:
        return large, large
    pair = in_double(as_network(read[0], "first network")), in_double(as_network(read[1], "second network"))
    single_pair(*pair)
    return read, pair


def _sparser(read: Read, domain: Domain | Ends) -> SparsePair | None:
    """Both networks with sparse layers where these bound closer: large layers of zeros, on a box of many inputs."""
    first, second = (network if isinstance(network, Network) else None for network in read)
    if first is None or second is None or curved(first) or curved(second):
        return None
    box = domain_of(domain, first.inputs)
    many = box.is_box and box.bounded and int((box.high > box.low).sum()) > MOST_INPUTS
    return sparser(first, second) if many else None


def _limits(outputs: int, epsilon: float | Sequence[float] | Tensor, output: int | None) -> Tensor:
    given = doubles(epsilon, "epsilon")
    if given.ndim > 1 or (given.ndim and len(given) != outputs):
        raise TutelageError(f"epsilon must be a number or {outputs} numbers, one per output, got {list(given.shape)}")
    if not (given >= 0).all() or given.isinf().all():
        raise TutelageError(f"epsilon must be at least 0, and finite for some output, got {given.tolist()}")
    limits = given.expand(outputs).clone()
    if output is None:
        return limits
    if not 0 <= output < outputs:
        raise TutelageError(f"output must be from 0 to {outputs - 1}, got {output}")
    return torch.where(torch.arange(outputs) == output, limits, torch.inf)


def _answer(
    read: Read,
    pair: tuple[Network, Network] | SparsePair,
    domain: Domain | Ends,
    question: Question,
    words: str,
    seconds: float | Deadline | None,
    seed: int,
    threads: int | None,
    device: str,
    keep: bool,
    points: Tensor | None,
    on_progress: OnClosing | None,
) -> Answer:
    """Cheap answers first: equal weights, an input that refutes the claim, then bounds."""
    begun = time.monotonic()
    inputs, device = pair[0].inputs, pick_device(device).type
    domain = domain_of(domain, inputs)
    data = None if points is None else points_for(pair[0], points)[0]
    if isinstance(pair[0], SparseNetwork):
        deadline = Deadline.of(seconds)
        hunt: Hunt = SparseHunt(pair, domain, question)
        alike = equal(pair)
    elif any(map(curved, pair)):
        deadline = Deadline.of(seconds)
        rooms = reading_errors(*read, domain.low, domain.high)
        if question.margin is not None and any(room.any() for room in rooms):
            raise TutelageError("networks with merged layers and smooth units have no margin: fold the layers first")
        question = question.with_rooms(rooms)
        hunt = CurvedHunt(*pair, domain, question)
        alike = pair[0].activation == pair[1].activation and equal_weights(*pair)
    else:
        compile_bounds()
        deadline = Deadline.of(seconds)
        question = question.with_rooms(reading_errors(*read, domain.low, domain.high))
        hunt = Hunt(*pair, domain, question)
        hunt.precisions = tuple(stored_precision(n) for n in read if isinstance(n, Network))
        alike = equal_weights(*pair)
    zero = torch.zeros(pair[0].outputs, dtype=torch.float64)
    if alike and question.proved_by(zero) and question.room.isfinite().all():
        # The only case that no bound is needed for; with rooms that are not finite not even this proves anything.
        answer = Answer("holds", words, "both have the same weights", in_words(domain), question.room, zero)
    else:
        if not isinstance(hunt, SparseHunt):
            hunt.glance(seed, data)

        def search() -> None:
            hunt.begin(seed, deadline.share(_SEARCH), data)

        if isinstance(hunt, CurvedHunt):
            decided = decide_curved(hunt, deadline, search, keep, on_progress)
            held_against(decided[0], *hunt.gap(hunt.at))
        else:
            # Products of a few points with a small network end before a team of threads has started.
            with small_operations() if hunt.weights < _SMALL else nullcontext():
                decided = decide(
                    pair, hunt, deadline, threads=threads, device=device, keep=keep, on_progress=on_progress,
                    search=search,
                )  # fmt: skip
        answer = _in_words(hunt, words, *decided, late=deadline.passed)
    return answer.completed(*read, begun)


def equal_weights(first: Network, second: Network) -> bool:
    """Whether two networks have the same numbers in the same places, and the same activation."""
    alike = first.widths == second.widths and (first.biases is None) == (second.biases is None)
    if first.activation != second.activation or find(first.activation).gate is not None:
        alike = alike and slopes(first) == slopes(second)
    return alike and all(map(torch.equal, first.parameters, second.parameters))


def _in_words(
    hunt: Hunt,
    words: str,
    at_most: Tensor,
    proved: bool,
    parts: int,
    leaves: tuple[np.ndarray, np.ndarray] | None,
    late: bool = True,
) -> Answer:
    """The answer in words, from what a search and bounds [C] came to; late: whether the time was over."""
    helps = "more time or a smaller domain may help" if late else "a smaller domain may help"
    verdict: Verdict = "violated" if hunt.refuted else "holds" if proved else "not decided"
    reason = {
        "violated": "an input was found that violates it, beyond any rounding",
        "holds": "one is the other with units moved, scaled, removed or merged, up to rounding"
        if parts == BY_FORM
        else f"proved on {parts:,} parts"
        if parts > 1
        else "proved by bounds on the whole domain",
        "not decided": f"{parts:,} parts were bounded, and some are left: {helps}"
        if parts > 1
        else f"bounds on the whole domain leave it open: {helps}"
        if parts
        else "the time did not suffice for a bound: more time may help",
    }[verdict]
    if hunt.untried and verdict == "not decided":
        reason += f"; the search had no time for {', '.join(hunt.untried)}"
    at_most = at_most + hunt.question.room
    witness = hunt.at if hunt.refuted or hunt.question.follow else None
    # What a search finds above the bound is rounding: a sliver above it is cut off, and more was no difference at all.
    largest = torch.where(hunt.largest > _SLIVER * at_most, 0.0, torch.minimum(hunt.largest, at_most))
    return Answer(
        verdict, words, reason, in_words(hunt.domain), at_most, largest, witness, parts=parts, leaves=leaves,
        untried=tuple(hunt.untried),
    )  # fmt: skip
