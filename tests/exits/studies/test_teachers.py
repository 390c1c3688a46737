"""What the claims of the study of teachers read off known accuracies."""

import numpy as np

from tutelage.exits.studies._protocol import DISTILLED, EXIT_WISE
from tutelage.exits.studies.teachers import ALL_LATER, draw, not_better, not_worse, taught_by_all


def test_claims_compare_the_teachers(known):
    found = known((14,), {EXIT_WISE: 0.0, DISTILLED: 0.04, ALL_LATER: 0.08})
    for claim in (not_worse, not_better):
        assert np.allclose(claim.values(found)["blobs(14)"], 2.5)
    assert np.allclose(taught_by_all.values(found)[ALL_LATER.name], 8)
    assert len(draw(found).axes) == 2
