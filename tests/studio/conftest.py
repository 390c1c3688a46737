"""A server of the live page in a thread of its own, and pages that speak to it."""

import http.client
import json
import threading
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest


@dataclass
class Page:
    """A page without a browser: it draws nothing, but says that it has."""

    connection: Any
    draws: bool = True

    def __enter__(self):
        self.socket = self.connection.__enter__()
        return self

    def __exit__(self, *why):
        self.connection.__exit__(*why)

    def send(self, **message):
        self.socket.send(json.dumps(message))

    def words(self, wanted):
        """The next message in words of this sort."""
        while True:
            message = self.socket.recv(timeout=60)
            if isinstance(message, str):
                if wanted in (found := json.loads(message)):
                    return found[wanted]
            elif self.draws:
                self.send(do="drawn")

    def frame(self, kind="frame"):
        """Arrays and header of the next frame."""
        from tutelage.studio.frames import decode

        while True:
            message = self.socket.recv(timeout=60)
            if isinstance(message, bytes):
                if self.draws:
                    self.send(do="drawn")
                arrays, header = decode(message[8:])
                if header["kind"] == kind:
                    return arrays, header


@dataclass
class Studio:
    """A running server."""

    port: int
    token: str
    home: str = field(init=False)

    def __post_init__(self):
        self.home = f"http://127.0.0.1:{self.port}"

    def address(self, fragment=""):
        return f"{self.home}/?token={self.token}{fragment}"

    def socket_address(self, token=None):
        return f"ws://127.0.0.1:{self.port}/live?token={token or self.token}"

    def page(self, draws=True):
        from websockets.sync.client import connect

        return Page(connect(self.socket_address(), origin=self.home, max_size=None, compression=None), draws)

    def get(self, path, token="own", headers=None):
        return self._ask("GET", path, None, token, headers)

    def post(self, path, content, headers=None):
        return self._ask("POST", path, content, "own", headers)

    def _ask(self, method, path, content, token, headers):
        token = self.token if token == "own" else token
        if token is not None:
            path += f"{'&' if '?' in path else '?'}token={quote(token)}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, content, headers or {})
        answer = connection.getresponse()
        body = b"" if answer.status == 101 else answer.read()
        connection.close()
        is_json = answer.headers.get_content_type() == "application/json"
        return SimpleNamespace(
            status=answer.status, headers=answer.headers, body=body, json=json.loads(body) if is_json else None
        )


def run_studio(results=None):
    """Start a server; returns it and a function that stops it."""
    from tutelage.studio.security import Guard
    from tutelage.studio.server import free_socket, make_server

    listening = free_socket("127.0.0.1", 0)
    guard = Guard.of("127.0.0.1", listening.getsockname()[1])
    server = make_server(guard, results)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()

    def stop():
        server.should_exit = True
        thread.join(10)
        listening.close()

    return Studio(listening.getsockname()[1], guard.token), stop


@pytest.fixture(scope="session")
def studio(tmp_path_factory):
    server, stop = run_studio()
    yield server
    stop()
