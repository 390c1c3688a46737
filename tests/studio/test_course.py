"""A tick has the same bytes whatever way it was reached."""

import numpy as np
import pytest

from tutelage import TutelageError
from tutelage.studio import course as module
from tutelage.studio.course import Course
from tutelage.studio.frames import decode

SMALL = {
    "specialisation": {
        "units": 3, "members": 3, "dimension": 4, "outputs": 2, "train": 60, "evaluate": 40, "steps": 600,
    },
    "flow": {"teachers": 2, "students": 3},
    "margins": {"count": 8, "units": 5},
    "distillation": {"dimension": 30, "members": 3},
    "folds": {"units": 4},
}  # fmt: skip
CHANGES = {
    "specialisation": {"learning_rate": 0.1},
    "flow": {"student": 1, "to": [1.0, -1.0]},
    "folds": {"unit": 2, "to": [0.5, -0.3, 0.4]},
}


@pytest.fixture(params=SMALL)
def name(request):
    return request.param


def at(name, tick, events=()):
    course = Course(name, SMALL[name], list(events))
    course.seek(tick)
    return course.frame()


def test_going_back_gives_the_same_bytes(name):
    course = Course(name, SMALL[name])
    last = course.ticks
    seen = {}
    for tick in range(last + 1):
        assert course.tick == tick
        seen[tick] = course.frame()
        assert course.forward() == (tick < last)
    for tick in (0, last // 3, last, last // 2, 1):
        course.seek(tick)
        assert course.frame() == seen[tick] == at(name, tick)
    assert seen[0] != seen[last]


@pytest.mark.parametrize("name", CHANGES)
def test_branching_is_the_same_from_a_link(name):
    course = Course(name, SMALL[name])
    middle, later = course.ticks // 3, course.ticks // 2
    course.seek(later)
    unchanged = course.frame()
    course.seek(middle)
    course.change(CHANGES[name])
    course.seek(later)
    branched = course.frame()
    assert branched != unchanged
    assert branched == at(name, later, course.plain()["events"])
    course.seek(middle - 1)
    assert course.frame() == at(name, middle - 1)


def test_thinning_stored_states_changes_nothing(name, monkeypatch):
    before = at(name, 7)
    monkeypatch.setattr(module, "_MEMORY", 1)
    course = Course(name, SMALL[name])
    course.seek(course.ticks)
    assert len(course._stored) <= 9
    course.seek(7)
    assert course.frame() == before


def test_history_is_that_of_the_marks(name):
    course = Course(name, SMALL[name])
    course.seek(course.ticks)
    whole, header = decode(course.history())
    assert header["ticks"] == sorted(course.marks)
    first, _ = decode(course.history(until=5))
    for key, values in first.items():
        np.testing.assert_array_equal(values, whole[key][: len(values)])


def test_the_marks_do_not_depend_on_the_way(name):
    slow, fast = Course(name, SMALL[name]), Course(name, SMALL[name])
    slow.seek(9)
    slow.seek(2)
    slow.seek(12)
    fast.seek(12)
    assert slow.history() == fast.history()


def test_bad_input_is_one_sentence():
    for settings in ({"units": 10_000}, {"learning_rate": -1}, {"steps": "many"}, {"colour": "red"}):
        with pytest.raises(TutelageError) as error:
            Course("specialisation", settings)
        assert "\n" not in str(error.value)
    with pytest.raises(TutelageError, match="unknown scene"):
        Course("nowhere")
    with pytest.raises(TutelageError, match="an event is a tick and a change"):
        Course("specialisation", SMALL["specialisation"], [["x", 1]])


@pytest.mark.parametrize("name", sorted(set(SMALL) - set(CHANGES)))
def test_the_others_start_again_when_they_are_changed(name):
    with pytest.raises(TutelageError, match="starts again instead"):
        Course(name, SMALL[name]).change({"seed": 1})


def test_only_training_settings_change_on_the_way():
    course = Course("specialisation", SMALL["specialisation"])
    with pytest.raises(TutelageError, match="may change on the way"):
        course.change({"units": 5})
    assert course.plain()["events"] == []


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_leaps_have_the_same_bytes_as_steps(optimiser, noise):
    settings = SMALL["specialisation"] | {"optimiser": optimiser, "noise": noise, "steps": 6_000}
    steps, leaps = (Course("specialisation", settings, [[7, {"learning_rate": 0.1}]]) for _ in range(2))
    for _ in range(13):
        assert steps.forward() == 1
    taken = []
    while leaps.tick < 13:
        taken.append(leaps.forward(13 - leaps.tick))
    assert taken == [3, 3, 1, 2, 3, 1]  # up to marks, every third tick, and to the change
    assert leaps.frame() == steps.frame()


@pytest.mark.parametrize("scene", ["flow", "margins"])
def test_places_that_are_given_are_counted(scene):
    from tutelage.studio.scenes.scene import find

    counts = {"teacher_at": "teachers", "student_at": "students", "points": "count"}
    for preset in find(scene).presets:
        course = Course(scene, preset.settings)
        for places, count in counts.items():
            if places in preset.settings:
                assert getattr(course.given, count) == len(preset.settings[places])
        assert list(course.plain()["settings"]) == list(preset.settings)  # by which the page knows its preset
    assert Course("flow", {"teacher_at": [[1.0, 0.0]], "teachers": 4}).given.teachers == 1


@pytest.mark.parametrize("seed", range(8))
def test_two_points_have_both_labels_whatever_the_seed(seed):
    course = Course("margins", {"count": 2, "data_seed": seed})
    assert sorted(course.state.data.y[0].tolist()) == [-1, 1]


def test_a_setting_that_is_no_good_is_named_in_words():
    with pytest.raises(TutelageError, match="'limit' in the distillation settings: input should be greater than 0"):
        Course("distillation", {"limit": 0})
