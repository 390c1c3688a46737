"""What the server sends to the page: named float32 arrays with a short header, the same bytes for the same content.

A message is ``TTF1``, the length of the header as a little-endian uint32, the header as JSON (UTF-8, keys sorted,
padded with spaces to a multiple of four bytes), and the arrays one after another as little-endian float32. The header
has the names and shapes of the arrays in their order; whatever else it holds belongs to the kind of message. On a
WebSocket every message is preceded by two uint32: the number of the course, so that the page can drop messages of a
course that it has left, and the number of the message. The page says when it has drawn a message.
"""

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from tutelage.errors import TutelageError

MAGIC = b"TTF1"
PREFIX = struct.Struct("<II")


def encode(arrays: Mapping[str, np.ndarray], **header: Any) -> bytes:
    """A message with these arrays.

    Parameters
    ----------
    arrays
        Arrays of numbers by name, any shape.
    **header
        Further entries of the header, plain data.

    Returns
    -------
    bytes

    Examples
    --------
    >>> arrays, header = decode(encode({"loss": np.array([0.5, 2.0])}, tick=3))
    >>> arrays["loss"].tolist(), header["tick"]
    ([0.5, 2.0], 3)
    """
    cast = {name: np.asarray(array, dtype="<f4", order="C") for name, array in arrays.items()}
    header = {**header, "arrays": [[name, list(array.shape)] for name, array in cast.items()]}
    text = json.dumps(header, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-len(text) % 4)
    return b"".join([MAGIC, struct.pack("<I", len(text)), text, *(array.tobytes() for array in cast.values())])


def decode(message: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays and header of a message.

    Parameters
    ----------
    message
        What :func:`encode` returned.

    Returns
    -------
    arrays, header
        Arrays float32 by name, and the rest of the header.

    Examples
    --------
    >>> from tutelage.studio import Course
    >>> arrays, about = decode(Course("folds", {"units": 4}).frame())
    >>> about["kind"], arrays["units"].shape
    ('frame', (4, 3))
    """
    if message[:4] != MAGIC:
        raise TutelageError(f"a frame starts with {MAGIC.decode()}, got {message[:4]!r}")
    (length,) = struct.unpack_from("<I", message, 4)
    header = json.loads(message[8 : 8 + length])
    arrays, begin = {}, 8 + length
    for name, shape in header.pop("arrays"):
        count = int(np.prod(shape))
        arrays[name] = np.frombuffer(message, "<f4", count, begin).reshape(shape)
        begin += 4 * count
    return arrays, header
