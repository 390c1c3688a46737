"""A student that contains its teacher in its lowest layer is seen to."""

import numpy as np
import torch

from tutelage.networks import Network
from tutelage.specialisation.studies.deeper_student import DepthMatch, compared, lowest_alone
from tutelage.training.inputs import Gaussian
from tutelage.training.teachers import Levels


def test_the_lowest_layer_of_a_copy_matches_whatever_lies_above():
    distribution = Gaussian(train=50, evaluate=400)
    teacher = Levels(inputs=5, hidden=4, outputs=3).build(range(2), distribution)
    above = torch.randn(2, 4, 6), torch.randn(2, 6, 3)
    copy = Network((teacher.weights[0], *above), (teacher.biases[0], torch.zeros(2, 6), torch.zeros(2, 3)))
    other = Network((torch.randn(2, 5, 4), *above), None)
    found = compared(teacher, other, copy, distribution.draw(teacher, range(2)))
    assert (found["rho"][:, 0] > 1 - 1e-5).all()
    assert (found["rho_before"][:, 0] < 0.99).all()
    assert (found["relative_loss"] > 0).all()


def test_layers_above_are_judged_by_the_best_of_them():
    depth = DepthMatch(2, np.array([[0.9, 0.7, 0.8]]), np.zeros((1, 3)), np.zeros(1))
    measured = lowest_alone.values([depth])["2 extra layers"]
    assert np.allclose(measured.values, [0.1])
    assert np.allclose(measured.baseline, [0.0])
