"""CONTRIBUTING keeps its word: what it names exists, and what it promises is tried."""

import ast
import importlib
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from tutelage.cli.new import skeleton
from tutelage.studies import study

ROOT = Path(__file__).parents[1]
FOLDERS = (ROOT / "docs", ROOT / "docs/tutorials", ROOT / "docs/subjects")
GENERATED = ("gallery/", "api/", "auto_examples/")
"""Pages that the build of the documentation writes; tests/docs walks the links between them."""
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    *(str(page.relative_to(ROOT)) for folder in FOLDERS for page in sorted(folder.glob("*.md"))),
)


@pytest.mark.parametrize("page", PAGES)
def test_links_to_files_lead_somewhere(page):
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        generated = any(target.removeprefix("../").startswith(folder) for folder in GENERATED)
        if "://" not in target and not target.startswith("mailto:") and not generated:
            assert ((ROOT / page).parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES)
def test_paths_and_modules_that_are_named_exist(page):
    text = (ROOT / page).read_text()
    for path in re.findall(r"`((?:src|tests|docs|examples|benchmarks)/[\w/.-]+\.\w+)`", text):
        if not any(part in path for part in ("my_", "SUBJECT")):
            assert (ROOT / path).exists(), path
    for dotted in re.findall(r"`tutelage\.([a-z_]+(?:\.[a-z_]+)*)", text):
        place = ROOT / "src" / "tutelage" / dotted.split(".")[0]
        named = place.is_dir() or place.with_suffix(".py").is_file()
        public = f'"{dotted.split(".")[0]}"' in (ROOT / "src/tutelage/__init__.py").read_text()
        assert named or public, dotted


# Where CONTRIBUTING says that each part goes, and how one sees that it was found.
PLACES = {
    "study": "specialisation/studies",
    "measure": "measures",
    "teacher": "training/teachers",
    "theorem": "specialisation/certificates",
    "experiment": "specialisation/studies",
}
RECIPES = {
    "training/inputs/ones.py": """
from typing import Literal

import torch

from tutelage.training.inputs.inputs import Distribution


class Ones(Distribution):
    \"\"\"Every coordinate is 1.\"\"\"

    kind: Literal["ones"] = "ones"

    def points(self, key, count, dimension, dtype):
        return torch.ones(len(key), count, dimension, dtype=dtype)
""",
    "training/students/zeros.py": """
from typing import Literal

from tutelage.training.students.student import Student


class Zeros(Student):
    \"\"\"Every weight is 0.\"\"\"

    kind: Literal["zeros"] = "zeros"

    def entries(self, key, count, fan_in, dtype):
        return key.new_zeros(len(key), count, dtype=dtype)
""",
    "training/halved.py": """
from typing import Literal

from tutelage.training.engine import Engine, engine
from tutelage.training.schedules import Schedule


class Halved(Schedule):
    \"\"\"Half the learning rate.\"\"\"

    kind: Literal["halved"] = "halved"

    def factors(self, steps, total):
        return steps * 0 + 0.5


@engine
class Idle(Engine):
    \"\"\"Trains nothing.\"\"\"

    name = "idle"
    speed = -1.0
    supports = "nothing"

    @classmethod
    def missing(cls):
        return "it is a test"
""",
}
FOUND = """
import json
from tutelage.lab.experiment import Experiment
from tutelage.certificates import theorems
from tutelage.measures import MEASURES
from tutelage.studies import STUDIES
from tutelage.training import ENGINES
from tutelage.training.inputs import Distribution
from tutelage.training.schedules import Schedule
from tutelage.training.students import Student
from tutelage.training.teachers import Teacher
print(json.dumps({
    "study": "a-study" in STUDIES, "measure": "a_measure" in MEASURES, "teacher": "a-teacher" in Teacher.kinds,
    "theorem": "a-theorem" in theorems(), "experiment": "an-experiment" in Experiment.kinds,
    "distribution": "ones" in Distribution.kinds, "student": "zeros" in Student.kinds,
    "schedule": "halved" in Schedule.kinds, "engine": "idle" in ENGINES,
}))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The package with one new file of every kind, and no other change."""
    root = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "src", root / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for kind, place in PLACES.items():
        name = f"{'an' if kind == 'experiment' else 'a'}-{kind}"
        files = skeleton(kind, name)
        module = next(iter(files))
        (root / "src/tutelage" / place / module).write_text(files[module])
    for place, text in RECIPES.items():
        (root / "src/tutelage" / place).write_text(text)
    return root


def run_in(copy, *words):
    environment = os.environ | {"PYTHONPATH": str(copy / "src")}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, timeout=300)


def test_one_new_file_is_found_and_registered_by_itself(copy):
    done = run_in(copy, "-c", FOUND)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == dict.fromkeys(
        ("study", "measure", "teacher", "theorem", "experiment", "distribution", "student", "schedule", "engine"), True
    )


def test_a_measure_of_another_shape_than_its_axis_is_found_at_once(copy):
    """CONTRIBUTING: tests/measures/test_registry.py checks its axis."""
    shutil.copytree(ROOT / "tests" / "measures", copy / "tests" / "measures", dirs_exist_ok=True)
    shutil.copy(ROOT / "tests" / "conftest.py", copy / "tests" / "conftest.py")
    words = (
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--import-mode=importlib",
        "tests/measures/test_registry.py",
        "-k",
        "a_measure",
    )
    assert run_in(copy, *words).returncode == 0  # it would be 5 if no test were about it
    measure = copy / "src/tutelage/measures/a_measure.py"
    text = measure.read_text()
    try:
        measure.write_text(text.replace('@measure_of("member")', '@measure_of("unit")'))
        done = run_in(copy, *words)
        assert done.returncode == 1
        assert "a_measure" in done.stdout
    finally:
        measure.write_text(text)


def test_the_base_classes_and_decorators_that_are_named_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    for names, module in (
        (("Teacher",), "tutelage.training.teachers"),
        (("Distribution",), "tutelage.training.inputs"),
        (("Student",), "tutelage.training.students"),
        (("Schedule", "Engine", "engine"), "tutelage.training"),
        (("Experiment", "Shared"), "tutelage.lab"),
        (("Plan", "Claim", "Check", "study"), "tutelage.studies"),
        (("Snapshot", "measure_of"), "tutelage.measures"),
        (("Finding",), "tutelage.certificates"),
        (("PerMember",), "tutelage.settings"),
    ):
        for name in names:
            assert re.search(rf"`@?{name}\b", text), name
            assert hasattr(importlib.import_module(module), name), f"{module}.{name}"
    keywords = re.search(r"`@study\((.*?)\)`", text)[1]
    wanted = set(inspect.signature(study).parameters)
    assert {word.partition("=")[0].strip() for word in keywords.split(",")} == wanted


def functions():
    """Every function of the package: file, name, lines of its body without the docstring."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
                yield path.relative_to(ROOT), node.name, node.end_lineno - first.lineno + 1


def test_functions_fit_on_a_screen():
    """Factories of compiled loops hold several functions and are longer; their inner functions count by themselves."""
    long = [(str(path), name, lines) for path, name, lines in functions() if lines > 60]
    assert all(path.endswith("_loops.py") for path, _, _ in long), long


def test_tests_mirror_the_source():
    apart = {"attack", "docs"}  # suites on the whole
    for path in (ROOT / "tests").rglob("test_*.py"):
        folder = path.parent.relative_to(ROOT / "tests")
        assert (folder.parts[:1] and folder.parts[0] in apart) or (ROOT / "src/tutelage" / folder).is_dir(), path


CLOCK = re.compile(r"perf_counter|monotonic\(\)|time\.time\(\)")


def test_no_test_asserts_a_time():
    """A clock may end a test that hangs, but no assertion compares what it says with a number of seconds."""
    for path in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Assert):
                assert not CLOCK.search(ast.unparse(node.test)), f"{path}:{node.lineno}"


def targets():
    """Targets of the Makefile with their prerequisites and their comment."""
    rows = re.findall(r"^([a-z]+):([^#\n]*)(?:## (.*))?$", (ROOT / "Makefile").read_text(), re.M)
    return {name: (needs.split(), comment) for name, needs, comment in rows}


def test_make_help_lists_every_target():
    done = subprocess.run(
        ["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    listed = dict(line.removeprefix("make ").split(maxsplit=1) for line in done.stdout.splitlines())
    assert listed == {name: comment for name, (_, comment) in targets().items()}
    assert all(listed.values())
    named = set(re.findall(r"`make ([a-z]+)`", (ROOT / "CONTRIBUTING.md").read_text()))
    assert named <= set(listed)


def test_the_checks_before_a_commit_are_those_of_make_test():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    *checks, suite = targets()["test"][0]
    assert suite == "suite"
    assert [repo["repo"] for repo in config["repos"]] == ["local"]
    hooks = config["repos"][0]["hooks"]
    assert [hook["entry"] for hook in hooks] == [f"make {name}" for name in checks]
    assert all(hook["language"] == "system" for hook in hooks)


def test_the_hosted_checks_run_the_same_two_commands_on_every_python():
    workflow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())
    job = workflow["jobs"]["test"]
    commands = [step["run"] for step in job["steps"] if "run" in step]
    assert commands == ["make test PYTHON=python", "make demo PYTHON=python"]
    versions = job["strategy"]["matrix"]["python"]
    assert versions == ["3.11", "3.12", "3.13"]
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert wanted == f">={versions[0]}"


def test_every_pinned_version_but_torch_has_hashes():
    pins = re.findall(r"^([\w.-]+==\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    hashed = re.findall(
        r"^([\w.-]+==\S+) \\\n    --hash=sha256:[0-9a-f]{64}", (ROOT / "hashes.txt").read_text(), re.MULTILINE
    )
    assert hashed == [pin for pin in pins if not pin.startswith("torch==")]
    assert len(hashed) > 100


def test_actions_are_pinned_by_commit_and_may_only_read():
    for file in (ROOT / ".github/workflows").iterdir():
        workflow = yaml.safe_load(file.read_text())
        assert workflow["permissions"] == {"contents": "read"}
        used = [step["uses"] for job in workflow["jobs"].values() for step in job["steps"] if "uses" in step]
        assert used
        assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action) for action in used)


def test_lower_bounds_admit_the_pinned_versions():
    from packaging.requirements import Requirement

    pins = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text().lower(), re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(r for extra in project["optional-dependencies"].values() for r in extra)]
    known = [r for r in map(Requirement, wanted) if r.name.lower() in pins]
    assert len(known) > 30
    assert [str(r) for r in known if pins[r.name.lower()] not in r.specifier] == []


def test_the_licence_of_what_is_vendored_lies_beside_it():
    static = ROOT / "src/tutelage/studio/static"
    foreign = {file.stem for file in static.glob("*.js") if file.read_text().startswith("/*! http")}
    assert foreign == {"uplot"}
    for name in foreign:
        text = (static / f"{name}.LICENSE.txt").read_text()
        assert "Permission is hereby granted" in text
