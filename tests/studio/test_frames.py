"""Frames keep what they hold, and equal content is equal bytes."""

import numpy as np
import pytest

from tutelage import TutelageError
from tutelage.studio.frames import decode, encode


def test_arrays_and_header_come_back():
    arrays = {"a": np.arange(6.0).reshape(2, 3), "empty": np.zeros((0, 4)), "one": np.array(np.nan)}
    found, header = decode(encode(arrays, kind="frame", words={"note": "é"}))
    assert header == {"kind": "frame", "words": {"note": "é"}}
    assert {name: array.shape for name, array in found.items()} == {"a": (2, 3), "empty": (0, 4), "one": ()}
    np.testing.assert_array_equal(found["a"], arrays["a"])
    assert np.isnan(found["one"])


def test_the_same_content_is_the_same_bytes():
    assert encode({"a": np.ones(3)}, b=1, a=2) == encode({"a": np.ones(3, np.float32)}, a=2, b=1)


def test_other_bytes_are_an_error():
    with pytest.raises(TutelageError, match="starts with TTF1"):
        decode(b"GIF89a")
