"""Counterexamples to Conjectures 5.5 and 5.8 in exact fractions, against floating point and by symmetry."""

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage.alignment.angular import angularity, named, poisson
from tutelage.alignment.certificates.angular_lemmas import determinant_signs
from tutelage.alignment.counterexamples import PYTHAGOREAN, against_5_5, against_5_8, determinant
from tutelage.alignment.determinants import determinants, signs
from tutelage.certificates import certify, find


@given(st.lists(st.lists(st.fractions(max_denominator=9), min_size=3, max_size=3), min_size=3, max_size=3))
def test_determinants_are_the_sum_over_permutations(rows):
    def sign(order):
        return (-1) ** sum(a > b for i, a in enumerate(order) for b in order[i + 1 :])

    leibniz = sum(sign(p) * rows[0][p[0]] * rows[1][p[1]] * rows[2][p[2]] for p in permutations(range(3)))
    assert determinant(rows) == leibniz


def test_conjecture_5_5_is_refuted_exactly():
    found = against_5_5()
    three_fifths, third = Fraction(3, 5), Fraction(1, 3)
    assert found.matrix == ((3, three_fifths, third), (three_fifths, 3, three_fifths), (third, three_fifths, 3))
    assert found.first == (three_fifths, third, three_fifths)
    assert found.full > 0
    assert found.each == (Fraction(64, 15), Fraction(704, 675), Fraction(64, 15))


def test_exact_determinants_agree_with_floating_point():
    full, each = determinants(np.array([[0.5, 1.0, 1.5]]) * np.pi, poisson(0.5))
    assert full[0] == pytest.approx(float(against_5_5().full))
    assert each[0] == pytest.approx([float(value) for value in against_5_5().each])


def test_it_is_no_edge_of_the_definition():
    """Without antipodal students too, and for about three random sets in ten."""
    angles = np.random.default_rng(0).uniform(0, 2 * np.pi, (4000, 3))
    share = signs(angles, poisson(0.5)).counterexample.mean()
    assert 0.28 < share < 0.34
    assert angularity(poisson(0.5)).holds
    assert angularity(poisson(0.5), "PAD").holds


def test_of_an_odd_kernel_one_choice_of_directions_in_2_to_the_m_violates_it():
    """Of the 8 ways to put three students on three lines exactly one has all det M_i positive."""
    lines = np.random.default_rng(1).uniform(0, np.pi, (50, 3))
    for row in lines:
        choices = np.array([row + np.pi * np.array(flip) for flip in product((0, 1), repeat=3)])
        ratio = signs(choices, named("erf")).ratio
        assert (ratio > 0).all(1).sum() == 1


def test_conjecture_5_8_is_refuted_exactly():
    assert {name: m.full for name, m in against_5_8().items()} == {"cos theta": 0, "1 + cos theta": 0}
    dots = [a[0] * b[0] + a[1] * b[1] for i, a in enumerate(PYTHAGOREAN) for b in PYTHAGOREAN[:i]]
    assert all(-1 < dot < 1 for dot in dots), "distinct, and no two antipodal"
    assert all(a[0] ** 2 + a[1] ** 2 == 1 for a in PYTHAGOREAN)


@given(st.floats(0.01, 3.1), st.floats(0.01, 3.1))
def test_both_functions_meet_the_criterion_of_conjecture_5_8(a, b):
    if a + b >= np.pi:
        return
    for f in (np.cos, lambda t: 1 + np.cos(t)):
        assert f(a) * f(b) > f(a + b) * f(0.0)


@pytest.mark.parametrize("name", ["conjecture-5-5-is-false", "conjecture-5-8-is-false"])
def test_the_refutations_are_certificates(name):
    (found,) = certify(name, *find(name).subject.example())
    assert found.verdict == "holds"


def test_the_printed_conjecture_holds_for_relu_here_and_fails_for_another_kernel():
    angles = np.array([[1.6, 3.1, 4.6]])
    verdicts = [determinant_signs(angles, kernel)[0].verdict for kernel in (named("relu"), poisson(0.5))]
    assert verdicts == ["holds", "fails"]
    assert determinant_signs(angles[:, :2])[0].unmet == ("students",)
