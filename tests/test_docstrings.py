"""Every public name has a numpydoc docstring that names the parameters of its signature, no more and no fewer."""

import doctest
import importlib
import inspect
import re

import pytest
from pydantic import BaseModel

import tutelage

PACKAGES = ["tutelage", *(f"tutelage.{name}" for name in tutelage._PACKAGES)]
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)


def public():
    found = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", []):
            value = getattr(module, name)
            if inspect.isfunction(value) or inspect.isclass(value):
                found.setdefault(id(value), pytest.param(value, id=f"{package}.{name}"))
    return list(found.values())


def sections(docstring):
    """Text of every section by title; the text before the first one is under ''."""
    parts = SECTION.split(docstring)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def described(section):
    """Names in a section: lines without indentation, separated by commas."""
    lines = [line for line in section.splitlines() if line and not line.startswith(" ")]
    return [name.strip().lstrip("*") for line in lines for name in line.split(" : ")[0].split(",")]


def parameters(value):
    if inspect.isclass(value) and issubclass(value, BaseModel):
        return [name for name in value.model_fields if name != "kind"]
    names = inspect.signature(value).parameters
    return [name for name in names if not name.startswith("_") and name not in ("args", "kwargs")]


@pytest.mark.parametrize("value", public())
def test_summary(value):
    first = inspect.getdoc(value).split("\n\n")[0]
    assert len(first.splitlines()) == 1, "the summary is one line"
    assert first.endswith("."), first


@pytest.mark.parametrize("value", public())
def test_parameters_are_those_of_the_signature(value):
    if inspect.isclass(value) and (issubclass(value, BaseException) or getattr(value, "_is_protocol", False)):
        pytest.skip("has no parameters of its own")
    found = sections(inspect.getdoc(value))
    wanted = parameters(value)
    given = described(found.get("Parameters", found.get("Attributes", "")))
    assert sorted(set(given) - {"kind"}) == sorted(set(wanted) - {"kind"})


@pytest.mark.parametrize("value", [p for p in public() if inspect.isfunction(p.values[0])])
def test_functions_say_what_they_return(value):
    found = sections(inspect.getdoc(value))
    returned = inspect.signature(value).return_annotation
    assert ("Returns" in found or "Yields" in found) == (returned not in (None, "None")), returned


WITHOUT_RESULT = {
    "fetch": "downloads a data set",
    "load_images": "needs a data set that is fetched",
    "reproduce": "takes seconds, and is run by the tests of pages",
    "study": "registers for the whole process",
    "for_modules": "returns a function for the measures of planted teachers",
}
"""Functions whose examples show no result, each with the reason; the list may only become shorter."""


def shows_a_result(function):
    """Whether it has an example that runs; with an output where the function returns something."""
    examples = doctest.DocTestParser().get_examples(function.__doc__)
    returns = inspect.signature(function).return_annotation not in (None, "None")
    if not returns:
        return bool(examples)
    return any(example.want for example in examples if doctest.SKIP not in example.options)


def test_every_public_function_has_an_example_with_its_result():
    functions = [p.values[0] for p in public() if inspect.isfunction(p.values[0])]
    assert len(functions) > 150
    assert {f.__name__ for f in functions if not shows_a_result(f)} == set(WITHOUT_RESULT)
