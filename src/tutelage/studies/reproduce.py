"""From the names of studies to their figures, claims and numbers on disk."""

import json
import secrets
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

import tutelage
from tutelage.errors import unknown
from tutelage.files import replace_folder, write_atomically
from tutelage.lab import Store, schedule
from tutelage.lab.arrays import parquet_bytes
from tutelage.lab.claim_values import NAME as VALUES
from tutelage.lab.execute import with_needs
from tutelage.lab.experiment import Experiment, plain
from tutelage.lab.results import Results
from tutelage.machine import machine
from tutelage.printing import printed
from tutelage.studies.claims import Check, Claim, Verdict
from tutelage.studies.figures import house_style
from tutelage.studies.figures.style import Style, check_style, fit, save
from tutelage.studies.judging import judge_values
from tutelage.studies.numbers import numbers, values_table
from tutelage.studies.study import SCALES, Plan, Scale, Study, find
from tutelage.version import commit


@printed
@dataclass(frozen=True)
class Reproduction:
    """A reproduced study: where its files are, and the verdicts of its claims.

    Attributes
    ----------
    study, scale
        What was reproduced.
    folder
        Folder with figure, numbers, claims, the values behind them, settings, provenance and report.
    verdicts
        One per claim and setting.
    """

    study: Study
    scale: Scale
    folder: Path
    verdicts: list[Verdict]

    def claims(self) -> list[dict]:
        """The verdicts as they are stored in claims.json."""
        about = {"study": self.study.name, "paper": self.study.paper, "figure": self.study.figure, "scale": self.scale}
        return [about | asdict(v) | {"interval": v.interval and list(v.interval)} for v in self.verdicts]


def plans(names: Iterable[str], scale: str) -> dict[str, Plan]:
    """The plans of the named studies; a wrong name or scale is an error before anything is computed."""
    if scale not in SCALES:
        raise unknown("scale", scale, SCALES)
    return {name: find(name).plan(scale) for name in names}


def distinct_experiments(planned: dict[str, Plan]) -> list[Experiment]:
    """All experiments that the plans need, each once: studies that share experiments share their cost."""
    every = with_needs(experiment for plan in planned.values() for experiment in plan.experiments)
    return list({experiment.hash: experiment for experiment in every}.values())


def reproduce(
    names: str | Sequence[str] | dict[str, Plan],
    scale: Scale = "quick",
    out: str | Path = "reproduced",
    *,
    results: str | Path | None = None,
    on: str = "local",
    device: str = "auto",
    engine: str = "auto",
    style: Style | None = None,
    on_progress: Callable[[float], None] | None = None,
    on_landed: Callable[[Any], None] | None = None,
) -> list[Reproduction]:
    """Reproduce studies: write figure, claims and numbers of each to OUT/SCALE/STUDY.

    Parameters
    ----------
    names
        Name of a study, or several, see ``tutelage.studies.STUDIES``; or the plans that :func:`plans` made of them.
    scale
        "smoke" (seconds, proves nothing about the paper), "quick" (minutes) or "paper" (the paper's own size).
    out
        Folder for figures, claims, numbers and reports.
    results
        Folder of the results of experiments (default: OUT/results); what is there already is not computed again.
    on
        Where experiments are computed, see :func:`tutelage.lab.schedule`.
    style
        Matplotlib style on top of the house style: a name, a style file, a mapping of rcParams, or "column" or "text",
        the widths of a paper.
    device, engine, on_progress, on_landed
        As in :func:`tutelage.lab.schedule`.

    Returns
    -------
    list of Reproduction
        One per study, in the order of the names.

    Examples
    --------
    >>> [done] = reproduce("l-shape", "smoke")  # doctest: +SKIP
    >>> sorted(path.name for path in done.folder.iterdir())[:3]  # doctest: +SKIP
    ['claims.json', 'figure.pdf', 'figure.png']
    """
    planned = names if isinstance(names, dict) else plans([names] if isinstance(names, str) else names, scale)
    check_style(style)
    store = Store(Path(out) / "results" if results is None else results)
    experiments = distinct_experiments(planned)
    computed = schedule(
        experiments, store, on, device=device, engine=engine, on_progress=on_progress, on_landed=on_landed
    )
    stored = {result.experiment.hash: result for result in computed}
    return [
        _write(find(name), scale, plan, Results(stored[e.hash] for e in plan.experiments), stored, Path(out), style)
        for name, plan in planned.items()
    ]


def _write(
    study: Study,
    scale: Scale,
    plan: Plan,
    results: Results,
    stored: dict[str, Any],
    out: Path,
    style: Style | None = None,
) -> Reproduction:
    """Draw and judge a study and write its folder whole: after a crash it is the old one or the new one."""
    folder = out / scale / study.name
    viewed = plan.view(results) if plan.view else results
    measured = [(claim, claim.values(viewed)) for claim in plan.claims]
    verdicts = [verdict for claim, values in measured for verdict in judge_values(claim, values)]
    outcome = Reproduction(study, scale, folder, verdicts)
    table = numbers(plan, results, viewed)
    every = [stored[e.hash] for e in distinct_experiments({study.name: plan})]
    final = folder.resolve()
    part = final.with_name(f".{final.name}.{secrets.token_hex(4)}.part")
    try:
        with house_style(style):
            figure = plan.figure(viewed)
            fit(figure)
            save(figure, part)
        write_atomically(part / "claims.json", json.dumps(outcome.claims(), indent=1))
        write_atomically(part / "settings.yaml", _settings_text(every))
        write_atomically(part / "numbers.parquet", parquet_bytes(table))
        write_atomically(part / VALUES, parquet_bytes(values_table(_of_members(measured))))
        write_atomically(part / "provenance.json", json.dumps(provenance(every), indent=1))
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    replace_folder(part, final, outdated=("report.html",))
    return outcome


def _of_members(measured: Iterable[tuple[Claim | Check, Any]]) -> Iterable[tuple[str, Any]]:
    """What claims measure; a check has no members, and its worst value stands with its verdict."""
    return [(claim.sentence, values) for claim, values in measured if isinstance(claim, Claim)]


def _settings_text(results: Sequence[Any]) -> str:
    """Kind and settings of all experiments as YAML."""
    settings = [{"kind": r.experiment.kind, **plain(r.experiment)} for r in results]
    return yaml.safe_dump_all(settings, sort_keys=False)


def provenance(results: Sequence[Any]) -> dict:
    """Version, commit, machine, date, seconds of work, and the log line of every experiment.

    The versions and the machine here are those that judged and drew; every experiment has its own.
    """
    logs = [json.loads((r.folder / "log.jsonl").read_text().splitlines()[0]) for r in results]
    return {
        "version": tutelage.__version__,
        "commit": commit(),
        **machine(),
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(sum(line["seconds"] for line in logs), 1),
        "experiments": logs,
    }
