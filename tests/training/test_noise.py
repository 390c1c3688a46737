"""Noise with a size per member."""

import pytest
import torch

import tutelage as tt
from tutelage import TutelageError
from tutelage.training import Task, Training
from tutelage.training.make_task import make_task


@pytest.mark.parametrize("where", ["label_noise", "input_noise"])
@pytest.mark.parametrize(
    ("kind", "size", "settings"),
    [
        ("gaussian", "std", {}),
        ("gaussian", "std", {"sampling": "online"}),
        ("student-t", "scale", {"fresh": True}),
    ],
)
def test_noise_may_differ_from_member_to_member(problem, where, kind, size, settings):
    """Every member learns what it learns where all have its noise, also in a stack that is cut or joined."""
    p, sizes = problem(), (0.0, 0.3, 2.0)
    fresh = {"fresh": True} if settings.get("fresh") else {}
    rest = {name: value for name, value in settings.items() if name != "fresh"} | {"steps": 12, "learning_rate": 0.02}

    def noisy(value):
        return {where: {"kind": kind, size: value, **fresh}}

    run = tt.train(p.teacher, p.students, p.inputs, **rest, **noisy(sizes))
    for member, value in enumerate(sizes):
        alone = tt.train(p.teacher, p.students, p.inputs, **rest, **noisy(value))
        for a, b in zip(run.students.parameters, alone.students.parameters, strict=True):
            torch.testing.assert_close(a[member], b[member], rtol=0, atol=0)
    tasks = [make_task(p.students, p.teacher, p.inputs, Training(**rest, **noisy(value))) for value in (0.5, sizes)]
    joined, last = Task.join(tasks), tasks[1][[2]]
    assert getattr(getattr(joined.training, where), size) == (0.5, 0.5, 0.5, *sizes)
    assert getattr(getattr(last.training, where), size) == (2.0,)


def test_noise_of_another_number_of_members_is_an_error(problem):
    p = problem()
    assert Training(steps=1, label_noise=[0.1, 0.2]).label_noise.std == (0.1, 0.2)
    with pytest.raises(TutelageError, match="'std' has 2 entries for 3 members"):
        tt.train(p.teacher, p.students, p.inputs, steps=1, label_noise=[0.1, 0.2])
