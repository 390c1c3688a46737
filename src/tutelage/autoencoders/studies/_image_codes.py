"""Autoencoders of images with a target or a beta, the experiment that trains one, and what their codes carry."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import torch
from pydantic import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt
from torch import Tensor
from torch.nn import functional

from tutelage import draws
from tutelage.autoencoders import MutualAutoencoder, conv_decoder, conv_encoder, row_decoder, settled_adam
from tutelage.autoencoders.bounds import Bounds
from tutelage.autoencoders.settings import Information
from tutelage.data import Images, load_images
from tutelage.data.blobs import blobs
from tutelage.lab import Context, Experiment, Results
from tutelage.lab.experiment import Arrays

GREY, BITS = "weak", "strong"
"""Decoders: of grey pixels that the code alone ties together, and of black-and-white rows given the rows above."""


class ImageAutoencoder(Experiment, kind="image-autoencoder", numerics=1):
    """Information in the code of one autoencoder of images, and how much of the class a linear probe reads off it."""

    images: str
    """A data set by name, or "blobs" for images made on the spot."""
    decoder: Literal["weak", "strong"]
    """Grey pixels given the code alone, or black-and-white rows given the code and the rows above."""
    target: NonNegativeFloat | None = None
    """Information in nats; None for a VAE or beta-VAE."""
    beta: NonNegativeFloat = 1.0
    """Factor of the KL term; 1 for a VAE."""
    latent: PositiveInt = 8
    steps: PositiveInt
    batch: PositiveInt = 64
    learning_rate: PositiveFloat
    penalty: PositiveFloat
    """C, the weight of the distance from the target."""
    width: PositiveInt = 16
    refine: NonNegativeInt
    """Steps of the estimator of information alone, after training."""
    probed: PositiveInt
    """Training images that the probe learns from."""
    tested: PositiveInt
    """Test images that the model is judged on."""
    samples: PositiveInt = 2048
    """Images of the model for the bounds on information."""
    seed: int = 0

    @property
    def cost(self) -> float:
        return 2e-2 * self.steps

    def run(self, context: Context) -> Arrays:
        x, labels, test, test_labels = _data(self.images, self.decoder, str(context.device))
        test, classes = test[: self.tested], (labels[: self.probed], test_labels[: self.tested])
        model = self._fitted(x)
        context.progress(0.9)
        codes = [[part.double().cpu() for part in model.encode(p)] for p in (x[: self.probed], test)]
        key = draws.keys([self.seed], "probe")
        noise = draws.normals(key, sum(mean.numel() for mean, _ in codes)).view(-1, self.latent)
        parts = zip(codes, noise.split([len(mean) for mean, _ in codes]), strict=True)
        drawn = [mean + deviation * e for (mean, deviation), e in parts]
        probes = [probe(a, classes[0], b, classes[1]) for a, b in (drawn, [mean for mean, _ in codes])]
        about = asdict(model.information(test, samples=self.samples))
        measures = {**about.pop("bounds"), **about, "probe": probes[0], "mean_probe": probes[1]}
        return {name: np.array([float(value)]) for name, value in measures.items() if name not in ("target", "latent")}

    def _fitted(self, x: Tensor) -> MutualAutoencoder:
        seed, shape = self.seed, tuple(x.shape[1:])
        encoder, estimator = (conv_encoder(shape, self.latent, width=self.width, seed=2 * seed + i) for i in range(2))
        weak = conv_decoder(shape, self.latent, width=self.width, seed=seed) if self.decoder == GREY else None
        model = MutualAutoencoder(
            encoder.to(x.device),
            (weak or row_decoder(shape, self.latent, seed=seed)).to(x.device),
            self.target,
            kind="normal" if weak else "distribution",
            penalty=self.penalty,
            beta=self.beta,
            estimator=estimator.to(x.device),
        )
        rate = self.learning_rate
        model.fit(x, settled_adam(self.steps, self.batch, rate, share=0.5), seed=seed)
        return model.refine(steps=self.refine, learning_rate=rate, seed=seed)


@lru_cache(maxsize=2)
def _data(name: str, decoder: str, device: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Training images and labels, test images and labels; labels on the CPU."""
    images = blobs(200, 60) if name == "blobs" else load_images(name)
    x, test = pixels(images, decoder, device)
    return x, torch.as_tensor(images.train_labels), test, torch.as_tensor(images.test_labels)


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


@dataclass(frozen=True)
class ImageCode:
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
class ImageCodes:
    """All models of all seeds."""

    images: str
    models: list[ImageCode]

    def of(self, decoder: str, name: str) -> list[ImageCode]:
        """One model's seeds in order."""
        return [model for model in self.models if (model.decoder, model.name) == (decoder, name)]

    def values(self, decoder: str, name: str, read: Callable[[ImageCode], float]) -> np.ndarray:
        """[S]."""
        return np.array([read(model) for model in self.of(decoder, name)])

    def targets(self, decoder: str) -> list[float]:
        """M of the models that have one."""
        return list(dict.fromkeys(m.target for m in self.models if m.decoder == decoder and m.target is not None))

    def betas(self, decoder: str) -> list[float]:
        """Of the beta-VAEs, without the VAE."""
        plain = (m for m in self.models if m.decoder == decoder and m.target is None)
        return list(dict.fromkeys(m.beta for m in plain if m.beta != 1))


def image_codes(results: Results) -> ImageCodes:
    """The models of all experiments."""
    return ImageCodes(next(iter(results)).setting("images"), [_code(result) for result in results])


def _code(result: Any) -> ImageCode:
    about: ImageAutoencoder = result.experiment
    measures = {name: float(array[0]) for name, array in result.arrays.items() if name not in ("member", "seed")}
    bounds = Bounds(*(measures.pop(name) for name in Bounds.__dataclass_fields__))
    probes = measures.pop("probe"), measures.pop("mean_probe")
    active = int(measures.pop("active"))
    information = Information(about.target, bounds, active=active, latent=about.latent, **measures)
    return ImageCode(about.decoder, about.target, about.beta, about.seed, information, *probes)
