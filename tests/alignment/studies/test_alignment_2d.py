"""The table of the flow in the plane."""

import torch

from tutelage.alignment.studies.alignment_2d import PlaneCourse, table
from tutelage.population import flow
from tutelage.population.expectations import Units


def test_units_and_teachers_count_from_0() -> None:
    ones = torch.ones(1, 2, 1)
    teacher = Units(torch.eye(2)[None], ones)
    students = Units(torch.tensor([[[0.1, 1.0], [1.0, 0.2]]]), ones)
    rows = table(PlaneCourse(flow(teacher, students, (0.0, 0.1)))).to_pylist()
    assert [(row["unit"], row["teacher"]) for row in rows if row["time"] == 0] == [(0, 1), (1, 0)]
