"""Claims on residual networks judge every hidden layer by itself."""

import numpy as np

from tutelage.margins.studies._practice import SeparableNetworks
from tutelage.margins.studies.orthogonal_residual import LAYERS, beyond_the_sum, draw, high, rank_two


def built() -> SeparableNetworks:
    singular = np.array([[[4.0, 2.0, 0.5, 0.1], [4.0, 2.0, 0.25, 0.1], [4.0, 2.0, 1.5, 0.1]]] * 2)
    margin, sums = np.array([[0.95, 0.8]] * 2), np.array([[0.9, 0.9]] * 2)
    weight, rows = np.array([[1.0, 3.0]] * 2), np.zeros((LAYERS - 1, 2, 2))
    return SeparableNetworks(500, margin, sums, weight, singular, rows, np.ones(2), np.ones(2))


def test_layers_are_judged_one_by_one():
    judged = {name: float(values[0]) for name, values in rank_two.values(built()).items()}
    assert judged == {"layer 1": 0.125, "layer 2": 0.0625, "layer 3": 0.375}


def test_units_count_alike_or_by_their_norm():
    assert np.allclose(high.values(built())["units"], 0.5)
    assert np.allclose(high.values(built())["by norm"], 0.25)
    assert np.allclose(beyond_the_sum.values(built())["by norm"], (0.05 - 0.3) / 4)


def test_the_figure_holds_every_layer():
    assert len(draw(built()).axes) == 8
