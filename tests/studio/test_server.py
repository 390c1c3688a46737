"""Only the page that the server served itself may use it, with its token, under its host name."""

import json
import socket
import threading
import time
from contextlib import ExitStack, suppress

import pytest

pytest.importorskip("starlette", reason="THE LIVE PAGE IS NOT TESTED: install the extra 'studio'")

from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tutelage import TutelageError
from tutelage.studio import server
from tutelage.studio.security import Guard
from tutelage.studio.server import free_socket
from tutelage.studio.session import Outbox, Session

SMALL = {"members": 2, "units": 2, "dimension": 3, "train": 20, "evaluate": 20, "steps": 100}


def test_the_page_comes_with_its_headers(studio):
    answer = studio.get("/")
    assert answer.status == 200
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert studio.get("/static/main.js").status == 200
    names = [scene["name"] for scene in studio.get("/scenes").json["scenes"]]
    assert names[0] == "specialisation"


@pytest.mark.parametrize("path", ["/", "/scenes"])
@pytest.mark.parametrize("token", [None, "", "wrong", "é" * 8])
def test_a_wrong_token_is_rejected(studio, path, token):
    answer = studio.get(path, token=token)
    assert answer.status == 403
    assert "token" in answer.json["error"]


@pytest.mark.parametrize("path", ["/", "/scenes", "/static/main.js"])
@pytest.mark.parametrize("host", ["evil.example:8717", "127.0.0.1:9", "127.0.0.1", "localhost.evil.example:8717"])
def test_another_host_name_is_rejected(studio, path, host):
    assert studio.get(path, headers={"host": host}).status == 403


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "https://127.0.0.1:8717", "http://127.0.0.1:9", "http://[", "http://", "[", ""],
)
def test_another_origin_is_rejected(studio, origin):
    assert studio.get("/scenes", headers={"origin": origin}).status == 403
    assert studio.post("/save", b"{}", headers={"origin": origin}).status == 403


@pytest.mark.parametrize(
    ("token", "headers"),
    [
        ("wrong", {"Origin": "own"}),
        (None, {}),
        (None, {"Origin": "http://evil.example"}),
    ],
)
def test_a_socket_of_anyone_else_is_rejected(studio, token, headers):
    headers = {name: studio.home if value == "own" else value for name, value in headers.items()}
    with pytest.raises(InvalidStatus) as error, connect(studio.socket_address(token), additional_headers=headers):
        pass
    assert error.value.response.status_code == 403


@pytest.mark.parametrize(("host", "status"), [("evil.example:8717", 403), (None, 101)])
def test_a_socket_under_another_host_name_is_rejected(studio, host, status):
    headers = {
        "Host": host or studio.home.removeprefix("http://"),
        "Origin": studio.home,
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    assert studio.get("/live", headers=headers).status == status


def test_a_socket_of_the_page_gets_frames_and_sentences(studio):
    with studio.page() as page:
        page.send(do="open", scene="specialisation", settings={"units": 10_000}, number=1)
        assert "less than or equal to 200" in page.words("error")
        page.socket.send("{not json")
        assert "JSON" in page.words("error")
        page.send(do="fly")
        assert "unknown command 'fly'" in page.words("error")
        page.send(do="open", scene="specialisation", settings=SMALL, number=2)
        assert page.words("opened")["settings"]["units"] == 2
        assert page.frame("history")[1]["ticks"] == [0]
        assert page.frame()[1]["tick"] == 0


def test_pages_do_not_disturb_one_another(studio):
    with studio.page() as first, studio.page() as second:
        for page, rate in ((first, 0.01), (second, 0.1)):
            page.send(do="open", scene="specialisation", settings=SMALL | {"learning_rate": rate}, number=1, tick=3)
        losses = [page.frame()[0]["fan_out"].tolist() for page in (first, second)]
        assert losses[0] != losses[1]
        first.send(do="seek", tick=5)
        assert first.frame()[1]["tick"] == 5
        second.send(do="seek", by=1)
        assert second.frame()[1]["tick"] == 4


def test_twenty_pages_all_get_on(studio):
    with ExitStack() as stack:
        pages = [stack.enter_context(studio.page()) for _ in range(20)]
        for i, page in enumerate(pages):
            page.send(do="open", scene="specialisation", settings=SMALL | {"seed": i, "steps": 100_000}, number=1)
            page.send(do="play", speed=0)
        for page in pages:
            while page.frame()[1]["tick"] < 20:
                pass


def test_the_course_goes_on_and_frames_are_dropped_where_the_page_is_slow(studio):
    with studio.page(draws=False) as page:
        page.send(do="open", scene="specialisation", settings=SMALL | {"steps": 40_000}, number=1)
        page.send(do="play", speed=0)
        while (state := page.words("state"))["tick"] < 2000:
            pass
        assert state["dropped"] > 0


def test_a_closed_page_ends_its_thread(studio):
    def threads():
        return {t for t in threading.enumerate() if t.name == "studio-session"}

    for thread in threads():  # of pages of other tests
        thread.join(20)
    with studio.page() as page:
        page.send(do="open", scene="specialisation", settings=SMALL | {"steps": 1_000_000}, number=1)
        page.send(do="play", speed=0)
        page.frame()
        [mine] = threads()
    mine.join(20)
    assert not mine.is_alive()
    with studio.page() as page:
        page.send(do="open", scene="specialisation", settings=SMALL, number=1)
        assert page.frame()[1]["tick"] == 0


def test_a_request_that_is_no_json_is_a_sentence(studio):
    assert studio.post("/save", b"[1, 2]").json["error"] == "a request must be a table"
    assert studio.post("/save", b"{").json["error"] == "a request must be JSON"
    assert "unknown form" in studio.post("/save", b"{}").json["error"]


def test_a_large_upload_is_cut_off(studio):
    answer = studio.post("/upload?name=a.onnx", b"x" * ((32 << 20) + 1))
    assert answer.status == 400
    assert "larger than 32 MiB" in answer.json["error"]


@pytest.mark.parametrize(
    ("name", "why"), [("a.pt", "not a .safetensors"), ("a.onnx", "a.onnx"), ("b.safetensors", "b.safetensors")]
)
def test_a_broken_upload_is_a_sentence(studio, name, why):
    answer = studio.post(f"/upload?name={name}", b"nothing")
    assert answer.status == 400
    assert why in answer.json["error"]


def test_the_next_port_is_taken_when_one_is_in_use():
    with free_socket("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with free_socket("127.0.0.1", port) as second:
            assert second.getsockname()[1] > port


def test_an_address_of_another_machine_is_an_error():
    with pytest.raises(TutelageError, match="cannot listen"):
        free_socket("203.0.113.1", 8717)


def test_ports_come_to_an_end():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 65535))
        held.listen()
        with pytest.raises(TutelageError, match="no port from 65535"):
            free_socket("127.0.0.1", 65535)


def test_settings_that_are_no_good_leave_the_scene_open(studio):
    with studio.page() as page:
        page.send(do="open", scene="specialisation", settings=SMALL, number=1)
        assert page.frame()[1]["tick"] == 0
        page.send(do="open", scene="specialisation", settings={"units": ""}, number=2)
        assert "units" in page.words("error")
        page.send(do="seek", by=1)
        assert page.frame()[1]["tick"] == 1


@pytest.mark.parametrize("where", ["0.0.0.0", "::", ""])
def test_a_server_for_all_addresses_answers_under_any_numeric_one_and_the_name_of_the_machine(where):
    guard = Guard.of(where, 8717)
    for host in ("192.168.1.5:8717", "[fe80::1]:8717", "127.0.0.1:8717", f"{socket.gethostname()}:8717".upper()):
        assert guard.known(host), host
    for host in ("evil.example:8717", "192.168.1.5:80", "192.168.1.5", "1.2.3.4.evil.example:8717", "[:8717", ""):
        assert not guard.known(host), host
    assert not Guard.of("127.0.0.1", 8717).known("192.168.1.5:8717")


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/ask", b'{"about": "compare", "first": []}'),
        ("/ask", b'{"about": {}, "first": []}'),
        ("/ask", b'{"about": "pruned", "first": {}, "box": "ab"}'),
        ("/save", b'{"form": "replay", "scene": [], "settings": 3}'),
        ("/save", b'{"form": "python", "scene": "specialisation", "settings": [1]}'),
        ("/save", b'{"form": "python", "scene": "specialisation", "events": "abc"}'),
        ("/save", b'{"form": "python", "scene": "specialisation", "events": [[0]]}'),
        ("/save", b'{"form": "python", "scene": "specialisation", "tick": "abc"}'),
        ("/save", b'{"form": "python", "scene": "specialisation", "tick": 1e400}'),
        ("/save", b'{"form": [], "scene": "specialisation"}'),
        ("/save", b'{"form": "replay", "scene": "specialisation", "look": 7}'),
    ],
)
def test_values_of_a_wrong_type_are_sentences(studio, path, content):
    answer = studio.post(path, content)
    assert answer.status == 400
    assert "internal" not in answer.json["error"]


def test_an_internal_error_has_headers_and_no_traceback(studio, monkeypatch, caplog):
    monkeypatch.setattr("tutelage.studio.saving.saved", lambda asked: 1 // 0)
    answer = studio.post("/save", b"{}")
    assert answer.status == 500
    assert answer.json["error"].startswith("internal error: ZeroDivisionError")
    assert "content-security-policy" in answer.headers


def test_only_so_many_heavy_requests_are_worked_on_at_once(studio, monkeypatch):
    begun, end = threading.Semaphore(0), threading.Event()

    def slow(asked):
        begun.release()
        end.wait(60)
        return b"", "a", "text/plain"

    monkeypatch.setattr("tutelage.studio.saving.saved", slow)
    threads = [threading.Thread(target=studio.post, args=("/save", b"{}")) for _ in range(server._HEAVY)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert begun.acquire(timeout=60)
    assert studio.post("/ask", b"{}").status == 503
    end.set()
    for thread in threads:
        thread.join(60)
    assert studio.post("/ask", b"{}").status == 400


def test_a_number_that_is_none_is_a_sentence(studio):
    with studio.page() as page:
        page.send(do="open", scene="specialisation", settings=SMALL, number="abc")
        assert page.words("error") == "a number is needed, got abc"


def test_a_page_that_does_not_read_is_disconnected_before_it_fills_the_memory(studio, monkeypatch):
    put, boxes = Outbox.put, set()
    monkeypatch.setattr(Outbox, "put", lambda box, message: (boxes.add(box), put(box, message))[1])
    monkeypatch.setattr("tutelage.studio.session.UNREAD", 1 << 20)
    upgrade = (
        f"GET /live?token={studio.token} HTTP/1.1\r\nHost: 127.0.0.1:{studio.port}\r\nOrigin: {studio.home}\r\n"
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    text = b'{"do": "' + b"x" * 60 + b'"}'  # unknown: each is answered by a sentence
    with socket.create_connection(("127.0.0.1", studio.port), timeout=0.2) as page:
        page.sendall(upgrade.encode())
        assert b"101" in page.recv(4096)
        end = time.monotonic() + 60
        while not any(box.overflow.is_set() for box in set(boxes)) and time.monotonic() < end:
            with suppress(OSError):
                page.sendall((bytes([0x81, 0x80 | len(text)]) + bytes(4) + text) * 1000)  # masked by zeros
    assert any(box.overflow.is_set() for box in boxes)
    assert all(box._bytes < 2 << 20 for box in boxes)


def test_frames_that_commands_ask_for_wait_until_the_page_is_ready(studio):
    with studio.page(draws=False) as page:
        page.send(do="open", scene="specialisation", settings=SMALL | {"steps": 1000}, number=1)
        assert page.frame()[1]["tick"] == 0
        for tick in range(1, 31):
            page.send(do="seek", tick=tick)
        while page.words("state")["tick"] < 30:  # a later seek may cut an earlier one short
            pass
        for _ in range(2):
            page.send(do="drawn")
        assert page.frame()[1]["tick"] == 30


def test_a_seek_is_not_cut_short_by_a_frame_that_is_drawn():
    """The session's own note that it owes a frame is no command of the page."""
    session = Session(lambda message: None)
    assert not session._stopped()
    session.frames = 2
    session._offer()
    assert session._owed
    session.receive('{"do": "drawn"}')
    assert not session._owed
    assert not session._stopped()
    session.receive('{"do": "pause"}')
    assert session._stopped()


def test_a_long_way_to_a_tick_is_shown_on_the_way(studio, monkeypatch):
    monkeypatch.setattr("tutelage.studio.session.PROGRESS", 0.0)
    with studio.page() as page:
        page.send(do="open", scene="distillation", settings={"dimension": 20, "members": 8}, number=1)
        last = page.words("opened") and page.frame()[1]["tick"]
        page.send(do="seek", tick=20)
        ticks = [last]
        while ticks[-1] < 20:
            ticks.append(page.frame()[1]["tick"])
        assert ticks == sorted(ticks)
        assert len(set(ticks)) > 2


def test_commands_that_wait_are_counted_by_their_size():
    told = []
    session = Session(told.append)
    long = json.dumps({"do": "open", "settings": "x" * (1 << 20)})
    for _ in range(4):
        session.receive(long)
    assert ["too many commands" in message for message in told] == [True]
    while session._next(wait=False):
        pass
    session.receive(long)
    assert len(told) == 1


def test_questions_that_wait_are_counted(studio):
    with studio.page() as page:
        page.send(do="open", scene="specialisation", settings=SMALL, number=1)
        for i in range(200):
            page.send(do="ask", id=i, question={"about": "unit", "member": 0, "unit": 0})
        answers = [page.words("answer") for _ in range(200)]
        assert any("too many questions" in answer.get("error", "") for answer in answers)
        assert any("error" not in answer for answer in answers)
