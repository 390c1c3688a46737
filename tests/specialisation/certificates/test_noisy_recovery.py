"""Theorem 5 of Tian 2019, with the constants of its Lemmas 5 and 6."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage.networks import outputs
from tutelage.specialisation.certificates.noisy_recovery import bounds, gradient_over_ball
from tutelage.specialisation.certificates.scene import scenes


@pytest.fixture
def setting(build):
    b = build(1)
    teacher = b.two_layers([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]], [0.1, -0.2, 9.0], [[1.0], [0.8], [0.5]], [0.0])
    return b, teacher, b.points(400, 2)


@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-7, 1e-5])
def test_it_holds_for_a_copy_that_is_a_little_off(setting, one, size):
    b, teacher, points = setting
    certificate = one("noisy-recovery", teacher, b.perturbed(teacher, size), points)
    assert certificate.verdicts[:2] == ("holds", "holds")
    assert certificate.verdicts[2] == "not applicable"  # its boundary is nowhere near the samples
    assert certificate.parts[0].conclusion.data["sine"] < 1


def test_every_condition_is_missed_by_name(setting, one):
    b, teacher, points = setting
    off = one("noisy-recovery", teacher, b.perturbed(teacher, 0.1), points)
    assert {"the region is wider than q = 5 epsilon/|alpha|", "no other teacher unit is within the bounds"} & set(
        off.unmet
    )
    tight = one("noisy-recovery", teacher, b.perturbed(teacher, 1e-3), points, epsilon=1e-12)
    assert "gradient is at most epsilon on the region" in tight.unmet
    narrow = one("noisy-recovery", teacher, b.perturbed(teacher, 1e-5), points, radius=1e-6)
    assert "the region is wider than q = 5 epsilon/|alpha|" in narrow.unmet
    assert "observed by a student unit" in off.unmet  # unit 2
    silent = teacher.map(torch.clone)
    silent.weights[1][:] = 0
    assert "alpha is not zero" in one("noisy-recovery", teacher, silent, points).unmet
    flat = teacher.map(torch.clone)
    flat.weights[0][:, :, 0] = 0
    assert "the unit has weights" in one("noisy-recovery", flat, teacher, points).unmet


def test_a_bound_above_epsilon_with_a_smaller_gradient_at_the_centre_decides_nothing(setting, one):
    b, teacher, points = setting
    student = b.perturbed(teacher, 1e-6)
    part = one("noisy-recovery", teacher, student, points).parts[0]
    [gradient] = [c for c in part.conditions if c.name.startswith("gradient")]
    between = math.sqrt(gradient.data["lower"] * gradient.data["upper"])
    again = one("noisy-recovery", teacher, student, points, epsilon=between)
    assert again.verdicts[0] == "not decided"


def test_with_epsilon_0_at_epsilon_delta_drops_out(setting, one):
    b, teacher, points = setting
    student = b.perturbed(teacher, 1e-6)
    sines = [
        one("noisy-recovery", teacher, student, points, delta=d).parts[0].conclusion.data["sine"] for d in (0.01, 0.3)
    ]
    assert sines[0] == pytest.approx(sines[1])
    wider = one("noisy-recovery", teacher, student, points, epsilon_0=1.0).parts[0].conclusion.data["sine"]
    assert wider > sines[0]


def test_the_bounds_are_the_seeds():
    e, c, r, reach = (torch.tensor(v, dtype=torch.float64) for v in (1e-3, 0.5, 2.0, 3.0))
    m = 10 * 0.1**0.2 / 2 * math.sqrt(4 / (2 * math.pi))
    m_2 = 2 * 3 * m * 7 * 0.1**0.2 + 5 * 0.1**0.4
    sine, offset = bounds(e, c, r, reach, units=7, dimension=4, delta=0.2, epsilon_0=torch.tensor(0.1).double())
    assert float(sine) == pytest.approx(m * 7 * 1e-3**0.8 / 0.5)
    assert float(offset) == pytest.approx(m_2 * 1e-3**0.6 / 0.5)


@pytest.mark.parametrize("dimension", [2, 3, 5, 10, 100])
def test_the_volume_argument_of_lemma_5(dimension):
    """V_{d-1}(1) >= sqrt(2 pi / d) V_{d-2}(1), which fixes M."""
    ratio = math.sqrt(math.pi) * math.exp(math.lgamma(dimension / 2) - math.lgamma((dimension + 1) / 2))
    assert ratio >= math.sqrt(2 * math.pi / dimension)


@given(seed=st.integers(0, 10_000), size=st.sampled_from([0.0, 1e-8, 1e-3, 0.1, 1.0]), radius=st.floats(0.01, 3.0))
def test_no_point_of_the_ball_has_a_larger_gradient_than_the_bound(build, seed, size, radius):
    b = build(seed)
    activation = "relu" if seed % 2 else "leaky"
    teacher = b.teacher(inputs=3, hidden=3, members=2, activation=activation)
    student = b.perturbed(b.cancelling(b.split(b.permuted(teacher))), size)
    if seed % 3 == 0:  # some units turned over
        student.weights[0][:, :, 0] *= -1
        student.biases[0][:, 0] *= -1
    scene = next(scenes(teacher, student, b.points(10, 3)))
    centre, k = b.normal(2, 4, 3), torch.tensor([[0, 1, 2, 3]] * 2)
    bound = gradient_over_ball(scene, centre, torch.full((2, 4), radius, dtype=torch.float64), k)
    direction = torch.nn.functional.normalize(b.normal(2, 4, 200, 3), dim=3)
    x = centre.unsqueeze(2) + radius * direction * torch.rand(2, 4, 200, 1, generator=b.draw, dtype=torch.float64)
    residual = (outputs(scene.teacher, x.flatten(1, 2)) - outputs(scene.students, x.flatten(1, 2))).view(2, 4, 200, -1)
    h = (residual * scene.students.weights[1][:, :4].unsqueeze(2)).sum(3).abs().amax(2)
    assert (h <= bound * (1 + 1e-9) + 1e-12).all()
    if size == 0 and seed % 3:
        assert (bound < 1e-10).all()
