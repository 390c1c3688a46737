"""Pages that send anything and read little: the server goes on, bounds what waits, and says no in sentences."""

import json
import socket
import sys
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="THE LIVE PAGE IS NOT TESTED: install the extra 'studio'")
sys.path.insert(0, str(Path(__file__).parents[1] / "studio"))

from tutelage.studio import session

SMALL = {"members": 2, "units": 2, "dimension": 3, "train": 20, "evaluate": 20, "steps": 2000}
WORDS = ("open", "play", "pause", "seek", "speed", "change", "look", "ask", "drawn", "offer", "fly", "_tell", "")
VALUES = (None, True, 0, -1, 1.5, 1e300, float("inf"), "", "abc", [], {}, [[0, {}]], {"units": "x"}, "x" * 2000)


@pytest.fixture(scope="module")
def server():
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("studio_of_tests", Path(__file__).parents[1] / "studio" / "conftest.py")
    module = module_from_spec(spec)
    sys.modules["studio_of_tests"] = module
    spec.loader.exec_module(module)
    studio, stop = module.run_studio()
    yield studio
    stop()


def message(draw):
    """A command with values of any type."""
    words = {"do": str(draw.choice(WORDS))}
    for name in ("scene", "settings", "events", "look", "tick", "by", "number", "speed", "change", "question", "id"):
        if draw.random() < 0.3:
            words[name] = VALUES[draw.integers(len(VALUES))]
    if words["do"] == "open" and draw.random() < 0.8:
        words |= {"scene": "specialisation", "settings": SMALL, "events": None, "look": None, "tick": 0, "number": 1}
    return json.dumps(words).encode()


def frame(text):
    head = bytes([0x80 | len(text)]) if len(text) < 126 else bytes([0x80 | 126]) + len(text).to_bytes(2, "big")
    return b"\x81" + head + bytes(4) + text  # masked by zeros


def test_a_page_that_reads_little_is_bounded_and_others_go_on(attack, server, monkeypatch):
    draw, boxes, put = attack.generator(95), set(), session.Outbox.put
    monkeypatch.setattr(session.Outbox, "put", lambda box, message: (boxes.add(box), put(box, message))[1])
    upgrade = (
        f"GET /live?token={server.token} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nOrigin: {server.home}\r\n"
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    for _ in attack.rounds(3):
        with socket.create_connection(("127.0.0.1", server.port), timeout=0.2) as page:
            page.sendall(upgrade.encode())
            with suppress(OSError):
                for _ in range(300):
                    page.sendall(frame(message(draw)))
                    if draw.random() < 0.05:
                        page.recv(4096)
    largest = 1 << 23  # one frame, history or answer of these small settings is far below
    assert all(box._bytes < session.UNREAD + largest for box in boxes)
    with server.page() as page:
        page.send(do="open", scene="specialisation", settings=SMALL, number=7)
        assert page.words("opened")["settings"]["units"] == 2


def test_requests_of_any_type_are_answered_by_sentences(attack, server):
    draw = attack.generator(96)
    names = (
        "about",
        "first",
        "second",
        "box",
        "form",
        "scene",
        "settings",
        "events",
        "tick",
        "look",
        "experiment",
        "seed",
    )
    for _ in attack.rounds(40):
        asked = {name: VALUES[draw.integers(len(VALUES))] for name in names if draw.random() < 0.5}
        asked |= {"form": str(draw.choice(["yaml", "python", "replay"]))} if draw.random() < 0.5 else {}
        asked |= {"about": str(draw.choice(["compare", "pruned", "results", "student"]))} if draw.random() < 0.5 else {}
        answer = server.post(str(draw.choice(["/ask", "/save"])), json.dumps(asked).encode())
        assert answer.status in (200, 400), (asked, answer.json)
        assert "content-security-policy" in answer.headers
