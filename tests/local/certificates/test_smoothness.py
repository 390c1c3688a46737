"""Lemmas 12, 13 and C.3; a constant too small is refuted."""

import torch

from tutelage.local.certificates.smoothness import smoothness
from tutelage.local.setting import LocalSetting
from tutelage.local.starts import local_students, separated_teachers


def setting():
    teachers = separated_teachers(3, 4, range(4))
    return LocalSetting(teachers, local_students(teachers, 7, range(4)))


def test_holds_for_descent_and_for_random_steps():
    assert {c.verdict for c in smoothness(setting())} == {"holds"}
    for size in (1e-3, 0.1, 3.0):
        step = size * torch.randn(4, 7, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        assert {c.verdict for c in smoothness(setting(), step)} == {"holds"}


def test_a_constant_too_small_is_refuted():
    step = torch.randn(4, 7, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert {c.verdicts for c in smoothness(setting(), step, constant=1e-3)} == {("fails", "holds", "holds")}
