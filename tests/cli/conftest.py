"""What the tests of the command line share."""

import io
import sys
from dataclasses import dataclass

import pytest
from rich.console import Console

from tutelage.cli import main


@pytest.fixture
def on_terminal():
    """From something that rich prints and a width to the text on a terminal of that width."""

    def text(printed, width):
        file = io.StringIO()
        Console(width=width, file=file, highlight=False).print(printed)
        return file.getvalue()

    return text


@dataclass
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def command(capsys, monkeypatch):
    """Run a command of ``tutelage`` in this process."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["tutelage", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return Done(end.value.code or 0, out, err)

    return run
