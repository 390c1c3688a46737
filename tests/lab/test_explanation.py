"""Specs in plain words, and what differs between two."""

import json

import pytest

from tutelage.lab import TeacherStudent
from tutelage.lab.explanation import difference, explain, explain_experiment, facts, flat, variations


def test_every_section_has_its_paragraph_with_the_numbers_that_matter(values):
    change = {"steps": 100, "batch": 20, "schedule": {"kind": "drops", "at": [40]}}
    experiment = TeacherStudent(**values(training=change))
    paragraphs = explain(experiment).split("\n\n")
    assert [p.split(":")[0] for p in paragraphs] == [
        *("Teacher", "Student", "Inputs", "Training", "Record", "Members", "Cost")
    ]
    teacher, student, inputs, training, record, members, cost = paragraphs
    assert "levels (Entries drawn from a few levels" in teacher
    assert "6 inputs, hidden layers of 3 units, 2 outputs" in teacher
    assert "polarity 1" in teacher
    assert "2 times as wide" in student
    assert "widths 6, 6, 2, 56 weights and biases" in student  # (6 + 1) * 6 + (6 + 1) * 2
    assert "40 points to train on and 30 to be judged on, a set for each member" in inputs
    assert "100 steps of gradient descent on 20 points drawn with replacement, 50 times through the data" in training
    assert "0.01, times 1 at the first step and 0.1 at the last (schedule drops)" in training
    assert "at 11 steps, the first and the last among them (every 10)" in record
    assert "3, with the seeds 0 to 2, in float32" in members
    assert f"Hash {experiment.hash}" in cost


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"training": {"batch": "all"}}, "on all 40 points, 30 times through the data"),
        (
            {"training": {"learning_rate": [0.1, 0.2, 0.3]}},
            "rate is [0.1, 0.2, 0.3] (one per member) throughout",
        ),
        ({"inputs": {"shared": True}}, "one set shared by all members"),
        ({"seeds": [7, 3]}, "Members: 2, with the seeds 7, 3,"),
        ({"seeds": [7]}, "Members: 1, with the seed 7,"),
        ({"seeds": list(range(0, 40, 2))}, "seeds 0, 2, 4, ... 20 in all ..., 38,"),
        ({"record": {"weights": "none"}}, "Weights are kept never"),
    ],
)
def test_what_is_unusual_is_said(values, change, words):
    assert words in explain(TeacherStudent(**values(**change)))


def test_facts_are_plain_data_and_count_right(values):
    experiment = TeacherStudent(**values(record={"measures": ["rho_mean", "fan_out"], "every": None, "weights": "all"}))
    known = facts(experiment)
    assert json.loads(json.dumps(known)) == known
    assert known["student_steps"] == 90
    assert known["recorded_steps"] == 2
    assert known["epochs"] == 12
    assert known["multiplications"] == 3 * 30 * 16 * 3 * (6 * 6 + 6 * 2)
    # two records of a number a member and one a student unit, the students twice, the teacher once; 4 bytes each
    assert known["result_bytes"] == 3 * 4 * (2 * (1 + 6) + 2 * 56 + (7 * 3 + 4 * 2))


def test_equal_experiments_do_not_differ(values):
    same = difference(TeacherStudent(**values()), TeacherStudent(**values(training={"batch": 16})))
    assert same.data()["settings"] == []
    assert same.data()["same_hash"] is True
    assert str(same).startswith("the hash is the same: ")


def test_a_difference_names_old_and_new_of_every_setting(values):
    a, b = (
        TeacherStudent(**values()),
        TeacherStudent(**values(training={"steps": 60}) | {"inputs": {"kind": "uniform"}}),
    )
    found = difference(a, b)
    data = found.data()
    assert {"setting": "training.steps", "old": 30, "new": 60} in data["settings"]
    assert {"setting": "inputs.std", "old": 1.5} in data["settings"]
    assert {"setting": "inputs.half_width", "new": 1.0} in data["settings"]
    assert data["hashes"] == [a.hash, b.hash]
    assert json.loads(json.dumps(data)) == data
    lines = str(found).splitlines()
    assert "training.steps: 30 -> 60" in lines
    assert "inputs.std: 1.5 -> absent" in lines
    assert lines[-1] == f"the hash differs: {a.hash} -> {b.hash}"


def test_an_experiment_says_what_varies(values):
    experiments = [
        TeacherStudent(**values(student={"width_factor": k}, teacher={"polarity": p})) for k in (1, 2) for p in (0, 1)
    ]
    assert variations(experiments) == {"teacher.polarity": [0.0, 1.0], "student.width_factor": [1.0, 2.0]}
    text = explain_experiment(experiments)
    first, second, *_ = text.splitlines()
    assert first == "4 experiments, 12 students, 360 student-steps. Settings that vary:"
    assert second == "  teacher.polarity: 0, 1"
    assert text.endswith(explain(experiments[0]))
    assert explain_experiment(experiments[:1]) == explain(experiments[0])


def test_flat_names_every_setting_once(values):
    names = flat(TeacherStudent(**values()))
    assert names["teacher.kind"] == "levels"
    assert names["training.schedule.kind"] == "constant"
    assert names["record.every"] == 10


def test_fresh_samples_noise_and_frozen_layers_are_in_words():
    from tutelage.lab import TeacherStudent

    experiment = TeacherStudent(
        teacher={"kind": "normal", "inputs": 6, "hidden": 2, "outputs": 1, "activation": "erf", "shared": True},
        student={"kind": "fan-in-normal", "hidden": [4, 3], "activation": "erf"},
        inputs={"kind": "gaussian", "train": 1, "evaluate": 50},
        training={"steps": 40, "batch": 2, "sampling": "online", "label_noise": 0.3, "frozen": [-1]},
        seeds=2,
    )
    text = str(explain(experiment))
    assert "2 fresh points each." in text
    assert "times through the data" not in text
    assert "Label noise: gaussian (fresh False, std 0.3); frozen: -1." in text
    assert "times as wide" not in text
    assert "Widths 6, 4, 3, 1" in text
