"""Inputs of the laws have mean 0 and variance 1; the claims read the ends of the right sets."""

import numpy as np
import pytest

from tutelage.local.studies.fixed_samples import (
    LAWS,
    BySet,
    draw,
    enough_samples,
    fixed_samples,
    inputs,
    noise_over_n,
    noise_squared,
    other_inputs,
    signs,
    too_few,
)


@pytest.mark.parametrize("law", ["gaussian", *LAWS])
def test_every_coordinate_has_mean_0_and_variance_1(law):
    x = inputs(law, range(2), 40_000, 3).numpy()
    error = 1 / 40_000**0.5
    assert np.abs(x.mean(1)).max() < 5 * error
    fourth = (x**4).mean() - 1
    assert np.abs((x**2).mean(1) - 1).max() < 5 * max(fourth, 1e-12) ** 0.5 * error + 1e-12


def courses(end, members=3):
    return np.stack([np.full(members, 1e-2), np.full(members, end)])


def test_claims_read_the_ends():
    losses = {(18, 0.0, "gaussian"): courses(1e-2), (360, 0.0, "gaussian"): courses(1e-5)}
    losses[1080, 0.0, "gaussian"] = courses(1e-3)
    for noise in (0.1, 0.3):
        for n in (360, 1080):
            losses[n, noise, "gaussian"] = courses(noise**2 / n)
    losses |= {(360, 0.0, "uniform"): courses(1e-6), (360, 0.0, "laplace"): courses(1e-2)}
    losses[360, 0.0, "signs"] = courses(1e-2)
    found = BySet(np.array([0, 10]), losses, {key: values / 1000 for key, values in losses.items()})
    assert {k: v.mean() for k, v in enough_samples.values(found).items()} == {"360 samples": 1, "1080 samples": 0}
    assert np.allclose(too_few.values(found)["18 samples"], 3)
    assert all(np.allclose(v, -1) for v in noise_over_n.values(found).values())
    assert all(np.allclose(v, 0) for v in noise_squared.values(found).values())
    assert {k: v.mean() for k, v in other_inputs.values(found).items()} == {"uniform": 1, "laplace": 0}
    assert signs.values(found)["signs"].mean() == 1
    assert len(draw(found).axes) == 3


def test_noise_is_tried_with_enough_samples_alone():
    plan = fixed_samples.plan("paper")
    assert {e.samples for e in plan.experiments if e.noise} == {120, 360, 1080}
    assert {e.law for e in plan.experiments} == {"gaussian", *LAWS}
