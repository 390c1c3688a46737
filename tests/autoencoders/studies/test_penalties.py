"""Penalties: what counts as inside the paper's range, what is compared, and members that cannot be integrated."""

import numpy as np
import torch

from tutelage.autoencoders.parts import normal_models
from tutelage.autoencoders.studies import _toys
from tutelage.autoencoders.studies import penalties as study


def _outcome(penalty: float, miss: float) -> study.PenaltyOutcome:
    return study.PenaltyOutcome("normal", 1, penalty, np.array([miss]), np.array([0.01]))


def test_inside_and_outside_are_judged_apart():
    found = [_outcome(0.03, 0.4), _outcome(0.1, 0.02), _outcome(1.0, 0.01), _outcome(10.0, 0.03)]
    assert list(study.met.values(found)) == [f"normal, 1 latent, C = {c:g}" for c in (0.1, 1, 10)]
    worse = study.better_inside.values(found)
    assert list(worse) == ["normal, 1 latent, C = 0.03"]
    assert np.allclose(worse["normal, 1 latent, C = 0.03"], 0.39)


def test_a_member_whose_decoder_is_too_narrow_is_nan_and_the_others_are_as_before():
    model = normal_models(range(3))
    whole = _toys.evaluate(model)
    for name, weights in model.weights().items():
        if name.startswith("decoder") and weights.shape[-1] == 2:  # mean and log deviation
            with torch.no_grad():
                weights[1, ..., 1] = -30.0
    found = _toys.evaluated(model)
    assert torch.isnan(found.information[1])
    torch.testing.assert_close(found.information[[0, 2]], whole.information[[0, 2]])
