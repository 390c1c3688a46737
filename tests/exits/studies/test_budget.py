"""What the claims of the budget study read off known accuracies."""

import numpy as np

from tutelage.exits.studies._protocol import DISTILLED, EXIT_WISE, WITH_UNLABELLED
from tutelage.exits.studies.budget import (
    draw,
    first_exit,
    least_data,
    pooled,
    smallest_budget,
    unlabelled_help,
    unlabelled_pooled,
    whole_budget,
    whole_pooled,
)

GAINS = {EXIT_WISE: 0.0, DISTILLED: 0.04, WITH_UNLABELLED: 0.08}


def test_claims_read_the_gains(known):
    found = known((10, 14), GAINS)
    assert np.allclose(first_exit.values(found)["blobs(10)"], 4)
    assert np.allclose(first_exit.values(found)["blobs(14)"], 2)
    assert np.allclose(least_data.values(found)["10 against 14 a class"], 2)
    (together,) = pooled.values(found).values()
    each = first_exit.values(found).values()
    assert np.allclose(together, np.mean(list(each), axis=0))
    assert np.allclose(smallest_budget.values(found)["blobs(10)"], 3)
    assert np.allclose(whole_budget.values(found)["blobs(14)"], 0.5)
    assert np.allclose(unlabelled_help.values(found)["blobs(10)"], 4)
    assert np.allclose(
        whole_pooled.values(found)["blobs, all sizes"], np.mean([*whole_budget.values(found).values()], 0)
    )
    mean = np.mean([*unlabelled_help.values(found).values()], 0)
    assert np.allclose(unlabelled_pooled.values(found)["blobs, all sizes"], mean)


def test_the_figure_has_a_panel_each_and_the_theses_beside_them_by_name(known):
    titles = [axes.get_title() for axes in draw(known((10, 14), GAINS)).axes]
    assert len(titles) == 6  # two sizes here, and all four of the paper
    assert all("blobs" in title and "top-1" in title for title in titles[:2])
    assert all("CIFAR-100" in title and "top-5" in title for title in titles[2:])
