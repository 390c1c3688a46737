"""The entry point lists its commands."""

import subprocess
import sys

import pytest

from tutelage.cli.main import main
from tutelage.errors import InternalError


def test_help_names_every_command():
    words = [sys.executable, "-c", "from tutelage.cli import main; main()", "--help"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    for command in ("studies", "reproduce", "run", "report", "ledger", "engines", "spec", "store", "query"):
        assert command in done.stdout


def test_an_internal_error_is_one_sentence_and_code_70(capsys, monkeypatch):
    def fails():
        raise InternalError("two results contradict each other")

    monkeypatch.setattr(sys.modules["tutelage.cli.main"], "app", fails)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 70
    said = capsys.readouterr().err
    assert said.startswith("tutelage: internal error: two results contradict each other; please report")
    assert len(said.strip().splitlines()) == 1
