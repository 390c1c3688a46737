"""Curricula: rows against a loop in numpy, and what goes wrong is one sentence."""

import numpy as np
import pytest
import torch

import tutelage as tt
from tutelage import TutelageError, draws
from tutelage.training import CURRICULA, Training, curriculum


@pytest.fixture
def short_first():
    before = dict(CURRICULA)

    @curriculum
    def short_inputs(points, labels, *, start=0.2):
        order = points.square().sum(-1).argsort(1)
        return lambda uniforms, done: order.gather(1, (uniforms * (start + (1 - start) * done) * order.shape[1]).long())

    yield short_inputs
    CURRICULA.clear()
    CURRICULA.update(before)


def test_a_curriculum_is_its_loop(problem, short_first):
    p = problem(train=40)
    steps, batch, rate = 25, 4, 0.05
    settings = {
        "steps": steps,
        "batch": batch,
        "learning_rate": rate,
        "curriculum": {"name": short_first, "start": 0.1},
    }
    run = tt.train(p.teacher, p.students, p.inputs, **settings)
    cut = tt.train(p.teacher, p.students, p.inputs, **settings, record=[3, 4, 11])
    for a, b in zip(run.students.parameters, cut.students.parameters, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)
    labels = tt.networks.outputs(p.teacher, p.inputs.train).numpy()
    for member, seed in enumerate(p.seeds):
        w, v, b, c = (a[member].numpy().copy() for a in p.students.parameters)
        x = p.inputs.train[member].numpy()
        order = np.argsort((x**2).sum(1))
        for step in range(steps):
            drawn = draws.uniforms(draws.keys([seed], "batches"), batch, step * batch)[0].numpy()
            share = 0.1 + 0.9 * step / steps
            rows = [order[int(u * share * len(x))] for u in drawn]
            u = x[rows] @ w + b
            error = (np.maximum(u, 0) @ v + c - labels[member][rows]) / batch
            sent = error @ v.T * (u > 0)
            v, c = v - rate * np.maximum(u, 0).T @ error, c - rate * error.sum(0)
            w, b = w - rate * x[rows].T @ sent, b - rate * sent.sum(0)
        for mine, wanted in zip((a[member] for a in run.students.parameters), (w, v, b, c), strict=True):
            np.testing.assert_allclose(mine.numpy(), wanted, rtol=1e-9, atol=1e-11)


def test_a_member_alone_learns_the_same(problem, short_first):
    p = problem()
    settings = {"steps": 10, "curriculum": short_first}
    together = tt.train(p.teacher, p.students, p.inputs, **settings)
    one = tt.inputs.Inputs(p.inputs.train[1:2], p.inputs.evaluate[1:2], p.inputs.seeds[1:2])
    alone = tt.train(p.teacher[1], p.students[1], one, **settings)
    for a, b in zip(together.students.parameters, alone.students.parameters, strict=True):
        torch.testing.assert_close(a[1:2], b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rows", [lambda u, done: u, lambda u, done: (u + 500).long(), lambda u, done: u[:1].long()])
def test_rows_that_are_none(problem, short_first, rows):
    p = problem()

    @curriculum
    def wrong(points, labels):
        return rows

    with pytest.raises(
        TutelageError, match=r"the curriculum 'wrong' must return whole numbers from 0 to 63 of shape \["
    ):
        tt.train(p.teacher, p.students, p.inputs, steps=2, curriculum=wrong)


def test_a_curriculum_needs_batches_with_replacement(short_first):
    for other in ({"batch": "all"}, {"sampling": "epochs"}, {"sampling": "online"}):
        with pytest.raises(TutelageError, match="'curriculum' picks the rows of a batch"):
            Training(steps=1, curriculum=short_first, **other)
