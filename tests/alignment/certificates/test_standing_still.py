"""Verdicts on students made by hand, and that no theorem is ever refuted by random ones."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage import TutelageError
from tutelage.alignment.certificates.standing_still import standing_still

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


def test_refusals():
    with pytest.raises(TutelageError, match="plane"):
        standing_still(TEACHER, torch.ones(1, 2, 3, dtype=torch.float64))
    with pytest.raises(TutelageError, match="zero vector"):
        standing_still(TEACHER, torch.zeros(1, 2, 2, dtype=torch.float64))
