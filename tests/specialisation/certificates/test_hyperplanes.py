"""Distances between boundaries do not care for scale or side, and see the smallest difference."""

import math

import torch

from tutelage.specialisation.certificates.hyperplanes import aligned_at, distances, rounding
from tutelage.specialisation.certificates.scene import scenes


def pair(build, second, bias, first=(1.0, 0.0), offset=0.5):
    teacher = build.two_layers([[first[0]], [first[1]]], [offset], [[1.0]], [0.0])
    student = build.two_layers([[second[0]], [second[1]]], [bias], [[1.0]], [0.0])
    scene = next(scenes(teacher, student, torch.zeros(1, 2, dtype=torch.float64)))
    d = distances(scene)
    return float(d.sine[0, 0, 1]), float(d.offset[0, 0, 1]), bool(d.reversed[0, 0, 1]), scene


def test_scale_and_side_do_not_matter(build):
    assert pair(build, (3.0, 0.0), 1.5)[:3] == (0, 0, False)
    assert pair(build, (-2.0, 0.0), -1.0)[:3] == (0, 0, True)
    assert pair(build, (-2.0, 0.0), 1.0)[1] == 1.0  # the paper's flip [-w, b] is another hyperplane


def test_small_and_large_angles_are_exact(build):
    for angle in (1e-12, 1e-6, 0.3, math.pi / 2, 3.0):
        sine, offset, turned, _ = pair(build, (math.cos(angle), math.sin(angle)), 0.5)
        assert math.isclose(sine, math.sin(angle), rel_tol=1e-3 if angle < 1e-9 else 1e-9)
        assert turned == (angle > math.pi / 2 + 1e-9)
        assert math.isclose(offset, 1.0 if turned else 0.0, abs_tol=1e-12)


def test_the_same_boundary_and_a_unit_without_one(build):
    *_, scene = pair(build, (2.0, 0.0), 1.0)
    assert distances(scene).same(rounding(scene)).all()
    assert aligned_at(scene, 0.3).tolist() == [[0.3]]
    *_, scene = pair(build, (0.0, 0.0), 1.0)
    assert distances(scene).worst[0, 0, 1] == torch.inf
    assert distances(scene).same(rounding(scene))[0].tolist() == [[True, False], [False, True]]
