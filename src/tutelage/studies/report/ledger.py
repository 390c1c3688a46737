"""The ledger: every claim of every stored study with its verdict, written from the claims files and never by hand."""

import re
from itertools import groupby
from pathlib import Path
from typing import Any

from tutelage.errors import TutelageError
from tutelage.files import write_atomically
from tutelage.settings import one_line
from tutelage.studies.report.html import short
from tutelage.studies.report.study_files import read_claims
from tutelage.studies.study import source

_HEAD = """# Ledger of claims

Written by `tutelage ledger`, from the `claims.json` of every study stored below this folder; do not edit it.
A claim holds or fails in a setting where its 95 % interval over seeds lies on one side of the threshold.
"""


def write_ledger(root: str | Path) -> Path:
    """Write ROOT/ledger.md from all claims files below ROOT."""
    root = Path(root)
    found = sorted(path for path in root.rglob("claims.json") if not path.parent.name.startswith("."))
    if not found:
        raise TutelageError(f"{root} holds no stored study (no claims.json below it): copy one there first")
    text = "\n".join([_HEAD, _counts(root, found), *(_study(root, path) for path in found)])
    path = root / "ledger.md"
    write_atomically(path, text)
    return path


def _read(path: Path) -> list[dict[str, Any]]:
    """The claims of a file, their words as plain text; "|" as text where it would end the cell of a table."""
    return [
        {k: _text(v, cell=k != "claim") if isinstance(v, str) else v for k, v in claim.items()}
        for claim in read_claims(path)
    ]


def _text(text: str, cell: bool = True) -> str:
    """Text that Markdown shows as it is: no HTML, no end of a line or, in a table, of a cell.

    >>> _text("1 < 2 <b> | c")
    '1 < 2 &lt;b> &#124; c'
    """
    plain = re.sub(r"&(?=[A-Za-z#])", "&amp;", one_line(text))
    plain = re.sub(r"<(?=[A-Za-z/!?])", "&lt;", plain)
    return plain.replace("|", "&#124;") if cell else plain


def _counts(root: Path, found: list[Path]) -> str:
    rows = ["| study | paper, figure | scale | holds | fails | undecided |", "|---|---|---|---|---|---|"]
    for path in found:
        claims = _read(path)
        first, verdicts = claims[0], [c["verdict"] for c in claims]
        name = f"[{first['study']}]({path.parent.relative_to(root).as_posix()}/)"
        counts = " | ".join(str(verdicts.count(v)) for v in ("holds", "fails", "undecided"))
        rows.append(f"| {name} | {source(first['paper'], first['figure'])} | {first['scale']} | {counts} |")
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
