"""Boundaries of deep students: counted pieces against lines in general position, and the curvature of their number."""

import numpy as np
import pytest

from tutelage.lab import Context
from tutelage.specialisation.studies import deep_lowest_layer as study


def _depth(layers: int, pieces: list[float]) -> study.DepthBoundaries:
    some = np.array(pieces)
    return study.DepthBoundaries(
        layers, some, some, *(np.zeros((2, 5)),) * 2, *(np.zeros(2),) * 3, *(np.zeros((2, layers)),) * 2
    )


def test_exponential_growth_has_curvature_0_and_quadratic_growth_is_below_the_threshold():
    found = [_depth(n, [3.0**n, float(n**2)]) for n in (1, 2, 3, 4)]
    curvature = study.exponential.values(found)["trained"]
    assert curvature[0] == pytest.approx(0)
    assert curvature[1] == pytest.approx(np.log(16 / 9) - np.log(9 / 4))
    assert curvature[1] < -0.1


def test_layers_are_compared_beyond_what_untrained_students_reach():
    after, before = np.array([[0.9, 0.7], [0.9, 0.7]]), np.array([[0.8, 0.4], [0.5, 0.4]])
    found = study.DepthBoundaries(2, *(np.zeros(2),) * 7, after, before)
    assert study.worse_above.values([found])["2 hidden layers"] == pytest.approx([0.0, 0.3])


def test_one_hidden_layer_has_a_piece_per_unit_and_two_have_more():
    plan = study.deep_lowest_layer.plan("smoke")
    one = plan.experiments[0]
    arrays = one.run(Context())
    assert arrays["pieces"].tolist() == [study.HIDDEN * (1 + study.WIDTH_FACTOR)] * 3
    deep = plan.experiments[1].run(Context())
    assert (deep["pieces"] > arrays["pieces"]).all()
    assert deep["above"].shape == deep["above_before"].shape == (3, 2)
