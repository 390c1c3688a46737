"""The exact flow, against small steps and what must stay the same."""

import math

import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.margins.datasets import LabelledPoints, clashing, cones, half_spaces, orthants
from tutelage.margins.flow import NONE, balanced_start, flow, groups, linear_twin, velocity
from tutelage.margins.losses import LOSSES, log_slope
from tutelage.networks import Network

START = -math.inf
LAST = 300 * math.log(10)


def small_steps(data, start, until, loss, steps=10_000):
    """Euler's method without any thought for boundaries."""
    w, a = start.weights[0].mT.clone(), start.weights[1].squeeze(2).clone()
    for _ in range(steps):
        u = w @ data.x.mT
        margin = data.y * (u.relu() * a.unsqueeze(2)).sum(1)
        pull = (data.y * log_slope(loss, margin).exp()).unsqueeze(1)
        dw, da = a.unsqueeze(2) * (((u > 0) * pull) @ data.x), (pull * u.relu()).sum(2)
        w, a = w + until / steps * dw, a + until / steps * da
    return w, a


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("distribution", [cones, half_spaces, clashing])
def test_it_is_where_small_steps_lead(distribution, loss):
    data, start = distribution(range(3), count=9), balanced_start(range(3), 6, 3, scale=0.1)
    course = flow(data, start, [0.0, math.log(2.0)], loss=loss)
    w, a = small_steps(data, start, 2.0, loss)
    assert float((course.w[-1] - w).abs().max()) < 5e-3  # Euler's error, halved with the step
    assert float((course.a[-1] - a).abs().max()) < 5e-3


def test_a_unit_slides_along_a_boundary_that_holds_it():
    """A positive unit is pulled along sample 0 up to the boundary of the negative sample 1, acute with it, and held."""
    data = LabelledPoints(torch.tensor([[1.0, 0.2], [0.2, 1.0]], dtype=torch.float64), torch.tensor([1, -1]))
    w = torch.tensor([[[0.05, -0.1]]], dtype=torch.float64)
    start = Network((w.mT.contiguous(), w.norm(dim=2, keepdim=True)))
    course = flow(data, start, [START, 2.0, 3.0])
    heights = course.heights()[:, 0, 0]
    assert heights[0, 1] < 0
    assert (heights[1:, 0] > 1).all()
    assert (heights[1:, 1].abs() < 1e-12).all()
    assert course.w[2, 0].norm() > course.w[1, 0].norm()
    by_euler, _ = small_steps(data, start, math.exp(3.0), "logistic")
    torch.testing.assert_close(course.w[-1], by_euler, rtol=5e-3, atol=5e-3)


def test_records_do_not_depend_on_each_other_or_on_company():
    data, start = cones(range(3)), balanced_start(range(3), 8, 3)
    many = flow(data, start, [START, -1.0, 0.5, 3.0, 10.0])
    few = flow(data[1:2], start[1], [10.0])
    torch.testing.assert_close(many.w[-1, 1:2], few.w[-1], rtol=1e-6, atol=0)


def test_to_the_time_1e300_members_stay_balanced_and_finite():
    data, start = cones(range(5)), balanced_start(range(5), 20, 3, spread=0.5)
    course = flow(data, start, [START, 1.0, 10.0, 100.0, LAST])
    assert torch.equal(course.w[0], start.weights[0].mT)
    off = (course.a.abs() / course.w.norm(dim=3) - 1).abs()
    assert float(off.max()) < 1e-8
    assert (course.data.y * course.outputs()[-1] > 300).all()
    assert (course.groups != NONE).all()
    assert torch.equal(course.groups, course.groups_at(-1))
    assert (course.left == 0).all()
    assert (course.settled() < 3).all()


def test_a_smaller_start_brings_every_unit_to_its_group():
    """Lemma 3.1 wants lambda small enough: at 1e-4 some units are left behind when the samples are fitted."""
    data = orthants(range(20), count=24, dimension=3)
    few, none = (flow(data, balanced_start(range(20), 20, 3, scale=s), [START, LAST]) for s in (1e-4, 1e-16))
    assert 0 < int((few.groups == NONE).sum()) < 20
    assert (none.groups != NONE).all()
    assert (none.groups == 0).any()  # some end where no sample is active
    assert torch.equal(none.groups, none.groups_at(-1))
    assert float(none.w[1].norm(dim=2)[none.groups == 0].max()) < 1.001e-16  # and have not grown


def test_a_tighter_tolerance_moves_nothing_much():
    data, start = cones(range(2)), balanced_start(range(2), 8, 3)
    loose, tight = (flow(data, start, [LAST], relative=r) for r in (1e-7, 1e-10))
    assert float(((loose.w - tight.w).norm(dim=3) / tight.w.norm(dim=3)).max()) < 1e-4


def test_the_two_linear_networks_go_the_same_way():
    data, start = cones(range(3)), balanced_start(range(3), 8, 3)
    course = flow(data, start, [START, 2.0, 10.0, 100.0])
    twin = linear_twin(course, 1)
    torch.testing.assert_close(twin.w, course.w[1:], rtol=1e-5, atol=1e-8)
    with pytest.raises(TutelageError, match="outside J_0"):
        linear_twin(course, 0)


def test_groups_are_told_by_sector_and_sign():
    data = LabelledPoints(torch.tensor([[1.0, 0.0], [-1.0, 0.1]]), torch.tensor([1, -1]))
    w = torch.tensor([[[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, -1.0], [0.1, 2.0]]], dtype=torch.float64)
    a = torch.tensor([[1.0, -1.0, -1.0, 1.0, 1.0]])
    assert groups(w, a, data).tolist() == [[1, NONE, -1, 0, NONE]]


def test_speeds_are_minus_the_gradient():
    data, start = half_spaces(range(2)), balanced_start(range(2), 5, 3, scale=0.5)
    w, a = start.weights[0].mT.clone().requires_grad_(), start.weights[1].squeeze(2).clone().requires_grad_()
    margin = data.y * ((w @ data.x.mT).relu() * a.unsqueeze(2)).sum(1)
    grad = torch.autograd.grad(torch.nn.functional.softplus(-margin).sum(), (w, a))
    for speed, slope in zip(velocity(w.detach(), a.detach(), data), grad, strict=True):
        torch.testing.assert_close(speed, -slope)


def test_what_cannot_be_followed_is_refused():
    data, start = cones(range(2)), balanced_start(range(2), 4, 3)
    for times in ([], [1.0, 0.0], [0.0, math.inf]):
        with pytest.raises(TutelageError, match="log times"):
            flow(data, start, times)
    with pytest.raises(TutelageError, match="one set per network"):
        flow(data, balanced_start(range(3), 4, 3), [0.0])
    with pytest.raises(TutelageError, match="no biases"):
        flow(data, Network(start.weights, (torch.zeros(2, 4).double(), torch.zeros(2, 1).double())), [0.0])
    with pytest.raises(TutelageError, match="stiff"):
        flow(clashing([0]), balanced_start([0], 20, 3), [20.0], most=2000)
    with pytest.raises(TutelageError, match="tolerance"):
        flow(data, start, [0.0], relative=0.0)
    with pytest.raises(TutelageError, match="scale"):
        balanced_start([0], 4, 3, scale=0.0)


def test_a_flow_that_rounding_holds_up_does_not_blame_the_points_alone():
    with pytest.raises(TutelageError, match=r"log t = 606\.\d of 690 in 5000 steps.*very late times"):
        flow(half_spaces([1]), balanced_start([1], 20, 3), [690.0], loss="polynomial", most=5000)


def test_a_loss_that_wakes_up_late_does_not_overflow():
    """From far away slopes vanish, steps grow, and a stage at the end of a long one may overflow."""
    course = flow(cones([20, 39, 60]), balanced_start([20, 39, 60], 20, 3, scale=30.0), [300.0, LAST])
    assert course.w.isfinite().all()
    assert (course.data.y * course.outputs()[-1] > 0).all()


def test_a_unit_that_shrinks_a_thousandfold_stays_balanced_and_never_reaches_zero():
    course = flow(clashing([13]), balanced_start([13], 20, 3), [3.0, 4.0])
    lengths = course.w.norm(dim=3)
    assert float(lengths.min()) < 1e-7
    assert float((course.a.abs() / lengths - 1).abs().max()) < 1e-6


@pytest.mark.parametrize("times", [[math.nan], [0.0, math.nan], [math.nan, 1.0], 5.0, [math.inf]])
def test_log_times_that_are_no_growing_numbers_are_errors(times):
    with pytest.raises(TutelageError, match="log times to record at must be"):
        flow(orthants([0], 8, 2), balanced_start([0], 4, 2), times)


def test_a_start_has_units_inputs_and_a_finite_scale():
    with pytest.raises(TutelageError, match="units must be a whole number of at least 1, got 0"):
        balanced_start([0], 0, 2)
    with pytest.raises(TutelageError, match="dimension must be a whole number of at least 1, got 0"):
        balanced_start([0], 2, 0)
    with pytest.raises(TutelageError, match="scale must lie between"):
        balanced_start([0], 2, 2, math.inf)


@pytest.mark.parametrize("scale", [0.0, 1e-200, 1e160, float("inf"), float("nan")])
def test_starts_whose_squares_are_not_numbers_are_refused(scale):
    with pytest.raises(TutelageError, match=r"scale must lie between 1e-150 and 1e150, .* got"):
        balanced_start([0], 4, 3, scale=scale)
    with pytest.raises(TutelageError, match="spread must be at least 0 and below 1, got 1"):
        balanced_start([0], 4, 3, spread=1.0)
