"""A method that raises, hangs, ends its process or returns what cannot be sent is one sentence."""

import os
import time

import pytest

from tutelage import TutelageError
from tutelage.planted.guard import guarded


def test_what_it_returns_comes_back():
    assert guarded("mine", lambda: {"a": [1, 2]}, 30) == {"a": [1, 2]}


@pytest.mark.parametrize(
    ("work", "seconds", "sentence"),
    [
        (lambda: 1 / 0, 30, r"the method 'mine' fails at line \d+ \(ZeroDivisionError: division by zero\): fix it"),
        (lambda: time.sleep(60), 0.2, "took longer than 0.2 seconds: make it faster or give --seconds"),
        (lambda: os._exit(3), 30, r"ended its process \(exit code 3\)"),
        (lambda: lambda: None, 30, "the method 'mine' fails"),
    ],
)
def test_what_goes_wrong_is_one_sentence(work, seconds, sentence):
    with pytest.raises(TutelageError, match=sentence) as met:
        guarded("mine", work, seconds)
    assert "\n" not in str(met.value)


def test_nothing_it_changes_stays():
    kept = []
    guarded("mine", lambda: kept.append(1), 30)
    assert not kept
