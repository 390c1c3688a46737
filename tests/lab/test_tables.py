"""Tables and arrays are two forms of the same report."""

import numpy as np
import pytest

import tutelage as tt
from tutelage.lab.tables import to_report, to_tables
from tutelage.measures import MEASURES


@pytest.mark.parametrize("widths", [(6, 4, 3), (6, 4, 5, 3)])
def test_arrays_come_back_from_tables(problem, widths):
    p = problem(widths=widths)
    run = tt.train(p.teacher, p.students, p.inputs, steps=300, record=[5], learning_rate=(0.01, 30.0, 0.01))
    assert run.diverged_at[1] > 0
    report = tt.measure(run, [name for name, m in MEASURES.items() if len(widths) == 3 or not m.two_layers])
    tables = to_tables(report, p.seeds, p.teacher.widths, p.students.widths)
    back = to_report(tables, p.teacher.widths, p.students.widths)
    assert back.steps == report.steps
    for name, value in report.values.items():
        np.testing.assert_array_equal(back[name], value, err_msg=name)


def test_rows_name_their_step_member_layer_and_unit(problem):
    p = problem(seeds=[5, 9], widths=(6, 4, 5, 3))
    report = tt.measure(tt.train(p.teacher, p.students, p.inputs, steps=3), ["specialisation", "correlation"])
    tables = to_tables(report, p.seeds, p.teacher.widths, p.students.widths)
    rows = tables["unit"].to_pylist()
    assert len(rows) == 2 * 2 * 18
    row = next(r for r in rows if (r["step"], r["seed"], r["layer"], r["unit"]) == (3, 9, 2, 4))
    assert row["specialisation"] == report["specialisation"][1, 1, 8 + 4]
    pair = next(
        r for r in tables["pair"].to_pylist()
        if (r["step"], r["seed"], r["layer"], r["teacher"], r["unit"]) == (0, 5, 2, 3, 7)
    )  # fmt: skip
    assert pair["correlation"] == report["correlation"][0, 0, 4 * 8 + 3 * 10 + 7]


def test_rows_of_pairs_of_students_name_both(problem):
    p = problem(seeds=[5, 9])
    report = tt.measure(tt.train(p.teacher, p.students, p.inputs, steps=3), ["student_overlaps", "teacher_overlaps"])
    tables = to_tables(report, p.seeds, p.teacher.widths, p.students.widths)
    rows = tables["unit_pair"].to_pylist()
    row = next(r for r in rows if (r["step"], r["seed"], r["unit"], r["other"]) == (3, 9, 2, 4))
    assert row["student_overlaps"] == report["student_overlaps"][1, 1, 2, 4]
    assert len(tables["teacher_pair"]) == 2 * 2 * p.teacher.widths[1] ** 2


def test_values_of_diverged_members_are_null(problem):
    p = problem()
    run = tt.train(p.teacher, p.students, p.inputs, steps=300, learning_rate=(0.01, 30.0, 0.01))
    report = tt.measure(run, ["best_teacher", "specialisation"])
    table = to_tables(report, p.seeds, p.teacher.widths, p.students.widths)["unit"]
    for row in table.to_pylist():
        lost = row["member"] == 1 and row["step"] == 300
        assert (row["best_teacher"] is None) == lost
        assert (row["specialisation"] is None) == lost
