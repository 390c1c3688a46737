"""Frames per second, lag, dropped frames, memory and training speed of the live page, measured in Chromium.

    python benchmarks/studio.py [--seconds 10] [--json FILE] [--no-browser] [--memory-seconds 600] [--connections 20]

Starts ``tutelage studio`` as a process of its own, opens the page in Chromium (playwright, Debian's chromium or
playwright's own) at the speed "as fast as it can", and counts. The same training without a page is measured before, in
this process. Lag is the time from a click on Pause until the page says that it stands still.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

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


def wait(page, condition: str) -> None:
    while not page.evaluate(f"(() => !!({condition}))()"):
        page.wait_for_timeout(5)


def watched(page, address: str, settings: dict, seconds: float) -> dict:
    """What a page in Chromium sees of a course that runs as fast as it can."""
    page.goto("about:blank")
    page.goto(address + fragment(settings))
    wait(page, "window.studio && studio.frame")
    page.select_option("#speed", "0")
    page.keyboard.press("Space")
    page.wait_for_timeout(1500)
    look = "[studio.frames, studio.frame.time, performance.now()]"
    before = page.evaluate(look)
    page.wait_for_timeout(int(1000 * seconds))
    after = page.evaluate(look)
    took = (after[2] - before[2]) / 1000
    lags = []
    for _ in range(5):
        begin = time.perf_counter()
        page.click("#play")
        wait(page, "!studio.playing")
        lags.append(time.perf_counter() - begin)
        dropped = page.evaluate("studio.dropped")
        page.click("#play")
        wait(page, "studio.playing")
    page.click("#play")
    return {
        "frames_per_second": round((after[0] - before[0]) / took, 1),
        "steps_per_second": round((after[1] - before[1]) / took),
        "pause_lag_ms": round(1000 * statistics.median(lags)),
        "dropped": dropped,
    }


def many(address: str, connections: int, seconds: float) -> dict:
    """Frames per second of every one of many connections without a browser, all training at once."""
    from websockets.sync.client import connect

    home, token = re.match(r"(http://[^/]+)/\?token=([^#]+)", address).groups()  # type: ignore[union-attr]
    counts = [0] * connections

    def follow(i: int) -> None:
        live = home.replace("http", "ws") + f"/live?token={token}"
        with connect(live, origin=home, max_size=None, compression=None) as socket:
            opened = {"do": "open", "scene": "specialisation", "settings": LONG | {"seed": 100 * i}, "number": 1}
            socket.send(json.dumps(opened))
            socket.send(json.dumps({"do": "play", "speed": 0}))
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                if isinstance(socket.recv(timeout=60), bytes):
                    counts[i] += 1
                    socket.send(json.dumps({"do": "drawn"}))

    threads = [threading.Thread(target=follow, args=(i,)) for i in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rates = sorted(count / seconds for count in counts)
    return {"connections": connections, "slowest": round(rates[0], 1), "median": round(statistics.median(rates), 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--memory-seconds", type=float, default=0)
    parser.add_argument("--connections", type=int, default=20)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    alone = {name: headless(settings, given.seconds) for name, settings in CASES.items()}
    server, address, started = start()
    found: dict = {
        "provenance": provenance(),
        "seconds_to_address": round(started, 2),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
    }
    try:
        from playwright.sync_api import sync_playwright

        with sync_playwright() as playwright:
            chromium = shutil.which("chromium") or shutil.which("google-chrome")
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 720})
            begin = time.perf_counter()
            page.goto(address)
            wait(page, "window.studio && studio.frame")
            found["seconds_to_first_frame"] = round(started + time.perf_counter() - begin, 2)
            for name, settings in CASES.items():
                seen = watched(page, address, settings, given.seconds)
                share = seen["steps_per_second"] / alone[name]
                found[name] = seen | {"headless_steps_per_second": round(alone[name]), "share": round(share, 2)}
                print(name, found[name], flush=True)
            if given.memory_seconds:
                watched(page, address, CASES["64 students x 100 units"], 1)
                page.click("#play")
                wait(page, "studio.playing")
                sizes, before = [], page.evaluate("studio.frame.time")
                for _ in range(10):
                    page.wait_for_timeout(int(100 * given.memory_seconds))
                    sizes.append(round(memory(server)))
                found["memory_mib"] = sizes
                found["steps_meanwhile"] = round(page.evaluate("studio.frame.time") - before)
            browser.close()
        found["many"] = many(address, given.connections, given.seconds)
    finally:
        server.terminate()
    print(json.dumps(found, indent=1))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
