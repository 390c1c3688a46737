"""The residual on the circle adds up, and what claims count is what is there."""

import math

import numpy as np
import torch

from tutelage.local import LocalSetting, local_students
from tutelage.local.residuals import residual
from tutelage.local.starts import plane_teachers
from tutelage.local.studies import slabs_and_spikes as study


def test_flat_and_spiky_parts_add_up_on_the_circle_and_spikes_to_the_spiky_part():
    teachers = plane_teachers([20, 80, 140])
    setting = LocalSetting(teachers, local_students(teachers, 6, range(4)))
    circle = study.around(setting)
    x = torch.from_numpy(np.stack([np.cos(circle.turn), np.sin(circle.turn)], 1))
    assert np.allclose(circle.flat + circle.spiky, residual(setting, x).numpy(), atol=1e-12)
    assert np.allclose(circle.spikes.sum(1), circle.spiky, atol=1e-12)


def test_the_width_and_the_height_of_a_spike_of_known_angle():
    turn = 0.3
    student = torch.tensor([[[math.cos(turn), math.sin(turn)]]], dtype=torch.float64)
    circle = study.around(LocalSetting(torch.tensor([[[1.0, 0.0]]]), student))
    share = (circle.spikes[0, 0] > 1e-12).mean()
    assert abs(share - turn / math.pi) < 1e-3
    assert abs(circle.spikes.max() - 2 * math.sin(turn)) < 1e-2
    assert study.width_errors(circle)[0] < 1e-3


def test_a_slab_sees_a_fifth_of_a_pair_at_small_angles_alone():
    assert max(abs(study.seen_of_a_pair(delta) - 0.2) for delta in study.PAIRS) < 0.01
    assert min(study.PAIRS) <= 0.001
    assert max(study.PAIRS) >= 0.2
    assert study.seen_of_a_pair(0.5) > 0.25


def test_a_slab_sees_a_share_of_a_pair_between_0_and_1():
    assert 0 < study.seen_of_a_pair(0.2) < 1
