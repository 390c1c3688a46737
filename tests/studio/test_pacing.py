"""Courses take turns, and frames are made beside them, of the newest moment, when the page is ready."""

import threading
import time

import pytest

from tutelage.studio.pacing import FrameMaker, Pace, Turns


def test_turns_come_in_the_order_of_asking():
    turns, order, threads = Turns(), [], []

    def work(i):
        with turns.turn():
            order.append(i)

    with turns.turn():
        for i in range(5):
            threads.append(threading.Thread(target=work, args=(i,)))
            threads[-1].start()
            while turns.asked <= i:
                time.sleep(0.001)
        assert order == []
    for thread in threads:
        thread.join(20)
    assert order == list(range(5))
    assert turns.asked == 0


def test_a_turn_that_fails_is_given_on():
    turns = Turns()
    with pytest.raises(ZeroDivisionError), turns.turn():
        _ = 1 / 0
    with turns.turn():
        assert turns.asked == 0


def test_the_pace_is_that_of_the_ticks_before():
    pace = Pace()
    assert pace.ticks(1.0) == 1
    pace.took(10, 0.1)
    assert pace.ticks(0.5) == 50
    for _ in range(30):
        pace.took(10, 1.0)
    assert pace.ticks(1.0) == 10
    assert pace.ticks(0.001) == 1


@pytest.fixture
def maker():
    """A maker whose frames go into a list, once it may."""
    made, open_, failing = [], threading.Event(), []

    def make(moment):
        if failing:
            raise failing.pop()
        made.append(moment)

    maker = FrameMaker(make, open_.is_set)
    maker.made, maker.open, maker.failing = made, open_, failing
    maker.start()
    yield maker
    maker.close()
    maker.join(20)
    assert not maker._thread.is_alive()


def _until(condition):
    for _ in range(10_000):
        if condition():
            return
        time.sleep(0.002)
    pytest.fail("nothing happened")


def test_frames_that_the_page_cannot_take_are_dropped_and_the_newest_is_made(maker):
    maker.show("first")
    _until(lambda: maker.dropped >= 2)
    maker.show("second")
    maker.open.set()
    maker.wake()
    _until(lambda: maker.made)
    assert maker.made == ["second"]


def test_no_frame_is_made_after_rest(maker):
    maker.show("first")
    maker.rest()
    maker.open.set()
    maker.wake()
    maker.show("second")
    _until(lambda: maker.made)
    maker.rest()
    assert maker.made == ["second"]


def test_an_error_comes_back_to_the_course(maker):
    maker.open.set()
    maker.failing.append(ValueError("no frame"))
    maker.show("first")
    _until(lambda: maker._failed)
    with pytest.raises(ValueError, match="no frame"):
        maker.show("second")
    maker.show("third")
    _until(lambda: maker.made)
    assert maker.made == ["third"]
