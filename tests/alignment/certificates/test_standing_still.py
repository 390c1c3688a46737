"""Verdicts on students made by hand, and that no theorem is ever refuted by random ones."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from tutelage import TutelageError
from tutelage.alignment.certificates.angular_lemmas import a_negative_determinant
from tutelage.alignment.certificates.plane import PlaneScene
from tutelage.alignment.certificates.standing_still import rational_angles, standing_still
from tutelage.alignment.determinants import matrices, separation

TEACHER = torch.tensor([1.0, 0.0], dtype=torch.float64)


def at(*angles, lengths=None):
    angles = torch.tensor(angles, dtype=torch.float64)
    lengths = torch.ones_like(angles) if lengths is None else torch.tensor(lengths, dtype=torch.float64)
    return (lengths[:, None] * torch.stack([angles.cos(), angles.sin()], 1))[None]


def verdicts(students):
    return {name: found[0].verdict for name, found in standing_still(TEACHER, students).items()}


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_no_theorem_fails(seed, m):
    students = torch.randn(8, m, 2, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    found = standing_still(TEACHER, students)
    for certificates in found.values():
        assert len(certificates) == 8
        assert not any(c.verdict in ("fails", "not decided") for c in certificates)
    assert all((c.verdict == "holds") == (m <= 2) for c in found["3.1"])
    assert all((c.verdict == "holds") == (m >= 3) for c in found["5.1"])


def test_students_above_the_line_move():
    assert verdicts(at(0.5, 1.0, 2.0))["4.1"] == "holds"
    assert verdicts(at(-0.5, -1.0, -2.0))["4.1"] == "holds"
    assert verdicts(at(0.5, 1.0, -2.0))["4.1"] == "not applicable"


def test_the_trivial_solution_stands_still_and_no_theorem_speaks_of_it():
    students = at(0.0, 0.0, lengths=[0.25, 0.75])
    assert set(verdicts(students).values()) == {"not applicable"}
    conclusion = standing_still(TEACHER, students)["3.1"][0].parts[0].conclusion
    assert conclusion.holds is False  # the gradient is zero there
    assert "largest angle with the teacher" in standing_still(TEACHER, students)["3.1"][0].unmet


def test_coincident_and_antipodal_students_are_not_decided():
    assert verdicts(at(1.0, 1.0, 3.0))["5.1"] == "not decided"
    assert verdicts(at(1.0, 1.0 + math.pi, 3.0))["5.1"] == "not decided"


@pytest.mark.parametrize(
    ("angles", "lengths"),
    [((1.0, 1.0 + math.pi, 3.0), (0.5, 0.5, 0.5)), ((math.pi, 1.0, 2.0, 5.0), (1.0, 1.0, 1.0, 1.0)),
     ((0.0, 1.0, 4.0), (1.5, 0.2, 0.2)), ((0.0, 1.0, 4.0), (0.5, 0.2, 0.2)), ((0.0,), (1.5,)), ((0.0, 0.0), (0.3, 0.3)),
     ((1.0, 1.0 + math.pi), (0.5, 0.5)), ((math.pi,), (1.0,))],
)  # fmt: skip
def test_without_conjectures_no_student_is_left_out(angles, lengths):
    """Antipodal students, one opposite to the teacher, one on the teacher that is too long or too short."""
    assert verdicts(at(*angles, lengths=lengths))["5.9"] == "holds"


def test_the_gradient_is_zero_where_a_theorem_must_not_speak():
    assert verdicts(at(0.0, 0.0, lengths=[0.25, 0.75]))["5.9"] == "not applicable"


@given(st.integers(0, 10**6), st.integers(3, 7), st.integers(1, 2))
@settings(max_examples=60, deadline=None)
def test_no_weights_of_one_sign_solve_the_system(seed, m, pairs):
    """With antipodal pairs among the students: the best of all w >= 0 leaves a part of f_0, found by another way."""
    rng = np.random.default_rng(seed)
    angles = rng.uniform(0, 2 * math.pi, m)
    angles[-pairs:] = (angles[:pairs] + math.pi) % (2 * math.pi)
    if separation(angles[None])[0] < 0.05:
        return
    (found,) = a_negative_determinant(PlaneScene(TEACHER, at(*angles)))
    assert found.verdict == "holds"
    matrix, first = matrices(angles[None])
    _, left = nnls(matrix[0], first[0])
    assert left > 1e-12


def test_refusals():
    with pytest.raises(TutelageError, match="plane"):
        standing_still(TEACHER, torch.ones(1, 2, 3, dtype=torch.float64))
    with pytest.raises(TutelageError, match="zero vector"):
        standing_still(TEACHER, torch.zeros(1, 2, 2, dtype=torch.float64))


fractions = st.builds(Fraction, st.integers(-40, 40), st.integers(1, 12))


@given(st.lists(fractions, min_size=1, max_size=6), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_it_never_fails(angles, seed):
    lengths = torch.rand(1, len(angles), generator=torch.Generator().manual_seed(seed)) + 0.1
    [found] = rational_angles([angles], lengths)
    aligned = all(angle % 2 == 0 for angle in angles)
    assert found.verdict == ("not applicable" if aligned else "holds")


def test_the_trivial_solution_stands_still_and_is_not_spoken_of():
    [found] = rational_angles([[0, "2", Fraction(-4)]], torch.tensor([[0.5, 1.0, 0.5]]), teacher=2.0)
    assert found.verdict == "not applicable"
    assert found.unmet == ("largest angle with the teacher, over pi",)
    assert found.parts[0].conclusion.holds is False


def test_members_have_angles_and_lengths_of_their_own():
    found = rational_angles([["1/3", "5/3"], [0, "1/7"]], torch.tensor([[1.0, 1.0], [1.0, 1e-3]]))
    assert [c.verdict for c in found] == ["holds", "holds"]
    assert "1/7 pi" in found[1].conditions[0].witness


@pytest.mark.parametrize("angle", [0.5, torch.tensor(0.5), True])
def test_a_float_is_refused_for_it_cannot_be_known_to_be_rational(angle):
    with pytest.raises(TutelageError, match=r"student 1 of member 0.*can be known to be a rational"):
        rational_angles([["1/3", angle]], torch.ones(1, 2))


def test_refusals_rational_angles():
    with pytest.raises(TutelageError, match="no fraction"):
        rational_angles([["pi/3"]], torch.ones(1, 1))
    with pytest.raises(TutelageError, match="no fraction"):
        rational_angles([["1/0"]], torch.ones(1, 1))
    with pytest.raises(TutelageError, match="same number of angles"):
        rational_angles([["1/3"], ["1/3", "1/2"]], torch.ones(2, 1))
    with pytest.raises(TutelageError, match="positive"):
        rational_angles([["1/3"]], torch.zeros(1, 1))
