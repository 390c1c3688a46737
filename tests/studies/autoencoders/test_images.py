"""Models of images: what claims read off known ones, and the study at its smallest."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from tutelage.studies.kept import Kept

from tutelage.autoencoders import Bounds, Information
from tutelage.data import blobs
from tutelage.lab import Results
from tutelage.studies import judge
from tutelage.studies.autoencoders import _images
from tutelage.studies.autoencoders._images import BITS, GREY, SIZES, Arm, Evidence, Size, Trained, pixels, probe
from tutelage.studies.autoencoders.images import accuracy, beside_beta, images, misses, rises

SIZE = Size("blobs", 2, (Arm(BITS, (1.0, 2.0), (0.5,), 4, 1e-3, 1.0), Arm(GREY, (4.0,), (), 4, 1e-3, 1.0)), 20, 20, 4)


def _model(decoder: str, target: float | None, beta: float, seed: int, low: float, share: float) -> Trained:
    about = Information(target, Bounds(low, 0.1, low + 0.5, 0.1), -9.0, 0.1, -8.0, 1.0, -8.5, 3, 8, 0.5)
    return Trained(decoder, target, beta, seed, about, share, share)


def _known() -> Evidence:
    """Two seeds; of the second everything is as in the first, with 0.1 nats and 0.1 of the probe more."""
    first = [(BITS, None, 1.0, 0.5, 0.3), (BITS, None, 0.5, 1.5, 0.5), (BITS, 1.0, 1.0, 1.0, 0.45)]
    first += [(BITS, 2.0, 1.0, 2.2, 0.6), (GREY, None, 1.0, 9.0, 0.7), (GREY, 4.0, 1.0, 5.0, 0.6)]
    models = [
        _model(decoder, target, beta, seed, low + 0.1 * seed, share + 0.1 * seed)
        for decoder, target, beta, low, share in first
        for seed in range(2)
    ]
    return Evidence(SIZE, models)


def test_targets_missed_as_a_share():
    found = misses(_known())
    assert np.allclose(found["strong decoder, M = 1"], [0, 0.1])
    assert np.allclose(found["strong decoder, M = 2"], [0.1, 0.15])
    assert np.allclose(found["weak decoder, M = 4"], [0.25, 0.275])


def test_rises_are_seed_by_seed():
    found = rises(_known(), accuracy)
    assert list(found) == ["strong decoder, M = 1 to 2"]
    assert np.allclose(found["strong decoder, M = 1 to 2"], [15, 15])


def test_beta_vaes_are_met_at_equal_information():
    found = beside_beta(_known(), accuracy)
    assert np.allclose(found["M = 1"], [5, 5])  # half-way between 30 and 50 %
    assert list(found) == ["M = 1"]  # none of them carries as much as 2


def test_the_probe_reads_what_is_there():
    y = torch.arange(300) % 3
    exact = torch.nn.functional.one_hot(y).double() @ torch.tensor([[1.0, 2.0], [0.0, -1.0], [3.0, 0.5]]).double()
    assert probe(exact, y, exact, y) == 1.0
    noise = torch.randn(300, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert abs(probe(noise[:150], y[:150], noise[150:], y[150:]) - 1 / 3) < 4 * math.sqrt(2 / 9 / 150)


def test_pixels_are_grey_or_bits():
    made = blobs(30, 10)
    grey, test = pixels(made, GREY)
    assert grey.shape == (30, 1, 8, 8)
    assert test.shape == (10, 1, 8, 8)
    assert 0 <= float(grey.min()) < float(grey.max()) <= 1
    large = replace(made, train=np.kron(made.train, np.ones((1, 3, 3, 1), np.uint8))[:, :20, :20], test=made.test)
    bits, _ = pixels(large, BITS)
    assert bits.shape == (30, 1, 8, 8)
    assert set(bits.unique().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_every_scale_has_both_decoders(scale):
    assert [arm.decoder for arm in SIZES[scale].arms] == [BITS, GREY]
    assert all(arm.models[0] == (None, 1.0) and len(arm.targets) > 1 for arm in SIZES[scale].arms)


def test_the_study_runs(monkeypatch):
    monkeypatch.setitem(_images.SIZES, "smoke", replace(SIZES["smoke"], refine=1, samples=8, tested=20))
    plan = images.plan("smoke")
    told: list[float] = []
    assert plan.evidence is not None
    found = plan.evidence(Results([]), told.append)
    assert told[-1] == 1.0
    verdicts = [v for claim in plan.claims for v in judge(claim, found)]
    assert {v.claim for v in verdicts} == {claim.sentence for claim in plan.claims}
    rows = plan.numbers(found).to_pylist()
    assert len(rows) == 2 * (4 + 3)
    assert all(row["lower"] == row["lower"] for row in rows)
    assert len(plan.figure(found).axes) == 6


def test_what_is_kept_is_not_trained_again(monkeypatch):
    size = replace(SIZE, seeds=1, refine=1, samples=8)
    kept = Kept()
    first = _images.look(size, kept, lambda share: None)
    monkeypatch.setattr(_images, "judged", None)
    assert _images.look(size, kept, lambda share: None) == first
    with pytest.raises(TypeError):
        _images.look(replace(size, samples=9), kept, lambda share: None)
