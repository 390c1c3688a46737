"""Text of records and docstrings does not become markup."""

import doctest

import pytest

pytest.importorskip("sphinx", reason="the documentation needs the extra 'docs'")

from tutelage_docs import docstrings, links, markup, stored, study_page


@pytest.mark.parametrize("module", [docstrings, links, markup, stored, study_page], ids=lambda m: m.__name__)
def test_doctests_of_the_extension(module):
    results = doctest.testmod(module)
    assert results.attempted
    assert not results.failed


def test_formulas_in_docstrings_are_escaped_and_code_is_not():
    lines = ["E |w* x|^2 with **options", ".. math:: a_* |b|", ">>> f(*x)", "Example::", "    |raw|", "and w_ again"]
    docstrings.escape(None, "function", "f", None, None, lines)
    assert lines[0] == r"E \|w\* x\|^2 with \*\*options"
    assert lines[1:5] == [".. math:: a_* |b|", ">>> f(*x)", "Example::", "    |raw|"]
    assert lines[5] == r"and w\_ again"
