"""Answers in the words of the competition, for networks whose answers are known by hand."""

import re

import pytest
import torch

from tutelage.networks import Network, save_network

HEAD = """(vnnlib-version <2.0>)
(declare-network f (declare-input X_f real [1,2]) (declare-output Y_f real [1,1]))
(declare-network g ({like} f) (declare-input X_g real [1,2]) (declare-output Y_g real [1,1]))
(assert (and (>= X_f[0,0] 0.1) (<= X_f[0,0] 1) (>= X_f[0,1] -1) (<= X_f[0,1] 1)))
"""
SAME = "(assert (== X_f[0,0] X_g[0,0])) (assert (== X_f[0,1] X_g[0,1]))"
WITHIN = "(assert (or (> Y_g[0,0] (+ Y_f[0,0] {eps})) (< Y_g[0,0] (- Y_f[0,0] {eps}))))"
ORDERED = """(assert (and (>= X_g[0,0] 0.1) (<= X_g[0,0] 1) (>= X_g[0,1] -1) (<= X_g[0,1] 1)))
(assert (<= X_f[0,0] X_g[0,0])) (assert (== X_f[0,1] X_g[0,1]))
(assert (> Y_f[0,0] (+ Y_g[0,0] {by})))
"""


@pytest.fixture
def files(tmp_path):
    """f = max(0, x) - 2 max(0, y), and g which has 2.25 in place of 2."""
    for name, weight in (("f", -2.0), ("g", -2.25)):
        weights = torch.eye(2)[None], torch.tensor([[[1.0], [weight]]])
        save_network(Network(weights, (torch.zeros(1, 2), torch.zeros(1, 1))), tmp_path / f"{name}.onnx")
    return tmp_path


def asked(prepared, files, text, second="g"):
    (files / "p.vnnlib").write_text(text)
    found = prepared("compare", files / "f.onnx", files / f"{second}.onnx", "--on", files / "p.vnnlib", "--vnncomp")
    return found.returncode, found.stdout


def numbers(out):
    return {name: float(value) for name, value in re.findall(r"\(([XY]_[fg]\[0,\d\]) ([^)]+)\)", out)}


def test_a_proof_is_unsat(prepared, files):
    text = HEAD.format(like="isomorphic-to") + SAME + WITHIN.format(eps=0.3)
    assert asked(prepared, files, text) == (0, "unsat\n")


def test_a_counterexample_is_printed_with_all_its_numbers(prepared, files):
    code, out = asked(prepared, files, HEAD.format(like="isomorphic-to") + SAME + WITHIN.format(eps=0.2))
    found = numbers(out)
    assert (code, out.splitlines()[0], len(found)) == (1, "sat", 6)
    x, y = found["X_f[0,0]"], found["X_f[0,1]"]
    assert (found["X_g[0,0]"], found["X_g[0,1]"]) == (x, y)
    # 0.1 is no number of float32, and the nearest one is above it: nothing may be below the bound that the file gives.
    assert 0.1 <= x <= 1
    assert -1 <= y <= 1
    assert abs(found["Y_g[0,0]"] - found["Y_f[0,0]"]) > 0.2
    assert found["Y_f[0,0]"] == pytest.approx(x - 2 * max(0, y), abs=1e-6)


def test_an_empty_property_is_unsat(prepared, files):
    text = HEAD.format(like="isomorphic-to") + SAME + WITHIN.format(eps=0.2).replace("(or", "(and")
    assert asked(prepared, files, text) == (0, "unsat\n")


def test_ordered_inputs_of_one_network_are_proved_and_searched(prepared, files):
    """f grows with its first input, which is proved. Exchange the order, and its value falls by up to 0.9."""
    text = HEAD.format(like="equal-to") + ORDERED
    assert asked(prepared, files, text.format(by=0.0), "f") == (0, "unsat\n")
    turned = text.format(by=0.5).replace("(<= X_f[0,0] X_g[0,0])", "(>= X_f[0,0] X_g[0,0])")
    code, out = asked(prepared, files, turned, "f")
    found = numbers(out)
    assert (code, out.splitlines()[0]) == (1, "sat")
    assert found["X_f[0,0]"] >= found["X_g[0,0]"]
    assert found["X_f[0,1]"] == found["X_g[0,1]"]
    assert found["Y_f[0,0]"] > found["Y_g[0,0]"] + 0.5


def test_it_takes_no_other_question(prepared, files):
    found = prepared("compare", files / "f.onnx", files / "g.onnx", "--vnncomp", "--box", -1, 1)
    assert found.returncode == 2
    assert "--vnncomp answers the VNN-LIB file" in found.stderr
