"""`tutelage new`: a skeleton of a study, measure, theorem, teacher or experiment, with a test that passes."""

import json
import keyword
import re
from pathlib import Path
from typing import Annotated

import typer
from jinja2 import Environment, PackageLoader, StrictUndefined

from tutelage.cli.options import Json
from tutelage.discover import import_from_subjects
from tutelage.errors import TutelageError, unknown
from tutelage.files import write_atomically

KINDS = ("study", "measure", "theorem", "teacher", "experiment")


def new(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=f"Kind of the part: {', '.join(KINDS)}.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the part: lower-case words joined by '-'.")],
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path(),
    as_json: Json = False,
) -> None:
    """Write NAME.py, a skeleton to be used with --with NAME.py, and test_NAME.py, a test that passes.

    For example: tutelage new measure largest-error && pytest test_largest_error.py
    """
    if kind not in KINDS:
        raise unknown("kind", kind, KINDS)
    files = skeleton(kind, name)
    for path in files:
        if (out / path).exists():
            raise TutelageError(f"{out / path} exists already: choose another name, or another folder with --out")
    for path, text in files.items():
        write_atomically(out / path, text)
    written = [str(out / path) for path in files]
    print(json.dumps({"written": written}) if as_json else "\n".join(f"written: {path}" for path in written))


def skeleton(kind: str, name: str) -> dict[str, str]:
    """The files of a new part by name: the part itself, and its test."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise TutelageError(f"NAME must be lower-case words joined by '-', such as my-{kind}, got '{name}'")
    if keyword.iskeyword(name):
        raise TutelageError(f"NAME must not be a keyword of Python, got '{name}': choose another, such as my-{name}")
    module = name.replace("-", "_")
    if {name, module} & _registered(kind):
        raise TutelageError(f"there is a {kind} called '{name}' already: choose another name, such as my-{name}")
    words = {
        "name": name,
        "module": module,
        "function": module,
        "cls": "".join(word.capitalize() for word in name.split("-")),
        "title": name.replace("-", " ").capitalize(),
    }
    environment = Environment(
        loader=PackageLoader("tutelage.cli", "skeletons"), undefined=StrictUndefined, keep_trailing_newline=True
    )
    templates = {f"{module}.py": f"{kind}.py.j2", f"test_{module}.py": f"test_{kind}.py.j2"}
    return {path: environment.get_template(template).render(words) for path, template in templates.items()}


def _registered(kind: str) -> set[str]:
    """The names of all parts of a kind that the package has."""
    if kind == "measure":
        from tutelage.measures import MEASURES

        return set(MEASURES)
    if kind == "theorem":
        from tutelage.certificates.registry import theorems

        return set(theorems())
    if kind == "teacher":
        from tutelage.training.teachers import Teacher

        return set(Teacher.kinds)
    from tutelage.lab.experiment import KINDS as EXPERIMENTS
    from tutelage.studies import STUDIES

    import_from_subjects("studies")
    return set(STUDIES if kind == "study" else EXPERIMENTS)
