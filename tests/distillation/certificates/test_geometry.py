"""Checks C5.15, C5.19 and C5.21: monotonicity, small angles, and easy inputs."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tutelage.certificates import certify
from tutelage.distillation import HardTarget
from tutelage.distillation.bounds import miss
from tutelage.distillation.learners import angle, unsigned_angle
from tutelage.distillation.tasks import Isotropic, Polynomial


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 12), st.integers(1, 14), st.floats(0.2, 3.0), st.integers(0, 1000))
def test_c5_15_more_data_never_harm(dimension, count, kappa, seed):
    transfer = Polynomial(dimension, kappa=kappa).transfer([seed], count)
    [certificate] = certify("strong-monotonicity", transfer)
    assert certificate.verdict == "holds", str(certificate)


def test_c5_15_hard_labels_are_harmed_now_and_then():
    """The lemma is of distillation: the max-margin learner is turned away in many sets."""
    longer = Polynomial(20, kappa=1.0).transfer(range(200), 6)
    before, after = (HardTarget(None)(longer.first(n), range(200)) for n in (5, 6))
    worse = unsigned_angle(after, longer.teacher) > unsigned_angle(before, longer.teacher) + 1e-6
    assert worse.double().mean() > 0.05


def test_c5_19_within_eps_the_angle_is_small(deep, moved, verdicts):
    assert verdicts("small-angle", deep) == ["holds"] * 3
    assert verdicts("small-angle", moved(deep, lambda w: -w)) == ["not applicable"] * 3


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 6), st.floats(1e-6, 0.5), st.integers(0, 10_000))
def test_c5_19_holds_for_every_pair_and_the_sharp_angle_is_met(dimension, share, seed):
    draw = torch.Generator().manual_seed(seed)
    w, q = torch.randn(2, 200, dimension, generator=draw, dtype=torch.float64)
    length = w.norm(dim=1)
    v = w + (share * length / q.norm(dim=1)).unsqueeze(1) * q
    found = angle(w, v)
    sharp, printed = (miss(share * length, length, sharp=s) for s in (True, False))
    assert (found <= sharp + 1e-9).all()
    assert (sharp <= printed).all()
    lean = math.asin(share)  # met by the point at which a line from 0 touches the ball of radius eps
    e, f = w[0] / length[0], _other(w[0], q[0])
    touching = length[0] * math.cos(lean) * (math.cos(lean) * e + math.sin(lean) * f)
    assert float((touching - w[0]).norm() / length[0]) == pytest.approx(share, rel=1e-6)
    assert float(angle(touching, w[0])) == pytest.approx(lean, rel=1e-6, abs=1e-9)


def _other(w, q):
    rest = q - (q @ w) / (w @ w) * w
    return rest / rest.norm()


@pytest.mark.parametrize("beta", [0.3, math.pi / 4, 1.2])
@pytest.mark.parametrize("task", [Polynomial(30, kappa=1.0), Polynomial(30, kappa=3.0), Isotropic(4)])
def test_c5_21_easy_inputs_are_classed_right(task, beta, verdicts):
    found = verdicts("easy-inputs", task.transfer(range(10), 3), task=task, beta=beta)
    assert set(found) <= {"holds", "not applicable"}
    if beta < 0.5 and isinstance(task, Polynomial):
        assert "holds" in found
