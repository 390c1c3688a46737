"""Models of images with several targets beside VAEs and beta-VAEs, and what each of them carries."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor
from torch.nn import functional

from tutelage import draws
from tutelage.autoencoders import Bounds, Information, MutualAutoencoder, conv_decoder, conv_encoder, row_decoder
from tutelage.data import Images, blobs, load_images
from tutelage.studies.kept import Kept
from tutelage.studies.study import Scale

LATENT = 8
GREY, BITS = "weak", "strong"
"""Decoders: of grey pixels that the code alone ties together, and of black-and-white rows given the rows above."""


@dataclass(frozen=True)
class Arm:
    """Models with one decoder. targets: M; betas: of the beta-VAEs, the VAE is added; penalty: C."""

    decoder: str
    targets: tuple[float, ...]
    betas: tuple[float, ...]
    steps: int
    learning_rate: float
    penalty: float
    batch: int = 64
    width: int = 16

    @property
    def models(self) -> list[tuple[float | None, float]]:
        """Target and beta of every model; the VAE comes first."""
        return [(None, 1.0), *((None, beta) for beta in self.betas), *((target, 1.0) for target in self.targets)]


@dataclass(frozen=True)
class Size:
    """What a scale means here. images: "blobs", "digits", "mnist" or "fashion-mnist"; seeds: members.

    probed, tested: images that the probe learns from, and that models are judged on; refine: steps of the estimator
    alone, after training; samples: of the model, for the bounds.
    """

    images: str
    seeds: int
    arms: tuple[Arm, Arm]
    probed: int
    tested: int
    refine: int
    samples: int = 2048


SIZES: dict[Scale, Size] = {
    "smoke": Size(
        "blobs", 2, (Arm(BITS, (1.0, 2.0), (0.25,), 4, 8e-3, 2.0), Arm(GREY, (2.0,), (4.0,), 4, 3e-3, 10.0, width=4)),
        60, 60, 4, samples=32,
    ),
    "quick": Size(
        "digits", 3,
        (
            Arm(BITS, (1.0, 2.0, 4.0), (0.25,), 500, 8e-3, 2.0, batch=128),
            Arm(GREY, (2.0, 8.0), (4.0,), 500, 3e-3, 10.0),
        ),
        1_437, 360, 200,
    ),
    "paper": Size(
        "fashion-mnist", 4,
        (
            Arm(BITS, (1.0, 2.0, 3.0, 4.0, 6.0), (0.25, 0.5), 1_000, 8e-3, 2.0, batch=128),
            Arm(GREY, (4.0, 8.0), (4.0, 16.0), 800, 3e-3, 10.0, width=8),
        ),
        5_000, 2_000, 300,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Trained:
    """One model. probe: share of test images whose class a linear probe reads off a code drawn from q(z|x); mean_probe:
    off the code's mean, which has none of the code's noise and so may say more than the code does."""

    decoder: str
    target: float | None
    beta: float
    seed: int
    information: Information
    probe: float
    mean_probe: float

    @property
    def name(self) -> str:
        if self.target is not None:
            return f"M = {self.target:g}"
        return "VAE" if self.beta == 1 else f"beta = {self.beta:g}"


@dataclass(frozen=True)
class Job:
    """One model to train."""

    arm: Arm
    target: float | None
    beta: float
    seed: int

    def about(self, size: Size) -> dict[str, Any]:
        """All that decides its numbers."""
        arm = {name: value for name, value in asdict(self.arm).items() if name not in ("targets", "betas")}
        judged = {name: getattr(size, name) for name in ("images", "probed", "tested", "refine", "samples")}
        return {"what": "image-code", **arm, "target": self.target, "beta": self.beta, "seed": self.seed, **judged}

    def trained(self, arrays: Mapping[str, np.ndarray]) -> Trained:
        """The model of these numbers."""
        told = {name: float(value) for name, value in arrays.items()}
        bounds = Bounds(*(told.pop(name) for name in Bounds.__dataclass_fields__))
        probes = told.pop("probe"), told.pop("mean_probe")
        active, latent = int(told.pop("active")), int(told.pop("latent"))
        information = Information(self.target, bounds, active=active, latent=latent, **told)
        return Trained(self.arm.decoder, self.target, self.beta, self.seed, information, *probes)


@dataclass(frozen=True)
class Evidence:
    """All models of all seeds."""

    size: Size
    models: list[Trained]

    def of(self, decoder: str, name: str) -> list[Trained]:
        """One model's seeds in order."""
        return [model for model in self.models if (model.decoder, model.name) == (decoder, name)]

    def values(self, decoder: str, name: str, read: Callable[[Trained], float]) -> np.ndarray:
        """[S]."""
        return np.array([read(model) for model in self.of(decoder, name)])

    def arm(self, decoder: str) -> Arm:
        return next(arm for arm in self.size.arms if arm.decoder == decoder)


def look(size: Size, kept: Kept, progress: Callable[[float], None]) -> Evidence:
    """Train every model with every seed; then let its estimator settle on it, and judge it on images not seen.

    Models that are kept are not trained again.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    images = blobs(200, 60) if size.images == "blobs" else load_images(size.images)
    jobs = [Job(arm, *model, seed) for arm in size.arms for model in arm.models for seed in range(size.seeds)]
    costs = np.cumsum([job.arm.steps for job in jobs])
    data = {arm.decoder: pixels(images, arm.decoder, device) for arm in size.arms}
    found = []
    for place, job in enumerate(jobs):
        arrays = kept.recall(job.about(size))
        if arrays is None:
            began = perf_counter()
            arrays = judged(size, job, images, *data[job.arm.decoder])
            kept.keep(job.about(size), arrays, perf_counter() - began)
        found.append(job.trained(arrays))
        progress(float(costs[place] / costs[-1]))
    return Evidence(size, found)


def pixels(images: Images, decoder: str, device: str = "cpu") -> tuple[Tensor, Tensor]:
    """Training and test images [N, 1, H, W]: grey between 0 and 1, or 8 x 8 of 0 and 1, split at the mean grey."""
    x, test = (
        torch.from_numpy(part).to(device).float().div(255).mean(3).unsqueeze(1) for part in (images.train, images.test)
    )
    if decoder == GREY:
        return x, test
    margin = -x.shape[2] % 8 // 2
    small, small_test = (functional.adaptive_avg_pool2d(functional.pad(p, [margin] * 4), 8) for p in (x, test))
    return (small > small.mean()).float(), (small_test > small.mean()).float()


def judged(size: Size, job: Job, images: Images, x: Tensor, test: Tensor) -> dict[str, np.ndarray]:
    """Numbers of one model, by their names in :class:`.Information`, :class:`.Bounds` and :class:`Trained`."""
    model, test = _fitted(size, job, x), test[: size.tested]
    labels = torch.as_tensor(images.train_labels[: size.probed]), torch.as_tensor(images.test_labels[: size.tested])
    codes = [[part.double().cpu() for part in model.encode(p)] for p in (x[: size.probed], test)]
    noise = draws.normals(draws.keys([job.seed], "probe"), sum(mean.numel() for mean, _ in codes)).view(-1, LATENT)
    parts = zip(codes, noise.split([len(mean) for mean, _ in codes]), strict=True)
    drawn = [mean + deviation * e for (mean, deviation), e in parts]
    probes = [probe(a, labels[0], b, labels[1]) for a, b in (drawn, [mean for mean, _ in codes])]
    about = asdict(model.information(test, samples=size.samples))
    told = {**about.pop("bounds"), **about, "probe": probes[0], "mean_probe": probes[1]}
    return {name: np.array(float(value)) for name, value in told.items() if name != "target"}


def _fitted(size: Size, job: Job, x: Tensor) -> MutualAutoencoder:
    arm, seed, shape = job.arm, job.seed, tuple(x.shape[1:])
    encoder, estimator = (conv_encoder(shape, LATENT, width=arm.width, seed=2 * seed + i) for i in range(2))
    decoder = conv_decoder(shape, LATENT, width=arm.width, seed=seed) if arm.decoder == GREY else None
    model = MutualAutoencoder(
        encoder.to(x.device),
        (decoder or row_decoder(shape, LATENT, seed=seed)).to(x.device),
        job.target,
        kind="normal" if decoder else "law",
        penalty=arm.penalty,
        beta=job.beta,
        estimator=estimator.to(x.device),
    )
    model.fit(x, steps=arm.steps, batch=arm.batch, learning_rate=arm.learning_rate, settle=0.5, seed=seed)
    return model.refine(size.refine, learning_rate=arm.learning_rate, seed=seed)


def probe(codes: Tensor, labels: Tensor, test: Tensor, test_labels: Tensor, ridge: float = 1e-3) -> float:
    """Share of test codes that a linear probe classifies, fitted by least squares to one-hot labels.

    codes [N, k], labels [N]; each code is brought to mean 0 and deviation 1; ridge: times N, added to the normal
    equations.

    >>> x = torch.tensor([[-1.0], [-2.0], [1.0], [2.0]], dtype=torch.float64)
    >>> probe(x, torch.tensor([0, 0, 1, 1]), x, torch.tensor([0, 0, 1, 0]))
    0.75
    """
    mean, deviation = codes.mean(0), codes.std(0).clamp_min(1e-12)
    a, b = (functional.pad((part - mean) / deviation, (0, 1), value=1.0) for part in (codes, test))
    wanted = functional.one_hot(labels.long()).to(a.dtype)
    weights = torch.linalg.solve(a.mT @ a + ridge * len(a) * torch.eye(a.shape[1], dtype=a.dtype), a.mT @ wanted)
    return float(((b @ weights).argmax(1) == test_labels).double().mean())


def table(evidence: Evidence) -> pa.Table:
    """One row a model and seed."""
    rows = []
    for model in evidence.models:
        about = asdict(model.information)
        bounds = about.pop("bounds")
        rows.append(
            {
                "images": evidence.size.images,
                "decoder": model.decoder,
                "model": model.name,
                "beta": model.beta,
                "seed": model.seed,
                **bounds,
                **about,
                "collapsed": model.information.collapsed,
                "probe": model.probe,
                "mean_probe": model.mean_probe,
            }
        )
    return pa.Table.from_pylist(rows)
