"""Counterexamples of VNN-LIB files: inside of their bounds in float32, and only where float32 gives one."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from tutelage.functions.comparing.counterexamples import inputs_apart, replayed, written
from tutelage.functions.comparing.vnnlib import read_property
from tutelage.functions.comparing.vnnlib_formulas import Variable, read_formula
from tutelage.networks import Network

TEXT = """(vnnlib-version <2.0>)
(declare-network f (declare-input X_f real [1,1]) (declare-output Y_f real [1]))
(declare-network g (equal-to f) (declare-input X_g real [1,1]) (declare-output Y_g real [1]))
(assert (and (>= X_f[0,0] 0.1) (<= X_f[0,0] 0.3) (>= X_g[0,0] 0.1) (<= X_g[0,0] 0.3)))
(assert (<= X_f[0,0] X_g[0,0]))
(assert (> Y_f[0] (+ Y_g[0] 0.15)))
"""


@pytest.fixture
def path(tmp_path):
    (tmp_path / "p.vnnlib").write_text(TEXT)
    return tmp_path / "p.vnnlib"


def falling(x):
    return -x


def test_numbers_are_rounded_to_the_inside_of_their_bounds(path):
    """0.3 and 0.1 are no numbers of float32: the nearest ones are both above, and only one of them is inside."""
    found = replayed(read_formula(path), torch.tensor([[0.1], [0.3]], dtype=torch.float64), (falling, falling))
    assert found is not None
    low, high = (found[Variable(n, True, 0)] for n in (0, 1))
    assert Fraction("0.1") <= low
    assert high <= Fraction("0.3")
    assert Fraction(float(np.float32(0.3))) > Fraction("0.3")  # else nothing would have to be moved
    assert found[Variable(0, False, 0)] == -low


def test_what_float32_does_not_give_is_no_counterexample(path):
    formula, inputs = read_formula(path), torch.tensor([[0.1], [0.3]], dtype=torch.float64)
    assert replayed(formula, inputs, (falling, np.zeros_like)) is None
    assert replayed(formula, inputs.flip(0), (falling, falling)) is None  # the order of the inputs
    assert replayed(formula, inputs, (lambda x: x * np.float32(np.inf), falling)) is None


def test_ordered_inputs_are_found(path):
    net = Network((torch.tensor([[[-1.0]]], dtype=torch.float64),))
    question = read_property(path)
    first = next(inputs_apart(question, (net, net)))
    assert first.shape == (2, 1)
    assert 0.1 <= first[0].item() <= first[1].item() - 0.15 <= 0.15
    rising = Network((torch.tensor([[[1.0]]], dtype=torch.float64),))
    assert list(inputs_apart(question, (rising, rising))) == []


def test_a_counterexample_has_the_names_of_its_file(path):
    formula = read_formula(path)
    numbers = {Variable(n, kind, 0): Fraction(n + 1, 4) for n in (0, 1) for kind in (True, False)}
    assert written(formula, numbers) == "((X_f[0,0] 0.25)\n (X_g[0,0] 0.5)\n (Y_f[0] 0.25)\n (Y_g[0] 0.5))"
