"""The live page: ``tutelage studio`` serves a page on which one sets up a teacher and students and watches them learn.

A scene (:mod:`.scenes`) is settings, a start, a step and a frame, all pure functions; a :class:`Course` follows one
along its timeline, forwards and backwards; :func:`serve` gives every connection of a browser a course of its own, and
:func:`show` puts the page into a notebook. Needs the extra ``studio``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tutelage.studio.course import Course
    from tutelage.studio.frames import decode, encode
    from tutelage.studio.notebook import show
    from tutelage.studio.server import serve

__all__ = ["Course", "decode", "encode", "serve", "show"]

_HOMES = {"Course": "course", "decode": "frames", "encode": "frames", "serve": "server", "show": "notebook"}


def __getattr__(name: str) -> Any:
    """Import when asked: the server listens before torch is there, and courses do not need the extra."""
    if name in _HOMES:
        return getattr(import_module(f"tutelage.studio.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'tutelage.studio' has no attribute '{name}'")
