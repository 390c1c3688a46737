"""What a method answers: candidates for units, as vectors, groups, a similarity matrix or a ranking, with scores."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.planted.view import StudentsView
from tutelage.printing import printed

FORMS = ("directions", "input_directions", "groups", "similarity", "ranking")
"""The fields of an answer of which exactly one is given."""


@printed
@dataclass(frozen=True, eq=False)
class MethodAnswer:
    """The answer of a method for S students: candidates for units of the teacher, and how sure the method is.

    Give one of ``directions``, ``input_directions``, ``groups``, ``similarity`` and ``ranking``. Every candidate is a
    number on every input; it is found to be right when that number correlates above 0.95 with a teacher unit that is
    in the student.

    Attributes
    ----------
    directions
        Vectors v in activation space, [S, K, n]: the candidate is f v.
    input_directions
        Vectors w in input space, [S, K, d]: the candidate is x w; for the first hidden layer.
    groups
        A group from 0 for every student unit, -1 for none, [S, n]: the candidate is the mean of its units.
    similarity
        Student units by reference units, [S, n, r]: the candidates are the student units. A method that sees the
        teacher claims by the largest entry of a row which teacher unit it is.
    ranking
        A score for every student unit, [S, n]: the candidates are the student units.
    scores
        How sure the method is of every candidate, larger is surer, [S, K]; default: the ranking, the largest entry of
        every row of the similarity, or equal scores.
    rectified, offsets
        The candidate is max(0, v . f - offset) instead, with offsets [S, K]; default: no offset.
    probabilities
        The probability that a candidate is right, [S, K].
    p_values
        p-values of the hypothesis that a candidate is wrong, [S, K].
    intervals
        95 % intervals of the correlation of every candidate with its teacher unit, [S, K, 2].
    count
        How many teacher units are in each student, [S].
    """

    directions: Any = None
    input_directions: Any = None
    groups: Any = None
    similarity: Any = None
    ranking: Any = None
    scores: Any = None
    rectified: bool = False
    offsets: Any = None
    probabilities: Any = None
    p_values: Any = None
    intervals: Any = None
    count: Any = None


@dataclass(frozen=True, eq=False)
class Candidates:
    """A checked answer: K candidates of S students. Padding has the score -inf.

    activity: from points [S, N, d] to what the candidates are on them [S, N, K]; named: the teacher unit that a
    candidate is claimed to be, int64 [S, K], None where none is named.
    """

    activity: Callable[[Tensor], Tensor]
    scores: Tensor
    named: Tensor | None
    probabilities: Tensor | None
    p_values: Tensor | None
    intervals: Tensor | None
    count: Tensor | None


def candidates(answer: Any, view: StudentsView, method: str) -> Candidates:
    """A checked answer; what does not fit is an error of one sentence that names the method and the field."""
    if not isinstance(answer, MethodAnswer):
        raise TutelageError(
            f"the method '{method}' returned {type(answer).__name__}: return a tutelage.planted.MethodAnswer"
        )
    given = [name for name in FORMS if getattr(answer, name) is not None]
    if len(given) != 1:
        raise TutelageError(
            f"the method '{method}' gave {' and '.join(given) or 'none'} of {', '.join(FORMS)}: give one"
        )
    s, n, d = view.members, view.units, view.network.inputs
    form = given[0]
    last = {"directions": (None, n), "input_directions": (None, d), "similarity": (n, None)}.get(form, (n,))
    value = _array(answer, form, (s, *last), method)
    activity, default, count = _activity(form, value, view)
    scores = default if answer.scores is None else _array(answer, "scores", (s, count), method)
    if form == "groups":
        scores = torch.where(_members(value, count).any(1), scores, -torch.inf)
    if answer.rectified:
        offsets = 0.0 if answer.offsets is None else _array(answer, "offsets", (s, count), method).unsqueeze(1)
        plain = activity
        activity = lambda points: torch.relu(plain(points) - offsets)  # noqa: E731
    named = value.argmax(2) if form == "similarity" and view.teacher is not None else None
    shapes = {"probabilities": (s, count), "p_values": (s, count), "intervals": (s, count, 2), "count": (s,)}
    rest = {name: _optional(answer, name, shape, method) for name, shape in shapes.items()}
    for name in ("probabilities", "p_values"):
        if rest[name] is not None and not ((rest[name] >= 0) & (rest[name] <= 1)).all():  # type: ignore[operator, union-attr]
            raise TutelageError(f"the {name} of the method '{method}' must lie between 0 and 1: rescale them")
    return Candidates(activity, scores, named, **rest)


def _activity(form: str, value: Tensor, view: StudentsView) -> tuple[Callable[[Tensor], Tensor], Tensor, int]:
    """What candidates are on points, their default scores, and how many there are."""
    if form == "input_directions":
        if view.layer != 1:
            raise TutelageError("input_directions are for the first hidden layer: give directions for deeper ones")
        return lambda points: points.double() @ value.mT, value.new_zeros(value.shape[:2]), value.shape[1]
    if form == "directions":
        return (
            lambda points: view.activations(points).double() @ value.mT,
            value.new_zeros(value.shape[:2]),
            value.shape[1],
        )
    if form == "groups":
        count = max(1, int(value.max().item()) + 1)
        members = _members(value, count).to(value.dtype)
        mean = members / members.sum(1, keepdim=True).clamp_min(1)
        return lambda points: view.activations(points).double() @ mean, value.new_zeros(len(value), count), count
    scores = value.amax(2) if form == "similarity" else value
    return lambda points: view.activations(points).double(), scores, view.units


def _members(groups: Tensor, count: int) -> Tensor:
    """Which units are in which group: [S, n] -> bool [S, n, count]."""
    return groups.unsqueeze(2) == torch.arange(count, dtype=groups.dtype)


def _optional(answer: MethodAnswer, name: str, shape: tuple[int | None, ...], method: str) -> Tensor | None:
    return None if getattr(answer, name) is None else _array(answer, name, shape, method)


def _array(answer: MethodAnswer, name: str, shape: tuple[int | None, ...], method: str) -> Tensor:
    """A field as float64 of this shape, None for any length; an error for another shape or a number that is NaN."""
    try:
        value = getattr(answer, name)
        array = (
            value.detach().double().cpu() if isinstance(value, Tensor) else torch.from_numpy(np.asarray(value, float))
        )
    except (TypeError, ValueError) as error:
        raise TutelageError(f"the {name} of the method '{method}' are no array of numbers ({error})") from None
    fits = array.ndim == len(shape) and all(b is None or a == b for a, b in zip(array.shape, shape, strict=True))
    if not fits or 0 in array.shape:
        wanted = ", ".join("K" if size is None else str(size) for size in shape)
        raise TutelageError(f"the {name} of the method '{method}' must have shape [{wanted}], got {list(array.shape)}")
    if not torch.isfinite(array).all():
        bad = int((~torch.isfinite(array)).sum())
        raise TutelageError(f"the {name} of the method '{method}' must be finite, got {bad} that are not: replace them")
    return array
