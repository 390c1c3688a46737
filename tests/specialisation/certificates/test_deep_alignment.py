"""Theorem 4 of Tian 2019: in deep networks the lowest layer aligns where one linear region shows it."""

import pytest
import torch

from tutelage.networks import Network


@pytest.fixture
def setting(build):
    b = build(3)
    return b, b.teacher(inputs=3, hidden=3, outputs=2, deeper=(8, 6)), b.points(300, 3)


@pytest.mark.parametrize("way", ["itself", "permuted", "split", "idle", "cancelling"])
@pytest.mark.parametrize("activation", ["relu", "leaky"])
def test_it_holds_for_every_way_to_be_the_teacher(build, one, way, activation):
    b = build(3)
    teacher = b.teacher(inputs=3, hidden=3, outputs=2, deeper=(8, 6), activation=activation)
    student = teacher if way == "itself" else getattr(b, way)(teacher)
    assert one("deep-alignment", teacher, student, b.points(300, 3)).verdict == "holds"


def test_two_layers_agree_with_the_theorem_of_two_layers(build, one):
    b = build(2)
    teacher, points = b.teacher(), b.points(100, 3)
    deep = one("deep-alignment", teacher, b.idle(teacher), points)
    assert deep.verdicts == one("alignment", teacher, b.idle(teacher), points).verdicts


def test_conditions_are_missed_by_name(setting, one):
    b, teacher, points = setting
    assert one("deep-alignment", teacher, b.perturbed(teacher, 1e-4), points).unmet == ("gradient is zero",)
    twice = b.split(teacher)
    assert one("deep-alignment", twice, twice, points).unmet == ("teacher units are not co-linear",)
    far = teacher.map(lambda a: a.clone())
    far.biases[0][:, 1] = 200.0
    assert "boundary is visible in the data" in one("deep-alignment", far, far, points).unmet
    dead = teacher.map(lambda a: a.clone())
    dead.weights[1][:, 1] = 0  # nothing above listens to unit 1
    silent = one("deep-alignment", dead, dead, points)
    assert silent.verdicts[1] == "not decided"
    assert "alpha is not zero" in [c.name for c in silent.parts[1].conditions if c.holds is None]
    flat = teacher.map(lambda a: a.clone())
    flat.weights[0][:, :, 1] = 0
    assert "the unit has weights" in one("deep-alignment", flat, flat, points).unmet


def test_a_unit_that_no_segment_shows_inside_a_region_is_not_decided_or_not_observed(build, one):
    b = build()
    eye = torch.ones(1, 1, 1, dtype=torch.float64)
    teacher = Network((eye, eye, eye), (0 * eye[0], 0 * eye[0], 0 * eye[0]))
    certificate = one("deep-alignment", teacher, teacher, b.points(50, 1))
    assert certificate.verdict == "not applicable"
    assert "observed by a student unit" in certificate.unmet
