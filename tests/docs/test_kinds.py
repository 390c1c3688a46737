"""The page on training has an example of every kind, and every example is an experiment that can be run."""

import re
from pathlib import Path

import numpy as np
import pytest
import yaml

import tutelage as tt
from tutelage.lab import TeacherStudent
from tutelage.plugins import PLUGINS, load_plugin
from tutelage.settings import Recipe, section_of
from tutelage.training.rules import RULES

PAGE = Path(__file__).parents[2] / "docs" / "subjects" / "training.md"
WRITTEN = yaml.safe_load(re.search(r"```yaml\n(teacher:\n.*?)```", PAGE.read_text(), re.S)[1])
BASE = {
    "teacher": {"kind": "levels", "inputs": 10, "hidden": 5, "outputs": 3},
    "student": {"kind": "small-normal", "scale": 0.1},
    "inputs": {"kind": "gaussian", "train": 50, "evaluate": 20},
    "training": {"steps": 2},
    "seeds": 2,
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files and the rule that the examples name."""
    monkeypatch.chdir(tmp_path)
    tt.networks.save(tt.teachers.Levels(inputs=10, hidden=5, outputs=3).build([0]), tmp_path / "teacher.safetensors")
    draw = np.random.default_rng(0)
    np.savez(tmp_path / "points.npz", x=draw.standard_normal((70, 10)), y=draw.standard_normal((70, 3)))
    rule = next(block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S) if "@rule" in block)
    (tmp_path / "own.py").write_text(rule.partition("\n\n\nseeds")[0])
    known, before = dict(PLUGINS), RULES.pop("heavy_ball", None)  # another test may have run the page in this process
    load_plugin(tmp_path / "own.py")
    yield tmp_path
    for digest in set(PLUGINS) - set(known):
        PLUGINS.pop(digest)
    RULES.pop("heavy_ball", None)
    if before is not None:
        RULES["heavy_ball"] = before


@pytest.mark.parametrize(
    ("section", "example"),
    [pytest.param(section, example, id=f"{section} {example}") for section in WRITTEN for example in WRITTEN[section]],
)
def test_every_example_is_an_experiment_that_trains(folder, section, example):
    values = BASE | {section: example}
    if example.get("kind") == "none" or "points.npz" in example.values():
        values["teacher"] = {"kind": "none", "inputs": 10, "outputs": 3}
        values["inputs"] = {"kind": "file", "train": 50, "evaluate": 20, "path": "points.npz"}
        values["student"] = BASE["student"] | {"hidden": 5}
    result = tt.run(TeacherStudent(**values), folder / "results")
    assert result.report.steps[-1] == values["training"]["steps"]


def kinds(section, model):
    """Names of settings of a section that are of some kind, and the kinds."""
    for name, field in model.model_fields.items():
        inner, _ = section_of(field.annotation)
        if inner is not None and issubclass(inner, Recipe):
            here = section if section != "" else name
            yield (
                (here, name),
                {kind for kind, found in inner.kinds.items() if found.__module__.startswith("tutelage.")},
            )
        elif inner is not None and name == "training":
            yield from kinds(name, inner)


def test_every_kind_has_an_example():
    for (section, name), known in kinds("", TeacherStudent):
        if section == name:
            assert {example["kind"] for example in WRITTEN[section]} == known
        else:
            shown = {example[name]["kind"] for example in WRITTEN[section] if name in example}
            same = {"label_noise", "input_noise"}  # the same kinds under two names
            if name in same:
                shown = {e[n]["kind"] for e in WRITTEN[section] for n in same if n in e}
            assert shown == known, name
