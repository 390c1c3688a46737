"""Paths of low loss between two networks (Tian 2020, App. E and Fig. 13; Garipov et al. 2018).

Between two-layer students of one teacher a path is constructed: every piece of it changes either weights of units that
have no fan-out, which changes nothing, or fan-outs alone, in which the loss is convex. So the loss along such a path is
never above its largest value at a knot.

Other networks are joined by two straight pieces by way of a network between them, whose weights are found by gradient
steps on the mean loss along both pieces. It begins half-way, so that matching the units first makes it easier. Nothing
is guaranteed of it: the loss along the path is what it is measured to be.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.functions.checks import as_number, in_double, points_for, same_function_space
from tutelage.functions.matching.aligning import aligned
from tutelage.functions.matching.judging import judged, labels_for
from tutelage.functions.matching.matching import By, match
from tutelage.functions.matching.routes import route
from tutelage.networks import Network, concatenate, outputs
from tutelage.printing import printed
from tutelage.whole import positive

STEPS = 300
"""Gradient steps for the bend."""
_BATCH = 256  # points per step
_PLACES = 4  # places on the path per step
_RATE = 0.03  # of Adam, times the mean size of the entries of an array


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

    Examples
    --------
    >>> one, two = (Network((torch.eye(2)[None] * s, torch.eye(2)[None])) for s in (1.0, 3.0))
    >>> straight(one, two).at(0.5).weights[0]
    tensor([[[2., 0.],
             [0., 2.]]], dtype=torch.float64)
    """
    same_architecture(first, second)
    ones = torch.ones(first.members, dtype=torch.int64)
    return Path((in_double(first), in_double(second)), ones, (("straight",),) * first.members)


def straight_after_matching(
    first: Network, second: Network, points: Tensor | None = None, labels: Tensor | None = None
) -> Path:
    """Straight line to the second student after its units were matched one to one to the first's.

    With points and labels this is the matched line that :func:`barrier` measures by default.

    Parameters
    ----------
    first, second
        Networks with S members each and the same architecture.
    points
        Inputs for matching by activations; default: by weights.
    labels
        Numbers or classes of the points: units are then matched in the way that leaves the least loss half-way, and
        take the size of their partners.

    Returns
    -------
    Path

    Examples
    --------
    >>> _ = torch.manual_seed(0)
    >>> one = Network((torch.randn(1, 3, 4), torch.randn(1, 4, 2)))
    >>> other = Network((one.weights[0].flip(2), one.weights[1].flip(1)))  # units in the opposite order
    >>> x = torch.randn(1, 10, 3)
    >>> labels = outputs(one, x)
    >>> bool(loss_along(straight_after_matching(one, other), x, labels)[1].max() < 1e-9)
    True
    """
    same_architecture(first, second)
    if points is not None and labels is not None:
        first, second = in_double(first), in_double(second)
        x = points_for(first, points)
        return straight(first, aligned(first, second, x, labels_for(labels, x, first.outputs), "best")[0])
    by: By = "weights" if points is None else "activations"
    return straight(first, match(first, second, points, by, one_to_one=True).reorder(second))


def loss_along(path: Path, points: Tensor, labels: Tensor, steps: int = 10) -> tuple[Tensor, Tensor]:
    """Loss along a path: squared error, or cross-entropy for classes.

    Parameters
    ----------
    path
        The networks.
    points, labels
        [S, N, d], and numbers [S, N, C] or classes [S, N].
    steps
        Places per piece of the path.

    Returns
    -------
    share, loss
        Share of the member's path [T, S], and J = 1/2 E|f* - f|^2 (Tian 2020, eq. 2) or the cross-entropy [T, S].

    Examples
    --------
    >>> one, two = (Network((torch.eye(2)[None] * s, torch.eye(2)[None])) for s in (1.0, 3.0))
    >>> points = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    >>> share, loss = loss_along(straight(one, two), points, points, steps=2)
    >>> loss[:, 0]
    tensor([0.0000, 0.5000, 2.0000], dtype=torch.float64)
    """
    share, loss, _ = judged_along(path, points, labels, steps)
    return share, loss


def accuracy_along(path: Path, points: Tensor, labels: Tensor, steps: int = 10) -> tuple[Tensor, Tensor]:
    """Share of points with the right class along a path.

    Parameters
    ----------
    path
        The networks.
    points, labels
        [S, N, d] and classes [S, N] or [N].
    steps
        Places per piece of the path.

    Returns
    -------
    share, accuracy
        Share of the member's path [T, S], and of points with the right class [T, S].

    Examples
    --------
    >>> one, two = (Network((torch.eye(2)[None] * s, torch.eye(2)[None])) for s in (1.0, 2.0))
    >>> points = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    >>> share, accuracy = accuracy_along(straight(one, two), points, torch.tensor([0, 1]), steps=2)
    >>> accuracy[:, 0]
    tensor([1., 1., 1.], dtype=torch.float64)
    """
    share, _, accuracy = judged_along(path, points, labels, steps)
    if accuracy is None:
        raise TutelageError("accuracy needs classes, whole numbers [N], as labels; numbers have a squared error alone")
    return share, accuracy


def judged_along(path: Path, points: Tensor, labels: Tensor, steps: int) -> tuple[Tensor, Tensor, Tensor | None]:
    """Share of the path, loss and, for classes, accuracy at every place: [T, S] each."""
    x, steps = points_for(path.knots[0], points), positive(steps, "steps")
    wanted = labels_for(labels, x, path.knots[0].outputs)
    places = torch.arange((len(path.knots) - 1) * steps + 1, dtype=torch.float64) / steps
    loss, accuracy = judged((path.at(place) for place in places.tolist()), x, wanted)
    return (places.unsqueeze(1) / path.pieces).clamp_max(1), loss, accuracy


def connect(
    first: Network,
    second: Network,
    points: Tensor,
    teacher: Network | None = None,
    *,
    labels: Tensor | None = None,
    excess: float | None = 0.0,
    bend_steps: int = STEPS,
) -> Path:
    """Path of low loss between two networks of one architecture.

    Two-layer students of one teacher with labels that are numbers are joined by a construction (Tian 2020, App. E):
    each is first reduced to as few units as keep its loss, idle units and duplicates pass on their fan-out, and the
    fan-outs of the rest are fitted to the labels. Units of the second are then blended into free units of the first,
    take over the fan-out, and leave the old ones free, as many at a time as there are free units.

    Other networks, of any depth, are joined by two straight pieces with a bend between them that is found by gradient
    steps (Garipov et al. 2018). The path then ends at the second network with its units matched to the first's: the
    same function as the second network.

    Parameters
    ----------
    first, second
        Networks with S members each.
    points
        Inputs [S, N, d] or [N, d].
    teacher
        Labels the points; without one and without labels, the mean of both networks does.
    labels
        Numbers [N, C] or [S, N, C] for the squared error, or classes [N] or [S, N] for the cross-entropy.
    excess
        Share by which the loss may grow to free a unit, or None for as much as it takes; two-layer students alone.
    bend_steps
        Gradient steps for the bend.

    Returns
    -------
    Path

    Raises
    ------
    TutelageError
        If a two-layer student needs all its units at its own loss.

    Examples
    --------
    >>> import tutelage as tt
    >>> teacher = tt.teachers.Levels(inputs=5, hidden=2, outputs=2).build([0])
    >>> inputs = tt.inputs.Gaussian(train=500, evaluate=200).draw(teacher, [0])
    >>> ends = [tt.students.SmallNormal(width_factor=3).build(teacher, [seed]) for seed in (0, 1)]
    >>> one, two = (tt.train(teacher, end, inputs, steps=3000, learning_rate=0.05).students for end in ends)
    >>> path = connect(one, two, inputs.evaluate, teacher)
    >>> labels = outputs(teacher, inputs.evaluate)
    >>> highest = [loss_along(way, inputs.evaluate, labels)[1].max() for way in (straight(one, two), path)]
    >>> bool(highest[1] < highest[0])
    True
    """
    same_architecture(first, second)
    if first.activation == "linear":
        raise TutelageError("units of linear networks are not determined by the function: there is no path to build")
    if teacher is not None and labels is not None:
        raise TutelageError("teacher and labels both say what is right: give one of them")
    first, second = in_double(first, "first student"), in_double(second, "second student")
    x, excess = points_for(first, points), None if excess is None else as_number(excess, "excess")
    if labels is not None:
        wanted = labels_for(labels, x, first.outputs)
    elif teacher is None:
        wanted = (outputs(first, x) + outputs(second, x)) / 2
    else:
        same_function_space(teacher, first)
        wanted = outputs(in_double(teacher, "teacher"), x)
    if not wanted.isfinite().all():
        raise TutelageError("outputs at the points overflow: scale the points or the weights down")
    if first.depth != 2 or wanted.ndim == 2:
        return _bent(first, second, x, wanted, bend_steps)
    routes = [route(first[s], second[s], x[s], wanted[s], excess, s) for s in range(first.members)]
    longest = max(len(knots) for knots, _ in routes)
    stacks = [concatenate([knots[min(i, len(knots) - 1)] for knots, _ in routes]) for i in range(longest)]
    pieces = torch.tensor([len(knots) - 1 for knots, _ in routes])
    return Path(tuple(stacks), pieces, tuple(tuple(words) for _, words in routes))


def _bent(first: Network, second: Network, x: Tensor, wanted: Tensor, steps: int) -> Path:
    """Two straight pieces to the second network with its units matched, by whatever leaves the least loss half-way."""
    if steps < 0:
        raise TutelageError(f"bend_steps must be at least 0, got {steps}")
    # Matched first, since a bend between two orders of the same units has to undo one of them.
    chosen, _ = aligned(first, second, x, wanted, "best")
    middle = bend(first, chosen, x, wanted, steps)
    words = "straight to the bend", "straight to the second network, its units matched"
    return Path((first, middle, chosen), torch.full((first.members,), 2), (words,) * first.members)


def same_architecture(first: Network, second: Network) -> None:
    """Raise an error unless two stacks have the same widths, activation, biases and members."""
    same_function_space(first, second)
    kinds = [(n.widths, n.activation, n.slope, n.biases is None) for n in (first, second)]
    if kinds[0] != kinds[1]:
        raise TutelageError("a path joins networks of one architecture: the two differ in widths, activation or biases")


def bend(first: Network, second: Network, x: Tensor, wanted: Tensor, steps: int = STEPS) -> Network:
    """The middle knot of a path between networks of one architecture; computed in float32.

    x: [S, N, d]; wanted: numbers [S, N, C] or classes [S, N]. All members draw the same rows of their points.
    """
    a, b = (list(network.to(dtype=torch.float32).parameters) for network in (first, second))
    middle = [((p + q) / 2).requires_grad_() for p, q in zip(a, b, strict=True)]
    sizes = [(p.abs() + q.abs()).mean().item() / 2 for p, q in zip(a, b, strict=True)]
    groups = [{"params": [m], "lr": _RATE * size} for m, size in zip(middle, sizes, strict=True) if size > 0]
    optimiser = torch.optim.Adam(groups)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, max(1, steps))
    if not steps:
        return _network(first, [m.detach().to(first.dtype) for m in middle])
    rows = draws.uniforms(draws.keys([0], "bend rows"), steps * _BATCH).view(steps, -1).mul(x.shape[1]).long()
    shares = draws.uniforms(draws.keys([0], "bend places"), steps * _PLACES).view(steps, -1)
    x, wanted = x.float(), wanted.float() if wanted.is_floating_point() else wanted
    for step in range(steps):
        # One place in each quarter of the path per step: independent places would leave parts of it unseen for a while.
        places = ((torch.arange(_PLACES) + shares[step]) / _PLACES).tolist()
        with torch.enable_grad():
            networks = [_there(first, a, middle, b, place) for place in places]
            loss = judged(networks, x[:, rows[step]], wanted[:, rows[step]])[0].mean(0).sum()
            optimiser.zero_grad()
            loss.backward()
        optimiser.step()
        schedule.step()
    return _network(first, [m.detach().to(first.dtype) for m in middle])


def _there(kind: Network, a: list[Tensor], middle: list[Tensor], b: list[Tensor], place: float) -> Network:
    """The network at a place from 0 to 1 of the path, the middle knot at 1/2."""
    ends, t = ((a, middle), 2 * place) if place < 0.5 else ((middle, b), 2 * place - 1)
    return _network(kind, [(1 - t) * p + t * q for p, q in zip(*ends, strict=True)])


def _network(kind: Network, arrays: list[Tensor]) -> Network:
    weights, biases = tuple(arrays[: kind.depth]), tuple(arrays[kind.depth :])
    return replace(kind, weights=weights, biases=biases or None)
