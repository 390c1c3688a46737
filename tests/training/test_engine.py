"""The choice of an engine, and the contract every engine keeps."""

import pytest
import torch

from tutelage import TutelageError
from tutelage.networks import outputs
from tutelage.training import ENGINES, Task, Training
from tutelage.training.engine import choose


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


def test_every_engine_advances_in_parts_as_in_one_go_and_leaves_its_students_alone(problem):
    p = problem()
    task = task_of(p)
    for kind in usable(p, task):
        before = [a.clone() for a in p.students.parameters]
        engine = kind(task)
        whole = engine.advance(p.students, 0, 30)
        parts = engine.advance(engine.advance(p.students, 0, 11), 11, 30)
        assert all(torch.equal(a, b) for a, b in zip(whole.parameters, parts.parameters, strict=True)), kind.name
        assert all(torch.equal(a, b) for a, b in zip(before, p.students.parameters, strict=True)), kind.name
        assert not torch.equal(whole.weights[0], p.students.weights[0]), kind.name


def test_engines_agree(problem):
    """All engines that take a task end with the stacked engine's weights, to 1e-12 in float64."""
    p = problem()
    task = task_of(p)
    reference = ENGINES["stacked"](task).advance(p.students, 0, 200)
    for kind in usable(p, task):
        result = kind(task).advance(p.students, 0, 200)
        for a, b in zip(result.parameters, reference.parameters, strict=True):
            assert (a - b).abs().max() <= 1e-12 * b.abs().max(), kind.name
