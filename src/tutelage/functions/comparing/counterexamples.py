"""Counterexamples of VNN-LIB files: looked for where two networks have inputs of their own, replayed in float32, and
written down.

The tools that judge an answer run the networks in float32. A counterexample is one here only if it is one there: its
inputs are rounded to float32 inside of their bounds, and the formula is asked about the outputs without rounding.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product

import numpy as np
import torch
from torch import Tensor

from tutelage import draws
from tutelage.deadline import NEVER, Deadline
from tutelage.functions.comparing.vnnlib import Property
from tutelage.functions.comparing.vnnlib_formulas import Formula, Variable
from tutelage.functions.rounding import values
from tutelage.functions.search.hunt import ascent, gradient
from tutelage.networks import Network, SparseNetwork

_POINTS, _CLIMBERS, _STEPS = 4096, 64, 60  # points drawn at first, those an ascent starts from, and its steps
_ROUNDS = 16  # of these, with other points each

AnyNetwork = Network | SparseNetwork
Run = Callable[[np.ndarray], np.ndarray]
"""One network in float32: inputs [d] to outputs [C]."""


def inputs_apart(
    question: Property, pair: tuple[AnyNetwork, AnyNetwork], seed: int = 0, deadline: Deadline = NEVER
) -> Iterator[Tensor]:
    """Inputs [2, d] of two networks that meet a formula in float64, the clearest of every round first.

    Parameters
    ----------
    question
        About two networks at inputs of their own.
    pair
        The networks.
    seed, deadline
        Of the random points, and when to stop.
    """
    formula, d = question.formula, len(question.low) // 2
    low, high = question.low.view(2, d), question.high.view(2, d)
    generator = torch.Generator().manual_seed(*draws.as_seeds([seed]))

    # Rows [N, 2d], as an ascent moves them: the inputs of both networks one after the other.
    def into(rows: Tensor) -> Tensor:
        points = rows.view(-1, 2, d)
        return _met(formula, torch.minimum(torch.maximum(points, low), high)).flatten(1)

    def excess(rows: Tensor) -> Tensor:
        points = rows.view(-1, 2, d)
        return _excess(formula, points, [values(n, points[:, k]) for k, n in enumerate(pair)])

    for _ in range(_ROUNDS):
        unit = torch.rand(_POINTS, 2, d, generator=generator, dtype=torch.float64)
        points = into((low + unit * (high - low)).flatten(1))
        value = excess(points)
        best = value.topk(_CLIMBERS).indices
        x, found = points[best], value[best]
        if all(isinstance(n, Network) for n in pair):
            step = ((high - low) / 4).flatten().expand_as(x)
            x, found = ascent(
                x, found, step, _STEPS, excess, lambda at: gradient(excess, at), into, lambda: deadline.passed
            )
        clear = found.argsort(descending=True)[:8]
        yield from x[clear][found[clear] > 0].view(-1, 2, d)
        if deadline.passed:
            return


def _met(formula: Formula, points: Tensor) -> Tensor:
    """Points with inputs of both networks exchanged or made equal where the formula says how they compare."""
    columns = list(points.flatten(1).unbind(1))
    d = points.shape[2]
    for terms, most, _ in formula.always:
        if len(terms) == 2 and not most and {c for _, c in terms} == {1, -1} and all(v.input for v, _ in terms):
            (small,), (large,) = ([v for v, c in terms if c == side] for side in (1, -1))
            a, b = (v.network * d + v.place for v in (small, large))
            columns[a], columns[b] = torch.minimum(columns[a], columns[b]), torch.maximum(columns[a], columns[b])
    made = torch.stack(columns, 1).view_as(points)
    # What is equal is ordered both ways, after which the smaller number stands in both places.
    sides = {i.terms for i in formula.always if not i.most and len(i.terms) == 2}
    equal = [t for t in sides if tuple((v, -c) for v, c in t) in sides and all(v.input for v, _ in t)]
    for (first, _), (second, _) in equal:
        made[:, second.network, second.place] = made[:, first.network, first.place]
    return made


def _excess(formula: Formula, points: Tensor, outputs: list[Tensor]) -> Tensor:
    """How far points are inside of an alternative, negative outside of all: [N]."""

    def of(variable: Variable) -> Tensor:
        if variable.input:
            return points[:, variable.network, variable.place]
        return outputs[variable.network][:, variable.place]

    always = [i for i in formula.always if not i.about_inputs]
    parts = []
    for part in formula.alternatives:
        rooms = [float(most) - sum(float(c) * of(v) for v, c in terms) for terms, most, _ in (*always, *part)]
        parts.append(torch.stack(rooms).amin(0))  # type: ignore[arg-type]
    return torch.stack(parts).amax(0)


def replayed(formula: Formula, inputs: Tensor, runs: tuple[Run, Run]) -> dict[Variable, Fraction] | None:
    """All numbers of a counterexample as float32 has them, or None where it is none there.

    inputs: [2, d] of both networks in float64.
    """
    single = [_rounded(formula, network, x) for network, x in enumerate(inputs.double().numpy())]
    found = {Variable(n, True, k): Fraction(float(v)) for n, x in enumerate(single) for k, v in enumerate(x)}
    for network, (run, x) in enumerate(zip(runs, single, strict=True)):
        outputs = np.asarray(run(x), np.float32).reshape(-1)
        if not np.isfinite(outputs).all():
            return None
        found |= {Variable(network, False, k): Fraction(float(v)) for k, v in enumerate(outputs)}
    return found if formula.met_by(found) else None


def _rounded(formula: Formula, network: int, x: np.ndarray) -> np.ndarray:
    """Inputs in float32, moved to the next number inside of their bounds where rounding took them outside."""
    single = x.astype(np.float32)
    for terms, most, strict in formula.always:
        if len(terms) == 1 and terms[0][0].input and terms[0][0].network == network:
            factor, k = terms[0][1], terms[0][0].place
            here = factor * Fraction(float(single[k]))
            if here > most or (strict and here == most):
                single[k] = np.nextafter(single[k], np.float32(-np.inf if factor > 0 else np.inf))
    return single


def written(formula: Formula, found: dict[Variable, Fraction]) -> str:
    """A counterexample as the competition reads it: one line per number, by the names of the file."""
    lines = []
    for inputs in (True, False):
        for number, network in enumerate(formula.networks):
            place = 0
            for name, shape in network.inputs if inputs else network.outputs:
                for index in product(*map(range, shape)):
                    axes = ",".join(map(str, index))
                    token = f"{name}_{axes}" if formula.old else f"{name}[{axes}]" if shape else name
                    value = float(found[Variable(number, inputs, place)])
                    lines.append(f"({token} {value!r})")
                    place += 1
    return "(" + "\n ".join(lines) + ")"
