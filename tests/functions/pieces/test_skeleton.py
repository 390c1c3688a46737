"""Lists survive being packed anew, and arrays keep what they hold when they grow."""

import numpy as np

from tutelage.functions.pieces import _skeleton


def test_lists_are_packed_without_what_nobody_owns():
    pool = np.arange(20, dtype=np.int32)
    starts, counts = np.array([12, 3]), np.array([4, 2])
    packed, used = _skeleton.repacked(pool, starts, counts, 2, 10)
    assert packed[:used].tolist() == [12, 13, 14, 15, 3, 4]
    assert starts.tolist() == [0, 4]
    assert len(packed) >= used + 10


def test_growing_keeps_what_is_there():
    rows = np.arange(6.0).reshape(3, 2)
    assert _skeleton.rows(rows, 2, 1).shape == (3, 2)
    larger = _skeleton.rows(rows, 2, 5)
    assert len(larger) >= 7
    assert (larger[:2] == rows[:2]).all()
    assert (_skeleton.room(np.arange(4), 4, 1)[:4] == np.arange(4)).all()
