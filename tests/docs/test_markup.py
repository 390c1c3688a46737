"""Text of records and docstrings does not become markup."""

import doctest
import re

import pytest

pytest.importorskip("sphinx", reason="the documentation needs the extra 'docs'")

from tutelage_docs import docstrings, links, markup, mathml, study_page


@pytest.mark.parametrize("module", [docstrings, links, markup, study_page], ids=lambda m: m.__name__)
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


def test_names_of_functions_stand_apart_in_formulas():
    def words(formula):
        text = mathml.mathml(formula).replace("&ApplyFunction;", "").replace(mathml._SPACE, "_")
        return "".join(re.sub(r"<[^>]*>", "", text).split())

    assert words(r"y \cot y") == "y_cot_y"
    assert words(r"\pi \sin^2 x \sin g") == "π_sin2_x_sin_g"
    assert words(r"\sin(z + g)") == "sin(z+g)"
    assert words(r"f(x) + n") == "f(x)+n"
