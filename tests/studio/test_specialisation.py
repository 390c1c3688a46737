"""The scene of trained students shows the numbers that `tutelage run` computes."""

import re

import numpy as np
import pytest

import tutelage as tt
from tutelage.lab.teacher_student import from_yaml
from tutelage.measures import RECOVERED
from tutelage.studio.course import Course
from tutelage.studio.frames import decode
from tutelage.studio.scenes.scene import SCENES, find

SMALL = {"units": 3, "members": 4, "dimension": 5, "outputs": 3, "train": 100, "evaluate": 50, "steps": 400}


@pytest.mark.parametrize(
    "settings", [{}, {"optimiser": "adam"}, {"distribution": "uniform"}, {"dimension": 2, "bias": -0.5}, {"noise": 0.2}]
)
def test_the_yaml_gives_the_same_numbers(tmp_path, settings):
    course = Course("specialisation", SMALL | settings)
    course.seek(course.ticks)
    shown, _ = decode(course.frame())
    (tmp_path / "a.yaml").write_text(course.scene.saved(course.given, [], "yaml"))
    report = tt.run(from_yaml(tmp_path / "a.yaml"), results=tmp_path / "results").report
    equal = np.testing.assert_array_equal if course.given.optimiser == "sgd" else _close
    equal(shown["specialisation"], report["specialisation"][-1])
    equal(shown["fan_out"], report["fan_out"][-1])
    curves, about = decode(course.history())
    assert about["times"] == list(report.steps)
    equal(curves["loss"], report["evaluate_loss"])


def _run(tmp_path, course):
    (tmp_path / "a.yaml").write_text(course.scene.saved(course.given, course.events, "yaml"))
    return tt.run(from_yaml(tmp_path / "a.yaml"), results=tmp_path / "results").report


@pytest.mark.parametrize("ticks", [[7], [3, 7, 13], [0, 7]])
def test_the_yaml_of_a_branch_gives_the_numbers_that_were_seen(tmp_path, ticks):
    course = Course("specialisation", SMALL)
    for tick, rate in zip(ticks, (0.1, 0.03, 0.07), strict=False):
        course.seek(tick)
        course.change({"learning_rate": rate})
    course.seek(course.ticks)
    shown, _ = decode(course.frame())
    curves, about = decode(course.history())
    report = _run(tmp_path, course)
    np.testing.assert_array_equal(shown["specialisation"], report["specialisation"][-1])
    np.testing.assert_array_equal(curves["loss"], report["evaluate_loss"])
    assert about["times"] == list(report.steps)


@pytest.mark.parametrize("change", [{"batch": 4}, {"optimiser": "adam"}, {"noise": 0.5, "learning_rate": 0.1}])
def test_the_yaml_ends_where_one_experiment_cannot_follow(tmp_path, change):
    course = Course("specialisation", SMALL, [[3, {"learning_rate": 0.1}], [7, change]])
    course.seek(7)
    before, _ = decode(Course("specialisation", SMALL, course.plain()["events"][:1]).history())
    report = _run(tmp_path, course)
    assert report.steps[-1] == 140
    curves, about = decode(course.history())
    seen = [step for step in about["times"] if step <= 140]
    np.testing.assert_array_equal(curves["loss"][: len(seen)], report["evaluate_loss"][: len(seen)])
    np.testing.assert_array_equal(before["loss"], report["evaluate_loss"][:1])
    first = (tmp_path / "a.yaml").read_text().splitlines()[0]
    assert first.startswith(f"# At step 140 the page changed {next(iter(change))} to ")
    assert "ends there" in first


def test_a_change_of_everything_at_the_start_is_no_branch(tmp_path):
    course = Course("specialisation", SMALL, [[0, {"batch": 4, "optimiser": "momentum"}]])
    course.seek(course.ticks)
    curves, _ = decode(course.history())
    report = _run(tmp_path, course)
    assert report.steps[-1] == 400
    _close(curves["loss"], report["evaluate_loss"])


def _close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_diverged_students_drop_out_and_the_page_is_told():
    course = Course("specialisation", SMALL | {"learning_rate": 50.0})
    course.seek(course.ticks)
    arrays, about = decode(course.frame())
    assert np.isnan(arrays["fan_out"]).any()
    assert "diverged" in about["words"]["note"]
    lost = int(np.flatnonzero(np.isnan(arrays["fan_out"][:, 0]))[0])
    assert "diverged" in course.moment().answer({"about": "unit", "member": lost, "unit": 0})["sentences"][0]


def test_a_branch_after_divergence_keeps_the_others_learning():
    course = Course("specialisation", SMALL | {"learning_rate": 0.9, "members": 8})
    course.seek(10)
    lost = course.state.lost.copy()
    before = course.state.students.weights[0].clone()
    course.change({"learning_rate": 0.01})
    course.seek(20)
    moved = (course.state.students.weights[0] != before).flatten(1).any(1).numpy()
    assert not moved[lost].any()
    assert moved[~lost & ~course.state.lost].all()


def test_the_plane_is_sent_for_two_inputs_only():
    flat, _ = decode(Course("specialisation", SMALL | {"dimension": 2, "units": 2}).frame())
    assert flat["teacher_lines"].shape == (2, 3)
    assert flat["student_lines"].shape == (10, 3)
    assert "error" not in decode(Course("specialisation", SMALL).frame())[0]


def test_the_story_of_a_unit():
    course = Course("specialisation", SMALL | {"steps": 4000})
    course.seek(course.ticks)
    found = course.moment().answer({"about": "unit", "member": 1, "unit": 2})
    assert found["title"].startswith("Unit 2 of student 1")
    assert len(found["alignment"]["times"]) == len(found["alignment"]["values"])
    assert {theorem["name"] for theorem in found["theorems"]} == {"alignment", "noisy-recovery", "pruning"}
    values = np.array(found["alignment"]["values"][-1])
    np.testing.assert_allclose(values, course.state.correlation(1)[:, 2], atol=1e-4)
    with pytest.raises(tt.TutelageError, match="unit must be from 0 to 14, got 99"):
        course.moment().answer({"about": "unit", "member": 1, "unit": 99})


def test_every_preset_of_every_scene_starts_and_says_what_to_look_at():
    find("specialisation")
    for name, scene in SCENES.items():
        names = [preset.name for preset in scene.presets]
        assert len(set(names)) == len(names)
        for preset in scene.presets:
            assert preset.look.endswith(".")
            course = Course(name, preset.settings)
            assert course.forward()
            assert len(course.frame()) > 100


def test_the_story_says_stuck_where_a_unit_has_stood_still():
    """As `explain` does: by the rise of the best correlation since a stored state a tenth of the steps back."""
    course = Course("specialisation", SMALL | {"steps": 4000, "width_factor": 1})
    course.seek(course.ticks)
    reasons = set()
    best = course.state.measured["best_correlation"]
    for member, unit in np.argwhere(best <= RECOVERED).tolist():
        found = course.moment().answer({"about": "unit", "member": member, "unit": 0, "teacher": unit})
        why = re.search(r"is not recovered\. ([A-Z][a-z ]+):.*?([+-]\d\.\d+) since", found["sentences"][-1])
        reason, rise = why.groups()
        reasons.add(reason)
        if reason in ("Stuck", "Not yet reached"):
            assert (float(rise) < 0.0015) if reason == "Stuck" else (float(rise) >= 0.0005)
    assert "Stuck" in reasons


def test_nothing_is_called_stuck_at_the_start():
    course = Course("specialisation", SMALL)
    found = course.moment().answer({"about": "unit", "member": 0, "unit": 0, "teacher": 0})
    assert "Stuck" not in found["sentences"][-1]
