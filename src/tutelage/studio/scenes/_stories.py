"""What became of one unit: its class, its alignment over time, and the theorems about its student."""

from typing import Any

import numpy as np
import torch

from tutelage.certificates import certify
from tutelage.errors import TutelageError
from tutelage.measures import RECOVERED
from tutelage.measures.diagnosis import diagnose
from tutelage.measures.registry import find
from tutelage.measures.report import Report
from tutelage.measures.snapshot import Snapshot
from tutelage.measures.unit_classes import CLASSES
from tutelage.studio.scenes._students import StudentsSettings, StudentsState
from tutelage.training.inputs import Inputs

THEOREMS = ("alignment", "noisy-recovery", "pruning")
"""Theorems that are checked on the student of a unit."""
_BACK = 0.1
"""Share of the steps so far over which a unit has to stand still to be called stuck, as `explain` does between two
recorded steps."""
_POINTS = 500  # of the training points, that a theorem looks at here
_WORK = 4_000_000  # units times points times inputs up to which theorems are checked

WORDS = {
    "specialised": "follows teacher unit {teacher} more closely than any other unit does",
    "duplicate": "follows teacher unit {teacher}, but another unit follows it more closely",
    "unspecialised": "follows no teacher unit closely; unit {teacher} is the nearest",
    "dead": "is never active on the evaluation points",
    "linear": "is active on all or none of the evaluation points in the same way, so it acts as a linear map",
    "idle": "has a fan-out so small that it does not matter for the output",
}


def story(settings: StudentsSettings, moment: Any, question: dict[str, Any]) -> dict[str, Any]:
    """Sentences, the alignment over time and certificates for a student unit or a teacher unit of one member."""
    member, unit = _index(question, "member", settings.members), question.get("unit")
    widths = moment.state.students.widths[1], settings.units
    teacher = question.get("teacher")
    if teacher is not None:
        unit = int(np.nan_to_num(moment.state.correlation(member)[_index(question, "teacher", widths[1])]).argmax())
    unit = _index({"unit": unit}, "unit", widths[0])
    if moment.state.lost[member]:
        when = int(moment.state.trained.diverged_at[member])
        return {"title": f"Student {member}", "sentences": [f"This student diverged at step {when:,}."], "theorems": []}
    now = _measured(moment.state, member, unit)
    times, path = _alignment(moment, settings, member, unit)
    return {
        "title": f"Unit {unit} of student {member} (seed {settings.seed + member})",
        "sentences": _sentences(moment, settings, member, unit, now, teacher),
        "alignment": {"times": times, "values": path},
        "theorems": _theorems(moment.state, settings, member),
        "member": member,
        "unit": unit,
    }


def _index(question: dict[str, Any], name: str, count: int) -> int:
    value = question.get(name)
    if not isinstance(value, int) or not 0 <= value < count:
        raise TutelageError(f"{name} must be from 0 to {count - 1}, got {value}")
    return value


def _snapshot(state: StudentsState, member: int) -> Snapshot:
    chosen, world = slice(member, member + 1), state.world
    return Snapshot(
        world.teacher[chosen], state.students[chosen], world.inputs.train[chosen], world.inputs.evaluate[chosen]
    )


def _measured(state: StudentsState, member: int, unit: int) -> dict[str, Any]:
    with torch.no_grad():
        kind = int(find("unit_class")(_snapshot(state, member))[0, unit])
    column = state.correlation(member)[:, unit]
    return {
        "class": CLASSES[kind],
        "teacher": int(column.argmax()),
        "correlation": float(column.max()),
        "fan_out": float(state.measured["fan_out"][member, unit]),
    }


def _sentences(
    moment: Any, settings: StudentsSettings, member: int, unit: int, now: dict[str, Any], teacher: Any
) -> list[str]:
    state: StudentsState = moment.state
    what = WORDS[now["class"]].format(teacher=now["teacher"])
    lines = [
        f"Unit {unit} {what}: correlation {now['correlation']:.3f}, fan-out {now['fan_out']:.3g}.",
    ]
    wanted = now["teacher"] if teacher is None else teacher
    best = state.measured["best_correlation"][member, wanted]
    if best > RECOVERED:
        return [*lines, f"Teacher unit {wanted} is recovered (best correlation {best:.3f})."]
    why = next((str(diagnosis) for diagnosis in _diagnoses(moment, settings, member) if diagnosis.unit == wanted), "")
    return [*lines, f"Teacher unit {wanted} is not recovered. {why[:1].upper()}{why[1:]}."]


def _diagnoses(moment: Any, settings: StudentsSettings, member: int) -> list[Any]:
    """Why units of the teacher are not recovered; stuck since the last stored state that is some way back."""
    state: StudentsState = moment.state
    chosen, world = slice(member, member + 1), state.world
    inputs = Inputs(world.inputs.train[chosen], world.inputs.evaluate[chosen], world.inputs.seeds[chosen])
    step = settings.step(moment.tick)
    before = [past for tick, past in moment.past if settings.step(tick) <= (1 - _BACK) * step]
    history = None
    if before and step:
        courses = [np.nan_to_num(past.correlation(member)).max(1)[None] for past in (before[-1], state)]
        history = Report((0, step), {"best_correlation": np.stack(courses)})
    return diagnose(world.teacher[chosen], state.students[chosen], inputs, history)


def _alignment(
    moment: Any, settings: StudentsSettings, member: int, unit: int
) -> tuple[list[float], list[list[float]]]:
    """Correlation of a unit with every teacher unit at the stored states: times [T], values [T, m]."""
    times = [float(settings.step(tick)) for tick, _ in moment.past]
    return times, [np.nan_to_num(state.correlation(member)[:, unit]).round(4).tolist() for _, state in moment.past]


def _theorems(state: StudentsState, settings: StudentsSettings, member: int) -> list[dict[str, Any]]:
    """Verdicts and conditions of the theorems on the student, on its first training points."""
    chosen, world = slice(member, member + 1), state.world
    points = world.inputs.train[chosen, :_POINTS]
    if sum(state.students.widths[:2]) * settings.units * points.shape[1] > _WORK:
        return []
    out = []
    for name in THEOREMS:
        [certificate] = certify(name, world.teacher[chosen], state.students[chosen], points)
        parts = [c for part in certificate.parts for c in part.conditions]
        conditions = [c.plain() for c in (*certificate.conditions, *parts)]
        kept = ("name", "value", "needed", "holds")
        rows = [{key: condition[key] for key in kept} for condition in conditions]
        met = {name: [r for r in rows if r["name"] == name] for name in dict.fromkeys(r["name"] for r in rows)}
        out.append(
            {
                "name": name,
                "source": certificate.source,
                "statement": certificate.statement,
                "verdict": certificate.verdict,
                "conditions": [_together(name, group) for name, group in met.items()],
            }
        )
    return out


def _together(name: str, group: list[dict[str, Any]]) -> dict[str, Any]:
    """One row for a condition that several units have: how many meet it."""
    met = sum(row["holds"] is True for row in group)
    return {"name": name, "met": met, "of": len(group), "value": group[0]["value"], "needed": group[0]["needed"]}
