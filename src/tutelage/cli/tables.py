"""What the commands print."""

from __future__ import annotations

from typing import Any

from rich.table import Table


def study_rows() -> list[dict[str, Any]]:
    """Every study with its source and, at each scale, its experiments and roughly the seconds of one core."""
    from tutelage.studies import STUDIES
    from tutelage.studies.reproduce import distinct_experiments
    from tutelage.studies.study import SCALES

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


def study_table(width: int) -> Table:
    """Every study with its title and the time it takes at each scale, on a terminal of so many columns."""
    from tutelage.studies.study import SCALES, source

    title = "Studies, and roughly the time of one core of the reference machine at each scale"
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    figure = 20 if width < _WIDE else 34
    table.add_column("study", width=max(20, width - figure - 2 - len(SCALES) * (_TIME + 2) - 2))
    table.add_column("figure", width=figure)
    for scale in SCALES:
        table.add_column(scale, justify="right", width=_TIME)
    for row in study_rows():
        times = [duration(s["seconds"]) for s in row["scales"].values()]
        about = f"[bold]{row['study']}[/]\n{row['title']}"
        table.add_row(about, source(row["paper"], row["figure"]), *times)
    return table


_WIDE = 110  # columns of a terminal from which on the place in a paper needs one line
_TIME = 7  # columns of a time


def duration(seconds: float) -> str:
    """A rough time.

    >>> duration(0.2), duration(42), duration(150), duration(5400), duration(1.8e5)
    ('1 s', '42 s', '2.5 min', '1.5 h', '50 h')
    """
    if seconds < 60:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.2g} min" if seconds < 3570 else f"{float(f'{seconds / 3600:.2g}'):g} h"


def summary(result: Any) -> dict[str, dict[str, Any]]:
    """Mean, standard error and 95 % interval over members of every measure at the last step, units averaged first.

    Of experiments that train no students, the shapes of their arrays.
    """
    import numpy as np

    from tutelage.lab import TrainedStudents

    if not isinstance(result, TrainedStudents):
        return {name: {"shape": list(array.shape)} for name, array in result.arrays.items()}

    from tutelage.studies.intervals import mean_interval

    out = {}
    for name, values in result.report.values.items():
        last = values[-1].astype(float)
        if values.dtype.kind != "f":
            continue
        members = last.reshape(len(last), -1).mean(1)
        members = members[np.isfinite(members)]
        error = float(members.std(ddof=1) / len(members) ** 0.5) if len(members) > 1 else None
        mean = float(members.mean()) if len(members) else None
        interval = mean_interval(members, (-np.inf, np.inf)) if error else None
        between = [interval.low, interval.high] if interval else None
        out[name] = {"mean": mean, "stderr": error, "interval": between, "n": len(members)}
    return out


def summary_table(result: Any) -> Table:
    """The summary as a table."""
    from tutelage.lab import TrainedStudents
    from tutelage.studies.report.words import short, span

    if not isinstance(result, TrainedStudents):
        title = f"{result.experiment.hash} ({result.experiment.kind})"
        table = Table("array", "shape", title=title, title_justify="left", min_width=len(title))
        for name, row in summary(result).items():
            table.add_row(name, " x ".join(map(str, row["shape"])) or "one number")
        return table

    table = Table(
        title=f"{result.experiment.hash}: at step {result.report.steps[-1]}, over members", title_justify="left"
    )
    for column in ("measure", "mean", "95 % interval", "n"):
        table.add_column(column, justify="left" if column == "measure" else "right")
    for name, row in summary(result).items():
        table.add_row(name, short(row["mean"]), span(row["interval"]), str(row["n"]))
    return table
