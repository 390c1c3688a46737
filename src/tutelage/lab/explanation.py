"""A spec in plain words: what it trains, on what, what is recorded, what it costs; and how two specs differ."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from tutelage.lab.experiment import flat, plain
from tutelage.lab.grid import size
from tutelage.lab.loads import Piece, packs_of, work
from tutelage.lab.spec import Spec
from tutelage.measures import axis_shape, find
from tutelage.plugins import describe, used_by
from tutelage.settings import Recipe, first_paragraph


def explain(spec: Spec) -> str:
    """A spec in short paragraphs, one a section."""
    return "\n\n".join(
        (_teacher(spec), _student(spec), _inputs(spec), _training(spec), _record(spec), _members(spec), _cost(spec))
    )


def explain_experiment(specs: Sequence[Spec]) -> str:
    """What varies among the specs of an experiment, then the first of them in full."""
    if len(specs) == 1:
        return explain(specs[0])
    varied = "\n".join(f"  {name}: {', '.join(map(_shown, values))}" for name, values in variations(specs).items())
    return f"{size(specs)}. Among the {len(specs)} specs vary\n{varied}\n\nThe first:\n\n{explain(specs[0])}"


def variations(specs: Sequence[Spec]) -> dict[str, list[Any]]:
    """The settings that are not the same in all specs, each with its different values in order of appearance."""
    tables = [flat(spec) for spec in specs]
    names = dict.fromkeys(name for table in tables for name in table)
    out: dict[str, list[Any]] = {}
    for name in names:
        values = [table[name] for table in tables if name in table]
        different = {repr(value): value for value in values}
        if len(different) > 1 or len(values) < len(tables):
            out[name] = list(different.values())
    return out


def facts(spec: Spec) -> dict[str, Any]:
    """The numbers behind the words, as plain data."""
    teacher = spec.teacher.widths()
    student = spec.student.widths(teacher)
    return {
        "hash": spec.hash,
        "plugins": used_by(spec),
        "teacher_widths": list(teacher),
        "student_widths": list(student),
        "members": len(spec.seeds),
        "packs": len(packs_of(spec)),
        "steps": spec.steps,
        "epochs": spec.steps * _batch(spec) / spec.inputs.train,
        "recorded_steps": len(spec.record.steps(spec.steps)),
        "student_steps": len(spec.seeds) * spec.steps,
        "multiplications": work(spec),
        "data_bytes": Piece(spec, spec).bytes,
        "result_bytes": _result_bytes(spec),
    }


@dataclass(frozen=True)
class Difference:
    """The settings in which two specs differ, by dotted name; ``old`` or ``new`` lacks a name that is not there."""

    hashes: tuple[str, str]
    old: dict[str, Any]
    new: dict[str, Any]

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys((*self.old, *self.new)))

    def data(self) -> dict[str, Any]:
        """The same as plain data."""
        sides = (("old", self.old), ("new", self.new))
        settings = [{"setting": n} | {side: table[n] for side, table in sides if n in table} for n in self.names]
        return {"hashes": list(self.hashes), "same_hash": self.hashes[0] == self.hashes[1], "settings": settings}

    def __str__(self) -> str:
        def side(table: dict[str, Any], name: str) -> str:
            return _shown(table[name]) if name in table else "absent"

        lines = [f"{name}: {side(self.old, name)} -> {side(self.new, name)}" for name in self.names]
        a, b = self.hashes
        lines.append(f"the hash is the same: {a}" if a == b else f"the hash differs: {a} -> {b}")
        return "\n".join(lines)


def difference(a: Spec, b: Spec) -> Difference:
    """Which settings differ from a to b, and whether the hash does."""
    old, new = flat(a), flat(b)
    names = [name for name in {**old, **new} if name not in old or name not in new or old[name] != new[name]]
    return Difference((a.hash, b.hash), {n: old[n] for n in names if n in old}, {n: new[n] for n in names if n in new})


def _teacher(spec: Spec) -> str:
    inputs, *hidden, outputs = spec.teacher.widths()
    units = ", ".join(map(str, hidden))
    sentence = f"{inputs} inputs, hidden layers of {units} units, {outputs} outputs."
    return f"Teacher: {_kind(spec.teacher)} {sentence}{_others(spec.teacher, ('inputs', 'hidden', 'outputs'))}"


def _student(spec: Spec) -> str:
    widths = spec.student.widths(spec.teacher.widths())
    weights = _weights(widths, spec.student.bias)
    sentence = (
        f"{spec.student.multiple:g} times as wide as its teacher in every hidden layer: "
        f"widths {', '.join(map(str, widths))}, {weights:,} weights and biases."
    )
    return f"Student: {_kind(spec.student)} {sentence}{_others(spec.student, ('multiple',))}"


def _inputs(spec: Spec) -> str:
    law = spec.inputs
    whose = "one set shared by all members" if law.shared else "a set for each member"
    sentence = f"{law.train:,} points to train on and {law.evaluate:,} to be judged on, {whose}."
    return f"Inputs: {_kind(law)} {sentence}{_others(law, ('train', 'evaluate', 'shared'))}"


def _training(spec: Spec) -> str:
    training = spec.training
    drawn = "drawn with replacement" if training.sampling == "replacement" else "drawn without replacement"
    points = f"all {spec.inputs.train:,} points" if training.batch == "all" else f"{training.batch:,} points {drawn}"
    epochs = spec.steps * _batch(spec) / spec.inputs.train
    rate = _shown(training.learning_rate) + (" (one a member)" if isinstance(training.learning_rate, tuple) else "")
    loss = "" if training.loss == "mse" else f" on the loss {training.loss}"
    return (
        f"Training: {spec.steps:,} steps of {_optimiser(spec)}{loss} on {points}, {epochs:,.4g} times through the "
        f"data. The learning rate is {rate}{_schedule(spec)}"
    )


def _optimiser(spec: Spec) -> str:
    optimiser = spec.training.optimiser
    if optimiser.plain:
        return "gradient descent"
    return f"{optimiser.kind} (" + ", ".join(f"{n} {_shown(v)}" for n, v in optimiser if n != "kind") + ")"


def _schedule(spec: Spec) -> str:
    schedule, steps = spec.training.schedule, spec.steps
    if schedule.kind == "constant":
        return " throughout."
    with np.errstate(all="ignore"):  # a factor may grow beyond all bounds, and is then said to be infinite
        first, last = spec.training.factors(np.array([0, steps - 1]), steps, spec.training.per_epoch(spec.inputs.train))
    return (
        f", times {first:.3g} at the first step and {last:.3g} at the last "
        f"(schedule {schedule.kind}).{_others(schedule, ())}"
    )


def _record(spec: Spec) -> str:
    record, steps = spec.record, spec.steps
    times = f"at {len(record.steps(steps)):,} steps, the first and the last among them"
    often = f" (every {record.every:,})" if record.every else ""
    kept = {"last": "at the last step", "all": "at every recorded step", "none": "never"}[record.weights]
    return f"Record: {', '.join(record.measures)}, {times}{often}. Weights are kept {kept}."


def _members(spec: Spec) -> str:
    seeds, one = spec.seeds, len(spec.seeds) == 1
    in_a_row = seeds == tuple(range(seeds[0], seeds[0] + len(seeds)))
    which = f"{seeds[0]} to {seeds[-1]}" if in_a_row and not one else _shown(seeds).strip("[]")
    return f"Members: {len(seeds):,}, with the seed{'' if one else 's'} {which}, in {spec.precision}."


def _cost(spec: Spec) -> str:
    known = facts(spec)
    cut = f" It is cut into {known['packs']:,} packs, of about a minute of work each." if known["packs"] > 1 else ""
    used = "".join(f" It needs {plugin}." for plugin in describe(known["plugins"]))
    return (
        f"Cost: about {known['multiplications']:.2g} multiplications, {_bytes(known['data_bytes'])} of points, labels "
        f"and activations while it runs, at most {_bytes(known['result_bytes'])} of results. "
        f"Hash {spec.hash}.{cut}{used}"
    )


def _kind(recipe: Recipe) -> str:
    """The kind of a recipe with the first sentence of what it says about itself."""
    said = first_paragraph(type(recipe)).rstrip(".")
    return f"{recipe.kind} ({said})." if said else f"{recipe.kind}."


def _others(recipe: Recipe, told: Sequence[str]) -> str:
    """The settings of a recipe that differ from their defaults and were not told yet."""
    rest = {name: value for name, value in plain(recipe).items() if name not in ("kind", *told)}
    listed = ", ".join(f"{name} {_shown(value)}" for name, value in rest.items())
    return f" Set here: {listed}." if listed else ""


def _batch(spec: Spec) -> int:
    return spec.inputs.train if spec.training.batch == "all" else spec.training.batch


def _weights(widths: Sequence[int], bias: bool) -> int:
    return sum((fan_in + bias) * fan_out for fan_in, fan_out in pairwise(widths))


def _result_bytes(spec: Spec) -> int:
    """Bytes of measures and weights on disk before they are compressed."""
    teacher = spec.teacher.widths()
    student = spec.student.widths(teacher)
    bytes_each = torch.finfo(getattr(torch, spec.precision)).bits // 8
    recorded = len(spec.record.steps(spec.steps))
    entries = sum(math.prod(axis_shape(find(name).axis, teacher, student)) for name in spec.record.measures)
    kept = {"last": 1, "all": recorded, "none": 0}[spec.record.weights] * _weights(student, spec.student.bias)
    return len(spec.seeds) * bytes_each * (recorded * entries + kept + _weights(teacher, True))


def _shown(value: Any) -> str:
    """A value for people: a long list by its ends."""
    if isinstance(value, list | tuple):
        parts = [_shown(v) for v in (value if len(value) <= 8 else (*value[:3], value[-1]))]
        if len(value) > 8:
            parts.insert(3, f"... {len(value):,} in all ...")
        return f"[{', '.join(parts)}]"
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _bytes(count: int) -> str:
    """A number of bytes in the unit that suits it.

    >>> _bytes(999), _bytes(12_700_000)
    ('999 B', '12.7 MB')
    """
    thousands = min(4, int(math.log10(max(count, 1))) // 3)
    return f"{count / 1000**thousands:.3g} {('B', 'kB', 'MB', 'GB', 'TB')[thousands]}"
