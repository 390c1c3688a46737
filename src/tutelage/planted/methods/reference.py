"""The two ends of every scale: what cannot be beaten, and what any method should beat."""

import torch
from torch import Tensor

from tutelage import draws
from tutelage.planted.answer import MethodAnswer
from tutelage.planted.registry import method
from tutelage.planted.view import StudentsView


@method("oracle", sees="truth")
def oracle(students: StudentsView, inputs: Tensor) -> MethodAnswer:
    """The truth itself: for every teacher unit in the student, the unit or combination that is it."""
    truth = students.truth
    assert truth is not None
    inside = truth.inside.double()
    strength = torch.where(truth.directions.count_nonzero(2) == 1, truth.correlation.abs().amax(2), truth.explained)
    return MethodAnswer(
        directions=truth.directions,
        scores=inside,
        probabilities=inside,
        p_values=1 - inside,
        intervals=torch.stack([strength - 1e-6, strength + 1e-6], 2),
        count=inside.sum(1),
    )


@method("random")
def random(students: StudentsView, inputs: Tensor) -> MethodAnswer:
    """Chance: student units in random order, with random probabilities and p-values."""
    key = draws.keys(students.seeds, "planted-random")
    ranking, p_values = draws.uniforms(key, 2 * students.units).view(-1, 2, students.units).unbind(1)
    return MethodAnswer(ranking=ranking, probabilities=ranking, p_values=p_values)
