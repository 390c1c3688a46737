"""What a course comes to."""

import math

import pytest
import torch

from tutelage.margins.datasets import cones, orthants
from tutelage.margins.flow import balanced_start, flow
from tutelage.margins.limits import cosines, fit, growth, kkt, kkt_point, limits, rescaled, two_neurons
from tutelage.margins.max_margin import max_margins
from tutelage.networks import outputs


@pytest.fixture(scope="module")
def course():
    return flow(cones(range(6)), balanced_start(range(6), 20, 3), [-math.inf, 1.0, 30.0, 300.0, 300 * math.log(10)])


@pytest.fixture(scope="module")
def margins(course):
    return max_margins(course.data)


def test_paces_shares_and_margins_tend_to_their_limits(course, margins):
    wanted = limits(margins)
    plus, minus = growth(course, 1), growth(course, -1)
    for found, pace, smoothed in (
        (plus, wanted.pace_plus, wanted.smoothed_plus),
        (minus, wanted.pace_minus, wanted.smoothed_minus),
    ):
        assert ((found.pace[-1] / pace - 1).abs() < 0.03).all()
        assert ((found.smoothed_margin[-1] / smoothed - 1).abs() < 0.03).all()
        assert (found.smoothed_margin[2:].diff(dim=0) > -1e-12).all()
        assert (found.log_loss[-1] < -600).all()
    share = plus.norm[-1] / (plus.norm[-1] + minus.norm[-1])
    assert ((share / wanted.share - 1).abs() < 0.02).all()


def test_first_to_the_class_sum_and_then_to_the_max_margin(course, margins):
    found = cosines(course.w, course.a, course.data, margins)
    early, late = found.class_sum[1], found.max_margin[-1]
    assert (early > 0.95).all()
    assert (late > 0.99).all()
    assert (late.mean(1) > found.max_margin[1].mean(1)).all()


def test_what_is_left_of_the_theorem_shrinks(course, margins):
    found = fit(course.w, course.a, margins)
    assert (found.first[1:].diff(dim=0) < 0).all()
    assert (found.first[-1] < 0.05).all()
    assert (found.second[-1] < 0.05).all()
    assert ((found.u > 0) & (found.z > 0)).sum() == 0


def test_two_neurons_are_the_network_on_the_samples(course):
    small = two_neurons(course.network(), course.groups)
    assert small.widths == (3, 2, 1)
    before, after = (outputs(net, course.data.x) for net in (course.network(), small))
    torch.testing.assert_close(after, before, rtol=1e-9, atol=1e-9)
    length, fan_out = small.weights[0].norm(dim=1), small.weights[1].squeeze(2).abs()
    torch.testing.assert_close(length, fan_out)


def test_the_point_of_lemma_b6_is_kkt_and_one_nearby_is_not():
    data = orthants(range(3), count=60, dimension=5)
    margins = max_margins(data)
    u, z = torch.tensor([[1.0, 2.0, 0.0, 0.0]]).double(), torch.tensor([[0.0, 0.0, 3.0, 1.0]]).double()
    point = kkt_point(margins, u.expand(3, -1), z.expand(3, -1))
    assert float(kkt(point, data, margins).worst.max()) < 1e-12
    spoilt = point.map(lambda v: v + 0.1)
    assert float(kkt(spoilt, data, margins).worst.min()) > 1e-2


def test_a_network_is_scaled_to_margin_one(course):
    scaled = rescaled(course.network(), course.data)
    least = (course.data.y * outputs(scaled, course.data.x).squeeze(2)).amin(1)
    torch.testing.assert_close(least, torch.ones(6, dtype=torch.float64))
