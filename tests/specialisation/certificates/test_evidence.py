"""The three points straddle one boundary and no other, and show its coefficient."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage.networks import forward
from tutelage.specialisation.certificates.evidence import evidence, seen_by, upper_signs
from tutelage.specialisation.certificates.hyperplanes import distances, rounding
from tutelage.specialisation.certificates.scene import scenes


def looked_at(scene):
    same = distances(scene).same(rounding(scene))
    return evidence(scene, range(scene.units), same), same


@pytest.mark.parametrize("activation", ["relu", "leaky"])
def test_every_other_unit_is_linear_on_the_three_points(build, activation):
    b = build(2)
    teacher = b.teacher(inputs=4, hidden=5, members=2, activation=activation)
    scene = next(scenes(teacher, b.idle(b.perturbed(teacher, 0.3), 3), b.points(200, 4)))
    found, _ = looked_at(scene)
    u = scene.heights(found.points.flatten(1, 3)).view(*found.points.shape[:4], -1)
    f = torch.where(u > 0, u, scene.leak * u)
    second = f[..., 1, :] + f[..., 2, :] - 2 * f[..., 0, :]  # [S, J, T, K]
    own = second.diagonal(dim1=1, dim2=3).movedim(-1, 1)
    assert (found.kink > 0).all()
    assert torch.allclose(own, found.kink, atol=1e-12)
    others = second.movedim(1, 3) * (1 - torch.eye(scene.units, dtype=second.dtype))  # [S, T, unit, boundary]
    assert others.abs().max() < 1e-12
    assert u[..., 0, :].diagonal(dim1=1, dim2=3).abs().max() < 1e-12


def test_points_lie_between_two_samples_and_observers_are_active_at_all_of_them(build):
    b = build(4)
    teacher = b.teacher()
    scene = next(scenes(teacher, b.idle(teacher, 2), b.points(50, 3)))
    found, same = looked_at(scene)
    ends = scene.points[0][found.ends[0]]  # [J, T, 2, d]
    line = ends[:, :, 1] - ends[:, :, 0]
    share = ((found.points[0] - ends[:, :, None, 0]) * line[:, :, None]).sum(-1) / line.square().sum(-1)[:, :, None]
    assert ((share > 0) & (share < 1)).all()
    onto = ends[:, :, None, 0] + share[..., None] * line[:, :, None]
    assert torch.allclose(onto, found.points[0], atol=1e-12)
    active = (forward(scene.students, found.points.flatten(1, 3)).features[1] > 0).view(1, *found.points.shape[1:4], -1)
    shared = same[:, :, scene.m :].unsqueeze(2)
    assert ((active.all(3) & ~shared) == found.active).all()


def test_a_boundary_outside_the_samples_has_no_evidence(build):
    teacher = build().two_layers([[1.0]], [-9.0], [[1.0]], [0.0])
    scene = next(scenes(teacher, teacher, build().points(20, 1)))
    found, _ = looked_at(scene)
    assert (found.kink == 0).all()
    assert not found.active.any()


def test_in_deep_networks_no_unit_above_switches(build):
    b = build(7)
    teacher = b.teacher(hidden=4, deeper=(5, 3))
    scene = next(scenes(teacher, b.perturbed(b.idle(teacher), 0.2), b.points(100, 3)))
    found, _ = looked_at(scene)
    assert (found.kink > 0).float().mean() > 0.9
    many = torch.linspace(-1, 1, 21, dtype=torch.float64)
    middle, move = found.points[:, :, :, 0], found.points[:, :, :, 1] - found.points[:, :, :, 0]
    walk = middle.unsqueeze(3) + many.view(-1, 1) * move.unsqueeze(3)
    for network in scene.both:
        signs = upper_signs(network, walk.flatten(1, 3)).view(*walk.shape[:4], -1)
        constant = (signs == signs[:, :, :, :1]).all(4).all(3)
        assert constant[found.kink > 0].all()


@given(seed=st.integers(0, 10_000), count=st.integers(2, 12))
def test_observers_are_exactly_those_that_some_segment_shows(build, seed, count):
    b = build(seed)
    teacher = b.teacher(inputs=2, hidden=1)
    scene = next(scenes(teacher, b.teacher(inputs=2, hidden=4), b.points(count, 2, std=0.5)))
    u = scene.sample_heights[0]
    expected = torch.zeros(4, dtype=torch.bool)
    for a, c in itertools.permutations(range(count), 2):
        if u[a, 0] < 0 < u[c, 0]:
            share = u[a, 0] / (u[a, 0] - u[c, 0])
            expected |= torch.lerp(u[a, 1:], u[c, 1:], share) > 1e-12
    assert seen_by(scene, torch.zeros(1, dtype=torch.int64))[0].tolist() == expected.tolist()
