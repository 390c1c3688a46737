"""Adding a file with a teacher, a distribution or a student to its package is enough."""

import inspect
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import tutelage as tt
from tutelage import TutelageError
from tutelage.settings import Recipe
from tutelage.training import inputs, students, teachers

PACKAGES = {"teachers": (teachers, "Teacher"), "inputs": (inputs, "Distribution"), "students": (students, "Student")}


@pytest.mark.parametrize("name", PACKAGES)
def test_every_module_is_imported_and_every_concrete_recipe_registered(name: str) -> None:
    package, base = PACKAGES[name]
    family = getattr(package, base)
    found = set()
    for path in Path(package.__file__).parent.glob("*.py"):
        if not path.stem.startswith("_"):  # compiled loops, which hold no recipes, are imported when they are needed
            module = sys.modules[f"{package.__name__}.{path.stem}"]
            found |= {c for c in vars(module).values() if inspect.isclass(c) and issubclass(c, family)}
    concrete = {c for c in found if not inspect.isabstract(c)}
    assert concrete
    assert concrete <= set(family.kinds.values())


@pytest.mark.parametrize("name", PACKAGES)
def test_a_new_file_registers_itself(name: str, tmp_path: Path) -> None:
    package, base = PACKAGES[name]
    copy = shutil.copytree(Path(tt.__file__).parent, tmp_path / "tutelage", ignore=shutil.ignore_patterns("__py*"))
    (copy / "training" / name / "zz_added.py").write_text(
        f"from typing import Literal\nfrom {package.__name__} import {base}\n"
        f'class Added({base}):\n    kind: Literal["added"] = "added"\n'
    )
    ask = f"from {package.__name__} import {base}; print('added' in {base}.kinds)"
    done = subprocess.run([sys.executable, "-c", ask], cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)},
                          capture_output=True, text=True, timeout=60)  # fmt: skip
    assert done.stdout.strip() == "True", done.stderr


def test_families_are_all_recipes() -> None:
    assert {getattr(package, base) for package, base in PACKAGES.values()} <= set(Recipe.__subclasses__())


@pytest.mark.parametrize("seeds", [5, [0.5], [2**64], "a"])
def test_what_is_no_list_of_seeds_is_one_sentence(seeds):
    recipe = tt.teachers.Levels(inputs=4, hidden=2, outputs=1)
    teacher = recipe.build([0])
    students, inputs = tt.students.SmallNormal(), tt.inputs.Gaussian(train=2, evaluate=2)
    for make in (recipe.build, partial(students.build, teacher), partial(inputs.draw, teacher)):
        with pytest.raises(TutelageError, match="seed"):
            make(seeds)
