"""Models of images: what claims read off known ones, and the study at its smallest."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from tutelage.autoencoders.bounds import Bounds
from tutelage.autoencoders.settings import Information
from tutelage.autoencoders.studies import _image_codes as codes
from tutelage.autoencoders.studies import images as study
from tutelage.autoencoders.studies._image_codes import (
    BITS,
    GREY,
    ImageAutoencoder,
    ImageCode,
    ImageCodes,
    pixels,
    probe,
)
from tutelage.autoencoders.studies.images import (
    BETAS,
    TARGETS,
    accuracy,
    autoencoders,
    beside_beta,
    images,
    misses,
    rises,
)
from tutelage.data.blobs import blobs
from tutelage.lab import Results, Store, execute
from tutelage.studies import judge

SMALL = ImageAutoencoder(
    images="blobs", decoder=BITS, steps=4, learning_rate=1e-3, penalty=1.0, probed=20, tested=20, refine=1, samples=8
)


def _model(decoder: str, target: float | None, beta: float, seed: int, low: float, share: float) -> ImageCode:
    about = Information(target, Bounds(low, 0.1, low + 0.5, 0.1), -9.0, 0.1, -8.0, 1.0, -8.5, 3, 8, 0.5)
    return ImageCode(decoder, target, beta, seed, about, share, share)


def _known() -> ImageCodes:
    """Two seeds; of the second everything is as in the first, with 0.1 nats and 0.1 of the probe more."""
    first = [(BITS, None, 1.0, 0.5, 0.3), (BITS, None, 0.5, 1.5, 0.5), (BITS, 1.0, 1.0, 1.0, 0.45)]
    first += [(BITS, 2.0, 1.0, 2.2, 0.6), (GREY, None, 1.0, 9.0, 0.7), (GREY, 4.0, 1.0, 5.0, 0.6)]
    models = [
        _model(decoder, target, beta, seed, low + 0.1 * seed, share + 0.1 * seed)
        for decoder, target, beta, low, share in first
        for seed in range(2)
    ]
    return ImageCodes("blobs", models)


def test_targets_missed_as_a_share():
    found = misses(_known())
    assert np.allclose(found["strong decoder, M = 1"].values, [0.5, 0.6])  # bounds from M to M + 1/2
    assert np.allclose(found["strong decoder, M = 2"].values, [0.35, 0.4])
    assert np.allclose(found["weak decoder, M = 4"].values, [0.375, 0.4])
    assert np.allclose(found["weak decoder, M = 4"].at_best, [0.25, 0.275])  # the nearer bound


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
    train, test_images = (np.kron(x, np.ones((1, 3, 3, 1), np.uint8))[:, :20, :20] for x in (made.train, made.test))
    large = replace(made, train=train, test=test_images)
    bits, _ = pixels(large, BITS)
    assert bits.shape == (30, 1, 8, 8)
    assert set(bits.unique().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_every_scale_has_both_decoders(scale):
    found = autoencoders(scale)
    assert list(dict.fromkeys(e.decoder for e in found)) == [BITS, GREY]
    for decoder in (BITS, GREY):
        own = [(e.target, e.beta) for e in found if e.decoder == decoder and e.seed == found[0].seed]
        assert own[0] == (None, 1.0)
        assert len(own) == 1 + len(TARGETS[scale][decoder]) + len(BETAS[scale][decoder])
        assert len(TARGETS[scale][decoder]) > 1


def test_the_study_runs(monkeypatch, tmp_path):
    monkeypatch.setitem(study.JUDGED, "smoke", study.JUDGED["smoke"] | {"refine": 1, "samples": 8, "tested": 20})
    plan = images.plan("smoke")
    told: list[float] = []
    results = execute(plan.experiments, Store(tmp_path), device="cpu", on_progress=told.append)
    found = plan.view(Results(results))
    assert sum(told) == pytest.approx(sum(experiment.cost for experiment in plan.experiments))
    verdicts = [v for claim in plan.claims for v in judge(claim, found)]
    assert {v.claim for v in verdicts} == {claim.sentence for claim in plan.claims}
    assert len(found.models) == 2 * (4 + 3)
    assert all(np.isfinite(model.information.bounds.lower) for model in found.models)
    assert len(plan.figure(found).axes) == 6


def test_every_setting_decides_the_hash():
    changes = {
        "images": "digits", "decoder": GREY, "target": 1.0, "beta": 0.5, "latent": 4, "steps": 5, "batch": 32,
        "learning_rate": 1e-2, "penalty": 2.0, "width": 4, "refine": 2, "probed": 10, "tested": 10, "samples": 9,
        "seed": 1,
    }  # fmt: skip
    assert set(changes) == set(ImageAutoencoder.model_fields)
    experiments = [SMALL] + [SMALL.model_copy(update={name: value}) for name, value in changes.items()]
    assert len({experiment.hash for experiment in experiments}) == len(experiments)


def test_what_is_stored_is_not_trained_again(monkeypatch, tmp_path):
    first = codes.image_codes(Results(execute([SMALL], Store(tmp_path), device="cpu")))
    monkeypatch.setattr(ImageAutoencoder, "run", None)
    assert codes.image_codes(Results(execute([SMALL], Store(tmp_path), device="cpu"))) == first
    with pytest.raises(TypeError):
        execute([SMALL.model_copy(update={"samples": 9})], Store(tmp_path), device="cpu")
