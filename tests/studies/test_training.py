"""Training inside an experiment."""

import torch

from tutelage.lab import Context
from tutelage.studies.training import train_in
from tutelage.training import Training, train
from tutelage.training.inputs import Gaussian
from tutelage.training.students import SmallNormal
from tutelage.training.teachers import Levels


def test_students_are_those_of_train_and_progress_is_a_share_of_the_experiment():
    distribution, seeds, settings = Gaussian(train=50, evaluate=20), (0, 1), Training(steps=30, learning_rate=0.02)
    teacher = Levels(inputs=3, hidden=2, outputs=2).build(seeds, distribution)
    students, inputs = SmallNormal(width_factor=2).build(teacher, seeds), distribution.draw(teacher, seeds)
    shares: list[float] = []
    after = train_in(Context(progress=shares.append), teacher, students, inputs, settings, share=0.5)
    wanted = train(teacher, students, inputs, settings).students
    assert all(torch.equal(a, b) for a, b in zip(after.parameters, wanted.parameters, strict=True))
    assert not torch.equal(after.weights[0], students.weights[0])
    assert shares == sorted(shares)
    assert shares[-1] == 0.5
