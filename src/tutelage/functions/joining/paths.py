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
    """Networks joined by straight lines in weight space.

    Attributes
    ----------
    knots
        Stacks of all members; the path goes straight from each to the next.
    pieces
        [S]: number of pieces that each member needs; it stays at its last knot afterwards.
    what
        A few words on every piece, per member.
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
    """Straight line in weight space between two stacks of one architecture.

    Parameters
    ----------
    first, second
        Networks with S members each.

    Returns
    -------
    Path
    """
    same_architecture(first, second)
    ones = torch.ones(first.members, dtype=torch.int64)
    return Path((in_double(first), in_double(second)), ones, (("straight",),) * first.members)


def straight_after_matching(first: Network, second: Network, points: Tensor | None = None) -> Path:
    """Straight line to the second student after its units were matched one to one to the first's.

    Parameters
    ----------
    first, second
        Networks with S members each and the same architecture.
    points
        Inputs for matching by activations; default: by weights.

    Returns
    -------
    Path
    """
    same_architecture(first, second)
    by: By = "weights" if points is None else "activations"
    return straight(first, match(first, second, points, by, one_to_one=True).reorder(second))


def loss_along(path: Path, points: Tensor, labels: Tensor, steps: int = 10) -> tuple[Tensor, Tensor]:
    """Squared error along a path.

    Parameters
    ----------
    path
        The networks.
    points, labels
        [S, N, d] and [S, N, C].
    steps
        Places per piece of the path.

    Returns
    -------
    share, loss
        Share of the member's path [T, S], and J = 1/2 E|f* - f|^2 (Tian 2020, eq. 2) [T, S].
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
    """Path of low loss between two converged two-layer students of one teacher (Tian 2020, App. E).

    Each student is first reduced to as few units as keep its loss: idle units and duplicates pass on their fan-out, and
    the fan-outs of the rest are fitted to the labels. Units of the second are then blended into free units of the
    first, take over the fan-out, and leave the old ones free, as many at a time as there are free units.

    Parameters
    ----------
    first, second
        Students with S members each.
    points
        Inputs [S, N, d] or [N, d].
    teacher
        Labels the points; without one, the mean of the students does.
    excess
        Share by which the loss may grow to free a unit, or None for as much as it takes.

    Returns
    -------
    Path

    Raises
    ------
    TutelageError
        If a student needs all its units at its own loss.
    """
    same_architecture(first, second)
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


def same_architecture(first: Network, second: Network) -> None:
    """Raise an error unless two stacks have the same widths, activation, biases and members."""
    same_function_space(first, second)
    kinds = [(n.widths, n.activation, n.slope, n.biases is None) for n in (first, second)]
    if kinds[0] != kinds[1]:
        raise TutelageError("a path joins networks of one architecture: the two differ in widths, activation or biases")
