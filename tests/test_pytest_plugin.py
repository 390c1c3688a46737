"""The plugin for pytest: its assertions pass and fail as they should, and it costs nothing where nobody asks."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytest_plugins = ("pytester",)

NETWORKS = """
import torch
from tutelage import Network

eye = torch.eye(2, dtype=torch.float64)[None]
one = Network((eye, torch.tensor([[[1.0, 0.5], [-2.0, 1.0]]], dtype=torch.float64)))
other = Network((eye, torch.tensor([[[1.0, 0.5], [-2.25, 1.0]]], dtype=torch.float64)))
turned = Network((2 * eye.flip(2), torch.tensor([[[-1.0, 0.5], [0.5, 0.25]]], dtype=torch.float64)))
"""


@pytest.fixture
def suite(pytester, monkeypatch):
    """Run a test file with the plugin in a process of its own, as it is where the package is installed."""
    source = str(Path(__file__).parents[1] / "src")
    monkeypatch.setenv("PYTHONPATH", source)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # the installed package may have it as an entry point

    def run(test):
        pytester.makepyfile(NETWORKS + test)
        return pytester.runpytest_subprocess("-p", "tutelage.pytest_plugin", "-p", "no:cacheprovider")

    return run


def test_what_holds_passes(suite):
    found = suite("""
def test_all(assert_same_function, assert_within, assert_top1, assert_valid_export):
    assert_same_function(one, turned)
    assert_within(one, other, 0.26, (-1, 1))
    assert_top1(one, other, ((0.5, -1.0), (1.0, 0.0)))
    assert_valid_export(one, turned, (-1, 1))
""")
    found.assert_outcomes(passed=1)


def test_what_does_not_hold_fails_with_all_that_helps(suite):
    found = suite("""
def test_within(assert_within):
    assert_within(one, other, 0.2, (-1, 1))


def test_same(assert_same_function):
    assert_same_function(one, other, (-1, 1))


def test_classes(assert_top1):
    assert_top1(one, turned.map(lambda w: -w), (-1, 1))


def test_export(assert_valid_export):
    assert_valid_export(one, other, (-1, 1))
""")
    found.assert_outcomes(failed=4)
    text = found.stdout.str()
    for words in (
        "not proved to stay within 0.2 on the box from -1 to 1 in 2 dimensions",
        "not proved to be the same function",
        "not proved to have the same top class",
        "not proved to stay within 0.0001 of the original",
        "worst input: ",
        "outputs of the first: ",
        "outputs of the second: ",
        "first layer that parts: 2 of 2",
        "what to do: ",
    ):
        assert words in text
    assert "in _fail" not in text  # the traceback ends at the test


def test_it_imports_nothing_until_a_test_asks():
    heavy = {"torch", "numba", "numpy"}
    code = f"import sys, tutelage.pytest_plugin, tutelage.testing; print(sorted({heavy} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


def test_the_package_names_it_for_pytest():
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    assert tomllib.loads(text)["project"]["entry-points"]["pytest11"] == {"tutelage": "tutelage.pytest_plugin"}
