"""Alignment in the sense of Tian 2020, Definition 3."""

import math

import torch

from tutelage.networks import Network
from tutelage.specialisation.studies.boundaries_2d import alignment


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
