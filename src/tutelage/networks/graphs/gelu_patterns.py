r"""GELU as exporters write it, out of Mul, Div, Add, Pow and Erf or Tanh: found by what the operators compute.

Every value that scalar constants make of one value u is written as :math:`A(u) + B(u)\,F(p(u))` with F erf or tanh and
polynomials of exact rational coefficients. Where A = B = u / 2 and p is that of a GELU in :mod:`..gelus`, to the last
digit of its stored constants, the operators between are one unit. Anything else stays as it is.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tutelage.networks.gelus import GELUS

_DEGREE = 4
_HALF, _ONE = Fraction(1, 2), Fraction(1)
Polynomial = tuple[Fraction, ...]
"""Coefficients from the constant on, the last one not 0."""
_BENT = {"Erf": 1, "Tanh": 2}  # how many constants the GELU with it has


@dataclass(frozen=True)
class _Form:
    """a + b F(inner), and the numbers of the nodes that make it."""

    a: Polynomial
    b: Polynomial = ()
    bent: str = ""
    inner: Polynomial = ()
    nodes: frozenset[int] = frozenset()


def fold_gelus(nodes: list[Any], arrays: dict[str, np.ndarray], ends: set[str]) -> None:
    """Put one operator in a list of nodes instead of all that make a GELU; its op_type is a name in :data:`GELUS`.

    Parameters
    ----------
    nodes
        Of an ONNX graph, in their order; changed in place.
    arrays
        Its constants by name.
    ends
        Names of its outputs.
    """
    while True:
        found = _first(nodes, arrays, ends)
        if found is None:
            return
        name, start, end, group = found
        last = nodes[end]
        last.op_type = name
        last.ClearField("attribute")
        del last.input[:]
        last.input.append(start)
        nodes[:] = [node for at, node in enumerate(nodes) if at not in group or at == end]


def _first(nodes: list[Any], arrays: dict[str, np.ndarray], ends: set[str]) -> tuple[str, str, int, frozenset] | None:
    """The name, input, number of the last node, and all nodes of the first GELU; None where there is none."""
    users: dict[str, list[int]] = {}
    for at, node in enumerate(nodes):
        for name in node.input:
            users.setdefault(name, []).append(at)
    for at, node in enumerate(nodes):
        if node.op_type not in _BENT:
            continue
        for start in _sources(at, nodes, arrays):
            found = _from(start, nodes, arrays, users)
            for name, end, group in found:
                inner = {out for k in group if k != end for out in nodes[k].output}
                # What is made on the way may be used nowhere else.
                if at in group and not inner & ends and all(set(users.get(v, ())) <= group for v in inner):
                    return name, start, end, group
    return None


def _sources(at: int, nodes: list[Any], arrays: dict[str, np.ndarray]) -> list[str]:
    """Values that a node is made of by at most a few operators, the nearest first."""
    makers = {out: node for node in nodes for out in node.output}
    result, new = [], [name for name in nodes[at].input if name not in arrays]
    for _ in range(8):
        result += [name for name in new if name not in result]
        made = [makers[name] for name in new if name in makers and makers[name].op_type in ("Mul", "Div", "Add", "Pow")]
        new = [name for node in made for name in node.input if name not in arrays]
    return result


def _from(start: str, nodes: list[Any], arrays: dict[str, np.ndarray], users: dict[str, list[int]]) -> list:
    """GELUs of one value: name, number of the last node, and all nodes of each."""
    forms = {start: _Form((Fraction(0), _ONE))}
    found, open_nodes, done = [], set(users.get(start, ())), set[int]()
    while open_nodes:
        at = min(open_nodes)
        open_nodes.remove(at)
        done.add(at)
        node = nodes[at]
        form = _made(node, [forms.get(n) or _constant(arrays.get(n)) for n in node.input])
        if form is None or len(node.output) != 1:
            continue
        form = _Form(form.a, form.b, form.bent, form.inner, form.nodes | {at})
        forms[node.output[0]] = form
        open_nodes |= set(users.get(node.output[0], ())) - done
        if name := _gelu(form):
            found.append((name, at, form.nodes))
    return found


def _constant(array: np.ndarray | None) -> _Form | None:
    """A single stored number."""
    if array is None or array.size != 1 or array.ndim > 1 or array.dtype.kind not in "fiu":
        return None
    value = float(array.reshape(()))
    return _Form(_trimmed((Fraction(value),))) if np.isfinite(value) else None


def _made(node: Any, given: list[_Form | None]) -> _Form | None:
    """What an operator makes of forms; None for what has none, or a polynomial of a high degree."""
    if any(form is None for form in given) or node.domain not in ("", "ai.onnx"):
        return None
    forms = [form for form in given if form is not None]
    nodes = frozenset[int]().union(*(form.nodes for form in forms))
    if node.op_type in _BENT and len(forms) == 1 and not forms[0].b:
        return _Form((), (_ONE,), node.op_type, forms[0].a, nodes)
    if len(forms) != 2:
        return None
    f, g = forms
    if f.b and g.b and (f.bent, f.inner) != (g.bent, g.inner):
        return None
    bent, inner = (f.bent, f.inner) if f.b else (g.bent, g.inner)
    match node.op_type:
        case "Add":
            a, b = _sum(f.a, g.a), _sum(f.b, g.b)
        case "Mul" if not (f.b and g.b):
            a, b = _product(f.a, g.a), _sum(_product(f.a, g.b), _product(f.b, g.a))
        case "Div" if len(g.a) == 1 and not g.b:
            a, b = (_product(part, (1 / g.a[0],)) for part in (f.a, f.b))
        case "Pow" if not f.b and not g.b and g.a in ((Fraction(2),), (Fraction(3),)):
            a, b = f.a, ()
            for _ in range(int(g.a[0]) - 1):
                a = _product(a, f.a)
        case _:
            return None
    return None if max(len(a), len(b)) > _DEGREE + 1 else _Form(a, b, bent, inner, nodes)


def _gelu(form: _Form) -> str | None:
    """The name of a GELU that a form is."""
    half = (Fraction(0), _HALF)
    if form.a != half or form.b != half:
        return None
    for name, constants in GELUS.items():
        zeros = Fraction(0)
        wanted = (zeros, constants[0]) if len(constants) == 1 else (zeros, constants[0], zeros, constants[1])
        if len(constants) == _BENT[form.bent] and form.inner == wanted:
            return name
    return None


def _trimmed(p: Polynomial) -> Polynomial:
    while p and p[-1] == 0:
        p = p[:-1]
    return p


def _sum(p: Polynomial, q: Polynomial) -> Polynomial:
    size = max(len(p), len(q))
    return _trimmed(tuple((p[k] if k < len(p) else 0) + (q[k] if k < len(q) else 0) for k in range(size)))  # type: ignore[misc]


def _product(p: Polynomial, q: Polynomial) -> Polynomial:
    made = [Fraction(0)] * max(len(p) + len(q) - 1, 0)
    for i, x in enumerate(p):
        for j, y in enumerate(q):
            made[i + j] += x * y
    return _trimmed(tuple(made))
