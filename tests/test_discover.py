"""A file added to a package is found without naming it anywhere."""

import sys

import pytest

from tutelage.discover import import_all


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with modules that write down when they are imported, and a folder that is none."""
    folder = tmp_path / "pantry_of_tests"
    (folder / "shelf").mkdir(parents=True)
    (folder / "__init__.py").write_text("order = []\n")
    for name in ("tins", "apples", "shelf/__init__"):
        text = "from pantry_of_tests import order\norder.append(__name__)\n"
        (folder / f"{name}.py").write_text(text)
    (folder / "notes.txt").write_text("not a module")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [name for name in sys.modules if name.startswith("pantry_of_tests")]:
        del sys.modules[name]


def test_every_module_is_imported_in_the_order_of_names(package):
    import pantry_of_tests

    import_all("pantry_of_tests", pantry_of_tests.__path__)
    assert pantry_of_tests.order == [f"pantry_of_tests.{name}" for name in ("apples", "shelf", "tins")]


def test_a_second_time_imports_nothing_twice(package):
    import pantry_of_tests

    for _ in range(2):
        import_all("pantry_of_tests", pantry_of_tests.__path__)
    assert len(pantry_of_tests.order) == 3


def test_a_module_that_fails_is_not_passed_over(package):
    import pantry_of_tests

    (package / "broken.py").write_text("raise RuntimeError('broken')\n")
    with pytest.raises(RuntimeError, match="broken"):
        import_all("pantry_of_tests", pantry_of_tests.__path__)
