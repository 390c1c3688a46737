"""Questions from VNN-LIB files: the box of one network, and what is asked about two.

Two networks with the same inputs, whose outputs are limited by one-sided differences joined by ``or``, are a question
for an epsilon. Two networks at inputs of their own, as for monotonicity, are one for a search.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.functions.comparing.vnnlib_formulas import Alternative, Formula, Variable, contradicts, read_formula


@dataclass(frozen=True, eq=False)
class Property:
    """What a file asks.

    Attributes
    ----------
    low, high
        Ends of the box of inputs, [d]; those of both networks one after the other where these have inputs of their own.
    epsilon
        Differences allowed per output by number, where the file is about two networks with the same inputs; None where
        it is a box alone, about one network, or about two at inputs of their own.
    formula
        What the file says.
    """

    low: Tensor
    high: Tensor
    epsilon: dict[int, float] | None
    formula: Formula

    @property
    def empty(self) -> bool:
        """Whether the file describes no counterexample, whatever the networks are."""
        return self.formula.empty

    @property
    def apart(self) -> bool:
        """Whether it is about two networks at inputs of their own."""
        return len(self.formula.networks) == 2 and not shared(self.formula)


def read_property(path: str | Path) -> Property:
    """Read a VNN-LIB file.

    Parameters
    ----------
    path
        A ``.vnnlib`` file, or one packed as ``.vnnlib.gz``: of version 1.0, of which the box of inputs is read, or of
        version 2.0 with one network or two.

    Returns
    -------
    Property

    Raises
    ------
    TutelageError
        If an input has no bounds, or the file asks something else.
    """
    formula = read_formula(path)
    if len(formula.networks) not in (1, 2):
        raise TutelageError(f"{path} must be about one or two networks, got {len(formula.networks)}")
    low, high = _ends(path, formula)
    two = len(formula.networks) == 2
    limits = _epsilon(path, formula) if two and shared(formula) and not formula.empty else None
    return Property(low, high, limits, formula)


def shared(formula: Formula) -> bool:
    """Whether both networks of a formula have the same inputs: every one is said to be equal to its partner."""
    first, second = formula.networks
    count = first.size(True)
    zero = {i.terms for i in formula.always if not i.most and len(i.terms) == 2}
    pairs = [(Variable(0, True, k), Variable(1, True, k)) for k in range(count)]
    equal = all(((a, 1), (b, -1)) in zero and ((a, -1), (b, 1)) in zero for a, b in pairs)
    return second.size(True) == count and equal


def _ends(path: str | Path, formula: Formula) -> tuple[Tensor, Tensor]:
    """The box of the inputs, as far as single inputs are bounded by numbers."""
    if any(i.about_inputs for part in formula.alternatives for i in part) and len(formula.networks) == 2:
        raise TutelageError(f"{path} has alternatives about inputs, and only outputs may have them: split it")
    low: dict[tuple[int, int], float] = {}
    high: dict[tuple[int, int], float] = {}
    for terms, most, _ in formula.always:
        if len(terms) != 1 or not terms[0][0].input:
            continue
        (variable, factor), value = terms[0], float(most / terms[0][1])
        place = variable.network, variable.place
        if factor > 0:
            high[place] = min(value, high.get(place, math.inf))
        else:
            low[place] = max(value, low.get(place, -math.inf))
    together = len(formula.networks) == 2 and shared(formula)
    networks = range(1 if together else len(formula.networks))
    places = [(n, k) for n in networks for k in range(formula.networks[n].size(True))]
    ends: list[tuple[float, float]] = []
    for network, k in places:
        of = [(network, k)] + ([(1, k)] if together else [])
        below, above = max(low.get(p, -math.inf) for p in of), min(high.get(p, math.inf) for p in of)
        if math.isinf(below) or math.isinf(above):
            raise TutelageError(f"{path} does not bound input {k} from both sides: bound every input by numbers")
        ends.append((below, above))
    lower, upper = (torch.tensor(end, dtype=torch.float64) for end in zip(*ends, strict=True))
    return lower, upper


def _epsilon(path: str | Path, formula: Formula) -> dict[int, float]:
    """The largest difference allowed of every output that a file limits."""
    inputs = [i for i in formula.always if i.about_inputs and len(i.terms) > 1]
    if any(i.most or len(i.terms) != 2 or i.terms[0][0].place != i.terms[1][0].place for i in inputs):
        raise TutelageError(f"{path} constrains sums of inputs, and only a box of inputs is understood here")
    always = tuple(i for i in formula.always if not i.about_inputs)
    sides: dict[tuple[int, int], float] = {}
    for part in formula.alternatives:
        both = (*always, *part)
        if not contradicts(both):
            output, side, limit = _one_side(path, both)
            sides[output, side] = min(limit, sides.get((output, side), math.inf))
    limits = {}
    for (output, side), value in sides.items():
        if sides.get((output, 1 - side)) != value:
            raise TutelageError(f"{path} limits output {output} differently from both sides: give one epsilon")
        limits[output] = value
    return limits


def _one_side(path: str | Path, part: Alternative) -> tuple[int, int, float]:
    """(output, which network is above, by how much) of an alternative that is one inequality f_k - g_k > epsilon."""
    if len(part) != 1:
        raise TutelageError(
            f"{path} has {len(part)} inequalities about outputs that must hold at once: join them by or, one per side"
        )
    (terms, _, strict), value = part[0], -float(part[0].most)
    of = [variable for variable, _ in terms]
    if (
        len(terms) != 2
        or any(v.input for v in of)
        or of[0].place != of[1].place
        or of[0].network == of[1].network
        or {c for _, c in terms} != {1, -1}
    ):
        raise TutelageError(f"{path} must constrain differences of one output of both networks by numbers")
    if value < 0 or (value == 0 and not strict):
        raise TutelageError(f"{path} asks for a difference above {value:g}: give limits of at least 0")
    # A counterexample may reach a limit that is not strict: a proof has to stay below it.
    value = value if strict else math.nextafter(value, 0.0)
    (above,) = (v.network for v, c in terms if c == -1)
    return of[0].place, above, value
