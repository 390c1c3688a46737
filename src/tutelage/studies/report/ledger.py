"""The ledger: every claim of every stored study with its verdict, written from the claims files and never by hand."""

import re
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml

from tutelage.data.sets import DATASETS
from tutelage.errors import TutelageError
from tutelage.files import write_atomically
from tutelage.settings import one_line
from tutelage.studies.claims import CHECKED, MISSED, STANDINGS, VERDICTS, refutes
from tutelage.studies.report.study_files import is_close, p_value_of, read_claims
from tutelage.studies.report.words import COLUMNS, quantity_of, size_of, standing_of, tally, verdict_of
from tutelage.studies.study import source

_HEAD = """# Ledger of claims

Written by `tutelage ledger`, from the `claims.json` of every study stored below this folder; do not edit it.
A claim about a mean holds or fails in a setting where the 95 % interval over members lies on one side of the
threshold; the interval is exact for outcomes of 0 and 1. A universal claim fails with one exception, and holds when
the exact upper limit of their share is small. *Saturated*: both sides of a comparison are at a limit, so that nothing
can be seen. *Vacuous*: a network that has learnt nothing, or the worst that is possible, meets the claim as well. *Not
applicable*: too few members meet the premise. Checks of deterministic quantities are counted apart.

A claim is a sentence of the paper, a consequence that we drew from one, or a statement of our own. A miss says why.
*Refuted*: all premises are met and the conclusion is false. *Premise not met*: the conditions of a theorem do not hold
on these networks, which says nothing about the theorem. *Not found*: a search or training of ours did not get there.

Each interval has 95 % confidence by itself, and there are many: expect some verdicts near their threshold to be wrong
by chance. Those marked *close* would be undecided with an interval of 99 %: repeat such a study with fresh seeds before
you rely on one of them.
"""


def write_ledger(root: str | Path) -> Path:
    """Write ROOT/ledger.md from all claims files below ROOT."""
    root = Path(root)
    paths = sorted(path for path in root.rglob("claims.json") if not path.parent.name.startswith("."))
    if not paths:
        raise TutelageError(f"{root} holds no stored study (no claims.json below it): copy one there first")
    reasons = _reasons(root.resolve().parent / "explained.yaml")
    studies = [_study(path, reasons.get(path.parent.name, "")) for path in paths]
    text = "\n".join([_HEAD, _closeness(paths), _standings(paths), _counts(root, paths), *studies])
    path = root / "ledger.md"
    write_atomically(path, text)
    return path


def _reasons(path: Path) -> dict[str, str]:
    """Why claims of a study do not hold, by study, where such a file is beside the folder."""
    return yaml.safe_load(path.read_text()) if path.is_file() else {}


def _standings(paths: list[Path]) -> str:
    """All verdicts by whose statement they are about, those of misses by their reason."""
    counts = tally(claim for path in paths for claim in read_claims(path))
    rows = [f"| verdicts on | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 1) + "|"]
    for standing, words in STANDINGS.items():
        rows.append(f"| {words} | {' | '.join(str(counts[standing][name]) for name in COLUMNS)} |")
    return "\n".join(rows) + "\n"


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


def _closeness(paths: list[Path]) -> str:
    """How many verdicts wider intervals would leave undecided, of those whose interval follows from stored numbers."""
    p_values = [p for path in paths for c in read_claims(path) if (p := p_value_of(c)) is not None]
    counts = [f"{sum(p > 1 - confidence / 100 for p in p_values)} with {confidence} %" for confidence in (99, 99.9)]
    return (
        f"Of {len(p_values)} claims that hold or fail by Student's or the exact binomial interval, "
        f"{' and '.join(counts)} instead of 95 % would be undecided.\n"
    )


def _counts(root: Path, paths: list[Path]) -> str:
    others = [v for v in VERDICTS if v not in ("holds", "fails")]
    head = ["study", "paper, figure", "scale", "holds", "refutes the paper", "other fails", *others, "close"]
    head.append("checks passed")
    rows = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for path in paths:
        claims = _read(path)
        first, verdicts = claims[0], [c["verdict"] for c in claims]
        name = f"[{first['study']}]({path.parent.relative_to(root).as_posix()}/)"
        refuted = sum(map(refutes, claims))
        missed = sum(verdicts.count(v) for v in MISSED) - refuted
        counts = " | ".join(map(str, [verdicts.count("holds"), refuted, missed, *map(verdicts.count, others)]))
        checks = [v for v in verdicts if v in CHECKED]
        passed = f"{checks.count('passes')} of {len(checks)}" if checks else "-"
        close = sum(map(is_close, claims))
        about = f"{name} | {source(first['paper'], first['figure'])}{_on(claims)} | {size_of(claims)}"
        rows.append(f"| {about} | {counts} | {close} | {passed} |")
    return "\n".join(rows) + "\n"


def _on(claims: list[dict[str, Any]]) -> str:
    """The data sets that settings name, as in "digits(20)": a paper's figure of ImageNet may stand for other images."""
    named = {name for c in claims for name in re.findall(r"([a-z0-9-]+)\(\d+\)", c["setting"]) if name in DATASETS}
    return f", here on {', '.join(sorted(named))}" if named else ""


def _study(path: Path, reason: str) -> str:
    claims = _read(path)
    lines = [f"## {claims[0]['study']} ({claims[0]['scale']})", ""]
    lines += [f"Why some claims do not hold: {_text(' '.join(reason.split()), cell=False)}", ""] * bool(reason)
    for sentence, group in groupby(claims, key=lambda c: c["claim"]):
        rows = list(group)
        first, kind = rows[0], "Check: " if rows[0]["verdict"] in CHECKED else ""
        lines += [
            f"**{kind}{sentence}**",
            "",
            "| setting | expected | measured | interval | n | verdict | method |",
            "|---|---|---|---|---|---|---|",
        ]
        for c in rows:
            values = f"{c['expected']} | {' | '.join(quantity_of(c))} | {c['n']}"
            verdict = f"{verdict_of(c)} (close)" if is_close(c) else verdict_of(c)
            method = "exact" if c["exceptions"] is not None else c["method"]
            lines.append(f"| {c['setting']} | {values} | {verdict} | {method} |")
        about = [standing_of(first), first["reason"] and f"Threshold: {first['reason']}"]
        lines += ["", " ".join(f"{sentence}." for sentence in about if sentence), ""]
    return "\n".join(lines)
