"""Observers are counted on samples, on both sides of the teacher's boundary."""

import torch

from tutelage.measures import Snapshot, find
from tutelage.measures.observers import observations


def test_counts_equal_a_loop_over_samples(dtype):
    draw = torch.Generator().manual_seed(2)
    teacher, students = (torch.randn(2, 30, n, generator=draw, dtype=dtype).relu() for n in (3, 4))
    measured = observations(teacher, students)
    for s in range(2):
        for j in range(3):
            for k in range(4):
                active = students[s, :, k] > 0
                above = int(((teacher[s, :, j] > 0) & active).sum())
                below = int(((teacher[s, :, j] <= 0) & active).sum())
                assert measured[s, j, k] == min(above, below)


def test_a_dead_student_observes_nothing_and_a_unit_does_not_observe_itself():
    teacher = torch.tensor([[[1.0], [0.0], [2.0]]])
    students = torch.cat([torch.zeros(1, 3, 1), teacher, torch.ones(1, 3, 1)], dim=-1)
    assert observations(teacher, students).tolist() == [[[0.0, 0.0, 1.0]]]


def test_observed_is_the_best_observer(problem):
    p = problem()
    s = Snapshot(p.teacher, p.students, p.inputs.train, p.inputs.evaluate)
    assert torch.equal(find("observed")(s), find("observers")(s).amax(2))
