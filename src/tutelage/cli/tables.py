"""What the commands print."""

from typing import Any

import numpy as np
from rich.table import Table

from tutelage.lab import TrainedStudents
from tutelage.studies import SCALES, STUDIES, Reproduction, source
from tutelage.studies.report import short, span
from tutelage.studies.reproduce import distinct_experiments

COLOURS = {
    "holds": "green",
    "fails": "red",
    "undecided": "yellow",
    "saturated": "yellow",
    "vacuous": "yellow",
    "passes": "green",
    "does not pass": "red",
}


def study_rows() -> list[dict[str, Any]]:
    """Every study with its source and, at each scale, its experiments and roughly the seconds of one core."""
    rows = []
    for study in STUDIES.values():
        sizes = {}
        for scale in SCALES:
            experiments = distinct_experiments({study.name: study.plan(scale)})
            sizes[scale] = {
                "experiments": len(experiments),
                "seconds": float(f"{sum(e.cost for e in experiments):.2g}"),
            }
        rows.append(
            {"study": study.name, "paper": study.paper, "figure": study.figure, "title": study.title, "scales": sizes}
        )
    return rows


def study_table() -> Table:
    table = Table(title="Studies, and their experiments at each scale", title_justify="left")
    table.add_column("study", no_wrap=True)
    table.add_column("after", no_wrap=True)
    table.add_column("title")
    for scale in SCALES:
        table.add_column(scale, justify="right", no_wrap=True)
    for row in study_rows():
        sizes = [str(s["experiments"]) for s in row["scales"].values()]
        table.add_row(row["study"], source(row["paper"], row["figure"]), row["title"], *sizes)
    return table


def claims_table(outcome: Reproduction) -> Table:
    """The claims of a study, setting by setting."""
    title = f"{outcome.study.name} ({source(outcome.study.paper, outcome.study.figure)}; scale {outcome.scale})"
    table = Table(title=title, title_justify="left")
    for column, right in (
        ("claim", 0),
        ("setting", 0),
        ("expected", 1),
        ("measured", 1),
        ("95 % interval", 1),
        ("n", 1),
        ("verdict", 0),
    ):
        narrow = bool(right) and column != "95 % interval"
        table.add_column(column, justify="right" if right else "left", no_wrap=narrow or column == "verdict")
    said = None
    for v in outcome.verdicts:
        table.add_row(
            "" if v.claim == said else v.claim,
            v.setting,
            v.expected,
            short(v.measured),
            span(v.interval),
            str(v.n),
            f"[{COLOURS[v.verdict]}]{v.verdict}[/]",
        )
        said = v.claim
    return table


def summary(result: TrainedStudents) -> dict[str, dict[str, float | int | None]]:
    """Mean and standard error over members of every measure at the last step, units averaged first."""
    out = {}
    for name, values in result.report.values.items():
        last = values[-1].astype(float)
        if values.dtype.kind != "f":
            continue
        members = last.reshape(len(last), -1).mean(1)
        members = members[np.isfinite(members)]
        error = float(members.std(ddof=1) / len(members) ** 0.5) if len(members) > 1 else None
        out[name] = {"mean": float(members.mean()) if len(members) else None, "stderr": error, "n": len(members)}
    return out


def summary_table(result: TrainedStudents) -> Table:
    table = Table(
        title=f"{result.experiment.hash}: at step {result.report.steps[-1]}, over members", title_justify="left"
    )
    for column in ("measure", "mean", "± s.e.", "n"):
        table.add_column(column, justify="left" if column == "measure" else "right")
    for name, row in summary(result).items():
        table.add_row(name, short(row["mean"]), short(row["stderr"]), str(row["n"]))
    return table
