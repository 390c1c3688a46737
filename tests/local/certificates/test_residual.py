"""Lemma 8 for each teacher; a constant too small is refuted."""

import torch

from tutelage.certificates import certify
from tutelage.local.certificates.residual import smoothness
from tutelage.local.setting import LocalSetting
from tutelage.local.starts import local_students, plane_teachers, separated_teachers


def setting(scale=1.0):
    teachers = separated_teachers(3, 4, range(4))
    return LocalSetting(teachers, scale * local_students(teachers, 7, range(4), spread=0.3))


def test_holds_near_and_speaks_of_every_teacher():
    for found in certify("slab-bound", setting()):
        assert [p.about for p in found.parts] == ["teacher 0", "teacher 1", "teacher 2", "Lemma 8"]
        assert found.verdict == "holds"


def test_a_constant_that_is_too_small_is_refuted_and_a_large_loss_not_spoken_of():
    assert {c.verdict for c in certify("slab-bound", setting(), constant=1e-3)} == {"fails"}
    assert {c.verdicts[-1] for c in certify("slab-bound", setting(3.0))} == {"not applicable"}


def test_holds_for_any_students():
    teachers = separated_teachers(3, 4, range(4))
    for scale in (0.3, 1.0, 3.0):
        found = certify(
            "hermite-bound", LocalSetting(teachers, scale * local_students(teachers, 7, range(4), spread=2.0))
        )
        assert {c.verdict for c in found} == {"holds"}


def test_the_bound_is_not_idle():
    far = torch.cat([torch.eye(3), torch.ones(1, 3) / 2])
    [found] = certify("hermite-bound", LocalSetting(torch.eye(3), far))
    assert found.parts[0].conclusion.value > 1e-4
    assert found.parts[1].conclusion.value > 0.5


def test_holds():
    teachers = separated_teachers(4, 4, range(4))
    found = certify("teacher-matrix", LocalSetting(teachers, local_students(teachers, 9, range(4))))
    assert {c.verdicts for c in found} == {("holds",) * 4}


def test_close_teachers_and_a_constant_too_large():
    teachers = plane_teachers([0, 3])
    setting = LocalSetting(teachers, teachers)
    assert certify("teacher-matrix", setting, separation=0.1)[0].verdict == "not applicable"
    assert certify("teacher-matrix", setting, constant=10.0)[0].verdicts == ("holds", "fails", "holds", "holds")


def setting_smoothness():
    teachers = separated_teachers(3, 4, range(4))
    return LocalSetting(teachers, local_students(teachers, 7, range(4)))


def test_holds_for_descent_and_for_random_steps():
    assert {c.verdict for c in certify("smoothness", setting_smoothness())} == {"holds"}
    for size in (1e-3, 0.1, 3.0):
        step = size * torch.randn(4, 7, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        assert all(part.conclusion.holds for found in smoothness(setting_smoothness(), step) for part in found.parts)


def test_a_constant_too_small_is_refuted():
    step = torch.randn(4, 7, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = smoothness(setting_smoothness(), step, constant=1e-3)
    assert {tuple(part.conclusion.holds for part in each.parts) for each in found} == {(False, True, True)}
