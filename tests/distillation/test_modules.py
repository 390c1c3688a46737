"""Distilling modules: the student learns its teacher, and what cannot be done is said."""

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tutelage.distillation.modules import distil
from tutelage.distillation.targets import Softening
from tutelage.errors import TutelageError
from tutelage.training import Sgd


def net(hidden, outputs=3, seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


def points(count=400, seed=1):
    return torch.randn(count, 4, generator=torch.Generator().manual_seed(seed))


def test_the_student_comes_to_agree_and_the_given_one_is_left_alone():
    teacher, student, x = net(8), net(12, seed=1), points()
    before = [p.clone() for p in student.parameters()]
    told = []
    done = distil(teacher, student, x, held_out=points(seed=2), epochs=25, learning_rate=0.01, batch=40,
                  on_epoch=lambda epoch, loss: told.append(epoch))  # fmt: skip
    assert done.agreement > 0.93
    assert done.accuracy is None
    assert all(torch.equal(a, b) for a, b in zip(before, student.parameters(), strict=True))
    assert told == list(range(1, 26))
    assert done.losses[-1] < done.losses[0]
    assert "agreement with the teacher" in str(done)


def test_the_same_call_gives_the_same_student_and_a_loader_the_same_as_tensors():
    teacher, x, y = net(8), points(), torch.zeros(400, dtype=torch.long)
    runs = [
        distil(teacher, net(5, seed=1), data, epochs=2, softening=Softening(2.0, 0.5))
        for data in ((x, y), (x, y), DataLoader(TensorDataset(x, y), batch_size=150))
    ]
    for other in runs[1:]:
        for a, b in zip(runs[0].student.parameters(), other.student.parameters(), strict=True):
            assert torch.equal(a, b)
    assert runs[0].accuracy is not None
    assert "accuracy" in str(runs[0])


def test_all_hard_is_plain_training_on_labels():
    x = points()
    y = (x[:, 0] > 0).long()
    done = distil(
        net(8, 2), net(8, 2, seed=3), (x, y), epochs=20, learning_rate=0.02, softening=Softening(hard_share=1)
    )
    assert done.accuracy > 0.95
    assert done.teacher_accuracy < 0.9


def test_an_ensemble_and_another_optimiser():
    done = distil([net(8), net(8, seed=5)], net(6, seed=1), points(), epochs=1,
                  optimiser=Sgd())  # fmt: skip
    assert 0 <= done.agreement <= 1


def test_what_cannot_be_distilled_is_refused():
    x = points(20)
    for teacher, student, data, message in (
        (net(8), net(8, 2), x, "the student has 2 classes and the teacher 3"),
        (net(8), nn.Linear(5, 3), x, r"the student cannot take inputs of shape \[2, 4\]"),
        (net(8), net(8), x[:0], "at least one"),
        (net(8), net(8), [], "loader is empty"),
        (net(8), net(8), (x, torch.zeros(3)), "one class per sample"),
        (net(8), net(8), (x, torch.full((20,), 7)), r"labels must be from 0 to 2"),
        (nn.Unflatten(1, (2, 2)), net(8), x, "one row of logits"),
    ):
        with pytest.raises(TutelageError, match=message):
            distil(teacher, student, data, epochs=1)
    wild = net(8)
    wild[0].weight.data[0, 0] = torch.inf
    with pytest.raises(TutelageError, match="not finite"):
        distil(wild, net(8), x, epochs=1)
    with pytest.raises(TutelageError, match="diverged in epoch"):
        distil(net(8), net(8, seed=2), x, epochs=30, learning_rate=1e30, optimiser=Sgd())
