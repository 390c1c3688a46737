"""The flow in the plane: losses that vanish."""

import torch

from tutelage.alignment.studies.alignment_2d import PlaneCourse, vanished
from tutelage.population import flow
from tutelage.population.expectations import Units


def test_a_small_loss_of_one_member_does_not_make_up_for_another():
    ones = torch.ones(2, 1, 1)
    teacher = Units(torch.tensor([[[1.0, 0.0]], [[1.0, 0.0]]]), ones)
    students = Units(torch.tensor([[[0.9, 0.1]], [[-1.0, 1e-9]]]), ones)  # the second is nearly opposite, and stays
    assert vanished(PlaneCourse(flow(teacher, students, (0.0, 40.0)))).tolist() == [1.0, 0.0]
