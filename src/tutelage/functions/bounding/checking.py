"""Whether an exported network still is the original: on data, by search and by proof."""

from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.functions.bounding.answers import Closeness, OnClosing, difference_bound, top_class_agreement
from tutelage.functions.bounding.pairs import reading_errors
from tutelage.functions.bounding.questions import Hunt, Question
from tutelage.functions.bounding.sparse.answers import parting_layer as sparse_parting_layer
from tutelage.functions.bounding.sparse.answers import sparse_pair
from tutelage.functions.bounding.sparse.search import SparseHunt
from tutelage.functions.checks import as_network, as_number, in_double, points_for
from tutelage.functions.evaluation import values
from tutelage.functions.pieces.domain import Domain, Ends, as_domain, box
from tutelage.networks import Network, SparseNetwork
from tutelage.networks.adapting import adapted
from tutelage.networks.forward import activate, linear
from tutelage.printing import printed


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
    """

    tolerance: float
    closeness: Closeness
    parting_layer: int | None
    on_data: Tensor | None
    agreement: float | None
    same_class: Closeness | None
    worst_input: Tensor | None = None
    worst_row: int | None = None
    outside: bool = False
    exceeded: bool = False

    def _title(self) -> str:
        return f"export {self.verdict} within {self.tolerance:g}"

    @property
    def verdict(self) -> str:
        """ "passes", "fails" or "not decided"."""
        if self.exceeded:
            return "fails"
        within = self.on_data is None or self.on_data.max() <= self.tolerance
        return "passes" if within and self.closeness.at_most.max() <= self.tolerance else "not decided"


def check_export(
    original: object,
    exported: object,
    domain: Domain | Ends | None = None,
    data: Tensor | None = None,
    *,
    tolerance: float = 1e-4,
    seconds: float = 60.0,
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
        Time limit of the bound, which ends when the verdict is known; the proof for the top class gets as much.
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
    tolerance = as_number(tolerance, "tolerance")
    if not 0 <= tolerance < torch.inf:
        raise TutelageError(f"tolerance must be a finite number of at least 0, got {tolerance}")
    first, second = adapted(original, "original"), adapted(exported, "exported network")
    large = sparse_pair(first, second)
    first, second = large or (as_network(first, "original"), as_network(second, "exported network"))
    read_first, read_second = first, second
    if isinstance(first, Network) and isinstance(second, Network):
        first, second = in_double(first), in_double(second)
    points = None if data is None else points_for(first, data)[0]
    if domain is None:
        if points is None:
            raise TutelageError("a check needs inputs: give a domain such as (-1, 1), or data")
        domain = box(points.amin(0), points.amax(0), flat=True)
    domain = as_domain(domain, first.inputs, flat=True)
    closeness = difference_bound(
        read_first, read_second, domain, enough=tolerance, seconds=seconds, on_progress=on_progress
    )
    worst, row, outside = closeness.witness, None, False
    on_data, agreement = None, None
    if points is not None:
        a, b = (values(n, points) for n in (first, second))
        apart = (a - b).abs()
        on_data = apart.amax(0)
        if on_data.max() > closeness.largest.max():
            row = int(apart.amax(1).argmax())
            worst, outside = points[row], not domain.holds(points[row])
        agreement = (a.argmax(1) == b.argmax(1)).double().mean().item() if first.outputs > 1 else None
    exceeded = _exceeded(read_first, read_second, domain, tolerance, closeness.witness) or (
        row is not None
        and _exceeded(read_first, read_second, box(domain.low, domain.high, flat=True), tolerance, worst)
    )
    same_class = None
    if first.outputs > 1:
        same_class = top_class_agreement(read_first, read_second, domain, seconds=seconds, on_progress=on_progress)
    at = domain.centre if worst is None else worst
    if large is not None:
        layer = sparse_parting_layer(large, at, max(tolerance, 1e-9))
    else:
        layer = parting_layer(first, second, at, max(tolerance, 1e-9))  # type: ignore[arg-type]
    return ExportCheck(tolerance, closeness, layer, on_data, agreement, same_class, worst, row, outside, exceeded)


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
