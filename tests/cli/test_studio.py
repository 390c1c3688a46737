"""The command starts a server, prints its address, takes the next port, and ends quietly."""

import os
import signal
import subprocess
import sys
from urllib.request import urlopen

import pytest
from typer.testing import CliRunner

from tutelage import TutelageError
from tutelage.cli.main import app

pytest.importorskip("starlette", reason="THE LIVE PAGE IS NOT TESTED: install the extra 'studio'")


def start(port):
    command = [sys.executable, "-u", "-m", "tutelage", "studio", "--no-browser", "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ)
    lines = []
    for line in server.stdout:
        lines.append(line.strip())
        if line.startswith("Open "):
            return server, line.split()[1], lines
    pytest.fail("\n".join(lines))


def test_two_servers_side_by_side_and_a_quiet_end():
    first, address, _ = start(0)
    port = int(address.split("/?")[0].rsplit(":", 1)[1])
    second, other, lines = start(port)
    try:
        assert f"Port {port} is in use" in lines[0]
        for place in (address, other):
            assert b"tutelage studio" in urlopen(place).read()
    finally:
        for server in (first, second):
            server.send_signal(signal.SIGINT)
    for server in (first, second):
        assert server.wait(30) == 0
        assert "Traceback" not in server.stdout.read()
        server.stdout.close()


def test_a_folder_that_is_not_there_is_a_sentence(tmp_path):
    found = CliRunner().invoke(app, ["studio", "--no-browser", "--results", str(tmp_path / "none")])
    assert isinstance(found.exception, TutelageError)
    assert "there is no folder" in str(found.exception)


def test_a_prepared_command_that_does_not_end_is_killed(prepared):
    """What tests/prepared.py promises: no command holds up the tests, and the next one runs."""
    assert prepared("studio", "--no-browser", "--port", 0, seconds=2).returncode == -signal.SIGALRM
    assert prepared("--version").returncode == 0
