"""Paths of low loss between two students of one teacher (Tian 2020, App. E and Fig. 13).

Every piece of a path changes either weights of units that have no fan-out, which changes nothing, or fan-outs alone,
in which the loss is convex. So the loss along a path is never above its largest value at a knot.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.functions.checks import in_double, points_for, same_function_space
from tutelage.functions.joining.matching import By, match
from tutelage.functions.joining.routes import route
from tutelage.measures import half_squares
from tutelage.networks import Network, concatenate, outputs
from tutelage.printing import printed


@printed
@dataclass(frozen=True, eq=False)
class Path:
    """Networks joined by straight lines: knots, each a stack of all members, and the pieces each member needs: [S].

    A member that needs fewer pieces than others waits at its last knot. what: a word or two on every piece, a member.
    """

    knots: tuple[Network, ...]
    pieces: Tensor
    what: tuple[tuple[str, ...], ...] = ()

    def at(self, place: float) -> Network:
        """The networks at a place from 0 (the first knot) to the number of knots - 1.

        >>> a, b = (Network((torch.full((1, 1, 1), x),)) for x in (0.0, 4.0))
        >>> Path((a, b), torch.tensor([1])).at(0.25).weights[0].item()
        1.0
        """
        begin = min(int(place), len(self.knots) - 2)
        t = place - begin
        there = iter(self.knots[begin + 1].parameters)
        return self.knots[begin].map(lambda a: (1 - t) * a + t * next(there))


def straight(first: Network, second: Network) -> Path:
    """The straight line between two stacks of one architecture."""
    _same_architecture(first, second)
    ones = torch.ones(first.members, dtype=torch.int64)
    return Path((in_double(first), in_double(second)), ones, (("straight",),) * first.members)


def straight_after_matching(first: Network, second: Network, points: Tensor | None = None) -> Path:
    """The straight line to the second student with its units in the order of the first's, matched one to one."""
    _same_architecture(first, second)
    by: By = "weights" if points is None else "activations"
    return straight(first, match(first, second, points, by, one_to_one=True).reorder(second))


def loss_along(path: Path, points: Tensor, labels: Tensor, steps: int = 10) -> tuple[Tensor, Tensor]:
    """Loss at every knot and at ``steps`` - 1 places between two of them.

    points [S, N, d], labels [S, N, C] -> share of the member's way [T, S], J = 1/2 E|f* - f|^2 (Tian 2020, eq. 2) [T,
    S].
    """
    x = points_for(path.knots[0], points)
    wanted = labels.detach().to("cpu", torch.float64)
    if wanted.shape != (*x.shape[:2], path.knots[0].outputs):
        raise TutelageError(f"labels have shape {list(labels.shape)}: wanted {[*x.shape[:2], path.knots[0].outputs]}")
    places = torch.arange((len(path.knots) - 1) * steps + 1, dtype=torch.float64) / steps
    losses = torch.stack([half_squares(wanted, outputs(path.at(place), x)) for place in places.tolist()])
    return (places.unsqueeze(1) / path.pieces).clamp_max(1), losses


def connect(
    first: Network, second: Network, points: Tensor, teacher: Network | None = None, *, excess: float | None = 0.0
) -> Path:
    """A path of low loss between two converged two-layer students of one teacher.

    Each student is first brought to as few units as keep its loss: idle units and duplicates hand their fan-out over,
    and the fan-outs of the rest are fitted to the labels. The units of the second are then blended into free units of
    the first, take over the fan-out, and leave the old ones free (Tian 2020, App. E), as many at a time as there are
    free units. A student that needs all its units at its own loss is refused; ``excess`` is the share by which the loss
    may grow to free some, or None for as much as it takes to free one. points [S, N, d] or [N, d], labelled by the
    teacher, or by the mean of the students without one.
    """
    _same_architecture(first, second)
    if first.depth != 2:
        raise TutelageError(f"paths are built for two-layer students, not for {first.depth} layers")
    if first.activation == "linear":
        raise TutelageError("units of linear networks are not determined by the function: there is no path to build")
    first, second = in_double(first, "first student"), in_double(second, "second student")
    x = points_for(first, points)
    if teacher is None:
        labels = (outputs(first, x) + outputs(second, x)) / 2
    else:
        same_function_space(teacher, first)
        labels = outputs(in_double(teacher, "teacher"), x)
    routes = [route(first[s], second[s], x[s], labels[s], excess, s) for s in range(first.members)]
    longest = max(len(knots) for knots, _ in routes)
    stacks = [concatenate([knots[min(i, len(knots) - 1)] for knots, _ in routes]) for i in range(longest)]
    pieces = torch.tensor([len(knots) - 1 for knots, _ in routes])
    return Path(tuple(stacks), pieces, tuple(tuple(words) for _, words in routes))


def _same_architecture(first: Network, second: Network) -> None:
    same_function_space(first, second)
    kinds = [(n.widths, n.activation, n.slope, n.biases is None) for n in (first, second)]
    if kinds[0] != kinds[1]:
        raise TutelageError("a path joins networks of one architecture: the two differ in widths, activation or biases")
