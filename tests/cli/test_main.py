"""The entry point lists its commands."""

import subprocess
import sys


def test_help_names_every_command():
    words = [sys.executable, "-c", "from tutelage.cli import main; main()", "--help"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    for command in ("studies", "reproduce", "run", "report", "ledger", "engines", "spec", "store", "query"):
        assert command in done.stdout
