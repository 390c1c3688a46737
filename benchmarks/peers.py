"""Other tools beside tutelage: the same questions on the same machine in one run, every task in a process of its own.

python benchmarks/peers.py --prepare ENV        once: an environment with the tools, which shares torch with this one
ENV/bin/python benchmarks/peers.py [compare] [train] [match] [prune] [regions] [--json FILE]

`compare` needs a folder of questions (--pairs, as for pairs.py), `match` and `prune` need MNIST (`tutelage data fetch
mnist`). Nothing of the tools is part of the package; some are under the GPL or AGPL. Each row has seconds
of the wall clock and of the processor, start and compilation included, of one process and its children.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

import numpy as np

from peer_tasks import ENSEMBLE, TASKS, network_with_l1, two_networks
from provenance import provenance
from tutelage.training.speed import INPUTS, OUTPUTS

TOOLS = [
    *("vibecheck-nn==1.1.0", "maraboupy==2.0.0", "torch-pruning==1.6.1", "rebasin==0.0.47", "relucent==1.0.0"),
    *("jax==0.10.2", "jaxlib==0.10.2", "onnxruntime", "onnx", "onnxsim", "ml_dtypes", "opt_einsum", "flatbuffers"),
    *("tqdm", "torchview", "graphviz", "gurobipy", "plotly", "narwhals"),
]
"""Installed without what they depend on: that would bring a second torch."""
TEN_MINUTES = 600.0
REGIONS = ((2, 10, 10, 1), (2, 32, 32, 1), (3, 16, 16, 1), (4, 16, 1))


def prepare(folder: Path) -> None:
    """An environment that reads our packages too, with the tools beside them."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    place = subprocess.check_output(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
    ).strip()
    ours = sysconfig.get_path("purelib")
    Path(place, "tutelage_packages.pth").write_text(f"import site; site.addsitedir({ours!r})\n")
    subprocess.run([python, "-m", "pip", "install", "--no-deps", "--quiet", *TOOLS], check=True)


def question(row: dict, first: Path) -> str:
    """The question as a file of the verification competition, in the forms that all tools read."""
    import onnxruntime

    session = onnxruntime.InferenceSession(first)
    shapes = [session.get_inputs()[0].shape, session.get_outputs()[0].shape]
    (x_shape, y_shape) = ([1 if not isinstance(n, int) else n for n in shape] for shape in shapes)
    size, outputs = int(np.prod(x_shape)), int(np.prod(y_shape))
    low, high = (np.broadcast_to([float(v) for v in row[k].split(";")], size) for k in ("lower", "upper"))

    def at(name: str, shape: list[int], k: int) -> str:
        return f"{name}[{','.join(map(str, np.unravel_index(k, shape)))}]"

    def declared(name: str, like: str = "") -> str:
        x, y = ([*map(int, shape)] for shape in (x_shape, y_shape))
        sides = f"(declare-input X_{name} real {x}) (declare-output Y_{name} real {y})".replace(", ", ",")
        return f"(declare-network {name} {like}{sides})"

    lines = ["(vnnlib-version <2.0>)", declared("f"), declared("g", "(isomorphic-to f) ")]
    for k in range(size):
        x, copy = at("X_f", x_shape, k), at("X_g", x_shape, k)
        lines += [f"(assert (== {x} {copy}))", f"(assert (and (<= {x} {high[k]:.17f}) (>= {x} {low[k]:.17f})))"]
    atoms = []
    for k in [int(row["output"])] if row["output"] else range(outputs):
        f, g = at("Y_f", y_shape, k), at("Y_g", y_shape, k)
        atoms += [f"(> {g} (+ {f} {row['epsilon']}))", f"(< {g} (- {f} {row['epsilon']}))"]
    return "\n".join([*lines, f"(assert (or {' '.join(atoms)}))"]) + "\n"


def in_a_process(part: str, tool: str, words: list[str], limit: float, threads: int) -> dict:
    """One task, with its seconds by the clock and of the processor."""
    command = [sys.executable, __file__, "--task", part, tool, *words]
    one = {name: str(threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        begin = time.monotonic()
        process = subprocess.Popen(command, stdout=out, stderr=err, text=True, env=os.environ | one)
        while (done := os.wait4(process.pid, os.WNOHANG))[0] == 0:
            if time.monotonic() - begin > limit:
                process.kill()
            time.sleep(0.02)
        used, wall = done[2], time.monotonic() - begin
        out.seek(0), err.seek(0)
        lines = out.read().splitlines()
        failed = done[1] != 0 or not lines
        found = {"failed": " ".join(err.read().split())[-300:]} if failed else json.loads(lines[-1])
    row = {"part": part, "tool": tool, **found}
    return row | {"wall": round(wall, 2), "cpu": round(used.ru_utime + used.ru_stime, 2)}


def task(part: str, tool: str, words: list[str]) -> dict:
    if part == "compare":
        first, second, asked = map(Path, words[:3])
        return TASKS[part][tool](first, second, asked, float(words[3]))
    if part == "regions":
        return TASKS[part][tool](tuple(map(int, words)))
    return TASKS[part][tool](*map(Path, words))


def asked(options: argparse.Namespace, folder: Path) -> list[tuple[str, str, list[str]]]:
    """Part, question and its words, for every task of this run."""
    tasks = []
    if "compare" in options.parts:
        csv.field_size_limit(1 << 24)
        with (options.pairs / "instances.csv").open(newline="") as file:
            rows = [r for r in csv.DictReader(file) if r["family"] in options.family and r["property"] != "top1"]
        for row in rows[:: options.every]:
            first, second = ((options.pairs / "networks" / row[k]).resolve() for k in ("a", "b"))
            file_of_question = folder / f"{row['name']}.vnnlib"
            file_of_question.write_text(question(row, first))
            tasks.append(("compare", row["name"], [*map(str, (first, second, file_of_question, options.seconds))]))
    tasks += [("regions", "-".join(map(str, w)), [*map(str, w)]) for w in REGIONS if "regions" in options.parts]
    tasks += [("train", f"{INPUTS}-{ENSEMBLE['hidden']}-{OUTPUTS}", [])] if "train" in options.parts else []
    for part, made in (("match", two_networks), ("prune", network_with_l1)):
        if part in options.parts:
            made(folder)  # trained here, so that no tool's time has it
            tasks.append((part, "mnist", [str(folder)]))
    return tasks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=list(TASKS), help=f"default: {' '.join(TASKS)}")
    parser.add_argument("--prepare", type=Path, metavar="ENV")
    parser.add_argument("--pairs", type=Path, help="folder of questions about pairs of networks")
    parser.add_argument("--family", action="append", default=[])
    parser.add_argument("--every", type=int, default=1, help="only every n-th question")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of a question")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--task", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.prepare:
        return prepare(options.prepare)
    if options.task:
        part, tool, *words = options.task
        return print(json.dumps(task(part, tool, words)))
    rows = []
    with tempfile.TemporaryDirectory() as made:
        for part, name, words in asked(options, Path(made)):
            for tool in TASKS[part]:
                limit = options.seconds + 30 if part == "compare" else TEN_MINUTES
                row = {"question": name, **in_a_process(part, tool, words, limit, options.threads)}
                rows.append(row)
                print(json.dumps(row), flush=True)
    if options.json:
        about = {"provenance": provenance(), "tools": TOOLS, "seconds": options.seconds, "threads": options.threads}
        options.json.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
