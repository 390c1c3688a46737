"""Identification: the weights of a deep ReLU network from queries alone, and an account of what was not found."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tutelage import draws
from tutelage.deadline import Deadline
from tutelage.errors import TutelageError
from tutelage.functions.checks import as_network, in_double
from tutelage.functions.querying.account import IN_PART, UnitAccount, accounts
from tutelage.functions.querying.known import Layer
from tutelage.functions.querying.lines import sample
from tutelage.functions.querying.oracle import Oracle, Spent, single_precision
from tutelage.functions.querying.peeling import Peeled
from tutelage.functions.querying.polish import outputs as outputs_of
from tutelage.functions.querying.polish import polished
from tutelage.functions.querying.rounds import SearchRounds, enough
from tutelage.networks import Network, outputs
from tutelage.printing import printed
from tutelage.settings import one_line
from tutelage.whole import positive, whole

LINES = 768
"""Lines along which bends are looked for at most; a twelfth of them are tried first."""

_UNREAD = 1e-13  # of the largest outgoing weight: a unit with smaller ones is not read
_FEWEST = 10_000  # queries that a limit must allow
_RESERVED = 6_000  # of a limit, for what is asked after the search
_DEEPEST = 8  # hidden layers looked for by default


@printed
@dataclass(frozen=True, eq=False)
class Reconstruction:
    """A network reconstructed from the values of a black box.

    Attributes
    ----------
    network
        One member with units of length 1; the black box's function where ``unexplained`` is 0.
    units
        Folds found in each hidden layer.
    passing
        Units added in each hidden layer to carry what no fold in the box tells (units that never switch, or whose
        orientation stayed open).
    open_signs
        Hidden layers, from 1, where an orientation stayed open.
    unexplained
        Root mean square of the error on fresh points over the standard deviation of the values.
    largest
        Largest error there.
    unplaced
        Share of the fold points that belong to no unit that was found.
    queries, lines
        Values asked for, and lines searched.
    notes
        What was not found.
    undecided
        Whether a limit of time or queries ended the search before the values were explained.
    noise
        Bound on the error of a value that was used: the one given, or the one measured in single precision.
    single_precision
        Whether the values were found to be in single precision.
    accounts
        One record per hidden unit of the network: layer (from 1), unit (from 0), status, and how many of its weights
        show no effect in the box; empty where a time limit left no time for it.
    """

    network: Network
    units: tuple[int, ...]
    passing: tuple[int, ...]
    open_signs: tuple[int, ...]
    unexplained: float
    largest: float
    unplaced: float
    queries: int
    lines: int
    notes: tuple[str, ...] = field(default=())
    undecided: bool = False
    noise: float = 0.0
    single_precision: bool = False
    accounts: tuple[UnitAccount, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether nothing was left open."""
        return not self.notes


def identify(
    oracle: Callable[[torch.Tensor], Any] | nn.Module | Network | str | Path,
    inputs: int | None = None,
    outputs: int | None = None,
    *,
    box: tuple[Any, Any] = (-4.0, 4.0),
    widths: tuple[int, ...] | None = None,
    depth: int | None = None,
    gradients: bool = False,
    noise: float = 0.0,
    lines: int = LINES,
    searches: int = 1,
    seed: int = 0,
    checkpoint: str | Path | None = None,
    progress: Callable[[float], None] | None = None,
    seconds: float | Deadline | None = None,
    queries: int | None = None,
) -> Reconstruction:
    """Reconstruct a deep ReLU network from its values at chosen inputs (Phuong 2021, Theorem 2.1 made constructive).

    Folds outside the box cannot be seen; the notes of the result say what was not found.

    Parameters
    ----------
    oracle
        Function of a float64 tensor [N, d] that returns values [N, C]; or a torch module (queried in its own
        precision: ``module.double()`` tells more digits);
        or a network with one member; or the path of a file with one (.onnx, .nnet or .safetensors).
    inputs, outputs
        d and C, where the oracle does not tell.
    box
        Where to look, (low, high).
    widths
        Hidden widths, if known; the notes then say what is missing.
    depth
        Largest number of hidden layers, if known.
    gradients
        Whether the oracle returns values and gradients [N, C, d].
    noise
        Bound on the error of a value; where values turn out to be in single precision, their error is measured.
    lines
        Largest number of lines per search.
    searches
        Largest number of searches: where one leaves values unexplained, the next begins anew with the next seed, and
        the network that explains most is returned. Only the answers of the first are kept in a checkpoint.
    seed
        Of the first search.
    checkpoint
        File that keeps the answers, so that a later call with the same settings does not query again.
    progress
        Called with the share of the search that is done.
    seconds
        Time limit; the best network so far is then returned, with a note.
    queries
        Largest number of values to ask for, at least 10,000; the best network so far is then returned, with a note.

    Returns
    -------
    Reconstruction

    Examples
    --------
    >>> teacher = Network((torch.eye(2, dtype=torch.float64)[None], torch.ones(1, 2, 1, dtype=torch.float64)))
    >>> found = identify(teacher)
    >>> found.units, found.complete, found.unexplained < 1e-12
    ((2,), True, True)
    """
    asked = _oracle(oracle, inputs, outputs, gradients, noise)
    low, high = _ends(box, asked.inputs)
    widths = None if widths is None else _widths(widths)
    most = _most(widths, depth)
    if queries is not None and (whole(queries) or 0) < _FEWEST:
        raise TutelageError(f"queries must be a whole number of at least {_FEWEST}, got {queries!r}")
    lines, searches = positive(lines, "lines"), positive(searches, "searches")
    (seed,) = draws.as_seeds([seed])
    asked.deadline = Deadline.of(seconds)
    asked.most = None if queries is None else queries - _RESERVED
    single = _measured(asked, low, high, seed)
    about = {"inputs": asked.inputs, "outputs": asked.outputs, "low": low.tolist(), "high": high.tolist()}
    about |= {"seed": seed, "noise": noise, "gradients": gradients}
    search = SearchRounds(asked, low, high, most, seed, checkpoint, about)
    search.run(lines, widths, progress)
    # invariant: `search` explains the values at least as well as every search before it
    for again in range(1, searches):
        if asked.spent or search.explained:
            break
        (other,) = draws.as_seeds([(seed + again) % 2**64])
        fresh = SearchRounds(asked, low, high, most, other, None, about)
        fresh.run(lines, widths, progress)
        if fresh.explained or fresh.result().unexplained < search.result().unexplained:
            search = fresh
    # The search is over: what it kept of the limit (time, and 6,000 queries) is for the last fit and the account.
    deadline, late, out = asked.deadline, asked.deadline.passed, asked.refused
    asked.deadline, asked.most, asked.refused, asked.late = Deadline(None), None, False, late
    result = replace(_finished(search, widths, deadline, queries), noise=asked.noise, single_precision=single)
    if (late or out) and result.unexplained > 10 * enough(asked):
        limit = f"time limit of {deadline.seconds:g} seconds" if late else f"limit of {queries:,} queries"
        note = f"undecided: the {limit} was reached before the search ended"
        result = replace(result, notes=(note, *result.notes), undecided=True)
    if progress:
        progress(1.0)
    return result


def _measured(asked: Oracle, low: np.ndarray, high: np.ndarray, seed: int) -> bool:
    """Whether values are in single precision; their error is then the noise, unless a larger one was given."""
    try:
        error = single_precision(asked, low, high, np.random.default_rng(seed))
    except Spent:
        return False
    if error is not None:
        asked.noise = max(asked.noise, error)
    return error is not None


def _oracle(oracle, inputs: int | None, outs: int | None, gradients: bool, noise: float) -> Oracle:
    """The black box as something to ask."""
    if isinstance(oracle, str | Path):
        oracle = as_network(oracle)
    if isinstance(oracle, nn.Sequential) and inputs is None and outs is None:
        read = _oracle(as_network(oracle), None, None, gradients, noise)
        inputs, outs = read.inputs, read.outputs
    if isinstance(oracle, nn.Module):
        if gradients:
            raise TutelageError(
                "gradients=True needs a function that returns (values, gradients), got a torch module: use "
                "gradients=False"
            )
        module = copy.deepcopy(oracle).to("cpu").eval()
        return _oracle(partial(_answers_of, module), inputs, outs, gradients, noise)
    if isinstance(oracle, Network):
        if oracle.depth > 1 and oracle.activation != "relu":
            raise TutelageError(
                f"only networks of relu units can be identified, got {oracle.activation} units: use activation='relu'"
            )
        if oracle.members > 1:
            raise TutelageError(
                f"one network can be identified at a time, got a stack of {oracle.members}: choose one, such as "
                "network[0]"
            )
        in_double(oracle)
        if gradients:
            raise TutelageError(
                "gradients=True needs a function that returns (values, gradients), got a network: use gradients=False"
            )
        net = oracle.to("cpu", torch.float64)
        return Oracle(lambda x: outputs(net, x)[0], net.inputs, net.outputs, noise=noise)
    if inputs is None or outs is None:
        raise TutelageError(
            "a function as a black box needs its numbers of inputs and outputs: call identify(oracle, inputs, outputs)"
        )
    return Oracle(oracle, inputs, outs, gradients=gradients, noise=noise)


def _answers_of(module: nn.Module, x: Tensor) -> Tensor:
    """Outputs of a module at inputs [N, d], in the precision of its weights."""
    own = next((p.dtype for p in module.parameters() if p.is_floating_point()), x.dtype)
    try:
        return module(x.to(own)).detach()
    except RuntimeError as error:
        raise TutelageError(
            f"the module takes no inputs [N, {x.shape[1]}] ({one_line(str(error))}): give a function that reshapes "
            "them, such as lambda x: module(x.view(-1, 1, 8, 8)).detach()"
        ) from None


def _ends(box: tuple[Any, Any], inputs: int) -> tuple[np.ndarray, np.ndarray]:
    try:
        low, high = (np.broadcast_to(np.asarray(end, dtype=np.float64), (inputs,)) for end in box)
    except (TypeError, ValueError):
        raise TutelageError(f"box must be (low, high), each a number or {inputs} numbers, got {box!r}") from None
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
        k = int(np.flatnonzero(~(np.isfinite(low) & np.isfinite(high) & (low < high)))[0])
        raise TutelageError(f"box must be finite with low < high, got {low[k]:g} to {high[k]:g} for input {k}")
    return low, high


def _widths(widths: Any) -> tuple[int, ...]:
    try:
        return tuple(positive(width, "every entry of widths") for width in widths)
    except TypeError:
        raise TutelageError(f"widths must be a tuple of whole numbers, one per hidden layer, got {widths!r}") from None


def _most(widths: tuple[int, ...] | None, depth: int | None) -> int:
    number = _DEEPEST if depth is None else whole(depth)
    if number is None or number < 0:
        raise TutelageError(f"depth must be a whole number of at least 0, got {depth!r}")
    if widths is not None and depth is not None and len(widths) != number:
        raise TutelageError(
            f"widths must have one entry for each of depth={number} hidden layers, got {len(widths)}: leave one of "
            "both out"
        )
    return number if widths is None else len(widths)


def _finished(
    search: SearchRounds, widths: tuple[int, ...] | None, deadline: Deadline, queries: int | None
) -> Reconstruction:
    """The network after its last steps, checked on fresh points; after the deadline what can take long is left out."""
    asked, low, high, seed, peeled = search.asked, search.low, search.high, search.seed, search.result()
    size = sum(w.size + b.size for w, b in peeled.layers)
    left = 20_000 if queries is None else max(queries - asked.queries, 1)
    count = min(left, max(1_000, 4 * size // asked.outputs + 100), 20_000)
    points = sample(low, high, asked.affordable(count), seed, "polish")
    # A fifth of the points serves for nothing but the account; the others are fitted.
    half = max(1, len(points) // 5)
    values = asked.values(points)
    layers = peeled.layers
    if peeled.unexplained <= 100 * enough(asked):
        layers = polished(layers, points[half:], values[half:], 0.05 * asked.rounding, deadline)
        layers = _in_use(layers, peeled.passing)
    rest = values[:half] - outputs_of(layers, points[:half])
    spread = max(float((values - values.mean(0)).std()), asked.rounding, 1e-300)
    unexplained = float(np.sqrt(np.square(rest).mean())) / spread
    units = tuple(w.shape[1] - p for (w, _), p in zip(layers[:-1], peeled.passing, strict=True))
    unplaced = peeled.left / max(1, search.bends)
    notes = _notes(unexplained, enough(asked), units, peeled, widths)
    units_known = () if deadline.passed else accounts(layers, peeled.passing, low, high, seed)
    open_units = [unit for unit in units_known if unit.status == IN_PART]
    if open_units:
        count = sum(unit.open_weights or 0 for unit in open_units)
        notes += (f"{count} weights of {len(open_units)} units have no effect seen in the box, and may be wrong",)
    largest = float(np.abs(rest).max())
    network = _network(layers)
    return Reconstruction(
        network,
        units,
        peeled.passing,
        peeled.open_signs,
        unexplained,
        largest,
        unplaced,
        asked.queries,
        search.lines,
        notes,
        accounts=units_known,
    )


def _in_use(layers: tuple[Layer, ...], passing: tuple[int, ...]) -> tuple[Layer, ...]:
    """The layers without hidden units that nothing reads: folds of a later layer that passed as units of this one."""
    out = list(layers)
    for k, added in enumerate(passing):
        (w, b), (after, shift) = out[k], out[k + 1]
        reading = np.abs(after).max(1) * np.linalg.norm(w, axis=0)
        used = reading > _UNREAD * reading.max(initial=0.0)
        used[len(used) - added :] = True
        if not used.any():
            continue
        out[k], out[k + 1] = (w[:, used], b[used]), (after[used], shift)
    return tuple(out)


def _notes(unexplained: float, enough: float, units, peeled: Peeled, widths) -> tuple[str, ...]:
    notes = []
    if unexplained > 10 * enough:
        notes.append(f"a share {unexplained:.2g} of the function is not explained by the units found")
    notes += [
        f"in hidden layer {layer} some units never switch in the box, or their orientation is open: added units, "
        f"{peeled.passing[layer - 1]} of them, that are always active carry what they do"
        for layer in peeled.open_signs
    ]
    for layer, width in enumerate(widths or (), start=1):
        met = units[layer - 1] if layer <= len(units) else 0
        if met < width:
            notes.append(f"hidden layer {layer}: {met} of {width} units found; the others show no fold in the box")
    return tuple(notes)


def _network(layers: tuple[Layer, ...]) -> Network:
    """Layers as one member, hidden units scaled to length 1."""
    weights, biases, carry = [], [], np.ones(layers[0][0].shape[0])
    for k, (w, b) in enumerate(layers):
        w = w * carry[:, None]
        size = np.linalg.norm(w, axis=0) if k < len(layers) - 1 else np.ones(w.shape[1])
        carry = np.where(size > 0, size, 1.0)
        weights.append(torch.from_numpy(w / carry)[None])
        biases.append(torch.from_numpy(b / carry)[None])
    return Network(tuple(weights), tuple(biases))
