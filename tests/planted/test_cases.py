"""Cases by name."""

import pytest

from tutelage import TutelageError
from tutelage.planted.cases import CASES, SAME, UNCHANGED, in_case


def test_cases_are_nested():
    assert set(UNCHANGED) < set(SAME) < set(CASES)


def test_trained_and_untrained_are_as_they_are(scene):
    assert in_case("trained", scene.trained, scene.start, (0,)) is scene.trained
    assert in_case("untrained", scene.trained, scene.start, (0,)) is scene.start


def test_a_case_that_is_not_known():
    with pytest.raises(TutelageError, match="unknown case 'deed'; did you mean 'dead'"):
        in_case("deed", None, None, ())
