"""Whether two networks are the same function: cheap proofs first, then a search for a witness, then exact means."""

import time
from collections.abc import Callable
from contextlib import suppress

from tutelage.deadline import Deadline, OutOfTime
from tutelage.functions.answers import Answer
from tutelage.functions.bounds.branch_inputs import compile_bounds
from tutelage.functions.comparing.deciding import Deciding
from tutelage.functions.comparing.large import same_large
from tutelage.functions.domain import Domain, Ends
from tutelage.functions.interruptible import interruptible
from tutelage.functions.layers.sparse import sparse_pair
from tutelage.functions.pieces.regions import BUDGET
from tutelage.networks.adapting import adapted


def same_function(
    first: object,
    second: object,
    domain: Domain | Ends | None = None,
    *,
    tolerance: float | None = None,
    budget: int = BUDGET,
    seed: int = 0,
    seconds: float | Deadline | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> Answer:
    """Decide whether two networks are the same function, whatever their widths and depths (Phuong 2021, section 2).

    Parameters
    ----------
    first, second
        Networks with one member each, torch modules, MLPs of scikit-learn or paths of files.
    domain
        From :func:`box` or :func:`polytope`, or the ends (low, high) of a box; default: all inputs.
    tolerance
        Differences up to this value count as equal, but never less than float64 resolves; default: the effect of
        rounding the stored weights at each input, within a small share of how much the output varies. Weights in half
        precision are taken as exact.
    budget
        Largest number of regions and vertices of an exact comparison.
    seed
        Of the search for a witness.
    seconds
        Time limit; the verdict is then "not decided" with the best bound so far.
    on_progress
        Called with the share of the methods that were tried.

    Returns
    -------
    Answer

    Examples
    --------
    >>> import torch
    >>> from tutelage import Network
    >>> a = Network((torch.tensor([[[3.0, 0.0], [0.0, 0.5]]]), torch.tensor([[[1.0], [4.0]]])))
    >>> b = Network((torch.tensor([[[0.0, 6.0], [1.0, 0.0]]]), torch.tensor([[[2.0], [0.5]]])))
    >>> same_function(a, b).verdict
    'same and related'
    """
    begun = time.monotonic()
    if domain is not None:
        compile_bounds()
    deadline = Deadline.of(seconds)
    first, second = adapted(first, "first network"), adapted(second, "second network")
    large = sparse_pair(first, second)
    if large is not None:
        return same_large(large, domain, tolerance, seed, deadline).completed(*large, begun)
    question = Deciding(first, second, domain, tolerance, budget, seed, deadline)
    comparison = question.first_look()
    # Proofs that explain come first (a permutation, a normal form), then bounds, then what may take all the time left.
    # A method that runs out of time leaves what it learnt in `question`: a later one, or the record, uses it.
    methods = () if comparison else (
        question.related, question.different_on_samples, *question.cheap, question.different_by_search,
        question.bounded_by, question.divided, question.exact,
    )  # fmt: skip
    for number, method in enumerate(methods, start=1):
        if deadline.passed:
            break
        with suppress(OutOfTime), interruptible(deadline, question.weights):
            comparison = method()
        if on_progress:
            on_progress(1.0 if comparison else number / len(methods))
        if comparison:
            break
    return (comparison or question.out_of_time()).completed(first, second, begun)
