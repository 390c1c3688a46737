"""What the claims of the anytime study read off known accuracies."""

import numpy as np

from tutelage.exits.studies._protocol import DISTILLED, EXIT_WISE, WITH_UNLABELLED
from tutelage.exits.studies.anytime import (
    all_exits,
    all_pooled,
    draw,
    first_ones,
    more_is_better,
    two_exits,
    two_pooled,
)


def test_claims_read_the_ensembles(known):
    found = known((10, 14), {EXIT_WISE: 0.0, DISTILLED: 0.04, WITH_UNLABELLED: 0.08})
    assert np.allclose(two_exits.values(found)["blobs(10)"], 1)
    assert np.allclose(first_ones.values(found)["blobs(10)"], 3)
    assert np.allclose(two_pooled.values(found)["blobs, all sizes"], np.mean([*two_exits.values(found).values()], 0))
    assert np.allclose(all_pooled.values(found)["blobs, all sizes"], np.mean([*all_exits.values(found).values()], 0))
    assert np.allclose(all_exits.values(found)["blobs(14)"], 0.5)
    assert np.allclose(more_is_better.values(found)["exit-wise, blobs(10)"], [10, 20])
    assert len(more_is_better.values(found)) == 6
    assert len(draw(found).axes) == 6
