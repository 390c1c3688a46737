"""Frames per second, lag, dropped frames, memory and training speed of the live page, measured in Chromium.

    python benchmarks/studio.py [--seconds 10] [--json FILE] [--memory-seconds 600] [--connections 5 --connections-only]

Starts ``tutelage studio`` as a process of its own, opens the page in Chromium (:mod:`chromium`) at the speed "as fast
as it can", and counts the frames that are drawn. The same training without a page is measured before and after, in this
process, and the faster one counts: ``share`` is the speed beside the page over that speed. ``share_received`` is the
same for a client that receives every frame and draws none, which leaves Chromium's work out. Lag is the time from Pause
until the page says that it stands still.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from chromium import Chromium
from provenance import provenance

CASES = {
    "64 students x 100 units": {"members": 64, "width_factor": 10, "evaluate": 128},
    "256 students x 200 units": {"members": 256, "units": 20, "width_factor": 10, "evaluate": 128, "every": 10},
}
LONG = {"steps": 1_000_000}
SPAN = 500


def start() -> tuple[subprocess.Popen, str, float]:
    """The server, its address, and the seconds from start to address."""
    begin = time.perf_counter()
    command = [sys.executable, "-u", "-m", "tutelage", "studio", "--no-browser", "--port", "9300"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert server.stdout is not None
    for line in server.stdout:
        if line.startswith("Open "):
            threading.Thread(target=server.stdout.read, daemon=True).start()
            return server, line.split()[1], time.perf_counter() - begin
    raise SystemExit("the server did not start")


def headless(settings: dict, seconds: float) -> float:
    """Steps per second of the same training without a page, in spans as ``tt.train`` takes them."""
    from tutelage.studio.scenes._students import StudentsSettings, StudentsState

    trained = StudentsState.start(StudentsSettings(**settings | LONG)).trained
    trained.advance(SPAN)
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        trained.advance(trained.step + SPAN)
    return (trained.step - SPAN) / (time.perf_counter() - begin)


def memory(server: subprocess.Popen) -> float:
    """Resident memory of the server in MiB."""
    text = Path(f"/proc/{server.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024  # type: ignore[index]


def fragment(settings: dict) -> str:
    from urllib.parse import quote

    return f"#scene=specialisation&settings={quote(json.dumps(settings | LONG))}"


def watched(tab: Chromium, address: str, settings: dict, seconds: float) -> dict:
    """What a page in Chromium sees of a course that runs as fast as it can."""
    tab.open(address + fragment(settings))
    tab.wait("window.studio && studio.frame")
    tab.evaluate("speed.value = '0'; speed.onchange(); play.click()")
    time.sleep(2)
    look = "[studio.frames, studio.frame.time, performance.now()]"
    before, busy = tab.evaluate(look), tab.seconds()
    time.sleep(seconds)
    after, busy = tab.evaluate(look), tab.seconds() - busy
    took, lags = (after[2] - before[2]) / 1000, []
    for _ in range(5):
        begin = time.perf_counter()
        tab.evaluate("play.click()")
        tab.wait("!studio.playing", 0.005)
        lags.append(time.perf_counter() - begin)
        dropped = tab.evaluate("studio.dropped")
        tab.evaluate("play.click()")
        tab.wait("studio.playing", 0.005)
    tab.evaluate("play.click()")
    return {
        "frames_per_second": round((after[0] - before[0]) / took, 1),
        "steps_per_second": round((after[1] - before[1]) / took),
        "chromium_cores": round(busy / took, 2),
        "pause_lag_ms": round(1000 * statistics.median(lags)),
        "dropped": dropped,
    }


def follow(address: str, settings: dict, seconds: float) -> dict:
    """Frames and steps per second of a connection that receives frames and draws none."""
    from websockets.sync.client import connect

    home, token = re.match(r"(http://[^/]+)/\?token=([^#]+)", address).groups()  # type: ignore[union-attr]
    live = home.replace("http", "ws") + f"/live?token={token}"
    with connect(live, origin=home, max_size=None, compression=None) as socket:
        opened = {"do": "open", "scene": "specialisation", "settings": settings | LONG, "number": 1}
        socket.send(json.dumps(opened))
        socket.send(json.dumps({"do": "play", "speed": 0}))

        def frames(end: float) -> tuple[int, float]:
            """How many came until then, and the step of the last."""
            count, step = 0, 0.0
            while time.monotonic() < end or not step:
                message = socket.recv(timeout=60)
                if isinstance(message, bytes):
                    socket.send(json.dumps({"do": "drawn"}))
                    header = json.loads(message[16 : 16 + int.from_bytes(message[12:16], "little")])
                    if header["kind"] == "frame":
                        count, step = count + 1, header["time"]
            return count, step

        _, before = frames(time.monotonic() + 2)
        begin = time.monotonic()
        count, after = frames(begin + seconds)
        took = time.monotonic() - begin
    return {"frames_per_second": count / took, "steps_per_second": (after - before) / took}


def compared(tab: Chromium, address: str, settings: dict, seconds: float) -> dict:
    """A course with a page, with a client that draws nothing, and without either."""
    before = headless(settings, seconds / 2)
    seen = watched(tab, address, settings, seconds)
    tab.open("about:blank")
    received = follow(address, settings, seconds)
    alone = max(before, headless(settings, seconds / 2))
    return seen | {
        "headless_steps_per_second": round(alone),
        "share": round(seen["steps_per_second"] / alone, 2),
        "frames_per_second_received": round(received["frames_per_second"], 1),
        "share_received": round(received["steps_per_second"] / alone, 2),
    }


def many(address: str, connections: int, seconds: float) -> dict:
    """Frames per second of every one of many connections without a browser, all training at once."""
    with ThreadPoolExecutor(connections) as pool:
        found = list(pool.map(lambda i: follow(address, {"seed": 100 * i}, seconds), range(connections)))
    rates = sorted(one["frames_per_second"] for one in found)
    steps = sum(one["steps_per_second"] for one in found)
    median = round(statistics.median(rates), 1)
    return {"connections": connections, "slowest": round(rates[0], 1), "median": median, "steps_of_all": round(steps)}


def first_frame(tab: Chromium) -> tuple[subprocess.Popen, str, dict]:
    """The server, its address, and the times until the address, the first answer and the first frame.

    The first answer, a list of the scenes, needs all imports and little else; the page asks for it before they are
    done. What comes after it is the time after import.
    """
    begin = time.perf_counter()
    server, address, started = start()
    tab.open(address)
    tab.wait("window.studio && studio.frame", 0.02)
    shown = time.perf_counter() - begin
    scenes = "performance.getEntriesByType('resource').find((r) => r.name.includes('/scenes')).responseStart"
    after = tab.evaluate(f"performance.now() - {scenes}") / 1000
    times = {"address": started, "first_frame": shown, "after_import": after}
    return server, address, {f"seconds_{name}": round(value, 2) for name, value in times.items()}


def sizes(tab: Chromium, server: subprocess.Popen, address: str, seconds: float) -> dict:
    """Memory of the server over a long time."""
    watched(tab, address, CASES["64 students x 100 units"], 1)
    tab.evaluate("play.click()")
    tab.wait("studio.playing")
    found, before = [], tab.evaluate("studio.frame.time")
    for _ in range(10):
        time.sleep(seconds / 10)
        found.append(round(memory(server)))
    return {"memory_mib": found, "steps_meanwhile": round(tab.evaluate("studio.frame.time") - before)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--memory-seconds", type=float, default=0)
    parser.add_argument("--connections", type=int, nargs="+", default=[5, 10, 20, 40])
    parser.add_argument("--connections-only", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found: dict = {"provenance": provenance(), "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 2)}
    with Chromium() as tab:
        server, address, times = first_frame(tab)
        found |= times
        try:
            for name, settings in CASES.items() if not given.connections_only else ():
                found[name] = compared(tab, address, settings, given.seconds)
                print(name, found[name], flush=True)
            if given.memory_seconds:
                found |= sizes(tab, server, address, given.memory_seconds)
            tab.open("about:blank")
            found["many"] = [many(address, count, given.seconds) for count in given.connections]
        finally:
            server.terminate()
    print(json.dumps(found, indent=1))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
