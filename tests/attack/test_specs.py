"""Specs of random settings: what is legal runs; what is not is one error in a sentence, and so is overflow."""

import logging

import numpy as np
import pytest
import yaml

from tutelage import TutelageError
from tutelage.lab import Store
from tutelage.lab.execute import execute
from tutelage.lab.grid import read_experiment, settings_of
from tutelage.lab.teacher_student import TeacherStudent
from tutelage.training.inputs import Distribution
from tutelage.training.optimisers import Optimiser
from tutelage.training.schedules import Schedule
from tutelage.training.students import Student
from tutelage.training.teachers import Teacher

BASE = {
    "teacher": {"kind": "levels", "inputs": 4, "hidden": [3], "outputs": 2},
    "student": {"kind": "small-normal", "width_factor": 1},
    "inputs": {"kind": "gaussian", "train": 12, "evaluate": 6},
    "training": {"steps": 3, "batch": 4},
    "seeds": 2,
}
NAMES = sorted({dotted for dotted, _, _ in settings_of()})
EXTREME = [0, 1, 2, -1, 3, 1e-300, 1e-30, 1e-3, 0.5, 0.999, 1.5, 1e5, 1e18, 1e30, 1e38, 1e150, 1e300, -1e30]
WRONG = [None, True, "", "text", "all", "median", [], {}, [1, 2], [0.1, 0.2], [[1]], {"a": 1}, float("nan"),
         float("inf"), 2**63, -(2**70), 10**400, "1e400", "0x10", "\n", "kind"]  # fmt: skip
KINDS = {
    "teacher": sorted(Teacher.kinds), "student": sorted(Student.kinds), "inputs": sorted(Distribution.kinds),
    "training.schedule": sorted(Schedule.kinds), "training.optimiser": sorted(Optimiser.kinds),
}  # fmt: skip
SMALL = 10**4


def altered(random: np.random.Generator, values: list) -> dict:
    """A small experiment with up to three settings changed."""
    experiment = yaml.safe_load(yaml.safe_dump(BASE))
    for _ in range(random.integers(1, 4)):
        if random.random() < 0.3:
            section = str(random.choice(list(KINDS)))
            name, value = f"{section}.kind", str(random.choice(KINDS[section]))
        else:
            name, value = str(random.choice(NAMES)), values[random.integers(len(values))]
        *sections, last = name.split(".")
        table = experiment
        for section in sections:
            inner = table.get(section)
            table[section] = inner if isinstance(inner, dict) else {}
            table = table[section]
        table[last] = value
    return experiment


def made(values: dict) -> TeacherStudent | None:
    """The experiment, or None where an error of one line says what is wrong."""
    try:
        return TeacherStudent(**values)
    except TutelageError as refusal:
        said = str(refusal)
    assert said
    assert "\n" not in said
    assert len(said) < 2000
    return None


def small(experiment: TeacherStudent) -> bool:
    """Whether it runs in a moment."""
    teacher = experiment.teacher.widths()
    widths = (*teacher, *experiment.student.widths(teacher))
    batch = experiment.inputs.train if experiment.training.batch == "all" else experiment.training.batch
    counts = (
        experiment.training.steps,
        experiment.inputs.train,
        experiment.inputs.evaluate,
        batch,
        sum(widths),
        100 * len(experiment.seeds),
    )
    return all(count <= SMALL for count in counts) and experiment.training.steps * batch <= SMALL


def test_wrong_settings_are_one_sentence(attack):
    random = attack.generator(1)
    legal = sum(made(altered(random, EXTREME + WRONG)) is not None for _ in attack.rounds(1500))
    assert legal


def test_files_of_wrong_settings_are_one_sentence(attack, tmp_path):
    random, path = attack.generator(2), tmp_path / "settings.yaml"
    for _ in attack.rounds(150):
        values = altered(random, EXTREME + WRONG)
        if random.random() < 0.5:
            name = str(random.choice(NAMES))
            values[str(random.choice(["grid", "zip"]))] = {
                name: [EXTREME[i] for i in random.integers(0, len(EXTREME), 2)]
            }
        path.write_text(yaml.safe_dump(values))
        try:
            found = read_experiment(path)
        except TutelageError as refusal:
            found = str(refusal)
        assert "\n" not in found if isinstance(found, str) else found


@pytest.mark.filterwarnings("ignore")
def test_what_is_legal_runs_or_overflows_in_one_sentence(attack, tmp_path, caplog):
    """Every number that a legal experiment gives is recorded, or one error says that numbers are too large."""
    caplog.set_level(logging.CRITICAL)
    random, ran, stopped = attack.generator(3), 0, 0
    for round_ in attack.rounds(60):
        experiment = made(altered(random, EXTREME))
        if experiment is None or not small(experiment):
            continue
        try:
            execute([experiment], Store(tmp_path / str(round_)), device="cpu")
            ran += 1
        except TutelageError as refusal:
            assert "\n" not in str(refusal)  # noqa: PT017
            stopped += 1
    assert ran
