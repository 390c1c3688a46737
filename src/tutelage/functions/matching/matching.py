"""Which teacher unit each student unit stands for: many students to one teacher unit, or one to one.

Units are compared up to positive scale, layer by layer. By weights, a layer is compared after the matching below it
was applied: the student's weights are summed over all lower units that stand for one teacher unit, so that both are
written over the same lower units.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.functions.checks import bias, in_double, points_for, same_function_space
from tutelage.functions.comparing.canonical import reordered
from tutelage.measures import CLASSES, RECOVERED, classify, correlations
from tutelage.measures.overlaps import fan_out_norms
from tutelage.measures.unit_classes import IDLE
from tutelage.networks import Activity, Network, forward
from tutelage.printing import printed

By = Literal["weights", "activations", "both"]


@printed
@dataclass(frozen=True, eq=False)
class Matching:
    """Student units of every hidden layer matched to teacher units.

    The two networks are the same function if ``residual`` and ``leftover`` are 0 throughout and every student unit is
    as near to its teacher unit as the nearest.

    Attributes
    ----------
    teacher_of
        int64 [S, n_l] per hidden layer: the teacher unit, or -1.
    scale
        [S, n_l] per hidden layer: size of the student unit over that of its teacher unit; 0 where unmatched.
    similarity
        [S, m_l, n_l] per hidden layer, at most 1.
    residual
        [S, L]: root mean square over the teacher units of a layer of the relative distance to the nearest matched
        student unit (1 where there is none); for the top layer, of the output weights summed over matched units.
    leftover
        [S, L]: what unmatched units send into that layer, in the same measure.
    student
        The matched student.
    threshold
        Similarity above which units were matched.
    seen
        The student's activity on the points, if there were any.
    """

    teacher_of: tuple[Tensor, ...]
    scale: tuple[Tensor, ...]
    similarity: tuple[Tensor, ...]
    residual: Tensor
    leftover: Tensor
    student: Network = field(repr=False)
    threshold: float = RECOVERED
    seen: Activity | None = field(default=None, repr=False)

    def _title(self) -> str:
        recovered = sum(int(layer.sum()) for layer in self.recovered)
        return f"{recovered} of {sum(layer.numel() for layer in self.recovered)} teacher units recovered"

    @cached_property
    def classes(self) -> tuple[Tensor, ...]:
        """What each student unit became: int64 [S, n_l] a hidden layer, codes of ``measures.CLASSES``.

        Without points, "dead" and "linear" are not told apart from the rest.
        """
        return _classes(self.student, self.similarity, self.seen, self.threshold)

    @property
    def recovered(self) -> tuple[Tensor, ...]:
        """Whether some student unit stands for each teacher unit: bool [S, m_l] a hidden layer."""
        return tuple(onto(t, s.shape[1]).any(1) for t, s in zip(self.teacher_of, self.similarity, strict=True))

    def reorder(self, student: Network) -> Network:
        """The student with the units of every layer in the order of the teacher's: the same function.

        Only for a one-to-one matching; unit k then stands for teacher unit k.
        """
        for layer, teacher_of in enumerate(self.teacher_of):
            order = teacher_of.argsort(1).to(student.device)
            if not torch.equal(teacher_of.sort(1).values, torch.arange(order.shape[1]).expand_as(order)):
                raise TutelageError(
                    f"layer {layer + 1} is not matched one to one, so its units have no order of the teacher"
                )
            student = reordered(student, layer, order)
        return student


def match(
    teacher: Network,
    student: Network,
    points: Tensor | None = None,
    by: By = "weights",
    *,
    one_to_one: bool | None = None,
    threshold: float = RECOVERED,
) -> Matching:
    r"""Match the student's units to the teacher's, layer by layer, up to permutation and positive scale.

    Parameters
    ----------
    teacher, student
        Networks with S members each and the same depth.
    points
        Inputs [S, N, d] or [N, d]; needed for activations. With points, dead and linear units are recognised too.
    by
        "weights" compares :math:`1 - \frac12(|\tilde w_j - \tilde w_k|^2 + (b_j - b_k)^2)` with :math:`|\tilde w| = 1`
        (Tian 2020, Def. 3), "activations" the correlations on the points (Tian 2020, eq. 9), "both" their mean.
    one_to_one
        Whether to pair units by an optimal assignment; default: where a layer has as many units on both sides.
        Otherwise a student unit is matched to its most similar teacher unit if the similarity is above the threshold.
    threshold
        See ``one_to_one``.

    Returns
    -------
    Matching

    Examples
    --------
    >>> net = Network((torch.eye(2)[None], torch.ones(1, 2, 1)))
    >>> wide = Network((torch.tensor([[[0.0, 2.0, 1.0], [3.0, 0.0, 0.0]]]), torch.tensor([[[1 / 3], [0.25], [0.5]]])))
    >>> found = match(net, wide)
    >>> found.teacher_of[0].tolist(), found.residual.round(decimals=6).tolist()
    ([[1, 0, 0]], [[0.0, 0.0]])
    """
    teacher, student = _comparable(teacher, student)
    if by not in ("weights", "activations", "both"):
        raise TutelageError(f"by must be 'weights', 'activations' or 'both', got '{by}'")
    if by != "weights" and points is None:
        raise TutelageError(f"matching by {by} needs points to run both networks on: give points [N, {teacher.inputs}]")
    activities = None
    if points is not None:
        points = points_for(student, points)
        activities = forward(teacher, points), forward(student, points)
    levels = [_bottom(teacher)]
    for layer in range(teacher.depth - 1):
        # Invariant: `levels[-1].below` writes the student's lower units over the teacher's, each of length 1, so that
        # weights of this layer can be compared entry by entry.
        w_t, w_s = _over_regular(teacher, layer, levels[-1].lengths), _summed(student, layer, levels[-1].below)
        similarity = _similarity(w_t, w_s, layer, by, activities, teacher.activation == "abs")
        paired = similarity.shape[1] == similarity.shape[2] if one_to_one is None else one_to_one
        teacher_of = _assigned(similarity) if paired else _nearest(similarity, threshold)
        times = _times(activities, layer + 1, teacher_of) if activities and by == "activations" else None
        levels.append(_level(student, layer, levels[-1], similarity, teacher_of, w_t, w_s, times))
    top = _over_regular(teacher, teacher.depth - 1, levels[-1].lengths)
    difference = _summed(student, teacher.depth - 1, levels[-1].below) - top
    residual = [level.residual for level in levels[1:]] + [_share(difference, top)]
    leftover = [level.leftover for level in levels[1:]] + [_loose_share(student, teacher.depth - 1, levels[-1], top)]
    return Matching(
        tuple(level.teacher_of for level in levels[1:]),
        tuple(level.scale for level in levels[1:]),
        tuple(level.similarity for level in levels[1:]),
        torch.stack(residual, dim=1),
        torch.stack(leftover, dim=1),
        student,
        threshold,
        None if activities is None else activities[1],
    )


@dataclass(frozen=True, eq=False)
class _Level:
    """One matched layer: what stands for what, and what the layer above needs to know of it.

    below [S, m, n]: lengths of the student units that stand for each teacher unit; lengths [S, m]: of the teacher
    units; loose [S, n]: of the student units that stand for none.
    """

    teacher_of: Tensor
    scale: Tensor
    similarity: Tensor
    residual: Tensor
    leftover: Tensor
    below: Tensor
    lengths: Tensor
    loose: Tensor


def _bottom(teacher: Network) -> _Level:
    """The inputs, which are matched to themselves."""
    ones = torch.ones(teacher.members, teacher.inputs, dtype=torch.float64)
    none = torch.zeros(teacher.members, dtype=torch.float64)
    same = torch.arange(teacher.inputs).expand(teacher.members, -1)
    eye = torch.eye(teacher.inputs, dtype=torch.float64).expand(teacher.members, -1, -1)
    return _Level(same, ones, eye, none, none, eye, ones, torch.zeros_like(ones))


def _level(
    student: Network,
    layer: int,
    lower: _Level,
    similarity: Tensor,
    teacher_of: Tensor,
    w_t: Tensor,
    w_s: Tensor,
    times: Tensor | None,
) -> _Level:
    """A layer once it is known which unit stands for which."""
    matched, lengths = teacher_of >= 0, _lengths(w_t, layer)
    partner_lengths = lengths.gather(1, teacher_of.clamp_min(0))
    scale = w_s[:, :-1].norm(dim=1) / partner_lengths
    if times is not None:
        scale = torch.where(times > 0, times, scale)  # a unit that never fires shows no scale
    scale = torch.where(matched, scale, 0)
    return _Level(
        teacher_of,
        scale,
        similarity,
        _unit_residual(w_t, w_s, teacher_of, student.activation == "abs"),
        _loose_share(student, layer, lower, w_t),
        (onto(teacher_of, similarity.shape[1]) * (scale * partner_lengths).unsqueeze(2)).mT,
        lengths,
        torch.where(matched, 0, student.weights[layer].norm(dim=1)),
    )


_TINY = torch.finfo(torch.float64).tiny


def _comparable(teacher: Network, student: Network) -> tuple[Network, Network]:
    same_function_space(teacher, student)
    if teacher.depth != student.depth:
        raise TutelageError(
            f"the networks have {teacher.depth} and {student.depth} layers: give two networks with the same number"
        )
    if teacher.depth < 2:
        raise TutelageError("a network of one layer has no hidden units to match")
    if (teacher.activation, teacher.slope) != (student.activation, student.slope):
        raise TutelageError(
            f"teacher and student must have the same activation, got {_kind(teacher)} and {_kind(student)}"
        )
    if teacher.activation == "linear":
        raise TutelageError(
            "linear networks cannot be matched, since their function does not determine their units: give ReLU networks"
        )
    return in_double(teacher, "teacher"), in_double(student, "student")


def _kind(network: Network) -> str:
    return f"leaky with slope {network.slope:g}" if network.activation == "leaky" else network.activation


def onto(teacher_of: Tensor, units: int) -> Tensor:
    """Which student unit stands for which teacher unit, as zeros and ones: int64 [S, n] -> [S, n, m].

    >>> onto(torch.tensor([[1, -1]]), 2)
    tensor([[[0., 1.],
             [0., 0.]]], dtype=torch.float64)
    """
    return (teacher_of.unsqueeze(2) == torch.arange(units)).to(torch.float64)


def _over_regular(network: Network, layer: int, lengths: Tensor) -> Tensor:
    """Weights and bias of a layer over its input units scaled to length 1: [S, in + 1, out], the bias last."""
    return torch.cat([network.weights[layer] * lengths.unsqueeze(2), bias(network, layer).unsqueeze(1)], dim=1)


def _summed(student: Network, layer: int, below: Tensor) -> Tensor:
    """The student's weights over the teacher's lower units, and its bias: below [S, m, n] -> [S, m + 1, out]."""
    return torch.cat([torch.bmm(below, student.weights[layer]), bias(student, layer).unsqueeze(1)], dim=1)


def _lengths(w: Tensor, layer: int) -> Tensor:
    """|w~| of every teacher unit, [S, m]; a unit without incoming weights is a constant and matches nothing."""
    length = w[:, :-1].norm(dim=1)
    if (length == 0).any():
        member, unit = (length == 0).nonzero()[0].tolist()
        raise TutelageError(
            f"unit {unit} of layer {layer + 1} of teacher {member} has no incoming weights, so it is a constant: "
            "prune the teacher first"
        )
    return length


def _similarity(
    w_t: Tensor, w_s: Tensor, layer: int, by: By, activities: tuple[Activity, Activity] | None, even: bool
) -> Tensor:
    """How alike the units of a layer are: [S, in + 1, m], [S, in + 1, n] -> [S, m, n], at most 1."""
    if by == "weights" or activities is None:
        return _by_weights(w_t, w_s, layer, even)
    on_points = correlations(activities[0].features[layer + 1], activities[1].features[layer + 1])
    return on_points if by == "activations" else (on_points + _by_weights(w_t, w_s, layer, even)) / 2


def _by_weights(w_t: Tensor, w_s: Tensor, layer: int, even: bool) -> Tensor:
    """1 - distance^2 / 2 of regular weights, at least -1; for even activations u and -u are one unit."""
    regular_t, regular_s = w_t / _lengths(w_t, layer).unsqueeze(1), _regular(w_s)
    cosine = torch.bmm(regular_t[:, :-1].mT, regular_s[:, :-1])
    b_t, b_s = regular_t[:, -1].unsqueeze(2), regular_s[:, -1].unsqueeze(1)
    similarity = cosine - (b_t - b_s).square() / 2
    if even:
        similarity = torch.maximum(similarity, -cosine - (b_t + b_s).square() / 2)
    constant = (w_s[:, :-1] == 0).all(1)  # resembles nothing
    return torch.where(constant.unsqueeze(1), 0, similarity.clamp(-1, 1))


def _regular(w: Tensor) -> Tensor:
    """Columns [w~; b] scaled to |w~| = 1, constants as they are."""
    length = w[:, :-1].norm(dim=1, keepdim=True)
    return w / torch.where(length > 0, length, 1)


def _assigned(similarity: Tensor) -> Tensor:
    """The pairs of largest total similarity, one to one: [S, m, n] -> int64 [S, n], -1 for those left over."""
    out = torch.full((similarity.shape[0], similarity.shape[2]), -1, dtype=torch.int64)
    for member, matrix in enumerate(similarity.numpy()):
        rows, columns = linear_sum_assignment(matrix, maximize=True)
        out[member, torch.from_numpy(columns)] = torch.from_numpy(rows)
    return out


def _nearest(similarity: Tensor, threshold: float) -> Tensor:
    """The most similar teacher unit of every student unit where it is similar enough: [S, m, n] -> int64 [S, n]."""
    value, index = similarity.max(1)
    return torch.where(value > threshold, index, -1)


def _times(activities: tuple[Activity, Activity], layer: int, teacher_of: Tensor) -> Tensor:
    """How many times its teacher unit a student unit is on the points, by least squares: [S, n]."""
    f_t, f_s = (activity.features[layer] for activity in activities)
    f_t = f_t.gather(2, teacher_of.clamp_min(0).unsqueeze(1).expand_as(f_s))
    return (f_t * f_s).sum(1) / f_t.square().sum(1).clamp_min(_TINY)


def _unit_residual(w_t: Tensor, w_s: Tensor, teacher_of: Tensor, even: bool) -> Tensor:
    """Root mean square over teacher units of the distance to their nearest student unit, regular weights: [S]."""
    regular_t, regular_s = _regular(w_t), _regular(w_s)
    # Distances are capped at 1, the distance of nothing at all: a unit that is farther off is no worse than a missing
    # one.
    partner = regular_t.gather(2, teacher_of.clamp_min(0).unsqueeze(1).expand_as(regular_s))
    distance = (regular_s - partner).norm(dim=1)
    if even:
        distance = torch.minimum(distance, (regular_s + partner).norm(dim=1))
    relative = torch.where(teacher_of >= 0, distance / partner.norm(dim=1), 1.0).clamp_max(1)
    nearest = torch.ones_like(w_t[:, 0]).scatter_reduce(1, teacher_of.clamp_min(0), relative, "amin")
    return nearest.square().mean(1).sqrt()


def _share(part: Tensor, whole: Tensor) -> Tensor:
    """Norm of one array over that of another, per member: [S]."""
    return part.flatten(1).norm(dim=1) / whole.flatten(1).norm(dim=1).clamp_min(_TINY)


def _loose_share(student: Network, layer: int, lower: _Level, w_t: Tensor) -> Tensor:
    """Weights from unmatched lower units scaled to length 1, over those of the teacher's layer: [S]."""
    return _share(student.weights[layer] * lower.loose.unsqueeze(2), w_t)


def _classes(
    student: Network, similarity: tuple[Tensor, ...], activity: Activity | None, threshold: float
) -> tuple[Tensor, ...]:
    """Codes of ``CLASSES`` for the units of every hidden layer."""
    if activity is None:
        return tuple(_classes_by_weights(student, layer, s, threshold) for layer, s in enumerate(similarity))
    norms = fan_out_norms(student, activity).split([s.shape[2] for s in similarity], dim=1)
    return tuple(
        classify(s, activity.features[layer], activity.gates[layer - 1], norms[layer - 1], threshold)
        for layer, s in enumerate(similarity, start=1)
    )


def _classes_by_weights(student: Network, layer: int, similarity: Tensor, threshold: float) -> Tensor:
    """The classes that weights alone tell: specialised, duplicate, unspecialised, idle (fan-out next to nothing)."""
    size = student.weights[layer + 1].norm(dim=2) * student.weights[layer].norm(dim=1)
    value, teacher = similarity.max(1)
    best = similarity.argmax(2).gather(1, teacher) == torch.arange(similarity.shape[2])
    code = torch.full_like(teacher, CLASSES.index("unspecialised"))
    code[value > threshold] = CLASSES.index("duplicate")
    code[(value > threshold) & best] = CLASSES.index("specialised")
    code[size <= IDLE * size.sum(1, keepdim=True)] = CLASSES.index("idle")
    return code
