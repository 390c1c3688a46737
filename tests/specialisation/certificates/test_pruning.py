"""Theorem 2 of Tian 2020: what no teacher explains has no net fan-out, if enough students look."""

import pytest
import torch

from tutelage.networks import Network, outputs


@pytest.fixture
def setting(build):
    b = build(1)
    return b, b.teacher(inputs=4, hidden=3, outputs=2), b.points(300, 4)


@pytest.mark.parametrize("activation", ["relu", "leaky"])
def test_it_holds_for_idle_and_cancelling_units(build, one, activation):
    b = build(2)
    teacher = b.teacher(inputs=4, hidden=3, outputs=2, activation=activation)
    student = b.permuted(b.cancelling(b.idle(b.split(teacher), 2)))
    certificate = one("pruning", teacher, student, b.points(300, 4))
    assert certificate.verdict == "holds"
    assert len(certificate.parts) == 3
    assert sum("(with" in part.about for part in certificate.parts) == 1
    assert max(part.conclusion.value for part in certificate.parts) < 1e-12


def test_what_is_left_of_the_gradient_bounds_the_net_fan_out(setting, one):
    b, teacher, points = setting
    student = b.idle(teacher, 2)
    student.weights[1][:, 3:] = 1e-6
    certificate = one("pruning", teacher, student, points, tolerance=1e-3)
    assert certificate.verdict == "holds"
    lengths = student.weights[0][0, :, 3:].norm(dim=0)
    assert [part.conclusion.value for part in certificate.parts] == pytest.approx((1e-6 * 2**0.5 * lengths).tolist())
    assert all(part.conclusion.value <= part.conclusion.bound < 1e-3 for part in certificate.parts)


def test_a_gradient_is_named(setting, one):
    b, teacher, points = setting
    student = b.idle(teacher)
    student.weights[1][:, 3] = 0.01
    certificate = one("pruning", teacher, student, points)
    assert certificate.verdict == "not applicable"
    assert certificate.unmet == ("gradient is zero",)


def test_co_linear_teachers_are_named(setting, one):
    b, teacher, points = setting
    certificate = one("pruning", b.split(teacher), b.idle(b.split(teacher)), points)
    assert certificate.unmet == ("teacher units are not co-linear",)


def test_too_few_observers_are_named(build, one):
    b = build(3)
    teacher = b.teacher(inputs=4, hidden=2, outputs=5)
    certificate = one("pruning", teacher, b.idle(teacher), b.points(200, 4))
    assert certificate.unmet == ("independent observers",)
    assert certificate.parts[0].conditions[0].value == 2


def test_a_boundary_out_of_sight_has_no_observers(setting, one):
    b, teacher, points = setting
    student = b.idle(teacher)
    student.biases[0][:, 3] = 100.0
    certificate = one("pruning", teacher, student, points)
    assert certificate.unmet == ("independent observers",)
    assert certificate.parts[0].conditions[0].value == 0


def test_observers_that_no_tried_segment_met_leave_it_undecided(build, one):
    """One output, one observer, active near one sample in a thousand on the boundary."""
    b = build()
    points = torch.cat([b.points(2000, 2), torch.tensor([[-0.1, 30.0], [0.1, 30.0]], dtype=torch.float64)])
    teacher = b.two_layers([[0.0], [1.0]], [-29.0], [[1.0]], [0.0])
    student = b.two_layers([[0.0, 1.0], [1.0, 0.0]], [-29.0, 0.0], [[1.0], [0.0]], [0.0])
    certificate = one("pruning", teacher, student, points)
    assert certificate.verdict == "not decided"
    assert certificate.unmet == ()


def test_no_unaligned_student_is_named(setting, one):
    b, teacher, points = setting
    certificate = one("pruning", teacher, b.permuted(b.split(teacher)), points)
    assert certificate.unmet == ("a student unit is unaligned",)


def test_alignment_may_be_told(setting, one):
    b, teacher, points = setting
    student = b.perturbed(teacher, 1e-5)
    assert len(one("pruning", teacher, student, points).parts) == 3
    assert one("pruning", teacher, student, points, alignment=1e-3).unmet[-1] == "a student unit is unaligned"


def test_units_turned_over_count_although_the_seeds_leave_them_out(build, one):
    """v relu(u) - v relu(-u) = v u, made up for by an always active unit: no kink, and neither fan-out is 0."""
    b = build(4)
    teacher = b.teacher(inputs=2, hidden=3, outputs=1)
    w, v = torch.tensor([[[1.0], [0.5]]], dtype=torch.float64), torch.ones(1, 1, 1, dtype=torch.float64)
    below = torch.cat([teacher.weights[0], w, -w, w], dim=2)
    bias = torch.cat([teacher.biases[0], torch.tensor([[0.0, 0.0, 50.0]], dtype=torch.float64)], dim=1)
    student = Network((below, torch.cat([teacher.weights[1], v, -v, -v], dim=1)), (bias, teacher.biases[1] + 50.0))
    certificate = one("pruning", teacher, student, b.points(200, 2))
    pair, always = certificate.parts
    assert pair.about == "student unit 3 (with 4)"
    assert certificate.verdict_of(pair) == "holds"
    assert certificate.verdict_of(always) == "not applicable"
    together = one("prunable-part", teacher, student, b.points(200, 2))
    assert "no unaligned unit is turned over" in together.unmet


@pytest.fixture
def setting_prunable_part(build):
    b = build(1)
    return b, b.teacher(inputs=4, hidden=3, outputs=2), b.points(300, 4)


def without(net, units):
    keep = [k for k in range(net.widths[1]) if k not in units]
    return Network((net.weights[0][:, :, keep], net.weights[1][:, keep]), (net.biases[0][:, keep], net.biases[1]))


def test_it_holds_and_removing_the_units_changes_nothing(setting_prunable_part, one):
    b, teacher, points = setting_prunable_part
    student = b.cancelling(b.idle(b.split(teacher), 2))
    certificate = one("prunable-part", teacher, student, points)
    assert certificate.verdict == "holds"
    units = certificate.parts[0].conclusion.data["units"]
    assert units == [4, 5, 6, 7]
    change = outputs(student, points) - outputs(without(student, units), points)
    assert float(change.norm(dim=2).max()) <= certificate.parts[0].conclusion.bound


def test_the_contribution_stays_below_its_bound_when_the_gradient_is_only_small(setting_prunable_part, one):
    b, teacher, points = setting_prunable_part
    student = b.idle(teacher, 2)
    student.weights[1][:, 3:] = 1e-6
    certificate = one("prunable-part", teacher, student, points, tolerance=1e-3)
    assert certificate.verdict == "holds"
    change = outputs(student, points) - outputs(without(student, [3, 4]), points)
    assert certificate.parts[0].conclusion.value == pytest.approx(float(change.norm(dim=2).max()))


def test_nothing_unaligned_adds_nothing(setting_prunable_part, one):
    _, teacher, points = setting_prunable_part
    certificate = one("prunable-part", teacher, teacher, points)
    assert certificate.verdict == "holds"
    assert certificate.parts[0].conclusion.value == 0


def test_every_condition_is_missed_by_name(setting_prunable_part, one, build):
    b, teacher, points = setting_prunable_part
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
