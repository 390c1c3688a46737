"""What the claims of the study of few labels read off known accuracies."""

import numpy as np

from tutelage.exits.studies._protocol import DISTILLED, EXIT_WISE, FEW, WITH_UNLABELLED
from tutelage.exits.studies.few_labels import by_budget, distilled_wins, draw, little_more, not_less


def test_claims_read_what_unlabelled_images_add(known):
    few = FEW["smoke"]
    found = known((few,), {EXIT_WISE: 0.0, DISTILLED: 0.04, WITH_UNLABELLED: 0.08})
    assert np.allclose(distilled_wins.values(found)[f"blobs({few})"], 4)
    assert np.allclose(little_more.values(found)["1 exits available"], 4)
    assert np.allclose(little_more.values(found)["2 exits available"], 1)
    assert np.allclose(not_less.values(found)[f"blobs({few})"], 2.5)
    assert len(draw(found).axes) == 2


def test_budgets_with_the_same_exits_count_once():
    gains = np.array([[1.0, 2.0, 2.0, 2.0, 3.0], [0.0, 0.0, 0.0, 1.0, 1.0]])
    found = by_budget(gains)
    assert list(found) == [
        "1 exits available", "2 to 3 exits available", "4 exits available", "5 exits available"
    ]  # fmt: skip
    assert np.array_equal(np.stack(list(found.values()), 1), gains[:, [0, 1, 3, 4]])
    assert list(by_budget(np.zeros((2, 3)))) == ["1 to 3 exits available"]
