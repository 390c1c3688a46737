"""Questions from VNN-LIB files: the box of version 1.0, and the two-network form of 2.0 that asks for an epsilon.

A file describes what a counterexample looks like. Its inputs must be bounded one by one; in the two-network form both
networks get the same inputs, and the outputs are constrained by a disjunction of one-sided differences.
"""

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tutelage.errors import TutelageError

LARGEST = 1 << 26
"""The most bytes of a file."""
_TOKEN = re.compile(r"\(|\)|[^\s()]+")
_PLACE = re.compile(r"(\w+?)(?:_(\d+)|\[([\d,\s]+)\])?$")
_FLIPPED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<", "==": "==", "=": "="}


@dataclass(frozen=True, eq=False)
class Property:
    """What a file asks.

    Attributes
    ----------
    low, high
        Ends of the box of inputs, [d].
    epsilon
        Differences allowed per output by number, where the file is about two networks; None where it is a box alone
        or about one network.
    """

    low: Tensor
    high: Tensor
    epsilon: dict[int, float] | None


def read_property(path: str | Path) -> Property:
    """Read a VNN-LIB file.

    Parameters
    ----------
    path
        A ``.vnnlib`` file of version 1.0, of which the box of inputs is read, or of version 2.0 with two networks.

    Returns
    -------
    Property

    Raises
    ------
    TutelageError
        If an input has no bounds, or the file asks something else.
    """
    path = Path(path)
    if not path.is_file():
        raise TutelageError(f"there is no file {path}")
    if path.stat().st_size > LARGEST:
        raise TutelageError(f"{path} is larger than {LARGEST >> 20} MiB")
    try:
        return _Reader(path).read()
    except (ValueError, IndexError, RecursionError, KeyError, TypeError) as error:
        if isinstance(error, TutelageError):
            raise
        raise TutelageError(f"{path} is not a VNN-LIB file that is understood ({error})") from None


class _Reader:
    """Names of inputs and outputs, per network, and what is asserted of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sizes: dict[str, int] = {}
        self.shapes: dict[str, list[int]] = {}
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.low: dict[int, float] = {}
        self.high: dict[int, float] = {}
        self.sides: dict[tuple[int, int], float] = {}
        self.two = False

    def read(self) -> Property:
        text = re.sub(r";[^\n]*", "", self.path.read_text("utf-8"))
        for expression in _expressions(_TOKEN.findall(text)):
            match expression[0]:
                case "declare-const" | "declare-fun":
                    self._variable(expression[1])
                case "declare-network":
                    self._network(expression)
                case "assert":
                    self._assertion(expression[1])
                case _:
                    continue
        count = max(self.sizes[name] for name in self.inputs)
        for k in range(count):
            if k not in self.low or k not in self.high:
                raise TutelageError(
                    f"{self.path} does not bound input {k} from both sides: bound every input by numbers"
                )
        low, high = (
            torch.tensor([ends[k] for k in range(count)], dtype=torch.float64) for ends in (self.low, self.high)
        )
        return Property(low, high, self._epsilon() if self.two else None)

    def _variable(self, name: str) -> None:
        place = _PLACE.match(name)
        if place is None or place[1] not in ("X", "Y") or place[2] is None:
            raise TutelageError(
                f"{self.path} declares {name}: names are X_0, X_1, ... and Y_0, Y_1, ... in version 1.0"
            )
        known = self.inputs if place[1] == "X" else self.outputs
        if place[1] not in known:
            known.append(place[1])
        self.sizes[place[1]] = max(self.sizes.get(place[1], 0), int(place[2]) + 1)

    def _network(self, expression: list[Any]) -> None:
        for part in expression[2:]:
            if isinstance(part, list) and part[0] in ("declare-input", "declare-output"):
                shape = [int(n) for n in re.findall(r"\d+", " ".join(map(str, part[3:])))]
                (self.inputs if part[0] == "declare-input" else self.outputs).append(part[1])
                self.shapes[part[1]] = shape
                self.sizes[part[1]] = math.prod(shape)
        self.two = len(self.outputs) == 2

    def _place(self, token: Any) -> tuple[str, int] | None:
        """(variable, flat index) of a token, or None."""
        place = _PLACE.match(token) if isinstance(token, str) else None
        if place is None or place[1] not in self.sizes:
            return None
        if place[2] is not None:
            return place[1], int(place[2])
        if place[3] is None:
            return (place[1], 0) if self.sizes[place[1]] == 1 else None
        flat = 0
        for index, size in zip((int(i) for i in place[3].split(",")), self.shapes[place[1]], strict=True):
            flat = flat * size + index
        return place[1], flat

    def _assertion(self, claim: Any) -> None:
        if claim[0] == "and":
            for part in claim[1:]:
                self._assertion(part)
            return
        if claim[0] == "or":
            self._first_about_outputs()
            for part in claim[1:]:
                self._difference(part[1] if part[0] == "and" and len(part) == 2 else part)
            return
        sides = claim[1], claim[2]
        if claim[0] in ("==", "=") and all(isinstance(s, str) for s in sides):
            names = {s.split("[")[0].rsplit("_", 1)[0] for s in sides}
            if names <= set(self.inputs) and len(names) == 2:
                return  # both networks get the same inputs
        self._bound(claim[0], *sides)

    def _bound(self, sign: str, left: Any, right: Any) -> None:
        given = [sign, left, right]
        place = self._place(left)
        if place is None:
            place, right, sign = self._place(right), left, _FLIPPED[sign]
        if place is None or place[0] not in self.inputs:
            if self.two:
                self._first_about_outputs()
                self._difference(given)
            return  # a constraint on the outputs of one network: only the box is read
        value = float(right)
        if sign in ("<=", "<", "==", "="):
            self.high[place[1]] = min(value, self.high.get(place[1], math.inf))
        if sign in (">=", ">", "==", "="):
            self.low[place[1]] = max(value, self.low.get(place[1], -math.inf))

    def _first_about_outputs(self) -> None:
        """Several assertions must hold together, which is another question than any of them."""
        if self.two and self.sides:
            raise TutelageError(f"{self.path} has several assertions about outputs: join them by one or")

    def _difference(self, claim: list[Any]) -> None:
        """One side of |f_k - g_k| > epsilon."""
        if not self.two:
            return
        sign, left, right = claim
        if not isinstance(left, list):
            sign, left, right = _FLIPPED[sign], right, left
        value = float(right)
        first, second = self._place(left[1]), self._place(left[2])
        if left[0] != "-" or first is None or second is None or first[1] != second[1] or first[0] == second[0]:
            raise TutelageError(f"{self.path} must constrain differences of one output of both networks by numbers")
        if sign in ("<", "<="):
            first, value = second, -value
        if value < 0:
            raise TutelageError(f"{self.path} asks for a difference above {value:g}: give limits of at least 0")
        self.sides[first[1], self.outputs.index(first[0])] = value

    def _epsilon(self) -> dict[int, float]:
        limits = {}
        for (output, side), value in self.sides.items():
            other = self.sides.get((output, 1 - side))
            if other is None or other != value:
                raise TutelageError(f"{self.path} limits output {output} differently from both sides: give one epsilon")
            limits[output] = value
        if not limits:
            raise TutelageError(f"{self.path} has two networks but no limit on a difference of their outputs")
        return limits


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
