import json

import pytest
from typer.testing import CliRunner

from tutelage.cli.main import app
from tutelage.data.sets import DATASETS
from tutelage.errors import TutelageError

runner = CliRunner()


def test_all_datasets_are_listed(tmp_path):
    listed = json.loads(runner.invoke(app, ["data", "list", "--data", str(tmp_path), "--json"]).stdout)
    assert {row["dataset"] for row in listed["datasets"]} == set(DATASETS)
    assert not any(row["here"] for row in listed["datasets"])
    assert "fashion-mnist" in runner.invoke(app, ["data", "list", "--data", str(tmp_path)]).stdout


def test_fetch_and_check(tmp_path):
    pytest.importorskip("sklearn")
    done = runner.invoke(app, ["data", "fetch", "digits", "--data", str(tmp_path), "--json"])
    path = tmp_path / "digits.safetensors"
    assert json.loads(done.stdout) == {"digits": str(path)}
    assert path.exists()
    assert runner.invoke(app, ["data", "check", "--data", str(tmp_path)]).stdout == "digits: whole\n"
    path.write_bytes(path.read_bytes()[:-1])
    damaged = runner.invoke(app, ["data", "check", "digits", "--data", str(tmp_path), "--json"])
    assert damaged.exit_code == 1
    assert "cannot be read" in json.loads(damaged.stdout)["digits"]


def test_nothing_to_check_and_unknown_names_are_refused(tmp_path):
    with pytest.raises(TutelageError, match="tutelage data fetch NAME"):
        runner.invoke(app, ["data", "check", "--data", str(tmp_path)], catch_exceptions=False)
    with pytest.raises(TutelageError, match="did you mean 'cifar10'"):
        runner.invoke(app, ["data", "fetch", "cifar-10"], catch_exceptions=False)
