"""Lemma 8 for each teacher; a constant too small is refuted."""

from tutelage.local.certificates.slab_bound import slab_bound
from tutelage.local.setting import LocalSetting
from tutelage.local.starts import local_students, separated_teachers


def setting(scale=1.0):
    teachers = separated_teachers(3, 4, range(4))
    return LocalSetting(teachers, scale * local_students(teachers, 7, range(4), spread=0.3))


def test_holds_near_and_speaks_of_every_teacher():
    for found in slab_bound(setting()):
        assert [p.about for p in found.parts] == ["teacher 0", "teacher 1", "teacher 2", "Lemma 8"]
        assert found.verdict == "holds"


def test_a_constant_that_is_too_small_is_refuted_and_a_large_loss_not_spoken_of():
    assert {c.verdict for c in slab_bound(setting(), constant=1e-3)} == {"fails"}
    assert {c.verdicts[-1] for c in slab_bound(setting(3.0))} == {"not applicable"}
