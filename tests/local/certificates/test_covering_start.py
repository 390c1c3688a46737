"""Lemma E.1: covered teachers give small losses."""

import torch

from tutelage.local.certificates.covering_start import covering_start
from tutelage.local.initialise import random_directions
from tutelage.local.starts import separated_teachers


def test_random_directions_hold_and_the_bound_falls_with_their_number():
    teachers = separated_teachers(3, 3, range(4))
    few, many = (covering_start(teachers, random_directions(m, 3, range(4))) for m in (10, 200))
    assert {c.verdict for c in (*few, *many)} == {"holds"}
    for a, b in zip(few, many, strict=True):
        assert b.parts[0].conclusion.bound < a.parts[0].conclusion.bound


def test_the_teachers_themselves_leave_nothing():
    teachers = separated_teachers(2, 3, [0])
    aside = torch.ones(1, 1, 3, dtype=torch.float64)
    [found] = covering_start(teachers, torch.cat([teachers, aside], 1))
    assert found.verdict == "holds"
    assert found.parts[0].conclusion.value < 1e-20
