r"""VNN-LIB files as what they say: networks with named inputs and outputs, and a formula of linear inequalities.

A file describes what a counterexample looks like. Version 1.0 has one network with inputs ``X_0, X_1, ...`` and outputs
``Y_0, Y_1, ...``; version 2.0 declares networks with tensors of any names (``X_f[0,0,0,2]``), each of which may be
``equal-to`` or ``isomorphic-to`` an earlier one. Numbers are read as fractions, so that nothing is rounded here.

The formula is kept in disjunctive normal form: alternatives, each a conjunction of inequalities.
"""

import gzip
import math
import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from tutelage.errors import TutelageError

LARGEST = 1 << 26
"""The most bytes of a file, unpacked."""
_MOST = 10_000  # alternatives: a file with more of them is none that was written for a network
_TOKEN = re.compile(r"\(|\)|[^\s()\[\]]+(?:\[[^\]]*\])?")
_PLACE = re.compile(r"([^\s\[\]()]+?)(?:\[([\d,\s]*)\])?$")
_OLD = re.compile(r"([XY])_(\d+)$")


class Variable(NamedTuple):
    """One number of a tensor: of which network (from 0), whether it is an input, and its place in row-major order."""

    network: int
    input: bool
    place: int


class Inequality(NamedTuple):
    """sum of coefficients times variables <= most, or < most where it is strict; variables are sorted."""

    terms: tuple[tuple[Variable, Fraction], ...]
    most: Fraction
    strict: bool

    @property
    def about_inputs(self) -> bool:
        return all(variable.input for variable, _ in self.terms)


Alternative = tuple[Inequality, ...]


@dataclass(frozen=True)
class Declared:
    """One network of a file: its name, the names and shapes of its tensors, and the one it is said to be like."""

    name: str
    inputs: tuple[tuple[str, tuple[int, ...]], ...]
    outputs: tuple[tuple[str, tuple[int, ...]], ...]
    like: str | None = None
    equal: bool = False

    def size(self, inputs: bool) -> int:
        return sum(math.prod(shape) for _, shape in (self.inputs if inputs else self.outputs))


@dataclass(frozen=True)
class Formula:
    """networks: as declared; always: inequalities that hold for every counterexample; alternatives: one of which holds
    as well; old: whether the file is of version 1.0."""

    networks: tuple[Declared, ...]
    always: Alternative
    alternatives: tuple[Alternative, ...]
    old: bool

    def met_by(self, values: dict[Variable, Fraction]) -> bool:
        """Whether numbers of all variables are a counterexample."""
        return _meets(self.always, values) and any(_meets(part, values) for part in self.alternatives)

    @property
    def empty(self) -> bool:
        """Whether no numbers at all meet it, for a reason that two inequalities about one sum show."""
        return contradicts(self.always) or all(contradicts((*self.always, *part)) for part in self.alternatives)


def read_formula(path: str | Path) -> Formula:
    """Read a ``.vnnlib`` or ``.vnnlib.gz`` file; an error for what is not understood."""
    path = Path(path)
    if not path.is_file():
        raise TutelageError(f"there is no file {path}")
    try:
        with path.open("rb") as file, gzip.open(file) if path.suffix == ".gz" else file as content_of:
            content = content_of.read(LARGEST + 1)
    except (OSError, EOFError) as error:
        raise TutelageError(f"{path} cannot be read: {error}") from None
    if len(content) > LARGEST:
        raise TutelageError(f"{path} is larger than {LARGEST >> 20} MiB")
    try:
        return _Reader(path).read(content.decode("utf-8"))
    except (ValueError, IndexError, RecursionError, KeyError, TypeError, ZeroDivisionError) as error:
        if isinstance(error, TutelageError):
            raise
        raise TutelageError(f"{path} is not a VNN-LIB file that is understood ({error})") from None


class _Reader:
    """The tensors met so far: by name, the network, the kind, the first place and the shape."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.networks: list[Declared] = []
        self.tensors: dict[str, tuple[int, bool, int, tuple[int, ...]]] = {}
        self.old: dict[str, int] = {}

    def read(self, text: str) -> Formula:
        always: list[Inequality] = []
        alternatives: list[Alternative] = [()]
        for expression in _expressions(_TOKEN.findall(re.sub(r";[^\n]*", "", text))):
            match expression[0]:
                case "declare-const" | "declare-fun":
                    self._variable(expression[1])
                case "declare-network":
                    self._network(expression)
                case "assert":
                    parts = self._formula(expression[1])
                    if len(parts) == 1:
                        always += parts[0]
                    else:
                        alternatives = self._both(alternatives, parts)
                case _:
                    continue
        if self.old:
            shapes = {kind: (("XY"[not kind], (self.old.get("XY"[not kind], 0),)),) for kind in (True, False)}
            self.networks = [Declared("f", shapes[True], shapes[False])]
        return Formula(tuple(self.networks), tuple(always), tuple(alternatives), bool(self.old))

    def _variable(self, name: str) -> None:
        place = _OLD.match(name)
        if place is None:
            raise TutelageError(
                f"{self.path} declares {name}: names are X_0, X_1, ... and Y_0, Y_1, ... in version 1.0"
            )
        self.old[place[1]] = max(self.old.get(place[1], 0), int(place[2]) + 1)

    def _network(self, expression: list[Any]) -> None:
        number, tensors = len(self.networks), {True: [], False: []}  # type: ignore[var-annotated]
        like, equal = None, False
        for part in expression[2:]:
            match part[0]:
                case "declare-input" | "declare-output":
                    digits = ",".join(t for t in part[3:] if re.fullmatch(r"[\d,]+", str(t)))
                    shape = tuple(int(n) for n in re.findall(r"\d+", digits))
                    own = tensors[part[0] == "declare-input"]
                    first = sum(math.prod(s) for _, s in own)
                    if part[1] in self.tensors:
                        raise TutelageError(f"{self.path} declares {part[1]} twice: give every tensor its own name")
                    self.tensors[part[1]] = number, part[0] == "declare-input", first, shape
                    own.append((part[1], shape))
                case "isomorphic-to" | "equal-to":
                    like, equal = part[1], part[0] == "equal-to"
                    if like not in [n.name for n in self.networks]:
                        raise TutelageError(
                            f"{self.path}: {expression[1]} is like {like}, which is declared nowhere above"
                        )
                case _:
                    raise TutelageError(f"{self.path} has {part[0]} in a network, which is not understood")
        self.networks.append(Declared(expression[1], tuple(tensors[True]), tuple(tensors[False]), like, equal))

    def _formula(self, claim: list[Any]) -> list[Alternative]:
        """A formula as alternatives."""
        head, *parts = claim
        if head == "and":
            alternatives: list[Alternative] = [()]
            for part in parts:
                alternatives = self._both(alternatives, self._formula(part))
            return alternatives
        if head == "or":
            return [alternative for part in parts for alternative in self._formula(part)]
        return [self._inequalities(head, *parts)]

    def _both(self, first: list[Alternative], second: list[Alternative]) -> list[Alternative]:
        if len(first) * len(second) > _MOST:
            raise TutelageError(f"{self.path} has more than {_MOST:,} alternatives: split it into several files")
        return [(*a, *b) for a, b in product(first, second)]

    def _inequalities(self, sign: str, left: Any, right: Any) -> Alternative:
        if sign in ("==", "=") and all(isinstance(s, str) and s in self.tensors for s in (left, right)):
            return self._equal(left, right)
        terms, constant = self._sum(left)
        more, other = self._sum(right)
        for variable, factor in more.items():
            terms[variable] = terms.get(variable, Fraction(0)) - factor
        least = sorted((v, c) for v, c in terms.items() if c)
        turned = tuple((v, -c) for v, c in least)
        room = other - constant
        match sign:
            case "<=" | "<":
                return (Inequality(tuple(least), room, sign == "<"),)
            case ">=" | ">":
                return (Inequality(turned, -room, sign == ">"),)
            case "==" | "=":
                return Inequality(tuple(least), room, False), Inequality(turned, -room, False)
        raise TutelageError(f"{self.path} has the sign {sign}, which is not understood: use <=, <, >=, > or ==")

    def _equal(self, left: str, right: str) -> Alternative:
        """Two whole tensors equal, number by number."""
        (n, kind, first, shape), (m, other_kind, second, other) = self.tensors[left], self.tensors[right]
        if math.prod(shape) != math.prod(other):
            raise TutelageError(f"{self.path} compares {left} of shape {list(shape)} with {right} of {list(other)}")
        rows = []
        for k in range(math.prod(shape)):
            terms = tuple(
                sorted(
                    [(Variable(n, kind, first + k), Fraction(1)), (Variable(m, other_kind, second + k), Fraction(-1))]
                )
            )
            rows += [
                Inequality(terms, Fraction(0), False),
                Inequality(tuple((v, -c) for v, c in terms), Fraction(0), False),
            ]
        return tuple(rows)

    def _sum(self, term: Any) -> tuple[dict[Variable, Fraction], Fraction]:
        """A linear expression as coefficients and a constant."""
        if isinstance(term, str):
            variable = self._place(term)
            return ({}, Fraction(term)) if variable is None else ({variable: Fraction(1)}, Fraction(0))
        head, *parts = term
        sums = [self._sum(part) for part in parts]
        if head == "*":
            numbers = [c for terms, c in sums if not terms]
            others = [(terms, c) for terms, c in sums if terms]
            if len(others) > 1:
                raise TutelageError(f"{self.path} multiplies two variables, and only linear sums are understood")
            factor = math.prod(numbers, start=Fraction(1))
            terms, constant = others[0] if others else ({}, Fraction(1))
            return {v: factor * c for v, c in terms.items()}, factor * constant
        if head not in ("+", "-"):
            raise TutelageError(f"{self.path} has the operation {head}, and only +, - and * are understood")
        total: dict[Variable, Fraction] = {}
        constant = Fraction(0)
        for number, (terms, c) in enumerate(sums):
            side = -1 if head == "-" and (number or len(sums) == 1) else 1
            constant += side * c
            for variable, factor in terms.items():
                total[variable] = total.get(variable, Fraction(0)) + side * factor
        return total, constant

    def _place(self, token: str) -> Variable | None:
        """The variable of a token, None for a number."""
        old = _OLD.match(token)
        if self.old and old is not None:
            if int(old[2]) >= self.old.get(old[1], 0):
                raise TutelageError(f"{self.path} uses {token}, which is declared nowhere")
            return Variable(0, old[1] == "X", int(old[2]))
        place = _PLACE.match(token)
        if place is None or place[1] not in self.tensors:
            if re.match(r"[A-Za-z_]", token):
                raise TutelageError(f"{self.path} uses {token}, which is declared nowhere")
            return None
        network, kind, first, shape = self.tensors[place[1]]
        index = [int(i) for i in place[2].split(",")] if place[2] and place[2].strip() else []
        if len(index) != len(shape) and not (not index and math.prod(shape) == 1):
            raise TutelageError(f"{self.path} uses {token}, and {place[1]} has {len(shape)} axes: give as many places")
        flat = 0
        for i, size in zip(index, shape, strict=bool(index)):
            if i >= size:
                raise TutelageError(f"{self.path} uses {token}, and {place[1]} has the shape {list(shape)}")
            flat = flat * size + i
        return Variable(network, kind, first + flat)


def _meets(alternative: Alternative, values: dict[Variable, Fraction]) -> bool:
    sums = ((sum((c * values[v] for v, c in terms), Fraction(0)), most, strict) for terms, most, strict in alternative)
    return all(total < most or (total == most and not strict) for total, most, strict in sums)


def contradicts(alternative: Alternative) -> bool:
    """Whether two of some inequalities about the same sum leave no number for it."""
    least: dict[tuple, tuple[Fraction, bool]] = {}
    most: dict[tuple, tuple[Fraction, bool]] = {}
    for terms, limit, strict in alternative:
        if not terms:
            if limit < 0 or (limit == 0 and strict):
                return True
            continue
        unit = terms[0][1]
        row = tuple((v, c / unit) for v, c in terms)
        value, into, closer = limit / unit, (most if unit > 0 else least), (min if unit > 0 else max)
        known = into.get(row)
        if known is None or known[0] != closer(known[0], value):
            into[row] = value, strict
        elif known[0] == value:
            into[row] = value, strict or known[1]
    both = ((least[row], most[row]) for row in least.keys() & most.keys())
    return any(low > high or (low == high and (a or b)) for (low, a), (high, b) in both)


def _expressions(tokens: list[str]) -> list[list[Any]]:
    """Nested lists of a text in brackets."""
    stack: list[list[Any]] = [[]]
    for token in tokens:
        if token == "(":
            stack.append([])
        elif token == ")":
            if len(stack) < 2:
                raise ValueError("a bracket is closed that was not opened")
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    if len(stack) != 1:
        raise ValueError("a bracket is not closed")
    return [e for e in stack[0] if isinstance(e, list) and e]
