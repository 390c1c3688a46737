"""Only the page that the server served itself may use it, with its token, under its host name."""

import socket
import threading
from contextlib import ExitStack

import pytest

pytest.importorskip("starlette", reason="THE LIVE PAGE IS NOT TESTED: install the extra 'studio'")

from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tutelage import TutelageError
from tutelage.studio.server import free_socket

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


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:8717", "http://127.0.0.1:9"])
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
