"""An experiment in plain words: what it trains, on what, what is recorded, what it costs; and how two experiments
differ.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from tutelage.lab.experiment import flat, plain
from tutelage.lab.grid import size
from tutelage.lab.loads import Piece, split, work
from tutelage.lab.teacher_student import TeacherStudent
from tutelage.measures.registry import axis_shape, find
from tutelage.plugins import describe, used_by
from tutelage.settings import Recipe, first_paragraph
from tutelage.training import Training


def explain(experiment: TeacherStudent) -> str:
    """An experiment in short paragraphs, one a section."""
    return "\n\n".join(
        (
            _teacher(experiment),
            _student(experiment),
            _inputs(experiment),
            _training(experiment),
            _record(experiment),
            _members(experiment),
            _cost(experiment),
        )
    )


def explain_experiment(experiments: Sequence[TeacherStudent]) -> str:
    """What varies among the experiments of a file, then the first of them in full."""
    if len(experiments) == 1:
        return explain(experiments[0])
    varied = "\n".join(
        f"  {name}: {', '.join(map(_shown, values))}" for name, values in variations(experiments).items()
    )
    first = explain(experiments[0])
    return f"{size(experiments)}. Settings that vary:\n{varied}\n\nThe first of {len(experiments)}:\n\n{first}"


def variations(experiments: Sequence[TeacherStudent]) -> dict[str, list[Any]]:
    """The settings that are not the same in all experiments, each with its different values in order of appearance."""
    tables = [flat(experiment) for experiment in experiments]
    names = dict.fromkeys(name for table in tables for name in table)
    out: dict[str, list[Any]] = {}
    for name in names:
        values = [table[name] for table in tables if name in table]
        different = {repr(value): value for value in values}
        if len(different) > 1 or len(values) < len(tables):
            out[name] = list(different.values())
    return out


def facts(experiment: TeacherStudent) -> dict[str, Any]:
    """The numbers behind the words, as plain data."""
    teacher = experiment.teacher.widths()
    student = experiment.student.widths(teacher)
    return {
        "hash": experiment.hash,
        "plugins": used_by(experiment),
        "teacher_widths": list(teacher),
        "student_widths": list(student),
        "members": len(experiment.seeds),
        "experiments": len(split(experiment)),
        "steps": experiment.steps,
        "epochs": experiment.steps * _batch(experiment) / experiment.inputs.train,
        "recorded_steps": len(experiment.record.steps(experiment.steps)),
        "student_steps": len(experiment.seeds) * experiment.steps,
        "multiplications": work(experiment),
        "data_bytes": Piece(experiment, experiment).bytes,
        "result_bytes": _result_bytes(experiment),
    }


@dataclass(frozen=True)
class Difference:
    """The settings in which two experiments differ, by dotted name; ``old`` or ``new`` lacks a name that is not
    there.
    """

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


def difference(a: TeacherStudent, b: TeacherStudent) -> Difference:
    """Which settings differ from a to b, and whether the hash does."""
    old, new = flat(a), flat(b)
    names = [name for name in {**old, **new} if name not in old or name not in new or old[name] != new[name]]
    return Difference((a.hash, b.hash), {n: old[n] for n in names if n in old}, {n: new[n] for n in names if n in new})


def _teacher(experiment: TeacherStudent) -> str:
    inputs, *hidden, outputs = experiment.teacher.widths()
    units = f"hidden layers of {', '.join(map(str, hidden))} units" if hidden else "no hidden units"
    sentence = f"{inputs} inputs, {units}, {outputs} outputs."
    return (
        f"Teacher: {_kind(experiment.teacher)} {sentence}{_others(experiment.teacher, ('inputs', 'hidden', 'outputs'))}"
    )


def _student(experiment: TeacherStudent) -> str:
    widths = experiment.student.widths(experiment.teacher.widths())
    weights = _weights(widths, experiment.student.bias)
    factor = f"{experiment.student.width_factor:g} times as wide as its teacher in every hidden layer: "
    sentence = (
        f"{factor + 'widths' if experiment.student.hidden is None else 'Widths'} "
        f"{', '.join(map(str, widths))}, {weights:,} weights and biases."
    )
    return f"Student: {_kind(experiment.student)} {sentence}{_others(experiment.student, ('width_factor',))}"


def _inputs(experiment: TeacherStudent) -> str:
    distribution = experiment.inputs
    whose = "one set shared by all members" if distribution.shared else "a set for each member"
    online = experiment.training.sampling == "online"
    train = "Drawn afresh at every step" if online else f"{distribution.train:,} points to train on"
    sentence = f"{train} and {distribution.evaluate:,} to be judged on, {whose}."
    return f"Inputs: {_kind(distribution)} {sentence}{_others(distribution, ('train', 'evaluate', 'shared'))}"


def _training(experiment: TeacherStudent) -> str:
    training = experiment.training
    drawn = "drawn with replacement" if training.sampling == "replacement" else "drawn without replacement"
    points = (
        f"all {experiment.inputs.train:,} points" if training.batch == "all" else f"{training.batch:,} points {drawn}"
    )
    if training.sampling == "online":
        points = f"{training.batch:,} fresh points each"
    epochs = experiment.steps * _batch(experiment) / experiment.inputs.train
    through = "" if training.sampling == "online" else f", {epochs:,.4g} times through the data"
    rate = _shown(training.learning_rate) + (" (one per member)" if isinstance(training.learning_rate, tuple) else "")
    loss = "" if training.loss == "mse" else f" on the loss {training.loss}"
    return (
        f"Training: {experiment.steps:,} steps of {_optimiser(experiment)}{loss} on {points}{through}. "
        f"The learning rate is {rate}{_schedule(experiment)}{_special(training)}"
    )


def _special(training: Training) -> str:
    """Noise, frozen layers, rates per layer and stopping rules, in words."""
    out = []
    for name in ("label_noise", "input_noise", "stop"):
        if (value := getattr(training, name)) is not None:
            values = ", ".join(f"{n} {_shown(v)}" for n, v in value if n != "kind")
            out.append(f"{name.replace('_', ' ')}: {value.kind} ({values})")
    lists = {name: getattr(training, name) or () for name in ("frozen", "layer_rates")}
    out += [f"{name.replace('_', ' ')}: {', '.join(map(str, value))}" for name, value in lists.items() if value]
    if training.parameterisation != "standard":
        out.append(f"parameterisation: {training.parameterisation}")
    return f" {'; '.join(out)[:1].upper()}{'; '.join(out)[1:]}." if out else ""


def _optimiser(experiment: TeacherStudent) -> str:
    optimiser = experiment.training.optimiser
    if optimiser.plain:
        return "gradient descent"
    return f"{optimiser.kind} (" + ", ".join(f"{n} {_shown(v)}" for n, v in optimiser if n != "kind") + ")"


def _schedule(experiment: TeacherStudent) -> str:
    schedule, steps = experiment.training.schedule, experiment.steps
    if schedule.kind == "constant":
        return " throughout."
    with np.errstate(all="ignore"):  # a factor may grow beyond all bounds, and is then said to be infinite
        first, last = experiment.training.factors(
            np.array([0, steps - 1]), steps, experiment.training.per_epoch(experiment.inputs.train)
        )
    return (
        f", times {first:.3g} at the first step and {last:.3g} at the last "
        f"(schedule {schedule.kind}).{_others(schedule, ())}"
    )


def _record(experiment: TeacherStudent) -> str:
    record, steps = experiment.record, experiment.steps
    times = f"at {len(record.steps(steps)):,} steps, the first and the last among them"
    often = f" (every {record.every:,})" if record.every else ""
    kept = {"last": "at the last step", "all": "at every recorded step", "none": "never"}[record.weights]
    return f"Record: {', '.join(record.measures)}, {times}{often}. Weights are kept {kept}."


def _members(experiment: TeacherStudent) -> str:
    seeds, single = experiment.seeds, len(experiment.seeds) == 1
    in_a_row = seeds == tuple(range(seeds[0], seeds[0] + len(seeds)))
    which = f"{seeds[0]} to {seeds[-1]}" if in_a_row and not single else _shown(seeds).strip("[]")
    return f"Members: {len(seeds):,}, with the seed{'' if single else 's'} {which}, in {experiment.precision}."


def _cost(experiment: TeacherStudent) -> str:
    known = facts(experiment)
    cut = (
        f" It is cut into {known['experiments']:,} experiments, of about a minute of work each."
        if known["experiments"] > 1
        else ""
    )
    used = "".join(f" It needs {plugin}." for plugin in describe(known["plugins"]))
    return (
        f"Cost: about {known['multiplications']:.2g} multiplications, {_bytes(known['data_bytes'])} of points, labels "
        f"and activations while it runs, at most {_bytes(known['result_bytes'])} of results. "
        f"Hash {experiment.hash}.{cut}{used}"
    )


def _kind(recipe: Recipe) -> str:
    """The kind of a recipe with the first sentence of what it says about itself."""
    summary = first_paragraph(type(recipe)).rstrip(".")
    return f"{recipe.kind} ({summary})." if summary else f"{recipe.kind}."


def _others(recipe: Recipe, named: Sequence[str]) -> str:
    """The settings of a recipe that differ from their defaults and were not told yet."""
    rest = {name: value for name, value in plain(recipe).items() if name not in ("kind", *named)}
    listed = ", ".join(f"{name} {_shown(value)}" for name, value in rest.items())
    return f" Set here: {listed}." if listed else ""


def _batch(experiment: TeacherStudent) -> int:
    return experiment.inputs.train if experiment.training.batch == "all" else experiment.training.batch


def _weights(widths: Sequence[int], bias: bool) -> int:
    return sum((fan_in + bias) * fan_out for fan_in, fan_out in pairwise(widths))


def _result_bytes(experiment: TeacherStudent) -> int:
    """Bytes of measures and weights on disk before they are compressed."""
    teacher = experiment.teacher.widths()
    student = experiment.student.widths(teacher)
    bytes_each = torch.finfo(getattr(torch, experiment.precision)).bits // 8
    recorded = len(experiment.record.steps(experiment.steps))
    entries = sum(math.prod(axis_shape(find(name).axis, teacher, student)) for name in experiment.record.measures)
    kept = {"last": 1, "all": recorded, "none": 0}[experiment.record.weights] * _weights(
        student, experiment.student.bias
    )
    return len(experiment.seeds) * bytes_each * (recorded * entries + kept + _weights(teacher, True))


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
