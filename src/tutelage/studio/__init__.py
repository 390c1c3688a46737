"""The live page: ``tutelage studio`` serves a page on which one sets up a teacher and students and watches them learn.

A scene (:mod:`.scenes`) is settings, a start, a step and a frame, all pure functions; a :class:`Course` follows one
along its timeline, forwards and backwards; :func:`serve` gives every connection of a browser a course of its own. Needs
the extra ``studio``.
"""

from tutelage.studio.course import Course
from tutelage.studio.frames import decode, encode

__all__ = ["Course", "decode", "encode", "serve"]


def __getattr__(name: str):
    if name == "serve":  # the server needs the extra, courses do not
        from tutelage.studio.server import serve

        return serve
    raise AttributeError(f"module 'tutelage.studio' has no attribute '{name}'")
