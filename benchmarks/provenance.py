"""What a measurement must carry to mean anything later: commit, machine, versions, date."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import torch


def provenance() -> dict:
    """Commit, processor, GPU where there is one, threads, versions and the date, as plain data."""
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True
    ).stdout.strip()
    return {
        "commit": os.environ.get("TUTELAGE_COMMIT") or described or "unknown",  # a copy without .git is told its commit
        "machine": _processor(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        if names:
            return f"{names[0]} x {len(names)}"
    return platform.processor() or platform.machine()
