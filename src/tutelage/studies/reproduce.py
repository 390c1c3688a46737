"""From the names of studies to their figures, claims and numbers on disk."""

import json
import secrets
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

import tutelage
from tutelage.errors import unknown
from tutelage.figures import house_style, save
from tutelage.files import replace_folder, write_atomically
from tutelage.lab.experiment import Experiment, plain
from tutelage.lab.results import Results
from tutelage.runs import Store, parquet_bytes, schedule
from tutelage.runs.execute import with_needs
from tutelage.studies.claims import Verdict, judge
from tutelage.studies.kept import Kept
from tutelage.studies.packs import Packs
from tutelage.studies.study import SCALES, Plan, Scale, Study, find
from tutelage.version import commit


@dataclass(frozen=True)
class Outcome:
    """A study that was carried out: where its files are and what became of its claims."""

    study: Study
    scale: Scale
    folder: Path
    verdicts: list[Verdict]

    def claims(self) -> list[dict]:
        """The verdicts as they stand in claims.json."""
        about = {"study": self.study.name, "seed": self.study.seed, "figure": self.study.figure, "scale": self.scale}
        return [about | asdict(v) for v in self.verdicts]


def plans(names: Sequence[str], scale: str) -> dict[str, Plan]:
    """The plans of the named studies; a wrong name or scale is refused before anything is computed."""
    if scale not in SCALES:
        raise unknown("scale", scale, SCALES)
    return {name: find(name).plan(scale) for name in names}


def distinct_experiments(planned: dict[str, Plan]) -> list[Experiment]:
    """All experiments that the plans need, each once: studies that share experiments share their cost."""
    every = with_needs(experiment for plan in planned.values() for experiment in plan.experiments)
    return list({experiment.hash: experiment for experiment in every}.values())


def reproduce(
    names: Sequence[str],
    scale: Scale = "quick",
    out: str | Path = "reproduced",
    *,
    results: str | Path | None = None,
    on: str = "local",
    device: str = "auto",
    engine: str = "auto",
    on_progress: Callable[[float], None] | None = None,
    on_landed: Callable[[Any], None] | None = None,
    on_evidence: Callable[[str, float], None] | None = None,
) -> list[Outcome]:
    """Carry out studies: figure, claims and numbers of each into OUT/SCALE/STUDY.

    Parameters
    ----------
    names
        Names of studies, see ``tutelage.studies.STUDIES``.
    scale
        "smoke" (seconds, proves nothing about the paper), "quick" (minutes) or "paper" (the paper's own size).
    out
        Folder for figures, claims, numbers and reports.
    results
        Folder of the results of experiments (default: OUT/results); what is there already is not computed again.
    on
        Where experiments are computed, see :func:`tutelage.runs.schedule`.
    """
    planned = plans(names, scale)
    store = Store(Path(out) / "results" if results is None else results)
    experiments = distinct_experiments(planned)
    finished = schedule(
        experiments, store, on, device=device, engine=engine, on_progress=on_progress, on_landed=on_landed
    )
    stored = {result.experiment.hash: result for result in finished}
    tell, put_by = on_evidence or (lambda name, share: None), Path(out) / "evidence"
    return [
        _write(
            find(name), scale, plan, Packs((stored[e.hash] for e in plan.experiments), Kept(put_by)), Path(out), tell
        )
        for name, plan in planned.items()
    ]


def _write(
    study: Study, scale: Scale, plan: Plan, packs: Packs, out: Path, tell: Callable[[str, float], None]
) -> Outcome:
    """Draw and judge a study and write its folder whole: after a crash it is the old one or the new one."""
    folder, began = out / scale / study.name, perf_counter()
    evidence = plan.evidence(packs, lambda share: tell(study.name, share)) if plan.evidence else packs
    evidence = plan.view(packs) if plan.view else evidence
    origin = provenance(packs, perf_counter() - began)
    verdicts = [verdict for claim in plan.claims for verdict in judge(claim, evidence)]
    outcome = Outcome(study, scale, folder, verdicts)
    table = plan.numbers(evidence) if callable(plan.numbers) else numbers(packs, plan.numbers)
    final = folder.resolve()
    part = final.with_name(f".{final.name}.{secrets.token_hex(4)}.part")
    try:
        with house_style():
            save(plan.figure(evidence), part)
        write_atomically(part / "claims.json", json.dumps(outcome.claims(), indent=1))
        write_atomically(part / "settings.yaml", _settings_text(packs))
        write_atomically(part / "numbers.parquet", parquet_bytes(table))
        write_atomically(part / "provenance.json", json.dumps(origin, indent=1))
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    replace_folder(part, final, outdated=("report.html",))
    return outcome


def _settings_text(results: Results) -> str:
    """Kind and settings of all experiments as YAML."""
    settings = [{"kind": r.experiment.kind, **plain(r.experiment)} for r in results]
    return yaml.safe_dump_all(settings, sort_keys=False)


def numbers(packs: Packs, axis: str) -> pa.Table:
    """The tables of all packs one below the other, with the settings that tell them apart in columns."""
    tables = []
    for pack in packs:
        table = pq.read_table(pack.folder / f"{axis}.parquet")
        for name, value in _settings(pack).items():
            table = table.append_column(name, pa.array([value] * len(table)))
        tables.append(table)
    return pa.concat_tables(tables)


def _settings(pack: Any) -> dict[str, object]:
    spec = pack.spec
    polarity = getattr(spec.teacher, "polarity", None)
    return {
        "pack": spec.hash,
        "inputs": spec.inputs.kind,
        "samples": spec.inputs.train,
        "hidden": str(list(spec.teacher.widths()[1:-1])),
        "multiple": spec.student.multiple,
        "polarity": polarity if isinstance(polarity, float) else None,
    }


def provenance(packs: Packs, evidence_seconds: float = 0.0) -> dict:
    """Version, commit, date, seconds of work, and the log line of every pack and every kept part of the evidence."""
    logs = [json.loads((p.folder / "log.jsonl").read_text().splitlines()[0]) for p in packs]
    parts = packs.kept.used
    beside = max(evidence_seconds, sum(part["seconds"] for part in parts))
    return {
        "version": tutelage.__version__,
        "commit": commit(),
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(sum(line["seconds"] for line in logs) + beside, 1),
        "packs": logs,
        "parts": parts,
    }
