"""Every example runs, and the example of the README is the one that is tested."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tutelage.lab.grid import read_experiment

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_an_example_runs_and_says_something(path, capsys):
    runpy.run_path(str(path), run_name="__main__")
    assert len(capsys.readouterr().out.splitlines()) >= 2


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda p: p.stem)
def test_an_experiment_in_the_examples_is_valid(path):
    assert all(len(experiment.hash) == 16 for experiment in read_experiment(path))


def test_the_readmes_example_runs_as_printed(tmp_path):
    """The first Python block of the README, in a process of its own, with the output the README prints below it."""
    text = (ROOT / "README.md").read_text()
    code, printed = re.search(r"```python\n(.*?)```\n+```text\n(.*?)```", text, re.DOTALL).groups()
    assert len(code.strip().splitlines()) <= 10
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed
