"""Write hashes.txt: every version of constraints.txt but torch, with the SHA-256 of its wheels at the index of pip.

    python .ci/write_hashes.py

Wheels for CPython 3.11 to 3.13 on Linux (x86-64 and ARM) and macOS (ARM). torch is left out because its builds for CPU
and for every CUDA share one version.
"""

import html
import json
import re
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pip._internal.models.index import PyPI

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = re.compile(r"-(cp31[123]-(cp31[123]|abi3|none)|cp3\d?-abi3|cp310-abi3|(py2\.)?py3\d*(\.py3\d*)*-none)-")
PLATFORMS = re.compile(r"(any|manylinux\S*_(x86_64|aarch64)|macosx_\S*_(arm64|universal2))\.whl$")


def wheels(pin: str) -> list[str]:
    """The SHA-256 of every wheel of a package."""
    name, version = pin.split("==")
    address = f"{PyPI.simple_url}/{re.sub(r'[-_.]+', '-', name).lower()}/"
    accept = {"Accept": "application/vnd.pypi.simple.v1+json, text/html;q=0.1"}
    with urllib.request.urlopen(urllib.request.Request(address, headers=accept), timeout=60) as answer:
        page = answer.read().decode()
    if page.startswith("{"):
        files = [(file["filename"], file["hashes"]["sha256"]) for file in json.loads(page)["files"]]
    else:
        links = re.finditer(r"#sha256=([0-9a-f]{64})[^>]*>([^<]+)</a>", page)
        files = [(html.unescape(link[2]).strip(), link[1]) for link in links]
    mine = [(file, digest) for file, digest in files if file.endswith(".whl") and file.split("-")[1] == version]
    return sorted(digest for file, digest in mine if PYTHONS.search(file) and PLATFORMS.search(file))


def main() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if "==" in line and not line.startswith(("#", "torch=="))]
    with ThreadPoolExecutor(8) as readers:
        found = dict(zip(pins, readers.map(wheels, pins), strict=True))
    if missing := [pin for pin, digests in found.items() if not digests]:
        raise SystemExit(f"no wheels of {', '.join(missing)}")
    text = "# Every version of constraints.txt but torch, with the SHA-256 of its wheels (.ci/write_hashes.py).\n"
    for pin, digests in found.items():
        text += " \\\n".join([pin, *(f"    --hash=sha256:{digest}" for digest in digests)]) + "\n"
    (ROOT / "hashes.txt").write_text(text)


if __name__ == "__main__":
    main()
