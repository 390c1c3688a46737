"""Theorems 4 and 7 of Tian 2020 share their machinery with Theorems 3 and 6; what differs is tested here."""

import torch


def test_the_band_is_moved_along_the_teachers_weights_by_twice_its_width(build, one):
    b = build(2)
    teacher = b.two_layers([[1.0, 0.001], [0.0, 0.0]], [0.0, 9.0], [[1.0], [1.0]], [-9.0])
    points = torch.rand(20_000, 2, generator=b.draw, dtype=torch.float64) * 2 - 1
    student = teacher.map(torch.clone)
    student.biases[0][:, 0] += 1e-4
    certificate = one("teacher-aware-samples", teacher, student, points, epsilon=0.4)
    assert certificate.verdicts[0] == "holds"
    assert certificate.settings["gamma"] == 2.0
    gradient = certificate.parts[0].conditions[-1]
    inside = int(certificate.parts[0].conditions[1].value)
    assert gradient.data["points"] == 3 * inside
