"""Lemma C.4 on members, and what it says of a neuron away from all teachers."""

import torch

from tutelage.local.certificates.hermite_bound import hermite_bound
from tutelage.local.setting import LocalSetting
from tutelage.local.starts import local_students, separated_teachers


def test_holds_for_any_students():
    teachers = separated_teachers(3, 4, range(4))
    for scale in (0.3, 1.0, 3.0):
        found = hermite_bound(LocalSetting(teachers, scale * local_students(teachers, 7, range(4), spread=2.0)))
        assert {c.verdict for c in found} == {"holds"}


def test_the_bound_is_not_idle():
    far = torch.cat([torch.eye(3), torch.ones(1, 3) / 2])
    [found] = hermite_bound(LocalSetting(torch.eye(3), far))
    assert found.parts[0].conclusion.value > 1e-4
    assert found.parts[1].conclusion.value > 0.5
