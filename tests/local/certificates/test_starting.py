"""Lemma E.1: covered teachers give small losses."""

import torch

from tutelage.certificates import certify
from tutelage.local.certificates.starting import in_subspace
from tutelage.local.initialise import (
    random_directions,
    sampled_second_moment,
    samples,
    second_moment,
    subspace,
    subspace_directions,
)
from tutelage.local.setting import LocalSetting
from tutelage.local.starts import separated_teachers


def test_random_directions_hold_and_the_bound_falls_with_their_number():
    teachers = separated_teachers(3, 3, range(4))
    few, many = (
        certify("covering-start", LocalSetting(teachers, random_directions(m, 3, range(4)))) for m in (10, 200)
    )
    assert {c.verdict for c in (*few, *many)} == {"holds"}
    for a, b in zip(few, many, strict=True):
        assert b.parts[0].conclusion.bound < a.parts[0].conclusion.bound


def test_the_teachers_themselves_leave_nothing():
    teachers = separated_teachers(2, 3, [0])
    aside = torch.ones(1, 1, 3, dtype=torch.float64)
    [found] = certify("covering-start", LocalSetting(teachers, torch.cat([teachers, aside], 1)))
    assert found.verdict == "holds"
    assert found.parts[0].conclusion.value < 1e-20


SEEDS = range(4)


def _certified(moment, number, *, m=40, d=8):
    teachers = separated_teachers(3, d, SEEDS, lengths=(0.5, 2.0))
    return in_subspace(teachers, moment, subspace_directions(m, subspace(moment, 3), SEEDS), number)


def judged(found):
    return tuple(part.conclusion.holds for part in found.parts)


def test_samples_hold_and_more_samples_bring_every_bound_down():
    teachers = separated_teachers(3, 8, SEEDS, lengths=(0.5, 2.0))
    found = [_certified(sampled_second_moment(*samples(teachers, n, SEEDS)), n) for n in (500, 50_000)]
    assert all(judged(c) == (True,) * 3 for of in found for c in of)
    for few, many in zip(*found, strict=True):
        for a, b in zip(few.parts, many.parts, strict=True):
            assert b.conclusion.bound < a.conclusion.bound
        assert many.parts[1].conclusion.value < few.parts[1].conclusion.value


def test_the_moment_of_other_teachers_is_told_from_that_of_samples():
    other = second_moment(separated_teachers(3, 8, range(10, 14), lengths=(0.5, 2.0)))
    found = _certified(other, 1_000_000)
    assert {judged(c)[0] for c in found} == {False}
    assert {judged(c)[1:] for c in found} == {(True, True)}  # true of every moment, with the distance it has


def test_the_true_moment_loses_nothing():
    teachers = separated_teachers(3, 8, SEEDS, lengths=(0.5, 2.0))
    found = _certified(second_moment(teachers), 10)
    assert all(all(judged(c)) for c in found)
    assert max(c.parts[1].conclusion.value for c in found) < 1e-20


def test_the_bound_on_the_moment_is_that_of_its_variance():
    """E||M^ - M||_F^2 <= (d + 1)(d + 4) (sum |w*|)^2 / N, by many batches, and near it for one teacher."""
    d, number = 3, 50
    teachers = separated_teachers(1, d, [0]).expand(4000, -1, -1)
    moments = sampled_second_moment(*samples(teachers, number, range(4000)))
    squared = (moments - second_moment(teachers)).square().sum((1, 2))
    bound = (d + 1) * (d + 4) / number
    error = squared.std() / 4000**0.5
    exact = bound - float(second_moment(teachers[:1]).square().sum()) / number
    assert abs(float(squared.mean()) - exact) < 4 * float(error)
    assert bool(torch.tensor(exact) < bound)
