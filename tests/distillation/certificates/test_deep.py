"""Checks C5.9 to C5.14, Theorem 5.2 and the exact end: deep linear students, held and broken."""

from dataclasses import replace

import pytest
import torch

from tutelage.certificates import certify
from tutelage.distillation.deep import balanced_start, guaranteed, imbalance
from tutelage.distillation.flows import descent, flow, induced_flow
from tutelage.distillation.learners import learned
from tutelage.networks import Network

ENDS = ["norm-cap", "distance-cap", "learns-nearby", "exact-limit"]


def test_c5_9_the_product_follows_its_own_equation(deep, few, verdicts):
    assert verdicts("induced-flow", deep) == ["holds"] * 3
    other = flow(few, balanced_start(few, range(3), 2, width=2).network, deep.times)
    assert verdicts("induced-flow", replace(deep, w=other.w)) == ["fails"] * 3


def test_c5_10_balance_is_kept_by_flow_and_drifts_with_the_step_of_descent(deep, few, verdicts):
    assert verdicts("balance-kept", deep) == ["holds"] * 3
    start = balanced_start(few, range(3), 3, width=3, scale=0.1).network
    drift = [imbalance(descent(few, start, [0, 200 * k], 0.2 / k).network(1)) for k in (1, 2)]
    assert (drift[0] > 1e-6).all()
    assert ((drift[0] / drift[1] - 2).abs() < 0.3).all()  # in proportion to the step
    assert verdicts("balance-kept", descent(few, start, [0, 200], 0.2)) == ["fails"] * 3


def test_c5_11_deep_students_lose_at_the_rate(deep, moved, verdicts):
    certificates = certify("deep-rate", deep)
    assert [c.verdict for c in certificates] == ["holds"] * 3
    assert all(c.parts[0].conclusion.data["rate"] > 0 for c in certificates)

    def stuck(w):
        w[1:] = w[0]
        return w

    late = moved(deep, stuck)
    assert verdicts("deep-rate", replace(late, times=tuple(1e9 * t for t in late.times))) == ["fails"] * 3


def test_c5_12_the_quantity_is_conserved(deep, moved, verdicts):
    assert verdicts("conserved-quantity", deep) == ["holds"] * 3
    few = deep.transfer

    def grown(w):
        w[-1] += 0.1 * few.across(w[-1])
        return w

    assert verdicts("conserved-quantity", moved(deep, grown)) == ["fails"] * 3


@pytest.mark.parametrize("name", ENDS)
def test_c5_13_and_c5_14_and_theorem_5_2_hold(deep, deep_many, verdicts, name):
    assert verdicts(name, deep) == ["holds"] * 3
    assert verdicts(name, deep_many) == ["holds"] * 3


@pytest.mark.parametrize("name", ENDS)
def test_c5_13_and_c5_14_and_theorem_5_2_fail_elsewhere(deep, moved, verdicts, name):
    far = deep.transfer.across(torch.ones(3, 8, dtype=torch.float64))

    def aside(w):
        w[-1] += 10 * far
        return w

    assert verdicts(name, moved(deep, aside)) == ["fails"] * 3


@pytest.mark.parametrize("name", ENDS)
def test_an_early_record_decides_nothing(few, verdicts, name):
    start = balanced_start(few, range(3), 2, scale=1e-3).w
    assert set(verdicts(name, induced_flow(few, start, 2, [0.0, 1.0]))) == {"not decided"}


def test_c5_13_the_cap_is_below_what_its_proof_needs(deep):
    for certificate in certify("norm-cap", deep):
        assert certificate.parts[1].conclusion.value <= 1 + 1e-12


def test_c5_14_the_measured_distance_is_close_to_the_guaranteed_one(deep):
    """The bound uses q(0) <= |w(0)|^2 and little else: with half the dimensions outside it is within a factor of 4."""
    goal = learned(deep.transfer)
    off, eps = (deep.w[-1] - goal).norm(dim=1), guaranteed(deep.w[0].norm(dim=1), goal.norm(dim=1), 3)
    assert (off <= eps).all()
    assert (off > eps / 4).all()


def test_an_eps_that_the_start_does_not_allow_is_a_condition_that_is_not_met(deep, verdicts):
    assert verdicts("learns-nearby", deep, eps=1e-6) == ["not applicable"] * 3
    assert verdicts("learns-nearby", deep, eps=10.0) == ["holds"] * 3


def test_unbalanced_students_are_left_out(few, verdicts):
    draw = torch.Generator().manual_seed(0)
    layers = [torch.randn(3, a, b, generator=draw, dtype=torch.float64) / 10 for a, b in ((8, 3), (3, 1))]
    course = flow(few, Network(tuple(layers), activation="linear"), [0.0, 1.0])
    for name in ("induced-flow", "balance-kept", "conserved-quantity", "learns-nearby"):
        assert verdicts(name, course) == ["not applicable"] * 3
