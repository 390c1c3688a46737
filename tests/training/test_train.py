"""The training loop: what is recorded, who depends on whom, and what happens when a student diverges."""

import numpy as np
import pytest
import torch

import tutelage as tt
from tutelage import TutelageError
from tutelage.training import ENGINES, Training
from tutelage.training.make_task import make_task
from tutelage.training.students import SmallNormal

ALL_STEPS = 1000


def largest_difference(a, b):
    return max((x - y).abs().max().item() for x, y in zip(a.parameters, b.parameters, strict=True))


@pytest.mark.parametrize("engine", ["stacked", "auto"])
@pytest.mark.parametrize("sampling", ["replacement", "epochs"])
def test_a_student_trained_alone_equals_itself_among_64_others_and_in_results_of_any_size(problem, engine, sampling):
    """Weights to 1e-10 in float64 after 1,000 steps; the rows are compared bit for bit in test_task."""
    seeds = tuple(range(65))
    everyone = problem(seeds=seeds)
    settings = {"steps": ALL_STEPS, "learning_rate": 0.02, "sampling": sampling, "engine": engine}
    together = tt.train(everyone.teacher, everyone.students, everyone.inputs, **settings).students
    for result in ([37], [64, 3], list(range(20, 37))):
        few = problem(seeds=[seeds[i] for i in result])
        apart = tt.train(few.teacher, few.students, few.inputs, **settings).students
        assert largest_difference(apart, together[result]) < 1e-10


def test_what_is_recorded_does_not_change_the_students(problem):
    p = problem()
    plain = tt.train(p.teacher, p.students, p.inputs, steps=50)
    watched = tt.train(p.teacher, p.students, p.inputs, steps=50, record=[3, 10, 11])
    assert plain.steps == (0, 50)
    assert watched.steps == (0, 3, 10, 11, 50)
    assert largest_difference(plain.students, watched.students) == 0
    assert largest_difference(watched.recorded[0], p.students) == 0


@pytest.mark.parametrize("record", [[1.5], [float("nan")], ["a"], [None], 5])
def test_recorded_steps_are_whole_numbers(problem, record):
    p = problem()
    with pytest.raises(TutelageError, match="recorded steps must be"):
        tt.train(p.teacher, p.students, p.inputs, steps=5, record=record)


def test_recorded_steps_of_numpy_are_ints(problem):
    p = problem()
    run = tt.train(p.teacher, p.students, p.inputs, steps=5, record=np.array([1.0, 3.0]))
    assert run.steps == (0, 1, 3, 5)
    assert all(type(step) is int for step in run.steps)


def test_recorded_students_are_those_of_a_shorter_training(problem):
    p = problem()
    long = tt.train(p.teacher, p.students, p.inputs, steps=40, record=[17])
    short = tt.train(p.teacher, p.students, p.inputs, steps=17)
    assert largest_difference(long.recorded[17], short.students) == 0


def test_only_the_last_weights_are_kept_when_asked(problem):
    p = problem()
    seen = []
    run = tt.train(
        p.teacher, p.students, p.inputs, steps=20, record=[5], keep="last", on_record=lambda step, *_: seen.append(step)
    )
    assert list(run.recorded) == [20]
    assert seen == [0, 5, 20]


def test_progress_adds_up_to_the_steps(problem):
    p = problem()
    done = []
    tt.train(p.teacher, p.students, p.inputs, steps=5000, record=[100], on_progress=done.append)
    assert sum(done) == 5000
    assert len(done) >= 3


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_diverged_members_are_found_to_the_step_and_the_others_go_on(problem, dtype, engine):
    p = problem(seeds=range(5), dtype=dtype)
    rates = (0.02, 30.0, 0.02, 3.0, 0.02)
    settings = Training(steps=400, learning_rate=rates)
    try:
        run = tt.train(p.teacher, p.students, p.inputs, settings, engine=engine)
    except TutelageError as refusal:
        pytest.skip(str(refusal))
    when = run.diverged_at.tolist()
    assert [when[i] for i in (0, 2, 4)] == [-1, -1, -1]
    assert 0 < when[1] < when[3] < 400
    fine = tt.train(p.teacher, p.students, p.inputs, steps=400, learning_rate=0.02, engine=engine)
    assert (
        largest_difference(run.students[[0, 2, 4]], fine.students[[0, 2, 4]]) < 1e-4 * (dtype == torch.float32) + 1e-10
    )
    for member in (1, 3):  # one step earlier nothing was wrong yet; that is what is kept
        alone = problem(seeds=[member], dtype=dtype)
        steps = when[member]
        short = {"learning_rate": rates[member], "engine": engine}
        assert tt.train(alone.teacher, alone.students, alone.inputs, steps=steps - 1, **short).diverged_at.item() == -1
        assert tt.train(alone.teacher, alone.students, alone.inputs, steps=steps, **short).diverged_at.item() == steps
        assert all(a.isfinite().all() for a in run.students[member].parameters)


def test_training_goes_on_to_the_end_when_everyone_diverges(problem):
    p = problem()
    run = tt.train(p.teacher, p.students, p.inputs, steps=5000, learning_rate=1e3, record=[1000, 4000])
    assert (run.diverged_at > 0).all()
    assert run.steps == (0, 1000, 4000, 5000)


def test_students_of_another_shape_are_refused(problem):
    p, other = problem(), problem(widths=(7, 4, 3))
    with pytest.raises(TutelageError, match="the students have 7 inputs and 3 outputs, but the teacher has 6 and 3"):
        tt.train(p.teacher, other.students, p.inputs, steps=5)


def test_another_number_of_members_is_refused(problem):
    p = problem()
    one = SmallNormal().build(p.teacher, seeds=[1])
    with pytest.raises(TutelageError, match="there are 1 students, 3 teachers and inputs for 3 members"):
        tt.train(p.teacher, one, p.inputs, steps=5)


def test_steps_beyond_the_training_cannot_be_recorded(problem):
    p = problem()
    with pytest.raises(TutelageError, match="recorded steps must lie between 0 and 5, got 0 to 6"):
        tt.train(p.teacher, p.students, p.inputs, steps=5, record=[6])


def test_settings_and_keywords_are_not_mixed(problem):
    p = problem()
    with pytest.raises(TutelageError, match="learning_rate would be dropped"):
        tt.train(p.teacher, p.students, p.inputs, tt.training.Training(steps=5), learning_rate=0.1)


def test_one_teacher_serves_all_students(problem):
    p = problem(seeds=range(3))
    shared = tt.train(p.teacher[0], p.students, p.inputs, steps=20).students
    apart = tt.train(p.teacher[[0, 0, 0]], p.students, p.inputs, steps=20).students
    assert torch.equal(shared.weights[0], apart.weights[0])


def test_a_teacher_given_second_is_noticed_where_widths_tell(problem, caplog):
    p = problem(width_factor=3)
    tt.train(p.students, p.teacher, p.inputs, steps=2)
    assert "the teacher (12 hidden units) is wider than its students (4)" in caplog.text


def test_record_is_a_table_as_in_yaml(problem):
    p = problem()
    run = tt.train(p.teacher, p.students, p.inputs, steps=20, record={"every": 8, "at": [3]})
    assert run.steps == (0, 3, 8, 16, 20)
    with pytest.raises(TutelageError, match="record must have 'every' and 'at' alone, got 'evry'"):
        tt.train(p.teacher, p.students, p.inputs, steps=20, record={"evry": 8})


def test_a_module_serves_as_teacher_from_the_start():
    module = torch.nn.Sequential(torch.nn.Linear(5, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
    inputs = tt.inputs.Gaussian(train=30, evaluate=20).draw(module, range(2))
    students = tt.students.SmallNormal(width_factor=2).build(module, range(2))
    run = tt.train(module, students, inputs, steps=5)
    assert run.students.widths == (5, 6, 2)
    assert run.teacher.members == 2
    lstm = torch.nn.LSTM(3, 4)
    for ask in (tt.inputs.Gaussian().draw, tt.students.SmallNormal().build):
        with pytest.raises(TutelageError, match="a teacher that is a LSTM does not tell its widths"):
            ask(lstm, [0])


@pytest.mark.parametrize(("engine", "dtype"), [("stacked", torch.float64), ("fused-cpu", torch.float32)])
def test_a_later_teacher_takes_over_at_its_step(problem, engine, dtype):
    """Up to that step the training on the first teacher, and from there a loop in numpy on the labels of the second."""
    p = problem(dtype=dtype)
    second = p.recipe.build([10, 11, 12], p.distribution, dtype)
    plain = {"batch": 8, "learning_rate": 0.05, "engine": engine}
    run = tt.train(p.teacher, p.students, p.inputs, steps=30, later={12: second}, record=[5, 12, 20], **plain)
    first = tt.train(p.teacher, p.students, p.inputs, steps=12, **plain)
    for a, b in zip(run.recorded[12].parameters, first.students.parameters, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)
    assert run.engine == engine
    batches = make_task(p.students, p.teacher, p.inputs, Training(steps=30, batch=8)).rows(12, 30)
    x, taught = p.inputs.train, tt.networks.outputs(second, p.inputs.train)
    for member in range(3):  # steps 12 to 29 of the same stream of batches, in numpy, with the labels of the second
        w, v, b, c = (a[member].double().numpy().copy() for a in first.students.parameters)
        for rows in batches[member].numpy():
            points, labels = (a[member].double().numpy()[rows] for a in (x, taught))
            u = points @ w + b
            error = (np.maximum(u, 0) @ v + c - labels) / 8
            sent = error @ v.T * (u > 0)
            v, c = v - 0.05 * np.maximum(u, 0).T @ error, c - 0.05 * error.sum(0)
            w, b = w - 0.05 * points.T @ sent, b - 0.05 * sent.sum(0)
        tolerance = 1e-10 if dtype == torch.float64 else 1e-4
        for mine, wanted in zip((a[member] for a in run.students.parameters), (w, v, b, c), strict=True):
            np.testing.assert_allclose(mine.numpy(), wanted, rtol=tolerance, atol=tolerance)


def test_forgetting_is_measured_by_the_same_measures(problem):
    p = problem(train=2_000)
    second = p.recipe.build([10, 11, 12], p.distribution, torch.float64)
    settings = {"steps": 4_000, "batch": 8, "learning_rate": 0.1, "optimiser": {"kind": "sgd", "momentum": 0.5}}
    run = tt.train(p.teacher, p.students, p.inputs, later={2_000: second}, record=[2_000], **settings)
    names = ("evaluate_loss", "best_correlation", "overlap")
    of_first, of_second = (tt.measure(run, names, teacher=t) for t in (p.teacher, second))
    assert (of_first["evaluate_loss"] == tt.measure(run, names)["evaluate_loss"]).all()
    assert (of_first["evaluate_loss"][2] > 3 * of_first["evaluate_loss"][1]).all()
    assert (of_second["evaluate_loss"][2] < of_second["evaluate_loss"][1] / 3).all()
    assert of_first["overlap"][0].shape == of_second["overlap"][0].shape


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"later": {0: None}}, "teacher=None needs inputs with labels"),
        ({"later": {10: "second"}}, "takes over at a step from 1 to 9, got 10"),
        ({"later": {5: "second"}, "stop": {"kind": "plateau"}}, "leave out 'stop' or 'later'"),
    ],
)
def test_teachers_that_cannot_take_over(problem, settings, sentence):
    p = problem()
    settings["later"] = {step: p.teacher if other else None for step, other in settings["later"].items()}
    with pytest.raises(TutelageError, match=sentence):
        tt.train(p.teacher, p.students, p.inputs, steps=10, **settings)
