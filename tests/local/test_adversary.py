"""Searches: they stay on their surface, find what is worse than random, and know what stuck means."""

import pytest
import torch

from tutelage import TutelageError
from tutelage.local.adversary import _gone_back, basin_edge, flattest, nearest_perfect, slowest
from tutelage.local.bounds import KAPPA, lojasiewicz
from tutelage.local.descent import descend, usual_rate
from tutelage.local.exact import loss
from tutelage.local.setting import LocalSetting
from tutelage.local.starts import local_students, separated_teachers


def test_the_flattest_place_is_on_the_surface_and_worse_than_the_start():
    seeds = range(6)
    teachers = separated_teachers(2, 3, seeds)
    setting = LocalSetting(teachers, local_students(teachers, 4, seeds))
    found = flattest(setting, 1e-2, 60)
    assert loss(found.where).tolist() == pytest.approx([1e-2] * 6, rel=2e-3)
    assert bool((found.ratio <= found.start).all())
    assert found.ratio.min() < 0.8 * found.start.min()
    assert found.ratio.min() > KAPPA
    value, member = found.worst
    assert lojasiewicz(member).item() == pytest.approx(value, rel=1e-6)
    with pytest.raises(TutelageError, match="above 0"):
        flattest(setting, 0.0)


def test_perfect_students_are_perfect_and_must_exist():
    teachers = separated_teachers(3, 4, range(5), lengths=(0.5, 2.0))
    setting = LocalSetting(teachers, local_students(teachers, 8, range(5), spread=0.5))
    assert loss(setting.moved(nearest_perfect(setting))).max() < 1e-28
    lonely = LocalSetting(torch.eye(2), torch.tensor([[1.0, 0.1], [0.9, 0.0]]))
    with pytest.raises(TutelageError, match="has no student"):
        flattest(lonely, 1e-2)
    with pytest.raises(TutelageError, match="spread them more"):
        flattest(setting.moved(nearest_perfect(setting)), 1e-2)


@pytest.mark.parametrize("level", [1e-3, 1e-6, 1e-12])
def test_small_losses_are_reached_too(level):
    teachers = separated_teachers(2, 3, range(3))
    found = flattest(LocalSetting(teachers, local_students(teachers, 4, range(3))), level, 20)
    assert loss(found.where).tolist() == pytest.approx([level] * 3, rel=2e-3)


def test_a_start_that_cannot_arrive_is_outside():
    """One student is zero and never moves, so one is left for two teachers."""
    teachers = torch.eye(2, dtype=torch.float64)
    stuck = torch.tensor([[1.0, 0.1], [0.0, 0.0]], dtype=torch.float64)
    good = torch.tensor([[1.0, 0.1], [0.1, 0.9]], dtype=torch.float64)
    found = basin_edge(LocalSetting(teachers, torch.stack([stuck, good])), steps=2000)
    assert found.failed.tolist() == [True, False]
    assert found.safe == pytest.approx(found.start[0].item())
    assert found.stuck <= found.safe
    assert loss(found.where).item() == pytest.approx(found.stuck)
    inside = basin_edge(LocalSetting(teachers, good), steps=2000)
    assert inside.stuck == float("inf") == inside.safe
    assert inside.where is None


def test_going_back_gives_the_gradient_of_the_loss_after_descent():
    teachers = separated_teachers(2, 3, range(2))
    setting = LocalSetting(teachers, local_students(teachers, 4, range(2)))
    horizon, rate = 12, usual_rate(setting)[:, None, None]

    def after(w):
        return descend(setting.moved(w), [horizon]).losses[0]

    path = descend(setting, range(horizon + 1)).students
    back = _gone_back(setting, path, rate).flatten(1)
    h = 1e-5
    numeric = torch.empty_like(back)
    for k in range(back.shape[1]):
        move = torch.zeros_like(back)
        move[:, k] = h
        move = move.view_as(setting.students)
        numeric[:, k] = (after(setting.students + move) - after(setting.students - move)) / (2 * h)
    numeric = numeric / numeric.norm(dim=1, keepdim=True)
    assert torch.allclose(back, numeric, atol=1e-4)


def test_the_slowest_start_is_on_the_surface_and_slower_than_the_first():
    seeds = range(4)
    teachers = separated_teachers(2, 3, seeds)
    setting = LocalSetting(teachers, local_students(teachers, 3, seeds))
    found = slowest(setting, 0.05, horizon=40, iterations=8)
    assert loss(found.where).tolist() == pytest.approx([0.05] * 4, rel=2e-3)
    assert bool((found.end >= found.start).all())
    assert (found.end / found.start).max() > 2
    again = descend(found.where, [40]).losses[0]
    assert torch.allclose(again, found.end, rtol=1e-9)
