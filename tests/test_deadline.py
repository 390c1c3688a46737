import time

import pytest

import tutelage as tt
from tutelage import deadline
from tutelage.deadline import NEVER, Deadline, OutOfTime


def test_a_limit_counts_from_the_moment_given():
    now = time.monotonic()
    assert Deadline(5, now - 6).passed
    assert Deadline(500, now - 100).left <= 400


def test_a_limit_is_taken_as_it_is():
    limit = Deadline(5)
    assert Deadline.of(limit) is limit
    assert Deadline.of(7).seconds == 7
    assert Deadline.of(None).seconds is None


def test_check_raises_when_the_time_is_over_or_will_be():
    Deadline(100).check()
    Deadline(100).check(needed=5)
    NEVER.check(needed=1e9)
    with pytest.raises(OutOfTime):
        Deadline(0).check()
    with pytest.raises(OutOfTime):
        Deadline(3).check(needed=5)


def test_shares_and_minima():
    assert 40 < Deadline(100).share(0.5).left <= 50
    assert NEVER.share(0.5).seconds is None
    assert Deadline(0).share(0.5).passed
    assert 4 < Deadline(0).at_least(5).left <= 5
    assert Deadline(100).at_least(5).left > 90


def test_a_command_counts_from_where_it_began(monkeypatch):
    monkeypatch.setattr(deadline, "_began", [])
    assert Deadline.of_command(3).left > 2.5
    monkeypatch.setattr(deadline, "_began", [time.monotonic() - 10])
    assert Deadline.of_command(3).passed
    assert Deadline.of_command(None).left == float("inf")
    with pytest.raises(tt.TutelageError, match="seconds must be at least 0, got -1"):
        Deadline.of_command(-1)
