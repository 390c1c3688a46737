"""What the chapter says of the way, held and broken."""

import torch

from tutelage.certificates import certify
from tutelage.margins.certificates import dynamics as statements


def test_speeds_are_those_of_the_equations(good, merely_linear, verdicts, monkeypatch):
    for course in (good, merely_linear):
        assert verdicts("flow-equations", course) == ["holds"] * 3
    speed = statements.velocity
    monkeypatch.setattr(statements, "velocity", lambda *a: tuple(1.001 * v for v in speed(*a)))
    assert verdicts("flow-equations", good) == ["fails"] * 3


def test_balance_is_kept(good, merely_linear, impossible, spoilt, verdicts):
    for course in (good, merely_linear, impossible):
        assert set(verdicts("balance", course)) == {"holds"}
    a = good.a.clone()
    a[-1, 1, 3] *= 1.01
    assert verdicts("balance", spoilt(good, a=a)) == ["holds", "fails", "holds"]
    a[-1, 0, 3] *= -1
    assert verdicts("balance", spoilt(good, a=a))[0] == "fails"
    assert verdicts("balance", spoilt(good, a=1.1 * good.a)) == ["not applicable"] * 3
    assert verdicts("balance", spoilt(good, loss="exponential")) == ["not decided"] * 3
    sooner = tuple(t - 12 for t in good.log_times)
    assert verdicts("balance", spoilt(good, log_times=sooner)) == ["fails"] * 3  # grown faster than it can


def test_every_unit_finds_its_group(good, merely_linear, spoilt, verdicts):
    assert verdicts("early-phase", good) == ["holds"] * 3
    assert verdicts("early-phase", merely_linear) == ["not applicable"] * 3
    groups = good.groups.clone()
    groups[2, 0] = 2
    assert verdicts("early-phase", spoilt(good, groups=groups)) == ["holds", "holds", "fails"]
    assert "log T" in certify("early-phase", good)[0].parts[0].conclusion.witness


def test_no_unit_leaves_its_sector(good, merely_linear, spoilt, verdicts):
    assert verdicts("absorbing-sectors", good) == ["holds"] * 3
    assert verdicts("absorbing-sectors", merely_linear) == ["not applicable"] * 3
    left = good.left.clone()
    left[0, 0] = 1
    assert verdicts("absorbing-sectors", spoilt(good, left=left))[0] == "fails"
    w = good.w.clone()
    w[-1, 1, 0] *= -1
    assert verdicts("absorbing-sectors", spoilt(good, w=w))[1] == "fails"


def test_heights_grow(good, merely_linear, spoilt, verdicts):
    assert verdicts("growing-heights", good) == ["holds"] * 3
    assert verdicts("growing-heights", merely_linear) == ["not applicable"] * 3
    w = good.w.clone()
    w[-1] = good.w[-2] / 2
    assert verdicts("growing-heights", spoilt(good, w=w)) == ["fails"] * 3


def test_the_network_is_two_linear_ones(good, merely_linear, spoilt, verdicts):
    assert verdicts("two-linear-networks", good) == ["holds"] * 3
    assert verdicts("two-linear-networks", merely_linear) == ["not applicable"] * 3
    w = good.w.clone()
    w[-1] *= 1.001
    assert verdicts("two-linear-networks", spoilt(good, w=w)) == ["fails"] * 3


def test_units_that_start_active_on_their_class_live(good, merely_linear, spoilt, verdicts):
    assert verdicts("units-that-live", good) == ["holds"] * 3
    assert verdicts("units-that-live", merely_linear) == ["not applicable"] * 3
    assert verdicts("units-that-live", spoilt(good, groups=torch.zeros_like(good.groups))) == ["fails"] * 3
