"""Small mistakes put into files that decide, and whether the tests of each file notice.

python tests/mutants.py [--count 12] [--seed 0] [--jobs 2] [--file lab/query.py ...] [--json FILE]

A mutant is a file with one comparison, operator, sign or constant changed. It is written into a copy of ``src``, and
the tests of that file are run against the copy: *caught* if one fails, *survived* otherwise. A survivor is a tolerance,
a rounding term or a threshold that no test can see. A line that ends in ``# unseen: REASON`` is not mutated: the
reason says why no test can see a change there, such as a choice that trades only time.
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "tutelage"
LONGEST = 240
"""Seconds for the tests of one mutant; a loop that never ends is a mistake that is noticed."""

OPERATORS = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip

FILES = {
    "functions/domain.py": ["functions/test_domain.py"],
    "functions/rounding.py": ["functions/test_rounding.py"],
    "functions/relaxations.py": ["functions/test_relaxations.py", "functions/test_own_unit.py"],
    "functions/bounds/intervals.py": ["functions/bounds/test_intervals.py"],
    "functions/bounds/ranges.py": ["functions/bounds/test_ranges.py"],
    "functions/bounds/backward.py": ["functions/bounds"],
    "functions/comparing/tolerance.py": ["functions/comparing/test_tolerance.py"],
    "networks/graphs/merging.py": ["networks/graphs/test_merging.py"],
    "certificates/registry.py": ["certificates"],
    "studies/intervals.py": ["studies/test_intervals.py"],
    "studies/claims.py": ["studies/test_claims.py"],
    "lab/store.py": ["lab/test_store.py"],
    "lab/query.py": ["lab/test_query.py"],
}
"""Files that decide, and the tests of each, both from their own roots."""


@dataclass(frozen=True)
class Mutant:
    """One changed place of a file."""

    file: str
    line: int
    before: str
    after: str
    source: str
    verdict: str = ""


def mutants(file: str) -> Iterator[Mutant]:
    """Every mutant of a file, in the order of its lines."""
    text = (PACKAGE / file).read_text()
    lines = text.splitlines()
    for number in range(len(list(ast.walk(ast.parse(text))))):
        tree = ast.parse(text)
        node = list(ast.walk(tree))[number]
        line = getattr(node, "lineno", 0)
        if not line or "# unseen: " in "".join(lines[line - 1 : node.end_lineno]) or node in _annotations(tree):
            continue
        before = ast.unparse(node)
        for change in changes(node):
            change()
            yield Mutant(file, line, before, ast.unparse(node), ast.unparse(tree))


def changes(node: ast.AST) -> list:
    """What can be changed at a node: each entry changes it in place."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OPERATORS:
        return [lambda: node.ops.__setitem__(0, OPERATORS[type(node.ops[0])]())]
    if isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in OPERATORS:
        return [lambda: setattr(node, "op", OPERATORS[type(node.op)]())]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        return [lambda: setattr(node, "op", ast.UAdd())]
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return [lambda: setattr(node, "value", node.value * 2 if node.value else 1)]
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return [lambda: setattr(node, "value", not node.value)]
    return []


def _annotations(tree: ast.Module) -> set[ast.AST]:
    """Everything in annotations: types are checked by mypy and do nothing when the program runs."""
    kept = [getattr(node, name, None) for node in ast.walk(tree) for name in ("annotation", "returns")]
    return {part for node in kept if isinstance(node, ast.AST) for part in ast.walk(node)}


def tried(mutant: Mutant, tests: list[str], copies: Path) -> Mutant:
    """Run the tests of the file against a copy of the package with this mutant."""
    with tempfile.TemporaryDirectory(dir=copies) as scratch:
        copy = Path(scratch) / "src"
        shutil.copytree(PACKAGE.parent, copy, ignore=shutil.ignore_patterns("__pycache__", "static"))
        (copy / "tutelage" / mutant.file).write_text(mutant.source)
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header"]
        where = {**os.environ, "PYTHONPATH": str(copy), "NUMBA_CACHE_DIR": str(Path(scratch) / "numba")}
        try:
            ended = subprocess.run(
                command + [str(ROOT / "tests" / test) for test in tests], env=where, cwd=ROOT, capture_output=True,
                timeout=LONGEST,
            )  # fmt: skip
            verdict = {0: "survived", 5: "no tests"}.get(ended.returncode, "caught")
        except subprocess.TimeoutExpired:
            verdict = "caught"
    return Mutant(**{**asdict(mutant), "source": "", "verdict": verdict})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=12, help="mutants per file, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--file", action="append", choices=list(FILES), help="only these files")
    parser.add_argument("--json", type=Path, help="write every mutant with its verdict here")
    options = parser.parse_args()
    drawn = []
    for file in options.file or FILES:
        every = list(mutants(file))
        drawn += random.Random(f"{options.seed} {file}").sample(every, min(options.count, len(every)))
    with tempfile.TemporaryDirectory() as copies, ThreadPoolExecutor(options.jobs) as pool:
        done = []
        for mutant in pool.map(lambda m: tried(m, FILES[m.file], Path(copies)), drawn):
            done.append(mutant)
            print(f"{mutant.verdict:9} {mutant.file}:{mutant.line}  {mutant.before}  ->  {mutant.after}", flush=True)
    for file in dict.fromkeys(m.file for m in done):
        verdicts = [m.verdict for m in done if m.file == file]
        print(f"{verdicts.count('caught'):4} of {len(verdicts):4} caught  {file}")
    caught = sum(m.verdict == "caught" for m in done)
    print(f"{caught} of {len(done)} caught ({caught / max(1, len(done)):.0%})")
    if options.json:
        options.json.write_text(json.dumps([asdict(m) | {"source": None} for m in done], indent=1))


if __name__ == "__main__":
    main()
