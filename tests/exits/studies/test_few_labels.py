"""What the claims of the study of few labels read off known accuracies."""

import numpy as np

from tutelage.exits.studies._protocol import DISTILLED, EXIT_WISE, FEW, WITH_UNLABELLED
from tutelage.exits.studies.few_labels import distilled_wins, draw, little_more, not_less


def test_claims_read_what_unlabelled_images_add(known):
    few = FEW["smoke"]
    found = known((few,), {EXIT_WISE: 0.0, DISTILLED: 0.04, WITH_UNLABELLED: 0.08})
    assert np.allclose(distilled_wins.values(found)[f"blobs({few})"], 4)
    assert np.allclose(little_more.values(found)["1 exits available"], 4)
    assert np.allclose(little_more.values(found)["2 exits available"], 1)
    assert np.allclose(not_less.values(found)[f"blobs({few})"], 2.5)
    assert len(draw(found).axes) == 2
