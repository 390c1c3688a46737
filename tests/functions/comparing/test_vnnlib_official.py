"""Our reader of VNN-LIB 2.0 and the official one (PyPI ``vnnlib``) say the same of files in the competition's form."""

import gzip
import operator
import random
from fractions import Fraction
from math import prod

import pytest

from tutelage.functions.comparing.vnnlib_formulas import Variable, read_formula

vnnlib = pytest.importorskip("vnnlib", reason="the official parser is not installed")

SIGNS = ["<=", "<", ">=", ">", "=="]
COMPARE = {
    "LessEqual": operator.le, "LessThan": operator.lt, "GreaterEqual": operator.ge, "GreaterThan": operator.gt,
    "Equal": operator.eq,
}  # fmt: skip


class Generated:
    """A file about one network or two: random shapes, numbers, sums and brackets."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        shape, out = self.draw.choice([[2], [1, 3], [1, 1, 1, 2]]), self.draw.choice([[2], [1, 2]])
        self.networks = ["f", "g"][: self.draw.choice([1, 2, 2])]
        self.like = self.draw.choice(["isomorphic-to", "equal-to"])
        self.tensors = {f"{kind}_{n}": s for n in self.networks for kind, s in (("X", shape), ("Y", out))}
        self.text = "(vnnlib-version <2.0>)\n" + "".join(map(self.declared, self.networks))
        for _ in range(self.draw.randint(1, 6)):
            self.text += f"(assert {self.formula(self.draw.randint(0, 3))}) ; a comment (in brackets)\n"

    def declared(self, name):
        like = f"\n    ({self.like} f)" if name == "g" else ""
        x, y = (str(self.tensors[f"{kind}_{name}"]).replace(" ", self.draw.choice(["", " "])) for kind in "XY")
        return (
            f"(declare-network {name}{like}\n (declare-input X_{name} real {x}) (declare-output Y_{name} real {y}))\n"
        )

    def number(self):
        return self.draw.choice(["0.0", "1.0", "-1.0", "0.5", "-0.25", "2.75", "0.1"])

    def place(self):
        name = self.draw.choice(list(self.tensors))
        return f"{name}[{','.join(str(self.draw.randrange(n)) for n in self.tensors[name])}]"

    def term(self, depth):
        if not depth:
            return self.draw.choice([self.place, self.number])()
        sign = self.draw.choice("++--*")
        if sign == "*":
            return f"(* {self.number()} {self.term(depth - 1)})"
        return f"({sign} {' '.join(self.term(depth - 1) for _ in range(self.draw.randint(1 + (sign == '+'), 3)))})"

    def formula(self, depth):
        if not depth:
            return f"({self.draw.choice(SIGNS)} {self.place()} {self.term(self.draw.randint(0, 2))})"
        parts = " ".join(self.formula(self.draw.randint(0, depth - 1)) for _ in range(self.draw.randint(1, 3)))
        return f"({self.draw.choice(['and', 'or'])} {parts})"

    def values(self):
        """Numbers for all variables, of which many lie on boundaries: by name and place."""
        pool = [Fraction(n) for n in ("0", "1", "-1", "0.5", "-0.25", "2.75", "0.1", "0.35", "3")]
        return {(name, k): self.draw.choice(pool) for name, s in self.tensors.items() for k in range(prod(s))}


def flat(indices, shape):
    place = 0
    for i, n in zip(indices, shape, strict=True):
        place = place * n + i
    return place


def sum_of(node, values):
    """A term of the official parser, in fractions."""
    parts = [sum_of(child, values) for child in node.children()]
    match type(node).__name__:
        case "Var":
            return values[node.name, flat(node.indices, node.shape)]
        case "Plus":
            return sum(parts)
        case "Minus":
            return parts[0] - sum(parts[1:])
        case "Negate":
            return -parts[0]
        case "Multiply":
            return prod(parts, start=Fraction(1))
    return Fraction(node.lexeme)


def is_met(node, values):
    """A formula of the official parser."""
    match type(node).__name__:
        case "And" | "Or" as name:
            return (all if name == "And" else any)(is_met(child, values) for child in node.children())
        case "Assertion":
            return is_met(node.expr, values)
    return COMPARE[type(node).__name__](*(sum_of(side, values) for side in (node.lhs, node.rhs)))


@pytest.mark.parametrize("seed", range(60))
def test_both_parsers_say_the_same(seed, tmp_path):
    made = Generated(seed)
    path = tmp_path / ("p.vnnlib.gz" if seed % 2 else "p.vnnlib")
    path.write_bytes(gzip.compress(made.text.encode()) if seed % 2 else made.text.encode())
    ours, official = read_formula(path), vnnlib.parse_query_string(made.text)
    for network, other in zip(ours.networks, official.networks, strict=True):
        assert network.name == other.name
        assert network.like == (other.equal_to or other.isometric_to or None)
        assert network.equal == bool(other.equal_to)
        for tensors, theirs in ((network.inputs, other.inputs), (network.outputs, other.outputs)):
            assert tensors == tuple((t.name, tuple(t.shape)) for t in theirs)
    verdicts = set()
    for _ in range(60):
        values = made.values()
        numbers = {
            Variable(made.networks.index(name[2:]), name[0] == "X", place): value
            for (name, place), value in values.items()
        }
        met = all(is_met(assertion, values) for assertion in official.assertions)
        assert ours.met_by(numbers) == met
        assert not (met and ours.empty)
        verdicts.add(met)
    assert verdicts


def test_the_files_tell_numbers_apart():
    """Of the files above, many are met by some of the numbers and not by others."""
    both = 0
    for seed in range(60):
        made = Generated(seed)
        official = vnnlib.parse_query_string(made.text)
        met = {all(is_met(a, values) for a in official.assertions) for values in (made.values() for _ in range(60))}
        both += len(met) == 2
    assert both >= 20


def test_the_published_property_that_nothing_meets_is_called_empty(tmp_path):
    text = """(vnnlib-version <2.0>)
(declare-network f (declare-input X_f real [1]) (declare-output Y_f real [1]))
(declare-network g (isomorphic-to f) (declare-input X_g real [1]) (declare-output Y_g real [1]))
(assert (and (>= X_f[0] 0.0) (<= X_f[0] 1.0))) (assert (== X_f[0] X_g[0]))
(assert (and (> Y_g[0] (+ Y_f[0] 0.05)) (< Y_g[0] (- Y_f[0] 0.05))))
"""
    (tmp_path / "p.vnnlib").write_text(text)
    assert read_formula(tmp_path / "p.vnnlib").empty
    official, draw = vnnlib.parse_query_string(text), random.Random(0)
    for _ in range(500):
        values = {(name, 0): Fraction(draw.choice([-1, 0, 1, 2])) for name in ("X_f", "X_g", "Y_f", "Y_g")}
        assert not all(is_met(a, values) for a in official.assertions)
