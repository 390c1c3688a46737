"""Lemmas about kernels: one case where each holds, and one for every condition that is not met."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tutelage import TutelageError
from tutelage.alignment.angular import from_formula, from_samples, named, relu_shape
from tutelage.alignment.angular_shape import least_eigenvalues
from tutelage.alignment.certificates.angular_lemmas import kernel_lemmas, positive_matrices
from tutelage.alignment.determinants import matrices

THREE = np.array([[0.5, 2.0, 4.0]])


def verdicts(angles, kernel=None):
    return {name: found[0].verdict for name, found in positive_matrices(np.array(angles), kernel).items()}


def test_lemmas_4_2_and_4_3_hold_for_the_f_of_the_seed_with_margin_and_witness():
    found = kernel_lemmas()
    assert {name: c.verdict for name, c in found.items()} == {"4.2": "holds", "4.3": "holds", "5.6": "holds"}
    gap = found["4.3"].parts[0].conclusion
    a, b = gap.data["at"]
    f = relu_shape(np.array([a, b, a + b, 0.0]))
    assert gap.margin == pytest.approx(f[0] * f[1] - f[2] * f[3], abs=1e-13)
    assert gap.margin > 0


def test_of_another_kernel_they_do_not_speak_but_tell_what_they_would():
    for name, found in kernel_lemmas(named("abs")).items():
        assert found.verdict == "not applicable"
        assert found.unmet == ("distance from the f of the paper",)
        assert found.parts[0].conclusion.holds is (name == "5.6"), name  # a covariance, and so angular
    arc = kernel_lemmas(named("arc"))
    assert arc["4.2"].verdict == "not applicable"
    assert all(part.conclusion.holds for part in (*arc["4.2"].parts, *arc["4.3"].parts))


def test_a_function_with_a_negative_coefficient_is_no_angular_distance_function():
    f = from_formula(lambda t: np.pi - t - 0.5 * np.cos(2 * t), variation=4.0 + 0.5 * 2 * 4)
    assert kernel_lemmas(f)["5.6"].parts[0].conclusion.holds is False


def test_the_same_f_as_a_users_formula_is_not_proved_by_a_grid():
    assert {c.verdict for c in kernel_lemmas(from_formula(relu_shape)).values()} == {"not decided"}


def test_a_users_samples_are_decided_by_their_corners():
    found = kernel_lemmas(from_samples([3.0, 2.0, 0.0]))
    assert found["4.2"].parts[0].conclusion.holds is True
    assert found["4.2"].parts[1].conclusion.holds is False  # 3 is not pi
    assert found["4.3"].parts[0].conclusion.holds is True
    assert kernel_lemmas(from_samples([3.0, 1.0, 0.9]))["4.3"].parts[0].conclusion.holds is False


@given(st.integers(0, 10**6), st.integers(2, 7))
@settings(max_examples=30, deadline=None)
def test_no_statement_fails(seed, m):
    angles = np.random.default_rng(seed).uniform(0, 2 * math.pi, (4, m))
    for kernel in (named("relu"), named("arc"), named("leaky", 0.2)):
        for certificates in positive_matrices(angles, kernel).values():
            assert len(certificates) == 4
            assert all(c.verdict == "holds" for c in certificates)


def test_lemma_4_5_names_the_pair_that_is_antipodal_or_coincident():
    opposite = positive_matrices(np.array([[0.5, 2.0, 0.5 + math.pi]]))["4.5"][0]
    assert opposite.verdict == "not applicable"
    assert opposite.unmet == ("least distance from antipodal",)
    assert opposite.conditions[1].data["students"] == [0, 2]
    same = positive_matrices(np.array([[0.5, 2.0, 2.0]]))["4.5"][0]
    assert same.unmet == ("least angle of two students",)
    assert same.conditions[0].witness == "students 1 and 2"


def test_a_matrix_is_singular_from_two_antipodal_pairs_on_and_that_of_relu_from_three():
    """But for rounding of pi, which is why float64 leaves it open."""
    one, two, three = ([t + k * math.pi for t in (0.3, 1.0, 2.1)[:n] for k in (0, 1)] for n in (1, 2, 3))
    for kind, sound, singular in (("arc", one, two), ("relu", two, three)):
        for angles, wanted in ((sound, True), (singular, False)):
            value, bound = least_eigenvalues(matrices(np.array([angles]), named(kind))[0], 1e-14)
            assert bool(value[0] > bound[0]) is wanted
            assert value[0] > -bound[0]


def test_angles_a_millionth_apart_are_settled_with_many_digits():
    found = positive_matrices(np.array([[1.0, 1.0 + 1e-6, 1.0 + 2e-6, 2.0]]))["5.4"][0].parts[0].conclusion
    assert found.holds is True
    assert "elimination" in found.witness


def test_proposition_5_4_asks_for_an_ad_function():
    assert verdicts(THREE)["5.4"] == "holds"
    assert verdicts(THREE, from_formula(lambda t: t, variation=4.0))["5.4"] == "not applicable"
    assert verdicts(THREE, from_formula(np.cos, variation=8.0))["5.4"] == "not decided"
    assert verdicts(THREE, from_formula(np.cos))["5.4"] == "not decided"  # no coefficient has a bound


def test_conjecture_5_8_asks_for_all_its_conditions():
    assert verdicts(THREE)["5.8"] == "holds"
    [abs_] = positive_matrices(THREE, named("abs"))["5.8"]
    assert abs_.verdict == "not applicable"
    assert "least fall over a step" in abs_.unmet
    [convex] = positive_matrices(THREE, from_samples([3.0, 1.0, 0.9]))["5.8"]
    assert convex.unmet == ("least f(alpha) f(beta) - f(alpha + beta) f(0)",)
    assert "least distance from antipodal" in positive_matrices(np.array([[1.0, 1.0 + math.pi]]))["5.8"][0].unmet


def test_refusals():
    with pytest.raises(TutelageError, match="two students"):
        positive_matrices(np.array([[1.0]]))
    with pytest.raises(TutelageError, match="modulo 2 pi"):
        positive_matrices(np.array([[1.0, 7.0]]))
