"""Corollary 1 of Tian 2020: unaligned students can be removed together."""

import pytest

from tutelage.networks import Network, outputs


@pytest.fixture
def setting(build):
    b = build(1)
    return b, b.teacher(inputs=4, hidden=3, outputs=2), b.points(300, 4)


def without(net, units):
    keep = [k for k in range(net.widths[1]) if k not in units]
    return Network((net.weights[0][:, :, keep], net.weights[1][:, keep]), (net.biases[0][:, keep], net.biases[1]))


def test_it_holds_and_removing_the_units_changes_nothing(setting, one):
    b, teacher, points = setting
    student = b.cancelling(b.idle(b.split(teacher), 2))
    certificate = one("prunable-part", teacher, student, points)
    assert certificate.verdict == "holds"
    units = certificate.parts[0].conclusion.data["units"]
    assert units == [4, 5, 6, 7]
    change = outputs(student, points) - outputs(without(student, units), points)
    assert float(change.norm(dim=2).max()) <= certificate.parts[0].conclusion.bound


def test_the_contribution_stays_below_its_bound_when_the_gradient_is_only_small(setting, one):
    b, teacher, points = setting
    student = b.idle(teacher, 2)
    student.weights[1][:, 3:] = 1e-6
    certificate = one("prunable-part", teacher, student, points, tolerance=1e-3)
    assert certificate.verdict == "holds"
    change = outputs(student, points) - outputs(without(student, [3, 4]), points)
    assert certificate.parts[0].conclusion.value == pytest.approx(float(change.norm(dim=2).max()))


def test_nothing_unaligned_adds_nothing(setting, one):
    _, teacher, points = setting
    certificate = one("prunable-part", teacher, teacher, points)
    assert certificate.verdict == "holds"
    assert certificate.parts[0].conclusion.value == 0


def test_every_condition_is_missed_by_name(setting, one, build):
    b, teacher, points = setting
    moving = b.idle(teacher)
    moving.weights[1][:, 3] = 0.01
    assert one("prunable-part", teacher, moving, points).unmet == ("gradient is zero",)
    twice = b.split(teacher)
    assert one("prunable-part", twice, twice, points).unmet == ("teacher units are not co-linear",)
    blind = b.idle(teacher)
    blind.biases[0][:, 3] = 100.0
    assert one("prunable-part", teacher, blind, points).unmet == ("independent observers",)
    turned = b.idle(teacher, 2)
    turned.weights[0][:, :, 4] = -turned.weights[0][:, :, 3]
    turned.biases[0][:, 4] = -turned.biases[0][:, 3]
    assert one("prunable-part", teacher, turned, points).unmet == ("no unaligned unit is turned over",)
    flat = b.idle(teacher)
    flat.weights[0][:, :, 3] = 0
    assert one("prunable-part", teacher, flat, points).unmet == ("every student unit has weights",)
