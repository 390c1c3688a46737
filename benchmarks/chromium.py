"""A Chromium without a window, driven through its debugging port by a few commands.

Playwright, which the tests use, listens to all traffic of a page: Chromium then copies every frame of the live page to
it as text, which costs as much as drawing it. Here nothing is listened to.
"""

import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")


class Chromium:
    """A browser with one tab of 1280 x 720; use it in a ``with`` statement."""

    def __enter__(self) -> "Chromium":
        from websockets.sync.client import connect

        program = os.environ.get("TUTELAGE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
        if program is None:
            raise SystemExit("no Chromium was found: install it, or name it in TUTELAGE_CHROMIUM")
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        flags = [
            "--headless=new", "--no-sandbox", "--remote-debugging-port=0", "--window-size=1280,720", "--no-first-run",
            "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--mute-audio",
            f"--user-data-dir={self._folder.name}",
        ]  # fmt: skip
        self.process = subprocess.Popen([program, *flags, "about:blank"], stderr=subprocess.DEVNULL)
        told = Path(self._folder.name) / "DevToolsActivePort"
        while not (told.exists() and told.read_text().count("\n")):
            time.sleep(0.05)
        port = told.read_text().split("\n")[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
            page = next(target for target in json.load(answer) if target["type"] == "page")
        self._socket = connect(page["webSocketDebuggerUrl"], max_size=None, compression=None)
        self._numbers = itertools.count(1)
        self.send("Emulation.setDeviceMetricsOverride", width=1280, height=720, deviceScaleFactor=1, mobile=False)
        return self

    def __exit__(self, *why: object) -> None:
        self._socket.close()
        self.process.terminate()
        self.process.wait()
        self._folder.cleanup()

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to a command of the debugging protocol."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while (answer := json.loads(self._socket.recv(timeout=60))).get("id") != number:
            pass
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def open(self, address: str) -> None:
        """Go to an address."""
        self.send("Page.navigate", url="about:blank")
        self.send("Page.navigate", url=address)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression on the page; None while there is no page."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        return answer["result"].get("value")

    def wait(self, condition: str, every: float = 0.02) -> None:
        """Wait until a condition is true."""
        while not self.evaluate(f"(() => !!({condition}))()"):
            time.sleep(every)

    def seconds(self) -> float:
        """Seconds of a core that all processes of the browser have taken."""
        parents = {int(p.name): _stat(p) for p in Path("/proc").iterdir() if p.name.isdigit()}
        family, ticks = {self.process.pid}, 0.0
        for pid, fields in sorted(parents.items()):
            if fields and (pid in family or int(fields[1]) in family):
                family.add(pid)
                ticks += sum(map(int, fields[11:15]))  # its own, and of children that have ended
        return ticks / os.sysconf("SC_CLK_TCK")


def _stat(process: Path) -> list[str]:
    """Fields of /proc/PID/stat after the name; none where the process has ended."""
    try:
        return (process / "stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []
