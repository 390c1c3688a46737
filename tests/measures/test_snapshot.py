"""Slices of an experiment: their number does not change what is measured."""

import numpy as np
import pytest
import torch

from tutelage import TutelageError
from tutelage.measures import MEASURES, snapshot
from tutelage.measures.report import observe
from tutelage.measures.snapshot import slices


def test_measures_do_not_depend_on_the_cut_into_slices(problem, dtype, monkeypatch):
    p = problem(seeds=range(5), dtype=dtype)
    measures = list(MEASURES.values())
    one = list(slices(p.teacher, p.students, p.inputs))
    monkeypatch.setitem(snapshot._ELEMENTS, "cpu", 1)
    five = list(slices(p.teacher, p.students, p.inputs))
    assert (len(one), len(five)) == (1, 5)
    whole, cut = (observe(snapshots, p.students, measures) for snapshots in (one, five))
    for measure, a, b in zip(measures, whole, cut, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4 if dtype.itemsize == 4 else 1e-10, atol=1e-6, err_msg=measure.name)


def test_layers_of_networks_of_different_depth_are_compared_with_all_units_of_the_teacher(problem):
    p, deep = problem(), problem(widths=(6, 4, 4, 3))
    names = ["correlation", "best_correlation", "specialisation", "best_teacher", "rho_mean", "unit_class", "strength"]
    for teacher, students in ((p.teacher, deep.students), (deep.teacher, p.students)):
        (now,) = slices(teacher, students, p.inputs)
        values = {name: MEASURES[name](now) for name in names}
        rho = values["correlation"]
        assert rho.shape == (3, sum(teacher.widths[1:-1]), sum(students.widths[1:-1]))
        taught = torch.cat(now.teacher_activity.features[1:-1], 2)[1].T.numpy()
        units = torch.cat(now.activity.features[1:-1], 2)[1].T.numpy()
        expected = np.corrcoef(taught, units)[: len(taught), len(taught) :]
        np.testing.assert_allclose(rho[1].numpy(), expected, atol=1e-12)
        assert torch.equal(values["best_correlation"], rho.amax(2))
        assert torch.equal(values["specialisation"], rho.amax(1))
        assert torch.equal(values["best_teacher"], rho.argmax(1))
        first = students.widths[1]
        assert torch.equal(values["rho_mean"][:, 0], rho[:, :, :first].amax(2).mean(1))


@pytest.mark.parametrize("name", ["observed", "cka", "svcca"])
def test_what_compares_like_layers_says_so_where_depths_differ(problem, name):
    p, deep = problem(), problem(widths=(6, 4, 4, 3))
    (now,) = slices(p.teacher, deep.students, p.inputs)
    with pytest.raises(TutelageError, match="compares like layers, and the teacher has 2 layers and the students 3"):
        MEASURES[name](now)


def test_a_later_snapshot_keeps_the_teachers_part_and_forgets_the_students(problem):
    p = problem()
    (s,) = slices(p.teacher, p.students, p.inputs)
    taught, learnt = s.teacher_activity, s.activity
    s.once("name", lambda: "value")
    later = s.after(p.students.map(lambda a: 2 * a))
    assert later.teacher_activity is taught
    assert not (later.activity.outputs == learnt.outputs).all()
    assert later.once("name", lambda: "another") == "another"


def test_what_is_cached_is_computed_once(problem):
    p = problem()
    (s,) = slices(p.teacher, p.students, p.inputs)
    calls = []
    for _ in range(3):
        assert s.once("name", lambda: calls.append(1) or "value") == "value"
    assert calls == [1]
