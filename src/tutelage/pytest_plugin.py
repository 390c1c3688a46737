"""A plugin for pytest: the assertions of :mod:`tutelage.testing` as fixtures.

pytest loads it in every test suite of an environment that has tutelage, so that it imports nothing of the library
until a test asks for a fixture.
"""

import importlib
from collections.abc import Callable
from typing import Any

import pytest


def _assertion(name: str) -> Callable[..., Any]:
    @pytest.fixture(name=name, scope="session")
    def given() -> Callable[..., None]:
        return getattr(importlib.import_module("tutelage.testing"), name)

    given.__doc__ = f"The function of this name of tutelage.testing: {name}."
    return given


assert_same_function = _assertion("assert_same_function")
assert_within = _assertion("assert_within")
assert_top1 = _assertion("assert_top1")
assert_valid_export = _assertion("assert_valid_export")
