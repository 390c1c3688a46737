"""All distributions of the comparison have one deviation."""

import pytest
import torch

from tutelage import draws
from tutelage.specialisation.studies.leaky_and_inputs import ACTIVATIONS, LAWS, STD, leaky_and_inputs


@pytest.mark.parametrize("name", LAWS)
def test_coordinates_have_the_same_deviation(name):
    x = LAWS[name].points(draws.keys([0], "x"), 200_000, 4, torch.float64)
    assert abs(x.std().item() / STD - 1) < 0.01


def test_there_is_an_experiment_for_every_law_and_activation():
    experiments = leaky_and_inputs.plan("smoke").experiments
    found = {(s.teacher.activation, s.student.activation, s.inputs.kind) for s in experiments}
    assert found == {(a, a, distribution) for a in ACTIVATIONS for distribution in LAWS}
