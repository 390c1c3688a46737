"""Alignment in the sense of Tian 2020, Definition 3."""

import math

import torch

from tutelage.networks import Network
from tutelage.specialisation.studies.boundaries_2d import alignment, cuts


def one_unit(angle, bias, length=1.0):
    w = length * torch.tensor([[[math.cos(angle)], [math.sin(angle)]]], dtype=torch.float64)
    return Network(
        (w, torch.ones(1, 1, 1, dtype=torch.float64)), (torch.tensor([[bias * length]], dtype=torch.float64),) * 2
    )


def test_angle_and_bias_are_those_of_regular_weights():
    """A rescaled weight is the same boundary; the angle is the one between the directions."""
    sine, gap = alignment(one_unit(0.3, -0.5), one_unit(0.4, -0.2, length=7.0))
    assert abs(sine.item() - math.sin(0.1)) < 1e-12
    assert abs(gap.item() - 0.3) < 1e-12


def test_opposite_directions_are_not_aligned():
    sine, _ = alignment(one_unit(0.3, 0.0), one_unit(0.3 + math.pi, 0.0))
    assert sine.item() == 1.0


def test_a_student_that_is_active_on_one_point_does_not_cut_the_data():
    points = torch.linspace(-1, 1, 200, dtype=torch.float64)[None, :, None] * torch.tensor([1.0, 0.0])
    found = [bool(cuts(one_unit(0.0, bias), points)) for bias in (-2.0, -0.995, -0.9, 0.0, 0.9, 0.995, 2.0)]
    assert found == [False, False, True, True, True, False, False]
