"""Integrated gradients: the closed form below a linear top, and completeness above a hidden layer."""

from itertools import pairwise

import torch

from tutelage.networks import Network, forward
from tutelage.planted.methods.attribution import integrated_gradients
from tutelage.planted.view import StudentsView


def network(hidden, seed=0):
    draw = torch.Generator().manual_seed(seed)
    widths = (3, *hidden, 2)
    shapes = [(2, a, b) for a, b in pairwise(widths)]
    return Network(tuple(torch.randn(*s, generator=draw, dtype=torch.float64) for s in shapes))


def test_below_a_linear_top_it_is_activation_times_weight():
    students, x = network((4,)), torch.randn(2, 50, 3, dtype=torch.float64)
    ranking = integrated_gradients(StudentsView(students, 1, x, (0, 1)), x).ranking
    f = forward(students, x).features[1].abs().mean(1)
    assert torch.allclose(ranking, f * students.weights[1].abs().sum(2))


def test_attributions_of_a_layer_without_biases_sum_to_the_output():
    """Along the ray from 0 the gates do not change, so the midpoint rule is exact; one output, one input point."""
    students, x = network((4, 5)), torch.randn(2, 1, 3, dtype=torch.float64)
    positive = students.map(torch.abs)  # all attributions are then positive, and their sizes add up
    ranking = integrated_gradients(StudentsView(positive, 1, x.abs(), (0, 1)), x.abs()).ranking
    assert torch.allclose(ranking.sum(1), forward(positive, x.abs()).outputs.sum((1, 2)))
