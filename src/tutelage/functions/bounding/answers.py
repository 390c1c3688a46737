"""Questions about two networks on a bounded domain: how far apart they are, and whether their top classes agree."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from tutelage.arrays import doubles
from tutelage.deadline import Deadline, OutOfTime
from tutelage.errors import InternalError, TutelageError
from tutelage.functions.bounding.closeness import BY_FORM, Closeness, closeness_of
from tutelage.functions.bounding.devices import chosen_device
from tutelage.functions.bounding.division import MOST_INPUTS, Bounder, Dividing, compile_bounds
from tutelage.functions.bounding.intervals import bounded_at_once, interval_bounds
from tutelage.functions.bounding.pairs import fits, joined, reading_errors
from tutelage.functions.bounding.questions import Question, Rooms
from tutelage.functions.bounding.sparse import answers as sparse
from tutelage.functions.bounding.sparse.search import SparseHunt
from tutelage.functions.bounding.units import prove_by_units
from tutelage.functions.checks import as_network, as_number, in_double, points_for, rounded_up, same_function_space
from tutelage.functions.comparing.normal import normal_apart
from tutelage.functions.comparing.wording import in_words
from tutelage.functions.evaluation import difference_with_error
from tutelage.functions.interruptible import interruptible
from tutelage.functions.pieces.domain import Domain, Ends, as_domain
from tutelage.functions.pruning.intervals import Box
from tutelage.functions.search import Hunt
from tutelage.networks import Network, SparseNetwork
from tutelage.networks.adapting import adapted
from tutelage.networks.graphs.sparse import stored_precision

OnClosing = Callable[[float, float, int], None]
Read = tuple[Network | SparseNetwork, Network | SparseNetwork]
_FOLLOW = 1.05  # times the largest difference found that a bound without a limit is brought down to
_SEARCH = 0.3  # of the time of a question about networks with sparse layers
_GRACE = 0.2  # seconds in which small networks are bounded within any limit
_LEAST = 1e-12  # a difference that is not worth bounding any closer
_BRIEFLY, _SOLVING = 0.5, 2.0  # seconds of division before normal forms are compared, and of linear programs for them
_LARGE = 300_000  # weights beyond which normal forms take too long


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
) -> Closeness:
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
    Closeness
        Bounds hold in exact arithmetic of the stored weights: rounding is accounted for.

    Examples
    --------
    >>> a = Network((torch.eye(2).unsqueeze(0), torch.ones(1, 2, 1)))
    >>> b = Network((torch.eye(2).unsqueeze(0), torch.tensor([[[1.0], [1.5]]])))
    >>> difference_bound(a, b, (-1, 1), 0.51).verdict
    'holds'
    """
    read, pair = _pair(first, second)
    enough = as_number(enough, "enough")
    if not 0 <= enough < torch.inf:
        raise TutelageError(f"enough must be a finite number of at least 0, got {enough}")
    limits = _limits(pair[0].outputs, max(enough, _LEAST) if epsilon is None else epsilon, output)
    name = "every output" if output is None else f"output {output}"
    if epsilon is None:
        question = Question(limits, follow=_FOLLOW)
        words = f"{name} differs by how much at most"
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
) -> Closeness:
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
    Closeness
        It holds where no output of the second network exceeds its output for the top class of the first; a tie counts
        as agreement.

    Examples
    --------
    >>> a = Network((torch.eye(2).unsqueeze(0),))
    >>> top_class_agreement(a, a.map(lambda w: 2 * w), ((1, -1), (2, 0))).verdict
    'holds'
    """
    read, pair = _pair(first, second)
    margin = as_number(margin, "margin")
    if not 0 <= margin < torch.inf:
        raise TutelageError(f"margin must be a finite number of at least 0, got {margin}")
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
) -> list[Closeness]:
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
    list of Closeness
        One bound per radius.
    """
    centre = doubles(centre, "centre").detach().cpu()
    sizes = doubles(radii, "radii").detach().cpu()
    if sizes.ndim != 1:
        raise TutelageError(f"radii must be a list of numbers, got {radii!r}")
    ends = [(centre - r, centre + r) for r in sizes.tolist()]
    return [difference_bound(first, second, end, seconds=seconds) for end in ends]


def _pair(first: object, second: object) -> tuple[Read, tuple[Network, Network] | sparse.Pair]:
    """Two networks as they were read, and in float64."""
    read = adapted(first, "first network"), adapted(second, "second network")
    large = sparse.sparse_pair(*read)
    if large is not None:
        return large, large
    pair = in_double(as_network(read[0], "first network")), in_double(as_network(read[1], "second network"))
    for name, network in zip(("first", "second"), pair, strict=True):
        if network.members != 1:
            raise TutelageError(
                f"the {name} must be one network, got a stack of {network.members}: choose one, such as network[0]"
            )
    same_function_space(*pair)
    return read, pair


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
    pair: tuple[Network, Network] | sparse.Pair,
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
) -> Closeness:
    """Cheap answers first: equal weights, an input that refutes the claim, then branch and bound."""
    inputs, device = pair[0].inputs, chosen_device(device)
    domain = as_domain(domain, inputs, flat=True)
    if domain.dimension != inputs:
        raise TutelageError(
            f"the domain must have {inputs} dimensions, as many as the networks have inputs, got {domain.dimension}"
        )
    data = None if points is None else points_for(pair[0], points)[0]
    if isinstance(pair[0], SparseNetwork):
        return _sparse_answer(pair, domain, question, words, Deadline.of(seconds), seed, data, on_progress)
    compile_bounds()
    deadline = Deadline.of(seconds)
    question = question.with_rooms(reading_errors(*read, domain.low, domain.high))
    hunt = Hunt(*pair, domain, question)
    hunt.precisions = tuple(stored_precision(n) for n in read if isinstance(n, Network))
    zero = torch.zeros(pair[0].outputs, dtype=torch.float64)
    if equal_weights(*pair) and question.proved_by(zero) and question.room.isfinite().all():
        return Closeness("holds", words, "both have the same weights", in_words(domain), question.room, zero, None, 0)
    hunt.begin(seed, deadline.share(_SEARCH), data)
    if hunt.refuted:
        return _record(pair, hunt, words, _bounded_whole(pair, hunt, deadline), False, 1, None)
    decided = decide(pair, hunt, deadline, threads=threads, device=device, keep=keep, on_progress=on_progress)
    return _record(pair, hunt, words, *decided)


def _sparse_answer(
    pair: sparse.Pair,
    domain: Domain,
    question: Question,
    words: str,
    deadline: Deadline,
    seed: int,
    data: Tensor | None,
    on_progress: OnClosing | None,
) -> Closeness:
    """The same order for networks with sparse layers: equal numbers, a search, bounds on the whole domain."""
    hunt = SparseHunt(pair, domain, question)
    zero = torch.zeros(pair[0].outputs, dtype=torch.float64)
    if sparse.equal(pair):
        return Closeness("holds", words, "both have the same weights", in_words(domain), zero, zero, None, 0)
    hunt.begin(seed, deadline.share(_SEARCH), data)
    if hunt.refuted:
        return closeness_of(hunt, words, torch.full_like(zero, torch.inf), False, 1, None)
    return closeness_of(hunt, words, *sparse.decide_sparse(pair, hunt, deadline, on_progress), None)


def _bounded_whole(pair: tuple[Network, Network], hunt: Hunt, deadline: Deadline) -> Tensor:
    """Bounds [C] on the differences over the whole domain, in one pass."""
    deadline = deadline.at_least(_GRACE)
    try:
        joint = joined(*pair, hunt.reach, deadline, _of_classes(hunt.question))
        free = int((hunt.high > hunt.low).sum())
        if not fits(joint, free, deadline):
            return torch.from_numpy(interval_bounds(joint, hunt.low.numpy(), hunt.high.numpy(), deadline=deadline))
    except OutOfTime:
        return torch.full_like(hunt.largest, torch.inf)
    bound = Bounder(joint, hunt.question, free, threads=1)
    return torch.from_numpy(bound(hunt.low.numpy()[None], hunt.high.numpy()[None], deadline)[0][0])


def _of_classes(question: Question) -> Rooms | None:
    """What outputs may be off by, where the question has no limits that are smaller for it."""
    return None if question.margin is None else question.rooms


def decide(
    pair: tuple[Network, Network],
    hunt: Hunt,
    deadline: Deadline,
    *,
    threads: int | None = None,
    device: str = "cpu",
    keep: bool = False,
    on_progress: OnClosing | None = None,
    forms: bool = True,
    limit: Deadline | None = None,
) -> tuple[Tensor, bool, int, tuple[np.ndarray, np.ndarray] | None]:
    """Branch and bound on inputs, and on units where inputs are many: bounds [C], whether proved, parts, leaves.

    forms: whether normal forms are compared as well, after a short time without a proof; never where boxes are kept.
    limit: when to leave a bound of the whole domain that is under way, where that may take longer than the deadline.
    """
    question, free, limit = hunt.question, int((hunt.high > hunt.low).sum()), (limit or deadline).at_least(_GRACE)
    known = torch.full((pair[0].outputs,), torch.inf, dtype=torch.float64)
    many = free > MOST_INPUTS
    try:
        joint = joined(*pair, hunt.reach, limit, _of_classes(question))
        if question.margin is None and (many or not fits(joint, free, limit)):
            known = bounded_at_once(joint, question, hunt, limit)
            if (known <= question.limits).all():
                return known, True, 1, None
    except OutOfTime:
        return known, False, 0, None
    if not fits(joint, free, limit):
        return _by_units(pair, hunt, known, deadline, device, on_progress)
    dividing = Dividing(
        joint, question, hunt, threads=threads, device=device, keep=keep, on_progress=on_progress, limit=limit
    )
    if forms and not keep and hunt.weights <= _LARGE:
        division = dividing.until(deadline.within(_BRIEFLY))
        if not (division.proved or hunt.refuted or deadline.passed):
            known = torch.minimum(known, _bound_by_form(pair, hunt, deadline))
            if question.proved_by(known):
                return torch.minimum(division.at_most, known), True, BY_FORM, None
    division = dividing.until(deadline)
    proved, at_most, parts = division.proved, torch.minimum(division.at_most, known), division.boxes
    if not (proved or hunt.refuted or deadline.passed) and many:
        at_most, proved, more, _ = _by_units(pair, hunt, at_most, deadline, device, on_progress)
        parts += more
    return at_most, proved, parts, division.leaves


def _by_units(
    pair: tuple[Network, Network],
    hunt: Hunt,
    at_most: Tensor,
    deadline: Deadline,
    device: str,
    on_progress: OnClosing | None,
) -> tuple[Tensor, bool, int, None]:
    """Branch and bound on units, for boxes alone: bounds [C], no worse than those known, whether proved, parts."""
    if not hunt.domain.is_box:
        return at_most, False, 1, None
    try:
        with interruptible(deadline, hunt.weights):
            proved, at_most, parts = prove_by_units(pair, hunt.question, hunt, at_most, deadline, device, on_progress)
    except OutOfTime:
        return at_most, False, 1, None
    return at_most, proved, parts, None


def _bound_by_form(pair: tuple[Network, Network], hunt: Hunt, deadline: Deadline) -> Tensor:
    """Bounds [C] on the difference where one network is the other with units moved, scaled, removed or merged.

    Infinite where that does not explain it. Linear programs about the signs of units are solved only where numbers of
    units differ, as they do where some were removed.
    """
    single = [_in_single(n) or kind == torch.float32 for n, kind in zip(pair, hunt.precisions, strict=True)]
    eps = tuple(torch.finfo(torch.float32 if s else torch.float64).eps for s in single)
    solving = deadline.within(0.0 if pair[0].widths == pair[1].widths else _SOLVING)
    box = Box(hunt.low[None], hunt.high[None])
    try:
        with interruptible(deadline, hunt.weights):
            return normal_apart(pair, box, (eps[0], eps[1]), solving)[0]
    except OutOfTime:
        return torch.full_like(hunt.largest, torch.inf)


def _in_single(network: Network) -> bool:
    """Whether float32 holds all weights, so that two that are nearly equal may be meant to be equal."""
    return all(torch.equal(a.float().double(), a) for a in network.parameters)


def _record(
    pair: tuple[Network, Network],
    hunt: Hunt,
    words: str,
    at_most: Tensor,
    proved: bool,
    parts: int,
    leaves: tuple[np.ndarray, np.ndarray] | None,
) -> Closeness:
    """The answer in words, after the bounds were held against the largest difference found."""
    _hold_against_search(pair, hunt, at_most)
    return closeness_of(hunt, words, at_most + hunt.question.room, proved, parts, leaves)


def equal_weights(first: Network, second: Network) -> bool:
    """Whether two networks have the same numbers in the same places, and the same activation."""
    alike = first.widths == second.widths and (first.biases is None) == (second.biases is None)
    same_kind = first.activation == second.activation and (first.slope == second.slope or first.activation != "leaky")
    return alike and same_kind and all(map(torch.equal, first.parameters, second.parameters))


def _hold_against_search(pair: tuple[Network, Network], hunt: Hunt, at_most: Tensor) -> None:
    """Raise an internal error where a difference found exceeds what was proved."""
    if at_most.isinf().all():
        return
    gap, error = (a[0, 0] for a in difference_with_error(*pair, hunt.at[None]))
    if (gap - error > at_most).any():
        worst = int((gap - error - at_most).argmax())
        raise InternalError(
            f"output {worst} was proved to differ by at most {rounded_up(at_most[worst].item())}, "
            f"and a search found {gap[worst].item():.3g}"
        )
