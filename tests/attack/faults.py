"""Kill a running sweep again and again, at random moments, and see that nothing is lost and nothing changes.

    python tests/attack/faults.py --kills 100 --on processes:2 [--seed 0] [--within 6] [--json FILE]
    python tests/attack/faults.py --full-disk --on processes:2 [--json FILE]

A round runs a sweep of small experiments in a folder of its own. The driver, or one of its workers, is killed with -9
after a random time; the same command is then started again, until the sweep is whole; then the next round begins, until
all kills are spent. After every kill each experiment in the folder must be whole, and none that had landed may be gone
or have changed; at the end of a round the numbers must be those of an undisturbed run, byte for byte.

With --full-disk (as root, since it mounts one) the folder is a small disk that runs full: every start must end with one
refusal that says so; then the disk grows a little and the same command is started again, until the sweep is whole.
"""

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tutelage.lab import Store, TeacherStudent, schedule

PACKS = 12


def experiments() -> list[TeacherStudent]:
    """Experiments of about a quarter of a second each."""
    return [
        TeacherStudent(
            teacher={"kind": "levels", "inputs": 20, "hidden": 5, "outputs": 10, "polarity": i / 4},
            student={"kind": "small-normal", "width_factor": 2},
            inputs={"kind": "gaussian", "std": 1.5, "train": 500, "evaluate": 500},
            training={"steps": 1500},
            record={"every": 300},
            seeds=4,
        )
        for i in range(PACKS)
    ]


def drive(folder: Path, on: str) -> None:
    """What the processes that are killed do."""
    schedule(experiments(), Store(folder), on, device="cpu", engine="stacked")


def fingerprint(folder: Path) -> dict[str, str]:
    """A digest of the numbers of every experiment that has landed; an experiment that is not whole is refused."""
    store, found = Store(folder), {}
    for experiment in experiments():
        if experiment in store:
            values = store.load(experiment).report.values
            text = b"".join(name.encode() + values[name].tobytes() for name in sorted(values))
            found[experiment.hash] = hashlib.sha256(text).hexdigest()
    return found


def start(folder: Path, on: str) -> subprocess.Popen:
    words = [sys.executable, __file__, "--drive", str(folder), "--on", on]
    quiet = os.environ | {"OMP_NUM_THREADS": "1", "RAY_DEDUP_LOGS": "1"}
    return subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=quiet, start_new_session=True
    )


def workers(driver: int) -> list[int]:
    """Processes that compute experiments for a driver: children that were spawned, or tasks of Ray."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            try:
                words = Path(f"/proc/{entry}/cmdline").read_bytes().replace(b"\0", b" ")
                parent = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()[1]
            except OSError:
                continue
            if (b"spawn_main" in words and int(parent) == driver) or words.startswith(b"ray::carry_out"):
                found.append(int(entry))
    return found


def kill_something(driver: subprocess.Popen, chance: random.Random) -> str:
    """Kill the driver or one of its workers, whichever the dice say, and tell which."""
    candidates = workers(driver.pid)
    if candidates and chance.random() < 0.5:
        try:
            os.kill(chance.choice(candidates), signal.SIGKILL)
            return "worker"
        except ProcessLookupError:
            pass
    driver.kill()
    driver.wait()
    return "driver"


def run(kills: int, on: str, seed: int = 0, within: float = 6.0) -> dict:
    """Spend all kills; the counts of what was killed, lost, damaged and different."""
    chance = random.Random(seed)
    counts = {"driver": 0, "worker": 0, "rounds": 0, "lost": 0, "changed": 0, "damaged": 0, "different": 0, "landed": 0}
    with tempfile.TemporaryDirectory() as temporary:
        drive(Path(temporary) / "undisturbed", "local")
        wanted = fingerprint(Path(temporary) / "undisturbed")
        while counts["driver"] + counts["worker"] < kills:
            folder = Path(temporary) / f"round-{counts['rounds']}"
            _round(folder, on, kills, chance, counts, within)
            counts["different"] += sum(fingerprint(folder)[name] != digest for name, digest in wanted.items())
            counts["rounds"] += 1
            counts["landed"] += len(wanted)
    return counts


def _round(folder: Path, on: str, kills: int, chance: random.Random, counts: dict, within: float) -> None:
    """One sweep, disturbed until it is whole; the last start is left alone when the kills are spent."""
    seen: dict[str, str] = {}
    driver = start(folder, on)
    while driver.poll() is None or driver.returncode != 0:
        if driver.poll() is not None:
            driver = start(folder, on)
        if counts["driver"] + counts["worker"] >= kills:
            driver.wait(300)
            continue
        time.sleep(chance.uniform(0.5, within))
        if driver.poll() is None:
            counts[kill_something(driver, chance)] += 1
            seen = _look(folder, seen, counts)


def _look(folder: Path, seen: dict[str, str], counts: dict) -> dict[str, str]:
    """Hold what is in the folder to what was there before."""
    if not folder.is_dir():
        return seen
    try:
        now = fingerprint(folder)
    except ValueError:
        counts["damaged"] += 1
        return seen
    counts["lost"] += len(seen.keys() - now.keys())
    counts["changed"] += sum(now[name] != digest for name, digest in seen.items() if name in now)
    return now


def fill(on: str) -> dict:
    """Run the sweep on a disk that is too small and grows; the counts of what was refused, lost and different."""
    counts = {"refused": 0, "other_ends": 0, "lost": 0, "changed": 0, "damaged": 0, "different": 0, "landed": 0}
    with tempfile.TemporaryDirectory() as temporary:
        drive(Path(temporary) / "undisturbed", "local")
        wanted, disk = fingerprint(Path(temporary) / "undisturbed"), Path(temporary) / "disk"
        disk.mkdir()
        size, seen = 64, {}
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "tutelage", disk], check=True)
        try:
            while True:
                words = [sys.executable, __file__, "--drive", str(disk / "results"), "--on", on]
                ended = subprocess.run(words, capture_output=True, text=True, check=False)
                if ended.returncode == 0:
                    break
                said = "No space left on device" in ended.stderr and "TutelageError" in ended.stderr.splitlines()[-1]
                counts["refused" if said else "other_ends"] += 1
                seen = _look(disk / "results", seen, counts)
                size = size * 5 // 4
                subprocess.run(["mount", "-o", f"remount,size={size}k", disk], check=True)
            found = fingerprint(disk / "results")
            counts["different"] += sum(found[name] != digest for name, digest in wanted.items())
            counts["landed"] += len(found)
        finally:
            subprocess.run(["umount", disk], check=True)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--on", default="processes:2")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--within", type=float, default=6.0, help="seconds after which at the latest something is killed"
    )
    parser.add_argument("--full-disk", action="store_true", help="fill a small disk instead of killing")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--drive", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.drive:
        drive(options.drive, options.on)
        return
    begin = time.time()
    if options.full_disk:
        result = {"on": options.on, **fill(options.on)}
    else:
        result = {"on": options.on, "seed": options.seed}
        result |= run(options.kills, options.on, options.seed, options.within)
    result |= {"seconds": round(time.time() - begin), "date": time.strftime("%Y-%m-%d", time.gmtime())}
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    sys.exit(any(result.get(name) for name in ("other_ends", "lost", "changed", "damaged", "different")))


if __name__ == "__main__":
    main()
