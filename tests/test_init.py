"""What ``import tutelage as tt`` offers: nouns, verbs and packages, nothing else."""

import inspect
import subprocess
import sys
from importlib.resources import files

import pytest

import tutelage as tt

VERBS = {"barrier", "canonical", "certify", "connect", "distil", "identify", "match", "measure", "prune", "reproduce",
         "same_function", "train", "run", "grid", "query", "results"}  # fmt: skip
HEAVY = ("torch", "numba", "matplotlib", "numpy", "scipy", "pyarrow", "duckdb")


def test_verbs_are_functions_and_the_rest_are_nouns_or_packages():
    found = {name: getattr(tt, name) for name in tt.__all__}
    assert {name for name, thing in found.items() if inspect.isfunction(thing)} == VERBS
    assert all(inspect.isclass(t) or inspect.ismodule(t) for name, t in found.items() if name not in VERBS)


@pytest.mark.parametrize(
    "code",
    [
        "import tutelage",
        "import sys; sys.argv = ['tutelage', '--help']; from tutelage.cli.main import app; app(standalone_mode=False)",
    ],
    ids=["import", "help"],
)
def test_importing_and_asking_for_help_load_nothing_heavy(code):
    ask = f"{code}\nimport sys; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip().splitlines()[-1] == "[]", done.stderr


def test_names_that_do_not_exist_are_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = tt.nonsense
    assert "Network" in dir(tt)


def test_types_are_for_users_too():
    assert files(tt).joinpath("py.typed").is_file()
