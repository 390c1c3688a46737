"""Ask every question of a folder of network pairs, and set the answers beside those of other tools.

python benchmarks/pairs.py FOLDER [--seconds 120] [--device cpu|cuda] [--family F] [--name N] [--out FILE.json]
    [--proofs FOLDER] [--beside 8]

FOLDER has instances.csv (columns name, family, a, b, lower, upper, property, epsilon, output, peer, peer_verdict,
peer_seconds, seen, truth) and the ONNX files in networks/. Every question is one process with a limit in seconds, start
and compilation included; --together asks all of them in one process, which leaves both out, and --beside N in N
processes that share the cores and take one question after the other. A witness is evaluated
again in float64 by plain numpy. Answers that contradict what is known are counted as wrong. With --proofs, within the
same limit, a proof of every answer that holds is written to a folder, compressed, and checked by verifying.py in a
process of its own with one thread: the size of the file, its SHA-256 and the seconds of the processor are recorded.
"""

import argparse
import csv
import hashlib
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import time
from collections import defaultdict
from functools import partial
from pathlib import Path

import numpy as np

from provenance import provenance

csv.field_size_limit(1 << 24)
START = 20.0  # seconds that a process may take to start and end beyond its limit


def numbers(text: str, size: int) -> np.ndarray:
    values = np.array([float(v) for v in text.split(";")])
    return np.repeat(values, size) if len(values) == 1 else values


def answer(row: dict, folder: Path, seconds: float, device: str, proofs: Path | None = None) -> dict:
    """Ask one question in this process, and write the proof of the answer to a folder."""
    import torch

    from tutelage.functions import difference_bound, top_class_agreement
    from tutelage.networks import read_any_network

    begin = time.monotonic()
    first, second = (read_any_network(folder / "networks" / row[k]) for k in ("a", "b"))
    domain = tuple(torch.from_numpy(numbers(row[k], first.inputs)) for k in ("lower", "upper"))
    keep = proofs is not None
    if row["property"] == "top1":
        found = top_class_agreement(first, second, domain, seconds=seconds, device=device, keep=keep)
    else:
        output = int(row["output"]) if row["output"] else None
        epsilon = float(row["epsilon"])
        found = difference_bound(
            first, second, domain, epsilon, output=output, seconds=seconds, device=device, keep=keep
        )
    asked = [int(row["output"])] if row["output"] else list(range(first.outputs))
    answered = time.monotonic() - begin
    written = (
        {}
        if proofs is None or not found.holds
        else proof_of(row, found, domain, asked, seconds - answered, folder, proofs)
    )
    return {
        "verdict": found.verdict,
        "at_most": max(found.at_most[k].item() for k in asked),
        "found": max(found.largest[k].item() for k in asked),
        "witness": None if found.witness is None else found.witness.tolist(),
        "boxes": found.parts,
        "reason": found.reason,
        "seconds": answered,
        **written,
    }


def proof_of(row: dict, found, domain, asked: list[int], seconds: float, folder: Path, proofs: Path) -> dict:
    """Write the proof of an answer: its parts and the seconds it took, or why there is none."""
    from tutelage.errors import TutelageError
    from tutelage.functions import box, save_proof

    begin = time.monotonic()
    files = [folder / "networks" / row[k] for k in ("a", "b")]
    if row["property"] == "top1":
        claim = {"margin": 0.0}
    else:
        claim = {"epsilon": [float(row["epsilon"]) if k in asked else np.inf for k in range(len(found.at_most))]}
    path = proofs / f"{row['name']}.json.gz"
    try:
        parts = save_proof(path, found, *files, box(*domain, flat=True), seconds=max(0.0, seconds), **claim)
    except TutelageError as error:
        return {"no_proof": str(error), "writing": time.monotonic() - begin}
    return {"parts": parts, "writing": time.monotonic() - begin}


def checked(row: dict, told: argparse.Namespace) -> dict:
    """What the checker says of the proof of an answer, in a process of its own with one thread."""
    from tutelage import verifying

    path = told.proofs / f"{row['name']}.json.gz"
    words = [sys.executable, "-I", verifying.__file__, str(path)]
    words += [str(told.folder / "networks" / row[k]) for k in ("a", "b")]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **threads}, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    data = path.read_bytes()
    return {
        "verified": done.returncode == 0,
        "checking": spent,
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }


def answered(row: dict, told: argparse.Namespace) -> dict:
    """Ask one question, in a process of its own unless all are asked together."""
    begin = time.monotonic()
    try:
        if told.together:
            found = answer(row, told.folder, told.seconds, told.device, told.proofs)
        else:
            words = [sys.executable, __file__, str(told.folder), "--one", row["name"], "--seconds", str(told.seconds)]
            words += ["--device", told.device] + (["--proofs", str(told.proofs)] if told.proofs else [])
            limit = told.seconds + (2 * START if told.proofs else START)  # a part of a proof is finished
            done = subprocess.run(words, capture_output=True, text=True, timeout=limit, check=False)
            found = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else failed(done.stderr)
    except subprocess.TimeoutExpired:
        found = failed("out of time")
    except Exception as error:  # one question that fails must not end the others
        found = failed(f"{type(error).__name__}: {error}")
    found["wall"] = time.monotonic() - begin
    return found | (checked(row, told) if "parts" in found else {})


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


def table_of_proofs(rows: list[dict]) -> str:
    """One line per family: answers that hold, those with a proof that is verified, sizes and seconds to check."""
    lines = [
        "| family | holds | with a proof | parts, most | bytes, most | seconds to check, median | most |",
        "|---|---|---|---|---|---|---|",
    ]
    for family in dict.fromkeys(r["family"] for r in rows):
        holds = [r for r in rows if r["family"] == family and r["verdict"] == "holds"]
        good = [r for r in holds if r.get("verified")]
        parts, sizes, spent = ([r[k] for r in good] or [0] for k in ("parts", "bytes", "checking"))
        lines.append(
            f"| {family} | {len(holds)} | {len(good)} | {max(parts):,} | {max(sizes):,} | {np.median(spent):.1f} | "
            f"{max(spent):.1f} |"
        )
    return "\n".join(lines)


def result_of(row: dict, told: argparse.Namespace, end: float) -> dict | None:
    """The answer to a question with what is known of it; None after the end."""
    if time.time() > end:
        return None
    found = answered(row, told)
    kept = {k: row[k] for k in ("name", "family", "property", "epsilon", "peer", "peer_verdict", "peer_seconds")}
    result = {**kept, "truth": row["truth"], **found, "judged": judged(row, found, told)}
    print(f"{result['judged']:5} {result['verdict']:12} {result['wall']:7.1f} s  {row['name']}  {found['reason'][:80]}",
          file=sys.stderr, flush=True)  # fmt: skip
    return result


def take_cores(each: int) -> None:
    """Leave this process, one of several, some cores of its own."""
    cores, number = sorted(os.sched_getaffinity(0)), multiprocessing.current_process()._identity[0] - 1
    os.sched_setaffinity(0, [cores[(number * each + k) % len(cores)] for k in range(each)])


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
    parser.add_argument("--beside", type=int, default=1, help="processes side by side")
    parser.add_argument("--first", type=int, default=sys.maxsize, help="only the first n questions of a family")
    parser.add_argument("--proofs", type=Path, help="folder for proofs of what holds, which are then checked")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path)
    told = parser.parse_args()
    with (told.folder / "instances.csv").open(newline="") as file:
        every = list(csv.DictReader(file))
    if told.one:
        (row,) = [r for r in every if r["name"] == told.one]
        print(json.dumps(answer(row, told.folder, told.seconds, told.device, told.proofs)))
        return
    rows = [r for r in every if not told.family or r["family"] in told.family]
    rows = [r for r in rows if not told.name or r["name"] in told.name]
    counts: dict[str, int] = defaultdict(int)
    chosen = []
    for row in rows:
        number = counts[row["family"]]
        counts[row["family"]] += 1
        if not number % told.every and number < told.first:
            chosen.append(row)
    told.together = told.together or told.beside > 1
    ask = partial(result_of, told=told, end=time.time() + told.total)
    if told.beside > 1:
        each = max(1, len(os.sched_getaffinity(0)) // told.beside)
        os.environ.update(OMP_NUM_THREADS=str(each), OPENBLAS_NUM_THREADS=str(each))  # read when a process begins
        with multiprocessing.get_context("spawn").Pool(told.beside, take_cores, (each,)) as pool:
            results = [r for r in pool.imap(ask, chosen, chunksize=1) if r]
    else:
        results = [r for r in map(ask, chosen) if r]
    print(table(results))
    if told.proofs:
        print(table_of_proofs(results))
    if told.out:
        told.out.parent.mkdir(parents=True, exist_ok=True)
        about = {
            "seconds": told.seconds,
            "device": told.device,
            "together": told.together,
            "beside": told.beside,
            **provenance(),
        }
        for result in results:  # long, and anyone can find it again
            result.pop("witness")
        tables = {"table": table(results).splitlines()}
        if told.proofs:
            tables["proofs"] = table_of_proofs(results).splitlines()
        told.out.write_text(json.dumps({**about, **tables, "results": results}, indent=1))


if __name__ == "__main__":
    main()
