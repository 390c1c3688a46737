"""A trajectory gives the students at its end."""

import torch

import tutelage as tt


def test_the_students_of_a_trajectory_are_those_of_its_last_step(problem):
    p = problem()
    run = tt.train(p.teacher, p.students, p.inputs, steps=10, record=[5])
    assert run.students is run.recorded[10]
    assert not torch.equal(run.recorded[5].weights[0], run.students.weights[0])
    assert run.engine in tt.training.ENGINES
