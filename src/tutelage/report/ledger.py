"""The ledger: every claim of every stored study with its verdict, written from the claims files and never by hand."""

import json
from itertools import groupby
from pathlib import Path
from typing import Any

from tutelage.errors import Refusal
from tutelage.files import write_atomically
from tutelage.report.html import short
from tutelage.studies import source

_HEAD = """# Ledger of claims

Written by `tutelage ledger`, from the `claims.json` of every study stored below this folder; do not edit it.
A claim holds or fails in a setting where its 95 % interval over seeds lies on one side of the threshold.
"""


def write_ledger(root: str | Path) -> Path:
    """Write ROOT/ledger.md from all claims files below ROOT."""
    root = Path(root)
    found = sorted(path for path in root.rglob("claims.json") if not path.parent.name.startswith("."))
    if not found:
        raise Refusal(f"{root} holds no stored study (no claims.json below it): copy one there first")
    text = "\n".join([_HEAD, _counts(root, found), *(_study(root, path) for path in found)])
    path = root / "ledger.md"
    write_atomically(path, text)
    return path


def _read(path: Path) -> list[dict[str, Any]]:
    try:
        claims = json.loads(path.read_text())
        return [{key: claim[key] for key in _KEYS} for claim in claims]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise Refusal(f"{path} is not a claims file ({error})") from None


_KEYS = ("study", "seed", "figure", "scale", "claim", "setting", "expected", "measured", "stderr", "n", "verdict")


def _counts(root: Path, found: list[Path]) -> str:
    rows = ["| study | seed, figure | scale | holds | fails | undecided |", "|---|---|---|---|---|---|"]
    for path in found:
        claims = _read(path)
        first, verdicts = claims[0], [c["verdict"] for c in claims]
        name = f"[{first['study']}]({path.parent.relative_to(root).as_posix()}/)"
        counts = " | ".join(str(verdicts.count(v)) for v in ("holds", "fails", "undecided"))
        rows.append(f"| {name} | {source(first['seed'], first['figure'])} | {first['scale']} | {counts} |")
    return "\n".join(rows) + "\n"


def _study(root: Path, path: Path) -> str:
    claims = _read(path)
    lines = [f"## {claims[0]['study']} ({claims[0]['scale']})", ""]
    for sentence, rows in groupby(claims, key=lambda c: c["claim"]):
        lines += [
            f"**{sentence}**",
            "",
            "| setting | expected | measured | s.e. | n | verdict |",
            "|---|---|---|---|---|---|",
        ]
        for c in rows:
            values = f"{c['expected']} | {short(c['measured'])} | {short(c['stderr'])} | {c['n']}"
            lines.append(f"| {c['setting']} | {values} | {c['verdict']} |")
        lines.append("")
    return "\n".join(lines)
