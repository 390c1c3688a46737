"""What ``tutelage.exits`` names is there, and importing it imports no study."""

import subprocess
import sys

from tutelage import exits


def test_what_is_named_is_there() -> None:
    assert all(hasattr(exits, name) for name in exits.__all__)
    assert {"MultiExit", "with_exits", "train_exits", "early_exit", "exit_within", "save_exit"} <= set(exits.__all__)


def test_studies_are_not_imported() -> None:
    ask = "import sys, tutelage.exits; print([m for m in sys.modules if '.studies' in m or 'matplotlib' == m])"
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr
