"""`tutelage experiment`: what it prints, for people and for machines."""

import json
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from tutelage import TutelageError, plugins
from tutelage.cli.experiments import app

EXAMPLES = Path(__file__).parents[2] / "examples"
GRID, OWN = EXAMPLES / "grid_experiment.yaml", EXAMPLES / "own_experiment.yaml"


def experiment(*words):
    """What a command prints; a refusal is raised, as `main` meets it."""
    done = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})
    if isinstance(done.exception, TutelageError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def own_teacher(tmp_path):
    """An experiment that needs the plugin of the examples, which is gone afterwards."""
    before = plugins._registered()
    own = {word: {n: t for n, t in known.items() if plugins._of_the_package(t)} for word, known in before.items()}
    plugins._restore(own)
    path = tmp_path / "mine.yaml"
    values = yaml.safe_load(OWN.read_text())
    values["teacher"] = {"kind": "orthogonal", "inputs": 8, "hidden": 3, "outputs": 2}
    path.write_text(yaml.safe_dump(values))
    yield path
    for digest in plugins.PLUGINS:
        sys.modules.pop(f"_tutelage_plugin_{digest}", None)
    plugins.PLUGINS.clear()
    plugins._ORIGINS.clear()
    plugins._restore(before)


def test_schema_prints_json_on_many_lines_or_one():
    many, one = experiment("schema"), experiment("schema", "--json")
    assert json.loads(many) == json.loads(one)
    assert one.count("\n") == 1
    assert "grid" in json.loads(one)["properties"]


def test_explain_speaks_in_paragraphs():
    text = experiment("explain", OWN)
    assert text.startswith("Teacher: levels")
    assert "Hash 65a71ec576eb1ea7" in text
    assert experiment("explain", GRID).startswith("12 experiments, 48 students, 96,000 student-steps.")


def test_explain_for_machines():
    data = json.loads(experiment("explain", GRID, "--json"))
    assert (data["experiments"], data["students"], data["student_steps"]) == (12, 48, 96_000)
    assert data["varied"]["student.width_factor"] == [1, 2, 5]
    assert data["first"]["settings"]["teacher"]["kind"] == "levels"
    assert len(data["first"]["hash"]) == 16


def test_list_has_a_row_an_experiment():
    rows = json.loads(experiment("list", GRID, "--json"))
    assert len({row["hash"] for row in rows}) == 12
    assert rows[1]["settings"] == {
        "teacher.polarity": 0, "student.width_factor": 1, "training.batch": 64, "training.learning_rate": 0.04
    }  # fmt: skip
    assert sum(row["students"] for row in rows) == 48
    shown = experiment("list", GRID)
    assert all(row["hash"] in shown for row in rows)
    assert "width_factor" in shown


def test_diff_of_two_experiments_names_settings(tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text(OWN.read_text().replace("steps: 6000", "steps: 7000"))
    assert experiment("diff", OWN, other).splitlines()[0] == "training.steps: 6000 -> 7000"
    assert "the hash differs" in experiment("diff", OWN, other)
    data = json.loads(experiment("diff", OWN, other, "--json"))
    assert data["settings"] == [{"setting": "training.steps", "old": 6000, "new": 7000}]
    assert json.loads(experiment("diff", OWN, OWN, "--json"))["same_hash"] is True


def test_diff_of_two_experiments_names_results(tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text(GRID.read_text().replace("[1, 2, 5]", "[2, 5, 7]"))
    data = json.loads(experiment("diff", GRID, other, "--json"))
    assert {name: len(results) for name, results in data.items()} == {"only_in_a": 4, "only_in_b": 4, "in_both": 8}
    assert "8 experiments in both: " in experiment("diff", GRID, other)


def test_the_limit_is_an_option():
    with pytest.raises(TutelageError, match="more than the limit of 3 experiments"):
        experiment("list", GRID, "--limit", 3)


def test_with_loads_a_plugin(own_teacher):
    with pytest.raises(TutelageError, match=r"mine\.yaml: 'teacher': unknown kind of teacher 'orthogonal'"):
        experiment("explain", own_teacher)
    text = experiment("explain", own_teacher, "--with", EXAMPLES / "own_measure.py")
    assert text.startswith("Teacher: orthogonal (Two-layer teachers whose hidden units have orthogonal weights")
    assert "It needs own_measure.py (digest " in text
    kinds = json.loads(experiment("schema", "--with", EXAMPLES / "own_measure.py", "--json"))["$defs"]["teacher"][
        "oneOf"
    ]
    assert "orthogonal" in [kind["properties"]["kind"]["const"] for kind in kinds]


def test_a_missing_file_is_one_sentence():
    with pytest.raises(TutelageError, match=r"nowhere\.yaml cannot be read"):
        experiment("explain", "nowhere.yaml")
    with pytest.raises(TutelageError, match=r"nowhere\.py cannot be read"):
        experiment("list", GRID, "--with", "nowhere.py")
