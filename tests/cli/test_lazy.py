"""Help costs a fraction of a second: it imports nothing that computes. What it shows is what the library does."""

import inspect
import subprocess
import sys

import pytest

from tutelage.cli import commands, connect, experiments, store
from tutelage.cli.main import COMMANDS
from tutelage.functions.matching import paths
from tutelage.lab import grid, query

HEAVY = ("torch", "numpy", "numba", "scipy", "matplotlib", "pyarrow", "duckdb")
APPS = {"store": ("list", "check", "gc"), "experiment": ("explain", "list", "diff"), "data": ("list", "fetch")}
HELPED = [(name, *sub) for name in COMMANDS for sub in [(), *((s,) for s in APPS.get(name, ()))]]


def test_help_imports_nothing_that_computes():
    code = f"""
import sys
from tutelage.cli import main
for words in {HELPED!r}:
    sys.argv = ["tutelage", *words, "--help"]
    try:
        main()
    except SystemExit as end:
        assert not end.code, words
    assert not (imported := [name for name in {HEAVY!r} if name in sys.modules]), (words, imported)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("function", "option", "value"),
    [
        (connect.connect, "bend_steps", paths.STEPS),
        (store.query, "seconds", query.SECONDS),
        (store.query, "memory", query.MEMORY),
        (experiments.explain, "limit", grid.LIMIT),
        (experiments.list_results, "limit", grid.LIMIT),
        (commands.run, "limit", grid.LIMIT),
    ],
)
def test_defaults_that_help_shows_are_those_of_the_library(function, option, value):
    assert inspect.signature(function).parameters[option].default == value
