"""Whether an exported network still is the original: on data, by search and by proof."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tutelage.deadline import Deadline, rows_at_a_time
from tutelage.errors import TutelageError
from tutelage.functions.answers import Answer, OnClosing, Question
from tutelage.functions.checks import as_bound, as_network, in_double, points_for
from tutelage.functions.comparing.difference import difference_bound, top_class_agreement
from tutelage.functions.domain import Domain, Ends, as_domain, box
from tutelage.functions.layers.sparse import SparsePair, reading_errors, sparse_pair
from tutelage.functions.rounding import values
from tutelage.functions.search.hunt import Hunt
from tutelage.functions.search.sparse import SparseHunt
from tutelage.networks import Network, SparseNetwork
from tutelage.networks.adapting import adapted
from tutelage.networks.forward import activate, linear
from tutelage.printing import printed

_BOUND = 0.6  # of the time left that the bound may take before the top class is asked about


@printed
@dataclass(frozen=True, eq=False)
class ExportCheck:
    """What is known of an exported network beside the original.

    Attributes
    ----------
    tolerance
        Largest difference of an output that is allowed.
    closeness
        Bounds, largest differences and witness on the domain.
    parting_layer
        First layer, counted from 1, whose pre-activations differ by more than rounding explains at the worst input
        found; None where none does, or where the layers do not correspond.
    on_data
        [C]: largest differences on the data, or None without data.
    agreement
        Share of the data with the same top class; None without data, or with one output.
    same_class
        Proof or witness that the top classes agree on the domain; None with one output.
    worst_input
        Input [d] with the largest difference found, on the domain or in the data; None where none was found.
    worst_row
        Number of the worst input among the data, counted from 0; None where the search on the domain found it.
    outside
        Whether the worst input is a row of the data outside the domain, which the bound says nothing about.
    exceeded
        Whether some output differs by more than the tolerance at an input that was found, beyond any rounding.
    left_out
        How many rows of the data the time limit left no time to compare: the last ones.
    """

    tolerance: float
    closeness: Answer
    parting_layer: int | None
    on_data: Tensor | None
    agreement: float | None
    same_class: Answer | None
    worst_input: Tensor | None = None
    worst_row: int | None = None
    outside: bool = False
    exceeded: bool = False
    left_out: int = 0

    def _title(self) -> str:
        return f"export {self.verdict} within {self.tolerance:g}"

    @property
    def verdict(self) -> str:
        """ "passes", "fails" or "not decided"."""
        if self.exceeded:
            return "fails"
        within = not self.left_out and (self.on_data is None or self.on_data.max() <= self.tolerance)
        return "passes" if within and self.closeness.at_most.max() <= self.tolerance else "not decided"


def check_export(
    original: object,
    exported: object,
    domain: Domain | Ends | None = None,
    data: Tensor | None = None,
    *,
    tolerance: float = 1e-4,
    seconds: float | Deadline = 60.0,
    keep: bool = False,
    on_progress: OnClosing | None = None,
) -> ExportCheck:
    """Check an exported, quantised, fused or pruned network against the original.

    Parameters
    ----------
    original, exported
        Networks, torch modules, models of scikit-learn or paths of files.
    domain
        Where the bound has to hold: a domain or (low, high); default: the range of the data per input.
    data
        Inputs [N, d].
    tolerance
        Largest difference of an output that is allowed.
    seconds
        Time limit of the whole check. The bound, which ends when the verdict is known, takes at most three fifths of
        it where the top class is asked about too.
    keep
        Keep the boxes that the bound consists of.
    on_progress
        Called with the bound, the largest difference found and the number of open parts.

    Returns
    -------
    ExportCheck

    Examples
    --------
    >>> net = Network((torch.eye(2).unsqueeze(0), torch.ones(1, 2, 1)))
    >>> check_export(net, net.map(lambda a: a * (1 + 1e-7)), (-1, 1)).verdict
    'passes'
    """
    tolerance = as_bound(tolerance, "tolerance")
    first, second = adapted(original, "original"), adapted(exported, "exported network")
    large = sparse_pair(first, second)
    first, second = large or (as_network(first, "original"), as_network(second, "exported network"))
    read_first, read_second = first, second
    if isinstance(first, Network) and isinstance(second, Network):
        first, second = in_double(first), in_double(second)
    points = None if data is None else points_for(first, data)[0]
    domain = export_domain(first.inputs, domain, points)
    deadline = Deadline.of(seconds)
    left_out, on_data, row, agreement = 0, None, None, None
    if points is not None:
        left_out, on_data, row, agreement = _on_data(first, second, points, deadline)
    # The bound would take all of the time where it leaves the tolerance open, and nothing would be said of classes.
    limit = deadline.share(_BOUND) if first.outputs > 1 else deadline
    closeness = difference_bound(
        read_first, read_second, domain, enough=tolerance, seconds=limit, keep=keep, points=points,
        on_progress=on_progress,
    )  # fmt: skip
    worst, outside = closeness.witness, False
    if row is not None and points is not None and on_data is not None and on_data.max() > closeness.largest.max():
        worst, outside = points[row], not domain.holds(points[row])
    else:
        row = None
    exceeded = _exceeded(read_first, read_second, domain, tolerance, closeness.witness) or (
        row is not None
        and _exceeded(read_first, read_second, box(domain.low, domain.high, flat=True), tolerance, worst)
    )
    same_class = None
    if first.outputs > 1:
        same_class = top_class_agreement(
            read_first, read_second, domain, seconds=deadline, points=points, on_progress=on_progress
        )
    at = domain.centre if worst is None else worst
    if large is not None:
        layer = sparse_parting_layer(large, at, max(tolerance, 1e-9))
    else:
        layer = parting_layer(first, second, at, max(tolerance, 1e-9))  # type: ignore[arg-type]
    return ExportCheck(
        tolerance, closeness, layer, on_data, agreement, same_class, worst, row, outside, exceeded, left_out
    )


def export_domain(inputs: int, domain: Domain | Ends | None, points: Tensor | None) -> Domain:
    """The domain of a check: as given, or the range of the data [N, d] per input."""
    if domain is None:
        if points is None:
            raise TutelageError("a check needs inputs: give a domain such as (-1, 1), or data")
        domain = box(points.amin(0), points.amax(0), flat=True)
    return as_domain(domain, inputs, flat=True)


def _on_data(
    first: Network | SparseNetwork, second: Network | SparseNetwork, points: Tensor, deadline: Deadline
) -> tuple[int, Tensor, int, float | None]:
    """How many rows of the data no time was left for, after a first few; the largest differences [C] on the others, the
    row of the largest of all, and the share of rows with the same top class.
    """
    weights = sum(n.weights if isinstance(n, SparseNetwork) else _weights(n) for n in (first, second))
    largest, at, same, done = torch.zeros(first.outputs, dtype=torch.float64), 0, 0, 0
    for part in points.split(min(4096, rows_at_a_time(weights))):
        if done and deadline.passed:
            break
        a, b = (values(n, part) for n in (first, second))
        apart = (a - b).abs()
        if not done or apart.max() > largest.max():
            at = done + int(apart.amax(1).argmax())
        largest, done = torch.maximum(largest, apart.amax(0)), done + len(part)
        same += int((a.argmax(1) == b.argmax(1)).sum())
    return len(points) - done, largest, at, same / done if first.outputs > 1 else None


def _weights(network: Network) -> int:
    return sum(a.numel() for a in network.parameters)


def _exceeded(
    first: Network | SparseNetwork,
    second: Network | SparseNetwork,
    domain: Domain,
    tolerance: float,
    at: Tensor | None,
) -> bool:
    """Whether some output differs by more than the tolerance at an input, beyond any rounding."""
    if at is None:
        return False
    question = Question(torch.full((first.outputs,), tolerance, dtype=torch.float64))
    if isinstance(first, SparseNetwork):
        return SparseHunt((first, second), domain, question).proved(at)  # type: ignore[arg-type]
    question = question.with_rooms(reading_errors(first, second, at, at))
    return Hunt(in_double(first), in_double(second), domain, question).proved(at)  # type: ignore[arg-type]


def parting_layer(first: Network, second: Network, at: Tensor, tolerance: float) -> int | None:
    """First layer, from 1, where pre-activations at an input differ by more than a share of their size; else None."""
    if first.widths != second.widths:
        return None
    f = g = at.view(1, 1, -1)
    for layer in range(first.depth):
        u, v = linear(first, layer, f), linear(second, layer, g)
        if (u - v).abs().max() > tolerance * u.abs().max().clamp_min(1.0):
            return layer + 1
        f, g = activate(first, u), activate(second, v)
    return None


def sparse_parting_layer(pair: SparsePair, at: Tensor, tolerance: float) -> int | None:
    """First layer, from 1, where pre-activations at an input differ by more than a share of their size; else None."""
    if pair[0].widths != pair[1].widths:
        return None
    f = g = at.double().numpy()
    for number, (a, b) in enumerate(zip(pair[0].layers, pair[1].layers, strict=True)):
        u, v = a.w @ f + a.b, b.w @ g + b.b
        if np.abs(u - v).max() > tolerance * max(1.0, np.abs(u).max()):
            return number + 1
        f, g = np.where(u > 0, u, pair[0].left * u), np.where(v > 0, v, pair[1].left * v)
    return None
