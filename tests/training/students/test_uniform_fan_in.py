"""Uniform weights and biases fill +-1/sqrt(fan_in)."""

from scipy import stats

from tutelage.training.students import UniformFanIn


def test_uniform_weights_and_biases_fill_their_interval(random_network):
    students = UniformFanIn(width_factor=10).build(random_network((50, 10, 500)), [0, 1])
    for w, b in zip(students.weights, students.biases, strict=True):
        edge = w.shape[1] ** -0.5
        for array in (w, b):
            assert edge * (1 - 20 / array.numel()) < array.abs().max() <= edge  # missed from below once in e^20
            assert stats.kstest(array.flatten().numpy() / edge, "uniform", args=(-1, 2)).pvalue > 1e-3
