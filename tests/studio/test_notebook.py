"""The live page in a notebook: in a frame that pages of this machine may have, and no others."""

import http.client
import http.server
import threading
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

pytest.importorskip("starlette", reason="THE LIVE PAGE IS NOT TESTED: install the extra 'studio'")

from tutelage import TutelageError
from tutelage.studio import show


@pytest.fixture
def shown():
    frame = show("flow", {"teachers": 2, "students": 3}, tick=5)
    yield frame
    frame.close()


@contextmanager
def notebook(content, host):
    """The address of a page with this content."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(content.encode())

        def log_message(self, *words):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://{host}:{server.server_port}/"
    server.shutdown()
    server.server_close()


def test_the_server_answers_until_it_is_closed():
    frame = show("folds")
    home = urlsplit(frame.address)
    connection = http.client.HTTPConnection(home.netloc, timeout=60)
    connection.request("GET", f"/?{home.query}")
    answer = connection.getresponse()
    assert answer.status == 200
    assert "frame-ancestors http://localhost:*" in answer.headers["content-security-policy"]
    connection.close()
    frame.close()
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection(home.netloc, timeout=60).request("GET", "/")


def test_wrong_settings_are_an_error_in_the_cell():
    with pytest.raises(TutelageError, match="unknown scene"):
        show("nowhere")
    with pytest.raises(TutelageError, match="teachers"):
        show("flow", {"teachers": -1})


@pytest.mark.parametrize(("host", "allowed"), [("localhost", True), ("evil.localhost", False)])
def test_the_page_is_shown_in_pages_of_this_machine_alone(browser, shown, host, allowed):
    with notebook(f"<!doctype html>{shown._repr_html_()}", host) as address:
        page = browser.new_page()
        page.goto(address)
        inside = next(frame for frame in page.frames if frame != page.main_frame)
        if allowed:
            while not inside.evaluate("!!(window.studio && studio.frame)"):
                page.wait_for_timeout(20)
            assert inside.evaluate("[studio.scene.name, studio.frame.tick]") == ["flow", 5]
        else:
            page.wait_for_timeout(500)
            assert inside.evaluate("window.studio === undefined")
        page.close()
