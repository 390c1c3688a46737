"""Derivatives of det M_2 as a polynomial in distances, found by formal differentiation, on intervals of whole numbers.

An interval is a pair of lower and upper ends, Python's integers or object arrays of them; nothing is rounded.
"""

import functools
import itertools
from typing import Any

import numpy as np

_ENDS = {"x": (1, 0), "y": (2, 0), "z": (3, 0), "a": (2, 1), "b": (3, 1), "c": (3, 2)}
"""Which units a distance is between; it grows with the angle of the first and falls with that of the second."""
_SECOND = (("p", "x", "b"), ("a", "y", "c"), ("b", "z", "p"))

Polynomial = dict[tuple[str, ...], int]


def _plus(x, y):
    return x[0] + y[0], x[1] + y[1]


def _minus(x, y):
    return x[0] - y[1], x[1] - y[0]


def _times(x, y):
    a, b, c, d = x[0] * y[0], x[0] * y[1], x[1] * y[0], x[1] * y[1]
    return np.minimum(np.minimum(a, b), np.minimum(c, d)), np.maximum(np.maximum(a, b), np.maximum(c, d))


def _expanded(rows) -> Polynomial:
    out: Polynomial = {}
    for order in itertools.permutations(range(3)):
        sign = (-1) ** sum(order[i] > order[j] for i in range(3) for j in range(i + 1, 3))
        term = tuple(sorted(rows[r][c] for r, c in enumerate(order)))
        out[term] = out.get(term, 0) + sign
    return {term: factor for term, factor in out.items() if factor}


def _by(polynomial: Polynomial, name: str) -> Polynomial:
    """The derivative by one distance."""
    out: Polynomial = {}
    for term, factor in polynomial.items():
        if name in term:
            rest = list(term)
            rest.remove(name)
            out[tuple(rest)] = out.get(tuple(rest), 0) + factor * term.count(name)
    return {term: factor for term, factor in out.items() if factor}


def _at(polynomial: Polynomial, values: dict[str, Any]):
    total = (0, 0)
    for term, factor in polynomial.items():
        product = functools.reduce(_times, [values[name] for name in term])
        scaled = (product[0] * abs(factor), product[1] * abs(factor))
        total = _plus(total, scaled) if factor > 0 else _minus(total, scaled)
    return total


def _direction(name: str, moved: int) -> int:
    return (_ENDS[name][0] == moved) - (_ENDS[name][1] == moved)


def _signed(x, sign: int):
    return x if sign > 0 else (-x[1], -x[0])


_WHOLE = _expanded(_SECOND)


def _first(slopes: dict[str, Any], values: dict[str, Any]):
    """The derivative of det M_2 by theta_1."""
    total = (0, 0)
    for name in _ENDS:
        if sign := _direction(name, 1):
            total = _plus(total, _signed(_times(_at(_by(_WHOLE, name), values), slopes[name]), sign))
    return total


def _second(
    slopes: dict[str, Any], curves: dict[str, Any], values: dict[str, Any], moved: int, first: int = 1,
    thin: tuple[Any, Any, Any] | None = None,
):  # fmt: skip
    """The derivative of det M_2 by theta_first and theta_moved.

    thin: f, f' and f'' of the distance b over a number; the derivative over that number is given then, every term
    having one of the three as a factor.
    """
    total = (0, 0)
    for name in _ENDS:
        if sign := _direction(name, first):
            partial = _by(_WHOLE, name)
            change = (0, 0)
            for other in _ENDS:
                if (way := _direction(other, moved)) and (again := _by(partial, other)):
                    inner = thin[1] if thin and other == "b" != name else slopes[other]
                    held = values
                    if thin and "b" not in (name, other):
                        assert all(term == ("b",) for term in again)
                        held = values | {"b": thin[0]}
                    change = _plus(change, _signed(_times(_at(again, held), inner), way))
            part = _times(change, thin[1] if thin and name == "b" else slopes[name])
            if way := _direction(name, moved):
                bend = thin[2] if thin and name == "b" else curves[name]
                part = _plus(part, _signed(_times(_at(partial, values), bend), way))
            total = _plus(total, _signed(part, sign))
    return total
