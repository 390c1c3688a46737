"""Optimisers are torch's own, members side by side, and go on from where they stopped."""

import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.networks import outputs
from tutelage.training import Adam, Sgd, Task, Training, train
from tutelage.training.losses import labels
from tutelage.training.stacked import Stacked

OPTIMISERS = {
    "momentum": (Sgd(momentum=0.9), lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9)),
    "decay": (Sgd(weight_decay=0.1), lambda p: torch.optim.SGD(p, lr=0.05, weight_decay=0.1)),
    "both": (Sgd(momentum=0.5, weight_decay=0.01), lambda p: torch.optim.SGD(p, 0.05, 0.5, weight_decay=0.01)),
    "nesterov": (
        Sgd(momentum=0.9, nesterov=True, weight_decay=0.01),
        lambda p: torch.optim.SGD(p, 0.05, 0.9, nesterov=True, weight_decay=0.01),
    ),
    "adam": (Adam(), lambda p: torch.optim.Adam(p, lr=0.05)),
    "adam with decay": (
        Adam(beta_1=0.8, beta_2=0.95, weight_decay=0.02),
        lambda p: torch.optim.Adam(p, lr=0.05, betas=(0.8, 0.95), weight_decay=0.02),
    ),
}


def loss_of(loss, wanted, got):
    if loss == "mse":
        return (wanted - got).square().sum(-1).mean(-1).sum() / 2
    if loss == "binary-cross-entropy":
        each = torch.nn.functional.binary_cross_entropy_with_logits(got, wanted, reduction="none")
        return each.sum(-1).mean(-1).sum()
    return -(wanted * got.log_softmax(-1)).sum(-1).mean(-1).sum()


@pytest.mark.parametrize("name", OPTIMISERS)
@pytest.mark.parametrize("loss", ["mse", "cross-entropy", "soft-cross-entropy", "binary-cross-entropy"])
def test_thirty_steps_are_those_of_torch(problem, name, loss):
    p = problem(widths=(5, 4, 6, 3))
    ours, theirs = OPTIMISERS[name]
    settings = Training(steps=30, batch=8, learning_rate=0.05, loss=loss, optimiser=ours)
    task = Task(p.inputs.train, labels(loss, outputs(p.teacher, p.inputs.train)), settings, p.seeds)
    learned = Stacked(task).learn(ours.start(p.students), 0, 30).students
    students = p.students.map(lambda a: a.clone().requires_grad_())
    optimiser, members = theirs(list(students.parameters)), torch.arange(3).unsqueeze(1)
    for rows in task.rows(0, 30).unbind(1):
        optimiser.zero_grad()
        loss_of(loss, task.labels[members, rows], outputs(students, task.points[members, rows])).backward()
        optimiser.step()
    for a, b in zip(learned.parameters, students.parameters, strict=True):
        torch.testing.assert_close(a, b.detach(), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_training_cut_in_two_is_the_same_training(problem, dtype, name):
    p = problem(dtype=dtype)
    ours = OPTIMISERS[name][0]
    task = Task(p.inputs.train, outputs(p.teacher, p.inputs.train), Training(steps=20, optimiser=ours), p.seeds)
    engine, start = Stacked(task), ours.start(p.students)
    whole, halves = engine.learn(start, 0, 20), engine.learn(engine.learn(start, 0, 7), 7, 20)
    pairs = zip((whole.students, *whole.memory), (halves.students, *halves.memory), strict=True)
    assert all(torch.equal(a, b) for x, y in pairs for a, b in zip(x.parameters, y.parameters, strict=True))
    assert all((a == 0).all() for slot in start.memory for a in slot.parameters)  # what was given is left as it was


@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_student_alone_is_the_same_student(problem, name):
    p = problem()
    settings = Training(steps=40, optimiser=OPTIMISERS[name][0], learning_rate=0.01)
    together = train(p.teacher, p.students, p.inputs, settings).students
    inputs = type(p.inputs)(p.inputs.train[1:2], p.inputs.evaluate[1:2], p.seeds[1:2])
    alone = train(p.teacher[1], p.students[1], inputs, settings).students
    for a, b in zip(together[1].parameters, alone.parameters, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


def test_a_diverged_student_does_not_touch_the_others(problem):
    p = problem()
    settings = Training(steps=300, learning_rate=(0.01, 5.0, 0.01), optimiser=Sgd(momentum=0.9))
    mixed = train(p.teacher, p.students, p.inputs, settings)
    calm = train(p.teacher, p.students, p.inputs, settings.model_copy(update={"learning_rate": 0.01}))
    assert mixed.diverged_at[1] > 0
    assert mixed.diverged_at[[0, 2]].tolist() == [-1, -1]
    for a, b in zip(mixed.students[[0, 2]].parameters, calm.students[[0, 2]].parameters, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-11)


def test_what_remembers_is_not_advanced_without_its_memory(problem):
    p = problem()
    task = Task(p.inputs.train, outputs(p.teacher, p.inputs.train), Training(steps=5, optimiser=Adam()), p.seeds)
    with pytest.raises(TutelageError, match="call learn"):
        Stacked(task).advance(p.students, 0, 5)
    with pytest.raises(TutelageError, match=r"it minimises the squared error, not logistic"):
        train(p.teacher, p.students, p.inputs, steps=5, loss="logistic", optimiser=Adam(), engine="fused-cpu")


def test_plain_sgd_keeps_no_memory_and_its_old_hash():
    assert Training(steps=5) == Training(steps=5, optimiser=Sgd(), loss="mse")
    assert Sgd().plain
    assert not Sgd(momentum=0.1).plain
    assert not Adam().plain
    with pytest.raises(TutelageError, match="momentum"):
        Sgd(momentum=1.0)
    with pytest.raises(TutelageError, match="did you mean 'adam'"):
        Training(steps=5, optimiser={"kind": "adamm"})


@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_module_is_trained_by_the_same_rule(name):
    ours, theirs = OPTIMISERS[name]
    start = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    found = []
    for make in (lambda p: ours.for_module(p, 0.05), theirs):
        weight = torch.nn.Parameter(start.clone())
        optimiser = make([weight])
        for _ in range(5):
            optimiser.zero_grad()
            weight.pow(4).sum().backward()
            optimiser.step()
        found.append(weight.detach())
    assert torch.equal(*found)


def test_nesterov_needs_momentum():
    with pytest.raises(TutelageError, match="'nesterov' needs a momentum above 0"):
        Sgd(nesterov=True)
