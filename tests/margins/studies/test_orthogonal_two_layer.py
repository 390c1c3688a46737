"""Claims speak of the paper's 500 epochs, and of what longer training adds."""

import numpy as np

from tutelage.margins.studies._practice import SeparableNetworks
from tutelage.margins.studies.orthogonal_two_layer import as_in_the_paper, draw, most_are_high, still_turning


def after(epochs: int, cosine: float) -> SeparableNetworks:
    singular, ones = np.array([[[4.0, 2.0, 0.5, 0.1]]] * 2), np.ones((2, 6))
    rows = np.zeros((1, 6, 2))
    return SeparableNetworks(
        epochs, cosine * ones, 0.95 * ones, ones, singular, rows, np.array([1, -1] * 3), np.ones(2)
    )


def test_the_seeds_epochs_are_judged_and_longer_ones_compared_with_them():
    found = [after(20, 0.5), after(500, 0.91), after(5000, 0.97)]
    assert as_in_the_paper(found).epochs == 500
    assert most_are_high.values(found)["units"].tolist() == [1, 1]
    assert np.allclose(still_turning.values(found)["by norm"], 0.06)


def test_the_figure_shows_all_lengths_of_training():
    found = [after(20, 0.5), after(500, 0.91)]
    assert len(draw(found).axes) == 4
