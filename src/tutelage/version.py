"""Which state of the package is at work: the commit, where it is known."""

import os
import subprocess
from functools import lru_cache
from pathlib import Path

_SECONDS = 2.0  # git is not waited for any longer


@lru_cache(maxsize=1)
def commit() -> str | None:
    """The commit: what TUTELAGE_COMMIT says, else what git says of the checkout the package runs from, else None.

    Asked once a process; anything that goes wrong on the way means that the commit is not known.
    """
    given = os.environ.get("TUTELAGE_COMMIT", "").strip()
    return given or _described(Path(__file__).resolve().parents[2])


def _described(root: Path) -> str | None:
    """What ``git describe`` says of a checkout of this package, None where ``root`` is none."""
    if not (root / ".git").exists() or not (root / "src" / "tutelage" / "version.py").is_file():
        return None
    # variables such as GIT_DIR, set inside a hook, would point git at another repository
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    words = ["git", "-C", str(root), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(
            words,
            env=environment | {"GIT_OPTIONAL_LOCKS": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
