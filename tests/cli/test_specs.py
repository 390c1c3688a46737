"""`tutelage spec`: what it prints, for people and for machines."""

import json
import sys
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from tutelage import Refusal, plugins
from tutelage.cli.specs import app

EXAMPLES = Path(__file__).parents[2] / "examples"
GRID, OWN = EXAMPLES / "grid_experiment.yaml", EXAMPLES / "own_experiment.yaml"


def spec(*words):
    """What a command prints; a refusal is raised, as `main` meets it."""
    done = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})
    if isinstance(done.exception, Refusal):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def own_teacher(tmp_path):
    """A spec that needs the plugin of the examples, which is gone afterwards."""
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
    many, one = spec("schema"), spec("schema", "--json")
    assert json.loads(many) == json.loads(one)
    assert one.count("\n") == 1
    assert "grid" in json.loads(one)["properties"]


def test_explain_speaks_in_paragraphs():
    text = spec("explain", OWN)
    assert text.startswith("Teacher: levels")
    assert "Hash f3c9ccdc61241cf4" in text
    assert spec("explain", GRID).startswith("12 packs, 48 students, 96,000 student-steps.")


def test_explain_for_machines():
    data = json.loads(spec("explain", GRID, "--json"))
    assert (data["packs"], data["students"], data["student_steps"]) == (12, 48, 96_000)
    assert data["varied"]["student.multiple"] == [1, 2, 5]
    assert data["first"]["settings"]["teacher"]["kind"] == "levels"
    assert len(data["first"]["hash"]) == 16


def test_list_has_a_row_a_pack():
    rows = json.loads(spec("list", GRID, "--json"))
    assert len({row["hash"] for row in rows}) == 12
    assert rows[1]["settings"] == {
        "teacher.polarity": 0, "student.multiple": 1, "training.batch": 64, "training.learning_rate": 0.04
    }  # fmt: skip
    assert sum(row["students"] for row in rows) == 48
    shown = spec("list", GRID)
    assert all(row["hash"] in shown for row in rows)
    assert "multiple" in shown


def test_diff_of_two_specs_names_settings(tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text(OWN.read_text().replace("steps: 6000", "steps: 7000"))
    assert spec("diff", OWN, other).splitlines()[0] == "training.steps: 6000 -> 7000"
    assert "the hash differs" in spec("diff", OWN, other)
    data = json.loads(spec("diff", OWN, other, "--json"))
    assert data["settings"] == [{"setting": "training.steps", "old": 6000, "new": 7000}]
    assert json.loads(spec("diff", OWN, OWN, "--json"))["same_hash"] is True


def test_diff_of_two_experiments_names_packs(tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text(GRID.read_text().replace("[1, 2, 5]", "[2, 5, 7]"))
    data = json.loads(spec("diff", GRID, other, "--json"))
    assert {name: len(packs) for name, packs in data.items()} == {"only_in_a": 4, "only_in_b": 4, "in_both": 8}
    assert "8 packs in both: " in spec("diff", GRID, other)


def test_the_limit_is_an_option():
    with pytest.raises(Refusal, match="more than the limit of 3 packs"):
        spec("list", GRID, "--limit", 3)


def test_with_loads_a_plugin(own_teacher):
    with pytest.raises(Refusal, match=r"mine\.yaml: 'teacher': there is no kind of teacher 'orthogonal'"):
        spec("explain", own_teacher)
    text = spec("explain", own_teacher, "--with", EXAMPLES / "own_measure.py")
    assert text.startswith("Teacher: orthogonal (Two-layer teachers whose hidden units have orthogonal weights")
    assert "It needs own_measure.py (digest " in text
    kinds = json.loads(spec("schema", "--with", EXAMPLES / "own_measure.py", "--json"))["$defs"]["teacher"]["oneOf"]
    assert "orthogonal" in [kind["properties"]["kind"]["const"] for kind in kinds]


def test_a_missing_file_is_one_sentence():
    with pytest.raises(Refusal, match=r"nowhere\.yaml cannot be read"):
        spec("explain", "nowhere.yaml")
    with pytest.raises(Refusal, match=r"nowhere\.py cannot be read"):
        spec("list", GRID, "--with", "nowhere.py")
