"""Against closed forms, members with scales of their own, and refusals."""

import math

import pytest
import torch

from tutelage import TutelageError
from tutelage.population.integrate import integrate


def column(*values):
    return torch.tensor(values, dtype=torch.float64)[:, None]


def test_members_of_very_different_speed_keep_the_tolerance_each():
    rates = column(0.01, 1.0, 300.0)
    states = integrate(lambda t, y, who: -rates[who] * y, torch.ones(3, 1, dtype=torch.float64), [0.0, 0.5, 2.0])
    for i, t in enumerate((0.0, 0.5, 2.0)):
        assert torch.allclose(states[i], torch.exp(-rates * t), atol=1e-7)


def test_an_oscillator_keeps_its_phase():
    def slope(t, y, who):
        return torch.stack([y[:, 1], -y[:, 0]], dim=1)

    start = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    states = integrate(slope, start, [2 * math.pi, 20 * math.pi], relative=1e-10, absolute=1e-12)
    assert torch.allclose(states, start.expand(2, 1, 2), atol=1e-7)


def test_time_enters_the_equation():
    states = integrate(lambda t, y, who: 2 * t[:, None], torch.zeros(1, 1, dtype=torch.float64), [3.0])
    assert states.item() == pytest.approx(9.0, abs=1e-9)


@pytest.mark.parametrize(("tolerance", "order"), [(1e-6, 5), (1e-9, 5)])
def test_the_error_follows_the_tolerance(tolerance, order):
    states = integrate(lambda t, y, who: y * torch.cos(t)[:, None], column(1.0), [10.0], relative=tolerance, absolute=0)
    assert abs(states.item() - math.exp(math.sin(10))) < 100 * tolerance


def test_a_member_does_not_depend_on_who_is_beside_it():
    def slope(t, y, who):
        return -(y**3)

    alone = integrate(slope, column(2.0), [1.0, 7.0])
    beside = integrate(slope, column(0.1, 2.0, 50.0), [1.0, 7.0])
    assert torch.equal(alone[:, 0], beside[:, 1])


def test_what_cannot_be_followed_is_refused():
    with pytest.raises(TutelageError, match="cannot be followed beyond time"):
        integrate(lambda t, y, who: y**2, column(1.0), [2.0])
    with pytest.raises(TutelageError, match="too stiff"):
        integrate(lambda t, y, who: -1e6 * (y - torch.cos(t)[:, None]), column(0.0), [10.0], most=100)
    with pytest.raises(TutelageError, match="grow"):
        integrate(lambda t, y, who: y, column(1.0), [1.0, 0.5])
    with pytest.raises(TutelageError, match="float64"):
        integrate(lambda t, y, who: y, torch.ones(1, 1), [1.0])


@pytest.mark.parametrize(
    "times", [[], [0.0, math.inf], [0.0, math.nan], [math.nan], [-1.0, 2.0], [0.0, 0.0], ["a"], 3.0]
)
def test_times_that_cannot_be_reached_are_one_sentence(times):
    with pytest.raises(TutelageError, match="times to record at"):
        integrate(lambda t, y, who: -y, column(1.0), times)
