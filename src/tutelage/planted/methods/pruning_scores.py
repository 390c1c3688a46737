r"""Scores by which units are pruned: the size of their weights, and how training moves them.

Magnitude (Li et al. 2017): the sum of the sizes of a unit's input weights. Movement (Sanh et al. 2020): minus the sum
over steps and input weights of :math:`w\, \partial L / \partial w`, positive for weights that move away from 0.
"""

import torch
from torch import Tensor

from tutelage.networks import outputs
from tutelage.planted.answer import MethodAnswer
from tutelage.planted.registry import method
from tutelage.planted.view import StudentsView

_STEPS, _RATE = 50, 0.01


@method("magnitude")
def magnitude(students: StudentsView, inputs: Tensor) -> MethodAnswer:
    """Units by the sum of the sizes of their input weights."""
    return MethodAnswer(ranking=students.incoming()[..., :-1].abs().sum(2))


@method("movement")
def movement(students: StudentsView, inputs: Tensor) -> MethodAnswer:
    """Units by how far 50 further steps of gradient descent on the given inputs move their weights away from 0."""
    now, place = students.network, students.layer - 1
    score = torch.zeros(now.members, students.units, dtype=now.dtype)
    for _ in range(_STEPS):
        with torch.enable_grad():
            leaves = now.map(lambda a: a.detach().requires_grad_())
            loss = (outputs(leaves, inputs) - students.labels).square().sum(2).mean(1).sum() / 2
            gradients = iter(torch.autograd.grad(loss, leaves.parameters))
        moved = [next(gradients) for _ in leaves.parameters]
        score -= (now.weights[place] * moved[place]).sum(1)
        change = iter(moved)
        now = now.map(lambda a: a.detach() - _RATE * next(change))  # noqa: B023
    return MethodAnswer(ranking=score)
