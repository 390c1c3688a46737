"""The study's black boxes, and its claims on invented errors."""

import numpy as np
import torch
from matplotlib.figure import Figure

from tutelage.functions.studies._random_relu import random_relu
from tutelage.functions.studies.reconstruction import (
    NOISY,
    RecoveredNetwork,
    WeightRecovery,
    answers,
    draw,
    enough_lines,
    exact,
    part_of_study,
    proportional,
    table,
    typical,
)
from tutelage.lab import Context
from tutelage.networks import outputs


def seen(kind, error, noise=0.0, lines=512):
    return RecoveredNetwork(kind, (6, 6, 6, 1), 0, noise, lines, error, 0.0, 1000)


def test_answers_are_within_the_noise_and_depend_on_the_seed_alone():
    truth, x = random_relu((3, 4, 1), 0.3, [0]), torch.ones(50, 3, dtype=torch.float64)
    one, two = answers(truth, 1e-3, 7)(x), answers(truth, 1e-3, 7)(x)
    assert (one == two).all()
    off = (one - outputs(truth, x)[0]).abs()
    assert 0 < off.max() <= 1e-3
    assert (answers(truth, 0.0, 7)(x) == outputs(truth, x)[0]).all()


def test_an_identifiable_network_is_recovered():
    found = WeightRecovery(source="identifiable", widths=(2, 2, 1), lines=64, seeds=(1, 2)).run(Context())
    assert found["error"].shape == (2,)
    assert (found["error"] < 1e-10).all()
    assert (found["queries"] > 0).all()


def test_black_boxes_belong_to_the_panel_of_their_settings():
    def part(**settings):
        return part_of_study(WeightRecovery(**{"source": "random", "widths": NOISY, "seeds": 1} | settings))

    assert part(noise=1e-8) == "noisy"
    assert part(lines=8) == part() == "few lines"
    assert part(widths=(20, 10, 1)) == "random"
    assert part(source="identifiable", widths=(2, 2, 1)) == "identifiable"


def test_claims_are_judged_by_kind_and_setting():
    found = [seen("identifiable", 1e-14), seen("random", 1e-12), seen("random", 1.0), seen("noisy", 1e-7, 1e-8)]
    found += [seen("few lines", 1e-12, lines=n) for n in (8, 128)]
    assert np.allclose(exact.values(found)["identifiable 6-6-6-1"], -14)
    assert typical.values(found)["random 6-6-6-1"].tolist() == [1, 0]
    assert np.allclose(proportional.values(found)["noise 1e-08"], 1)
    assert enough_lines.values(found)["few lines 6-6-6-1"].tolist() == [1]
    assert table(found).num_rows == 6
    assert isinstance(draw(found), Figure)
