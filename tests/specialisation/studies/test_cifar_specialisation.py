"""Correlations of layered networks, every pixel a sample."""

import numpy as np
import torch

from tutelage.measures import correlations
from tutelage.networks.channel_pruning import pruned
from tutelage.networks.layered import Architecture, Conv, Layered
from tutelage.specialisation.studies.cifar_specialisation import (
    ConvCourse,
    ConvCourses,
    draw,
    lowest_best,
    rho_means,
    wider_specialises,
)

PLAN = Architecture((1, 6, 6), (Conv(4), Conv(5, stride=2)), 3)


def test_rho_mean_is_that_of_all_pixels():
    teacher, students, x = Layered(PLAN, [0, 1]), Layered(PLAN.with_widths([7, 6]), [2, 3]), torch.randn(30, 1, 6, 6)
    got = rho_means(teacher, students, x, batch=7)
    with torch.no_grad():
        for layer, (a, b) in enumerate(zip(teacher.features(x)[0], students.features(x)[0], strict=True)):
            flat = [f.permute(0, 1, 3, 4, 2).flatten(1, 3) for f in (a, b)]
            wanted = correlations(*flat).amax(2).mean(1)
            assert torch.allclose(got[:, layer], wanted.double(), atol=1e-5)


def test_the_unpruned_network_contains_its_pruned_self_in_the_lowest_layer():
    whole = Layered(PLAN, [4])
    small = pruned(whole, [torch.tensor([[1, 3]]), torch.tensor([[0, 2, 4]])])
    assert rho_means(small, whole, torch.randn(20, 1, 6, 6))[0, 0] > 1 - 1e-4


def test_claims_compare_the_widest_with_the_narrowest_and_the_lowest_with_the_highest():
    def course(width_factor, rho):
        return ConvCourse(width_factor, (0, 1), np.stack([np.zeros_like(rho), rho]), np.zeros((2, 2)))

    low, high = np.array([[0.5, 0.4], [0.6, 0.5]]), np.array([[0.9, 0.5], [0.8, 0.5]])
    found = ConvCourses("blobs", [course(1, low), course(4, high)], np.zeros(2))
    assert np.allclose(wider_specialises.values(found)["layer 1"], [0.4, 0.2])
    assert np.allclose(lowest_best.values(found)["4x"], [0.4, 0.3])


def test_the_legend_is_beside_the_panels_and_names_the_dotted_lines():
    """In a panel it covers the dotted lines, which lie at the bottom of it."""
    rho = np.array([[[0.1, 0.1]] * 2, [[0.9, 0.8]] * 2])
    figure = draw(ConvCourses("blobs", [ConvCourse(1, (0, 1), rho, rho[:, :, 0])], np.ones(2)))
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["1x", "teacher", "untrained students"]
    assert not any(panel.get_legend() for panel in figure.axes)
