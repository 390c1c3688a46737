"""Lemmas 3 and 4 of Tian 2020: shown by second differences, and by the rank of the features."""

import pytest
import torch

from tutelage.specialisation.certificates.scene import scenes


@pytest.mark.parametrize("activation", ["relu", "leaky"])
@pytest.mark.parametrize("seed", range(4))
def test_it_holds_where_features_and_linear_functions_have_full_rank(build, one, activation, seed):
    b = build(seed)
    teacher, student = b.teacher(activation=activation), b.teacher(hidden=4, activation=activation)
    points = b.points(2000, 3)
    certificate = one("relu-independence", teacher, student, points)
    assert certificate.verdict == "holds"
    u = next(scenes(teacher, student, points)).sample_heights[0]
    features = torch.cat([torch.where(u > 0, u, (activation == "leaky") * 0.1 * u), points, torch.ones(2000, 1)], dim=1)
    assert torch.linalg.matrix_rank(features) == 3 + 4 + 3 + 1


def test_it_is_about_the_first_layer_of_deep_networks_too(build, one):
    b = build()
    assert one("relu-independence", b.teacher(deeper=(4,)), b.teacher(deeper=(4,)), b.points(500, 3)).verdict == "holds"


def test_conditions_are_missed_by_name(build, one):
    b = build(1)
    teacher, points = b.teacher(), b.points(300, 3)
    same = one("relu-independence", teacher, b.idle(teacher), points)
    assert same.unmet == ("no two units have the same boundary",)
    turned = b.teacher()
    turned.weights[0][:, :, 0], turned.biases[0][:, 0] = -teacher.weights[0][:, :, 2], -teacher.biases[0][:, 2]
    found = one("relu-independence", teacher, turned, points)
    assert found.unmet == ("no two units have the same boundary",)
    assert found.parts[0].conditions[1].witness == "teacher unit 2 and student unit 0"
    flat = b.teacher()
    flat.weights[0][:, :, 0] = 0
    assert one("relu-independence", teacher, flat, points).unmet == ("every unit has weights",)
    far = [net.map(torch.clone) for net in (teacher, b.teacher())]
    for net in far:
        net.biases[0][:] = 100.0
    assert one("relu-independence", *far, points).unmet == ("boundaries cross the data",)
