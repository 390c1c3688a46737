"""VNN-LIB files: boxes of version 1.0, and two networks of version 2.0."""

import pytest

from tutelage.errors import TutelageError
from tutelage.functions.comparing.vnnlib import read_property

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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (BOX.replace("(assert (<= X_0 0.5))", ""), "does not bound input 0"),
        (BOX.replace("X_1 Real", "Z_1 Real"), "declares Z_1"),
        (BOX + "(", "bracket"),
        (TWO.replace("(> (- V[0,1] Y[0,1]) 0.05)", ""), "from both sides"),
        (TWO.replace("(- Y[0,1] V[0,1])", "(- Y[0,1] V[0,0])"), "one output of both"),
        (TWO.replace("0.05", "much"), "not a VNN-LIB file"),
        (
            TWO.replace("(assert (or (> (- Y[0,1] V[0,1]) 0.05)", "(assert (> (- Y[0,1] V[0,1]) 0.05)) (assert (or "),
            "one or",
        ),
    ],
)
def test_what_is_not_understood_is_one_sentence(tmp_path, text, words):
    path = tmp_path / "p.vnnlib"
    path.write_text(text)
    with pytest.raises(TutelageError, match=words):
        read_property(path)
