"""Ask every question of a folder of network pairs, and set the answers beside those of other tools.

python benchmarks/pairs.py FOLDER [--seconds 120] [--device cpu|cuda] [--family F] [--name N] [--out FILE.json]

FOLDER has instances.csv (columns name, family, a, b, lower, upper, property, epsilon, output, peer, peer_verdict,
peer_seconds, seen, truth) and the ONNX files in networks/. Every question is one process with a limit in seconds, start
and compilation included; --together asks all of them in one process, which leaves both out. A witness is evaluated
again in float64 by plain numpy. Answers that contradict what is known are counted as wrong.
"""

import argparse
import csv
import json
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from provenance import provenance

csv.field_size_limit(1 << 24)
START = 20.0  # seconds that a process may take to start and end beyond its limit


def numbers(text: str, size: int) -> np.ndarray:
    values = np.array([float(v) for v in text.split(";")])
    return np.repeat(values, size) if len(values) == 1 else values


def answer(row: dict, folder: Path, seconds: float, device: str) -> dict:
    """Ask one question in this process."""
    import torch

    from tutelage.functions import difference_bound, top_class_agreement
    from tutelage.networks import read_network

    begin = time.monotonic()
    first, second = (read_network(folder / "networks" / row[k]) for k in ("a", "b"))
    domain = tuple(torch.from_numpy(numbers(row[k], first.inputs)) for k in ("lower", "upper"))
    if row["property"] == "top1":
        found = top_class_agreement(first, second, domain, seconds=seconds, device=device)
    else:
        output = int(row["output"]) if row["output"] else None
        epsilon = float(row["epsilon"])
        found = difference_bound(first, second, domain, epsilon, output=output, seconds=seconds, device=device)
    asked = [int(row["output"])] if row["output"] else list(range(first.outputs))
    return {
        "verdict": found.verdict,
        "at_most": max(found.at_most[k].item() for k in asked),
        "found": max(found.largest[k].item() for k in asked),
        "witness": None if found.witness is None else found.witness.tolist(),
        "boxes": found.parts,
        "reason": found.reason,
        "seconds": time.monotonic() - begin,
    }


def answered(row: dict, told: argparse.Namespace) -> dict:
    """Ask one question, in a process of its own unless all are asked together."""
    begin = time.monotonic()
    try:
        if told.together:
            found = answer(row, told.folder, told.seconds, told.device)
        else:
            words = [sys.executable, __file__, str(told.folder), "--one", row["name"], "--seconds", str(told.seconds)]
            words += ["--device", told.device]
            limit = told.seconds + START
            done = subprocess.run(words, capture_output=True, text=True, timeout=limit, check=False)
            found = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else failed(done.stderr)
    except subprocess.TimeoutExpired:
        found = failed("out of time")
    except Exception as error:  # one question that fails must not end the others
        found = failed(f"{type(error).__name__}: {error}")
    found["wall"] = time.monotonic() - begin
    return found


def failed(why: str) -> dict:
    nothing = dict.fromkeys(("at_most", "found", "witness", "boxes", "seconds"))
    return {**nothing, "verdict": "failed", "reason": " ".join(why.split())[-300:]}


def judged(row: dict, found: dict, told: argparse.Namespace) -> str:
    """yes: decided and no contradiction to what is known; no: not decided; or why it is wrong."""
    if found["verdict"] not in ("holds", "violated"):
        return "no"
    seen, epsilon = float(row["seen"] or 0), float(row["epsilon"] or 0)
    if row["truth"] and row["truth"] != found["verdict"]:
        return f"wrong: known to be {row['truth']}"
    if found["verdict"] == "holds":
        epsilon_question = row["property"] != "top1"
        return f"wrong: {seen:g} is known" if epsilon_question and seen > min(epsilon, found["at_most"]) else "yes"
    x = np.array(found["witness"])
    low, high = (numbers(row[k], len(x)) for k in ("lower", "upper"))
    if (x < low).any() or (x > high).any():
        return "wrong: the witness lies outside the box"
    a, b = (evaluated(told.folder / "networks" / row[k], x) for k in ("a", "b"))
    if row["property"] == "top1":
        return "yes" if a.argmax() != b.argmax() else "wrong: both agree at the witness"
    gap = np.abs(a - b)[int(row["output"])] if row["output"] else np.abs(a - b).max()
    return "yes" if gap > epsilon else f"wrong: they differ by {gap:g} at the witness"


def evaluated(path: Path, x: np.ndarray) -> np.ndarray:
    """Outputs in float64, by the reader of the library and plain matrix products."""
    from tutelage.networks import read_network

    network = read_network(path)
    for layer, w in enumerate(network.weights):
        x = x @ w[0].double().numpy() + (0 if network.biases is None else network.biases[layer][0].double().numpy())
        if layer < network.depth - 1:
            x = np.maximum(x, 0) if network.activation == "relu" else np.where(x > 0, x, network.slope * x)
    return x


def table(rows: list[dict]) -> str:
    """One line per family: solved, asked, wrong, our seconds, and what the peer solved in which time."""
    families = defaultdict(list)
    for r in rows:
        families[r["family"]].append(r)
    lines = [
        "| family | solved | asked | wrong | seconds | longest | peer | peer solved | peer seconds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for family, own in families.items():
        solved, wrong = (sum(r["judged"].startswith(w) for r in own) for w in ("yes", "wrong"))
        known = [r for r in own if r["peer_verdict"]]
        theirs = sum(r["peer_verdict"] in ("holds", "violated") for r in known)
        spent = sum(float(r["peer_seconds"]) for r in known if r["peer_seconds"])
        peer = next((r["peer"] for r in own if r["peer"]), "none")
        walls = [r["wall"] for r in own]
        lines.append(
            f"| {family} | {solved} | {len(own)} | {wrong} | {sum(walls):.1f} | {max(walls):.1f} | {peer} | "
            f"{theirs} of {len(known)} | {spent:.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--family", action="append")
    parser.add_argument("--name", action="append")
    parser.add_argument("--every", type=int, default=1, help="only every n-th question of a family")
    parser.add_argument("--total", type=float, default=float("inf"), help="begin no question after so many seconds")
    parser.add_argument("--together", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path)
    told = parser.parse_args()
    with (told.folder / "instances.csv").open(newline="") as file:
        every = list(csv.DictReader(file))
    if told.one:
        (row,) = [r for r in every if r["name"] == told.one]
        print(json.dumps(answer(row, told.folder, told.seconds, told.device)))
        return
    rows = [r for r in every if not told.family or r["family"] in told.family]
    rows = [r for r in rows if not told.name or r["name"] in told.name]
    counts: dict[str, int] = defaultdict(int)
    results, begin = [], time.monotonic()
    for row in rows:
        counts[row["family"]] += 1
        if (counts[row["family"]] - 1) % told.every or time.monotonic() - begin > told.total:
            continue
        found = answered(row, told)
        kept = {k: row[k] for k in ("name", "family", "property", "epsilon", "peer", "peer_verdict", "peer_seconds")}
        results.append({**kept, "truth": row["truth"], **found, "judged": judged(row, found, told)})
        last = results[-1]
        print(f"{last['judged']:5} {last['verdict']:12} {last['wall']:7.1f} s  {row['name']}  {found['reason'][:80]}",
              file=sys.stderr, flush=True)  # fmt: skip
    print(table(results))
    if told.out:
        told.out.parent.mkdir(parents=True, exist_ok=True)
        about = {"seconds": told.seconds, "device": told.device, "together": told.together, **provenance()}
        for result in results:  # long, and anyone can find it again
            result.pop("witness")
        told.out.write_text(json.dumps({**about, "table": table(results).splitlines(), "results": results}, indent=1))


if __name__ == "__main__":
    main()
