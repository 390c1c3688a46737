"""The choice of an engine, and the contract every engine keeps."""

import pytest
import torch

from tutelage import TutelageError
from tutelage.networks import outputs
from tutelage.training import ENGINES, Task, Training
from tutelage.training.engine import choose
from tutelage.training.make_task import make_task
from tutelage.training.optimisers import TrainingState


def task_of(p, **training):
    return Task(p.inputs.train, outputs(p.teacher, p.inputs.train), Training(steps=200, **training), p.inputs.seeds)


def usable(p, task):
    return [kind for kind in ENGINES.values() if kind.unsupported(p.students, task) is None]


def test_auto_takes_the_fastest_engine_that_supports_the_task(problem):
    p = problem()
    task = task_of(p)
    kind, _ = choose("auto", p.students, task)
    assert kind.speed == max(candidate.speed for candidate in usable(p, task))


def test_auto_says_why_faster_engines_were_passed_over(problem):
    p = problem(widths=(5, 4, 3, 2))
    kind, why = choose("auto", p.students, task_of(p))
    assert kind.name == "stacked"
    assert all(f"not {name}: " in why for name in ENGINES if name != "stacked")


def test_an_unknown_engine_is_refused_with_the_known_ones(problem):
    p = problem()
    with pytest.raises(TutelageError, match="unknown engine 'stackd'; did you mean 'stacked'"):
        choose("stackd", p.students, task_of(p))


def test_a_named_engine_that_cannot_is_refused_with_the_reason(problem):
    p = problem(widths=(5, 4, 3, 2))
    for name in ENGINES:
        if ENGINES[name].unsupported(p.students, task_of(p)):
            with pytest.raises(TutelageError, match=f"the engine '{name}' cannot do this"):
                choose(name, p.students, task_of(p))


GAUSSIAN = {"kind": "gaussian", "std": 0.3}
MODES = {
    "plain": {},
    "without biases": {"bias": False},
    "momentum": {"optimiser": {"kind": "sgd", "momentum": 0.9, "weight_decay": 0.01}},
    "adam": {"optimiser": {"kind": "adam"}, "learning_rate": 0.003},
    "online": {"sampling": "online"},
    "label noise": {"label_noise": GAUSSIAN},
    "fresh noise": {"label_noise": GAUSSIAN | {"fresh": True}},
    "frozen": {"frozen": (1,)},
}


def learning(problem, bias=True, **training):
    """Students at their start, the task, and the engines that take it."""
    p = problem(bias=bias)
    task = make_task(p.students, p.teacher, p.inputs, Training(steps=200, **training))
    learner = TrainingState(p.students) if task.training.optimiser.plain else task.training.optimiser.start(p.students)
    return learner, task, [kind for kind in ENGINES.values() if kind.unsupported(p.students, task) is None]


def arrays(learner):
    return [a for network in (learner.students, *learner.memory) for a in network.parameters]


@pytest.mark.parametrize("mode", MODES)
def test_every_engine_learns_in_parts_as_in_one_go_and_leaves_its_students_alone(problem, mode):
    learner, task, kinds = learning(problem, **MODES[mode])
    for kind in kinds:
        before = [a.clone() for a in arrays(learner)]
        engine = kind(task)
        whole, parts = engine.learn(learner, 0, 30), engine.learn(engine.learn(learner, 0, 11), 11, 30)
        assert all(torch.equal(a, b) for a, b in zip(arrays(whole), arrays(parts), strict=True)), kind.name
        assert all(torch.equal(a, b) for a, b in zip(before, arrays(learner), strict=True)), kind.name
        assert not torch.equal(whole.students.weights[-1], learner.students.weights[-1]), kind.name


@pytest.mark.parametrize("mode", MODES)
def test_engines_agree(problem, mode):
    """All engines that take a task end with the stacked engine's weights, to 1e-12 in float64 after 100 steps."""
    learner, task, kinds = learning(problem, **MODES[mode])
    reference = ENGINES["stacked"](task).learn(learner, 0, 100)
    for kind in kinds:
        for a, b in zip(arrays(kind(task).learn(learner, 0, 100)), arrays(reference), strict=True):
            assert (a - b).abs().max() <= 1e-12 * b.abs().max(), kind.name


@pytest.mark.parametrize("mode", ["momentum", "adam"])
def test_what_an_optimiser_remembers_is_not_forgotten(problem, mode):
    learner, task, kinds = learning(problem, **MODES[mode])
    for kind in kinds:
        with pytest.raises(TutelageError, match="call learn instead of advance"):
            kind(task).advance(learner.students, 0, 5)
