"""One self-contained page of HTML: the figure, a strip of verdicts, the claims, then where the numbers come from."""

import base64
import io
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from PIL import Image

from tutelage.errors import TutelageError
from tutelage.files import write_atomically
from tutelage.papers import PAPERS
from tutelage.studies import STUDIES
from tutelage.studies.claims import refutes
from tutelage.studies.report.marks import interval_plots, strip
from tutelage.studies.report.study_files import read_claims, read_provenance
from tutelage.studies.report.words import quantity_of, shade_of, standing_of, summary, verdict_of
from tutelage.studies.study import source


def write_reports(out: str | Path) -> Path:
    """A report.html beside every study found in a folder, and one of them all in the folder itself.

    Rehearsals at smoke scale are on the page of all only where there is nothing else.
    """
    out = Path(out)
    stored = found_studies(out)
    studies = [read_study(folder) for folder in stored]
    for folder, study in zip(stored, studies, strict=True):
        study["files"] = f"{folder.relative_to(out).as_posix()}/"
    for folder, study in zip(stored, studies, strict=True):
        write_atomically(folder / "report.html", render(study["title"], [study | {"files": ""}]))
    page = out / "report.html"
    judged = [study for study in studies if study["scale"] != "smoke"]
    write_atomically(page, render("Reproduced studies", judged or studies))
    return page


def found_studies(out: Path) -> list[Path]:
    """Folders of the reproduced studies in a folder; an error where there is none."""
    folders = sorted(path.parent for path in out.glob("*/*/claims.json") if not path.parent.name.startswith("."))
    if not folders:
        raise TutelageError(
            f"{out} holds no reproduced study (no SCALE/STUDY/claims.json): run 'tutelage reproduce' first"
        )
    return folders


def read_study(folder: Path) -> dict[str, Any]:
    """What a page needs to know of one study, from the files `reproduce` wrote."""
    verdicts, provenance = read_claims(folder / "claims.json"), read_provenance(folder / "provenance.json")
    try:
        picture = (folder / "figure.png").read_bytes()
    except OSError as error:
        raise TutelageError(f"the study in {folder} lacks its figure ({error.strerror}): reproduce it again") from None
    first = verdicts[0]
    known = STUDIES.get(first["study"])
    return {
        "name": first["study"],
        "source": source(first["paper"], first["figure"]),
        "scale": first["scale"],
        "title": known.title if known else first["study"],
        "shows": known.shows if known else "(this study is not part of the installed version)",
        "claims": [(rows[0], rows) for rows in _by_claim(verdicts)],
        "verdicts": verdicts,
        "words": summary(Counter(v["verdict"] for v in verdicts)),
        "citation": PAPERS[first["paper"]].citation().rsplit(" ", 1)[0] if first["paper"] in PAPERS else "",
        "picture": base64.b64encode(picture).decode(),
        "width": natural_width(picture, folder / "figure.png"),
        "provenance": provenance,
    }


def natural_width(picture: bytes, path: Path) -> int:
    """Width of a PNG on a page, in CSS pixels (96 per inch), at the size in inches that it was drawn for."""
    try:
        with Image.open(io.BytesIO(picture)) as image:
            return round(image.width * 96 / float(image.info.get("dpi", (96, 96))[0]))
    except (OSError, ZeroDivisionError):
        raise TutelageError(f"{path} is not a PNG image: run 'tutelage reproduce' for this study again") from None


def render(title: str, studies: list[dict[str, Any]]) -> str:
    """The page as text; nothing in it is fetched from elsewhere."""
    environment = Environment(
        loader=PackageLoader("tutelage.studies.report", "."), autoescape=True, undefined=StrictUndefined
    )
    environment.filters |= {"quantity": quantity_of, "verdict": verdict_of, "shade": shade_of, "standing": standing_of}
    environment.filters["strip"] = lambda claims: Markup(strip(claims))
    environment.filters["plots"] = lambda rows: [Markup(plot) for plot in interval_plots(rows)]
    judged = [v for study in studies if study["scale"] != "smoke" for v in study["verdicts"]]
    page = environment.get_template("page.html.j2")
    refuted = sum(map(refutes, judged))
    return page.render(
        title=title,
        studies=studies,
        judged=len(judged),
        words=summary(Counter(v["verdict"] for v in judged)),
        refuted=refuted,
    )


def _by_claim(verdicts: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    return [list(rows) for _, rows in groupby(verdicts, key=lambda v: v["claim"])]
