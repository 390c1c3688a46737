"""Which machine and which libraries a result comes from: rounding, and so the last digits, may depend on them."""

import platform
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")


@lru_cache(maxsize=1)
def machine() -> dict[str, str]:
    """Versions of Python, numpy and torch, the architecture, and the model of the processor.

    >>> sorted(machine())
    ['machine', 'numpy', 'processor', 'python', 'torch']
    """
    return {
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "torch": version("torch"),
        "machine": platform.machine(),
        "processor": processor(_CPUINFO),
    }


def processor(cpuinfo: Path) -> str:
    """Model of the processor as Linux tells it; elsewhere what Python knows, which is less."""
    if cpuinfo.is_file():
        for line in cpuinfo.read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()
