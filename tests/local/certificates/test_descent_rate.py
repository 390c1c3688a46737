"""Theorem 4 on recorded descents, and Lemma F.1 on batches."""

from tutelage.local.certificates.descent_rate import descent_rate, sampled_gradient
from tutelage.local.descent import descend, greatest_rate
from tutelage.local.setting import LocalSetting
from tutelage.local.starts import local_students, separated_teachers


def setting(scale=1.0):
    teachers = separated_teachers(3, 4, range(3))
    return LocalSetting(teachers, scale * local_students(teachers, 8, range(3)))


def test_a_stable_descent_holds():
    found = descent_rate(descend(setting(), range(300)))
    assert {c.verdicts for c in found} == {("holds", "holds")}


def test_a_rate_beyond_stability_is_not_spoken_of_and_does_rise():
    start = setting()
    run = descend(start, range(200), rate=1.6 * greatest_rate(start), beyond=True)
    found = descent_rate(run)
    assert {c.verdict for c in found} == {"not applicable"}
    assert any(c.parts[0].conclusion.holds is False for c in found)


def test_a_large_loss_is_not_spoken_of():
    assert {c.unmet for c in descent_rate(descend(setting(1.5), [0, 10]))} == {("loss",)}


def test_batches():
    few, many = (sampled_gradient(setting(), n, range(3)) for n in (10, 1000))
    assert {c.verdict for c in (*few, *many)} == {"holds"}
    ratio = few[0].parts[0].conclusion.value / many[0].parts[0].conclusion.value
    assert 30 < ratio < 300  # the square of the error falls like 1 / N
