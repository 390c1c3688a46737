"""What the theorems look at is what the networks do."""

import pytest
import torch

from tutelage.networks import forward, outputs
from tutelage.specialisation.certificates.scene import scenes, unit_name


@pytest.fixture
def scene(build):
    b = build(5)
    teacher = b.teacher(members=2)
    return next(scenes(teacher, b.cancelling(b.permuted(teacher)), b.points(40, 3)))


def test_heights_are_signed_distances_from_the_boundaries(scene):
    heights = scene.sample_heights
    taught, learnt = (forward(network, scene.points).features[1] for network in scene.both)
    features = torch.cat([taught, learnt], dim=2)
    assert torch.allclose(heights.clamp_min(0) * scene.lengths.unsqueeze(1), features, atol=1e-12)
    onto = scene.points[0, 0] - heights[0, 0, 1] * scene.normals[0, 1]
    assert abs(float(onto @ scene.normals[0, 1] + scene.offsets[0, 1])) < 1e-12
    assert (scene.m, scene.n, scene.units) == (3, 5, 8)
    assert [unit_name(scene, unit) for unit in (2, 3)] == ["teacher unit 2", "student unit 0"]


def test_gradients_are_those_of_half_the_squared_distance(scene):
    students = scene.students.map(lambda a: a.clone().requires_grad_())
    loss = (outputs(scene.teacher, scene.points) - outputs(students, scene.points)).square().sum() / 2
    (by_torch,) = torch.autograd.grad(loss, students.biases[0])
    assert torch.allclose(scene.gradients[0].sum(1), -by_torch, atol=1e-10)
    assert torch.allclose(scene.gradient_at(scene.points), scene.gradients[0])


def test_alpha_and_beta_give_the_gradient_of_an_active_unit(scene):
    u = scene.sample_heights.relu()
    tops = scene.teacher.biases[1] - scene.students.biases[1]
    constant = (scene.students.weights[1] @ tops.unsqueeze(2)).squeeze(2)
    h = u[..., :3] @ scene.alpha.mT - u[..., 3:] @ scene.beta.mT + constant.unsqueeze(1)
    active = scene.sample_heights[..., 3:] > 0
    assert torch.allclose((h * active), scene.gradients[0], atol=1e-10)


def test_rounding_is_above_what_a_copy_leaves_and_far_below_what_a_perturbed_one_does(scene, build):
    assert (scene.gradients[0].abs().amax((1, 2)) <= scene.rounding).all()
    other = next(scenes(scene.teacher, build().perturbed(scene.students, 1e-6), scene.points[0]))
    assert (other.gradients[0].abs().amax((1, 2)) > 100 * other.rounding).all()


def test_a_unit_without_weights_is_flat(build):
    teacher = build().teacher()
    teacher.weights[0][:, :, 1] = 0
    scene = next(scenes(teacher, teacher, build().points(5, 3)))
    assert scene.flat.tolist() == [[False, True, False] * 2]
    assert scene.sample_heights.isfinite().all()


def test_what_was_computed_once_is_kept(scene):
    assert scene.once("x", lambda: 3) == 3
    assert scene.once("x", lambda: 4) == 3
