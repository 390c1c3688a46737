"""VNN-LIB files: boxes of version 1.0, and two networks of version 2.0."""

import gzip
import math

import pytest

from tutelage.errors import TutelageError
from tutelage.functions.comparing.vnnlib import read_property
from tutelage.functions.comparing.vnnlib_formulas import read_formula

BOX = """; property 1
(declare-const X_0 Real)
(declare-const X_1 Real)
(declare-const Y_0 Real)
(assert (<= X_0 0.5)) (assert (>= X_0 -0.25))
(assert (and (<= X_1 1e-1) (>= X_1 0)))
(assert (>= Y_0 3.99))
"""
TWO = """(vnnlib-version <2.0>)
(declare-network f (declare-input X real [1,2]) (declare-output Y real [1,2]))
(declare-network g (isomorphic-to f) (declare-input U real [1,2]) (declare-output V real [1,2]))
(assert (== X U))
(assert (and (>= X[0,0] -1) (<= X[0,0] 1) (== X[0,1] 0.5)))
(assert (or (> (- Y[0,1] V[0,1]) 0.05) (> (- V[0,1] Y[0,1]) 0.05)))
"""


def test_a_box_of_version_1(tmp_path):
    path = tmp_path / "p.vnnlib"
    path.write_text(BOX)
    found = read_property(path)
    assert (found.low.tolist(), found.high.tolist()) == ([-0.25, 0.0], [0.5, 0.1])
    assert found.epsilon is None


def test_two_networks_of_version_2(tmp_path):
    path = tmp_path / "p.vnnlib"
    path.write_text(TWO)
    found = read_property(path)
    assert (found.low.tolist(), found.high.tolist()) == ([-1.0, 0.5], [1.0, 0.5])
    assert found.epsilon == {1: 0.05}


PUBLISHED = """(vnnlib-version <2.0>)
(declare-network f
    (declare-input X_f real [1, 1, 1, 2])
    (declare-output Y_f real [1, 2]))
(declare-network g
    (isomorphic-to f)
    (declare-input X_g real [1, 1, 1, 2])
    (declare-output Y_g real [1, 2]))
; the inputs
(assert (and (<= X_f[0,0,0,0] 0.68) (>= X_f[0,0,0,0] 0.6)))
(assert (and (<= X_f[0,0,0,1] 0.5) (>= X_f[0,0,0,1] -0.5)))
(assert (== X_f[0,0,0,0] X_g[0,0,0,0]))
(assert (== X_g[0,0,0,1] X_f[0,0,0,1]))
(assert (or (or (> Y_g[0,0] (+ Y_f[0,0] 0.05)) (and (< Y_g[0,0] (- Y_f[0,0] 0.05))))
            (> (- Y_f[0,1] 0.05) Y_g[0,1]) (> (- Y_g[0,1] Y_f[0,1]) 0.05)))
"""


def test_the_form_that_is_published(tmp_path):
    path = tmp_path / "p.vnnlib.gz"
    path.write_bytes(gzip.compress(PUBLISHED.encode()))
    found = read_property(path)
    assert (found.low.tolist(), found.high.tolist()) == ([0.6, -0.5], [0.68, 0.5])
    assert found.epsilon == {0: 0.05, 1: 0.05}
    assert not found.empty
    assert not found.apart


def test_a_limit_that_may_be_reached_is_proved_from_below(tmp_path):
    path = tmp_path / "p.vnnlib"
    path.write_text(PUBLISHED.replace("(> ", "(>= ").replace("(< ", "(<= "))
    assert read_property(path).epsilon == {0: math.nextafter(0.05, 0), 1: math.nextafter(0.05, 0)}


@pytest.mark.parametrize("sign", ["and", "or"])
def test_a_property_that_nothing_meets_is_called_empty(tmp_path, sign):
    """Both sides of one difference at once are met by no outputs; either of them is."""
    begin = PUBLISHED.split("(assert (or")[0]
    path = tmp_path / "p.vnnlib"
    path.write_text(begin + f"(assert ({sign} (> Y_g[0,0] (+ Y_f[0,0] 0.05)) (< Y_g[0,0] (- Y_f[0,0] 0.05))))")
    assert read_property(path).empty == (sign == "and")


def test_two_inequalities_that_leave_one_number_are_not_empty(tmp_path):
    begin = PUBLISHED.split("(assert (or")[0]
    path = tmp_path / "p.vnnlib"
    for low, high, empty in [("<=", ">=", False), ("<", ">=", True), ("<=", ">", True)]:
        path.write_text(begin + f"(assert (and ({low} (* 2 Y_f[0,0]) 1) ({high} Y_f[0,0] 0.5)))")
        assert read_formula(path).empty == empty


def test_without_an_equality_for_every_input_the_inputs_are_not_shared(tmp_path):
    path = tmp_path / "p.vnnlib"
    text = PUBLISHED.replace("(assert (== X_g[0,0,0,1] X_f[0,0,0,1]))", "")
    path.write_text(text)
    with pytest.raises(TutelageError, match="does not bound input 0"):
        read_property(path)
    bounded = text + "(assert (and (<= X_g[0,0,0,0] 1) (>= X_g[0,0,0,0] 0) (<= X_g[0,0,0,1] 1) (>= X_g[0,0,0,1] 0)))"
    path.write_text(bounded)
    found = read_property(path)
    assert found.apart
    assert found.epsilon is None
    assert found.low.tolist() == [0.6, -0.5, 0.0, 0.0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BOX.replace("(assert (<= X_0 0.5))", ""), "does not bound input 0"),
        (BOX.replace("X_1 Real", "Z_1 Real"), "declares Z_1"),
        (BOX + "(", "bracket"),
        (TWO.replace("(> (- V[0,1] Y[0,1]) 0.05)", ""), "from both sides"),
        (TWO.replace("(- Y[0,1] V[0,1])", "(- Y[0,1] V[0,0])"), "one output of both"),
        (TWO.replace("0.05", "much"), "much, which is declared nowhere"),
        (BOX + "(assert (<= X_0))", "not a VNN-LIB file"),
        (TWO + "(assert (> Y[0,0] V[0,0]))", "must hold at once"),
        (TWO.replace("(== X[0,1] 0.5)", "(<= (+ X[0,0] X[0,1]) 0.5) (== X[0,1] 0.5)"), "sums of inputs"),
        (TWO.replace("Y[0,1]", "Y[0,1,0]"), "2 axes"),
        (TWO.replace("Y[0,1]", "Y[0,2]"), "has the shape"),
        (TWO.replace("Y[0,1]", "W[0,1]"), "declared nowhere"),
        (TWO.replace("isomorphic-to f", "isomorphic-to h"), "declared nowhere above"),
        (TWO.replace("declare-input U", "declare-input X"), "twice"),
        (TWO.replace("(> (- Y[0,1] V[0,1])", "(> (* Y[0,1] V[0,1])"), "two variables"),
        (TWO.replace("(> (- Y[0,1] V[0,1])", "(> (max Y[0,1] V[0,1])"), "operation max"),
        (TWO.replace("(> (- Y[0,1]", "(!= (- Y[0,1]"), "sign !="),
    ],
)
def test_what_is_not_understood_is_one_sentence(tmp_path, text, words):
    path = tmp_path / "p.vnnlib"
    path.write_text(text)
    with pytest.raises(TutelageError, match=words):
        read_property(path)
