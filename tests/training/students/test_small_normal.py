"""Small normal weights are the draws of their streams, times the scale."""

import torch
from scipy import stats

from tutelage import draws
from tutelage.training.students import SmallNormal


def test_small_normal_weights_are_normal_of_the_scale_and_biases_zero(random_network):
    students = SmallNormal(width_factor=10, scale=0.02).build(random_network((50, 10, 20)), [0, 1])
    for w, b in zip(students.weights, students.biases, strict=True):
        assert stats.kstest(w.flatten().numpy() / 0.02, "norm").pvalue > 1e-3
        assert not b.any()


def test_small_normal_weights_are_the_draws_of_their_stream(random_network):
    """Weights of layer l, row by row, are draws 0, 1, ... of the stream `student-l`."""
    students = SmallNormal(scale=0.5).build(random_network((3, 4, 2)), [7, 8])
    for layer, w in enumerate(students.weights, start=1):
        drawn = draws.normals(draws.keys([7, 8], f"student-{layer}"), w[0].numel())
        assert torch.equal(w.flatten(1), drawn * 0.5)
