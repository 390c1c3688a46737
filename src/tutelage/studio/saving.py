"""Files to take away: settings as YAML for ``tutelage run``, a Python snippet, a replay as one HTML page.

A file is made from the state that a link holds, not from what a connection happens to have computed: the same link
gives the same file.
"""

import base64
import gzip
import html
import json
import pprint
import re
import time
from pathlib import Path
from typing import Any

from tutelage import __version__
from tutelage.errors import TutelageError, unknown
from tutelage.studio.checking import rows, table, whole
from tutelage.studio.course import Course
from tutelage.studio.describe import described

STATIC = Path(__file__).parent / "static"
FORMS = ("yaml", "python", "replay")
_REPLAY = 48 << 20  # bytes of the frames of a replay before they are compressed
_SECONDS = 120.0  # for computing the frames of a replay: what takes longer is better watched live
_IMPORT = re.compile(r"""(from|import)\s*(["'])\./([\w-]+\.js)\2""")


def saved(asked: dict[str, Any]) -> tuple[bytes, str, str]:
    """A file from the state of a link.

    Parameters
    ----------
    asked
        The state: scene, settings, events, tick, look; and ``form``, one of ``FORMS``.

    Returns
    -------
    content, name, type
        Bytes of the file, a name for it and its media type.
    """
    form = asked.get("form")
    if form not in FORMS:
        raise unknown("form", form, FORMS)
    settings, events, look = table(asked.get("settings")), rows(asked.get("events")), table(asked.get("look"))
    course = Course(str(asked.get("scene")), settings, events, look)
    name = f"{course.scene.name}"
    if form == "yaml":
        return course.scene.saved(course.given, course.events, "yaml").encode(), f"{name}.yaml", "application/yaml"
    tick = whole(asked.get("tick") or 0)
    if form == "python":
        return snippet(course, tick).encode(), f"{name}.py", "text/x-python"
    return replay(course, tick or course.ticks), f"{name}.html", "text/html"


def snippet(course: Course, tick: int) -> str:
    """Python that computes the state of a course.

    Parameters
    ----------
    course
        The course.
    tick
        Place on its timeline.

    Returns
    -------
    str
        A program that prints the names and shapes of what the page shows there.
    """
    plain = course.plain()
    settings, events = (pprint.pformat(plain[part], sort_dicts=False, width=100) for part in ("settings", "events"))
    return (
        f'"""The scene \'{course.scene.title}\' of tutelage {__version__} at tick {tick}."""\n\n'
        "from tutelage.studio import Course, decode\n\n"
        f"settings = {settings}\n"
        f"events = {events}\n"
        f'course = Course("{course.scene.name}", settings, events)\n'
        f"course.seek({tick})\n"
        "arrays, about = decode(course.frame())  # what the page shows, the same bits\n"
        'print(f"{course.scene.clock} {course.time:g}")\n'
        "for name, array in arrays.items():\n"
        "    print(name, array.shape)\n"
    )


def replay(course: Course, tick: int) -> bytes:
    """A course up to a tick as one HTML page that plays in a browser, without a server and without the network.

    Parameters
    ----------
    course
        The course.
    tick
        Last place on the timeline.

    Returns
    -------
    bytes
        The page: scripts, style and frames are inside.
    """
    tick = min(max(tick, 1), course.ticks)
    messages: list[bytes] = []
    course.seek(0)
    size, marks = len(course.frame()), 100
    while marks > 10 and marks * size > _REPLAY:
        marks //= 2
    end = time.monotonic() + _SECONDS
    for place in sorted({round(tick * i / marks) for i in range(marks + 1)}):
        course.seek(place, lambda: time.monotonic() > end)
        if course.tick != place:
            raise TutelageError(f"a replay up to tick {tick} takes more than {_SECONDS:g} s: save a shorter one")
        messages.append(course.frame())
    about = next(scene for scene in described(None) if scene["name"] == course.scene.name)
    state = course.plain() | {"ticks": course.ticks, "look": course.look, "until": tick}
    data = [course.history(), *messages]
    packed = gzip.compress(b"".join(len(m).to_bytes(4, "little") + m for m in data), 6, mtime=0)
    return _page(about, state, course.given.model_dump(mode="json"), packed)


def _page(about: dict[str, Any], state: dict[str, Any], defaults: dict[str, Any], packed: bytes) -> bytes:
    about = {"about": about, "state": state, "defaults": defaults, "version": __version__}
    text = json.dumps(about, sort_keys=True).replace("<", "\\u003c")
    frames = base64.b64encode(packed).decode()
    return (
        f'<!doctype html>\n<html lang="en">\n{licence()}<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(about['about']['title'])}: a replay of tutelage</title>\n<style>{style()}</style>\n"
        f'<script type="importmap">{import_map()}</script>\n</head>\n{body()}\n'
        f'<script type="application/json" id="replay">{text}</script>\n'
        f'<script type="text/plain" id="frames">{frames}</script>\n'
        '<script type="module">import "studio/main.js";</script>\n</body>\n</html>\n'
    ).encode()


def import_map() -> str:
    """The page's modules as data URLs, by the names under which they import one another."""
    modules = {f"studio/{path.name}": _module(path.read_text()) for path in sorted(STATIC.glob("*.js"))}
    return json.dumps({"imports": modules})


def body() -> str:
    """The start of the page's body, without its scripts and its end."""
    shell = (STATIC / "index.html").read_text()
    return re.sub(r"<script[^>]*></script>", "", shell[shell.index("<body") : shell.index("</body>")])


def style() -> str:
    """All style sheets of the page."""
    return "\n".join((STATIC / name).read_text() for name in ("uplot.css", "studio.css"))


def licence() -> str:
    """The licence of what the page contains, as a comment of HTML."""
    text = (STATIC / "uplot.LICENSE.txt").read_text().replace("--", "- -")  # a comment must not end early
    return f"<!-- Contains uPlot.\n{text}-->\n"


def _module(source: str) -> str:
    """A module as a data URL, whose imports name their modules in the import map."""
    source = _IMPORT.sub(r'\1 "studio/\3"', source)
    return "data:text/javascript;base64," + base64.b64encode(source.encode()).decode()
