"""Small convolutional encoders and decoders of images [B, C, H, W], started from a seed; ordinary torch modules."""

from collections.abc import Sequence
from typing import TypeVar

import torch
from torch import Tensor, nn

from tutelage import draws
from tutelage.autoencoders.likelihoods import Kind
from tutelage.errors import TutelageError

Module = TypeVar("Module", bound=nn.Module)


class ConvEncoder(nn.Module):
    """Two convolutions that halve the image, one dense layer: images -> mean and log-variance of the code."""

    def __init__(self, shape: Sequence[int], latent: int, width: int) -> None:
        super().__init__()
        channels, height, across = shape
        self.net = nn.Sequential(
            nn.Conv2d(channels, width, 3, stride=2, padding=1),
            nn.SiLU(),
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1),
            nn.SiLU(),
            nn.Flatten(),
            nn.Linear(2 * width * (height // 4) * (across // 4), 2 * latent),
        )

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """[B, C, H, W] -> [B, k] twice."""
        mean, log_variance = self.net(x).chunk(2, dim=1)
        return mean, log_variance


class ConvDecoder(nn.Module):
    """One dense layer, two convolutions that double the image: codes -> what ``kind`` of distribution speaks of the
    pixels.

    normal: means, and one log-variance that all pixels share, which starts for pixels between 0 and 1; bernoulli:
    logits; categorical: logits of K levels.
    """

    def __init__(self, shape: Sequence[int], latent: int, kind: Kind, width: int, levels: int) -> None:
        super().__init__()
        channels, height, across = shape
        self.levels = levels if kind == "categorical" else 1
        self.net = nn.Sequential(
            nn.Linear(latent, 2 * width * (height // 4) * (across // 4)),
            nn.SiLU(),
            nn.Unflatten(1, (2 * width, height // 4, across // 4)),
            nn.Conv2d(2 * width, 4 * width, 3, padding=1),
            nn.PixelShuffle(2),
            nn.SiLU(),
            nn.Conv2d(width, 4 * channels * self.levels, 3, padding=1),
            nn.PixelShuffle(2),
        )
        self.kind = kind
        self.log_variance = nn.Parameter(torch.full((), -2.0)) if kind == "normal" else None

    def forward(self, z: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        """[B, k] -> [B, C, H, W], with the log-variance beside it, or [B, C, H, W, K]."""
        out = self.net(z)
        if self.log_variance is not None:
            return out, self.log_variance.expand_as(out)
        if self.kind == "bernoulli":
            return out
        return out.unflatten(1, (-1, self.levels)).movedim(2, -1)


def conv_encoder(shape: Sequence[int], latent: int, *, width: int = 16, seed: int = 0) -> ConvEncoder:
    """Convolutional encoder of images.

    Parameters
    ----------
    shape
        (C, H, W) with sides that are multiples of 4.
    latent
        Dimension of the code.
    width
        Channels.
    seed
        Of the weights.

    Returns
    -------
    Module
        From images [B, C, H, W] to mean and log-variance, [B, latent] each.

    Examples
    --------
    >>> mean, log_variance = conv_encoder((1, 8, 8), 3)(torch.zeros(2, 1, 8, 8))
    >>> mean.shape, log_variance.shape
    (torch.Size([2, 3]), torch.Size([2, 3]))
    """
    return started(ConvEncoder(checked_shape(shape), _sized(latent, width), width), seed, "conv-encoder")


def conv_decoder(
    shape: Sequence[int], latent: int, kind: Kind = "normal", *, width: int = 16, levels: int = 256, seed: int = 0
) -> ConvDecoder:
    """Convolutional decoder of images.

    Parameters
    ----------
    shape
        (C, H, W) with sides that are multiples of 4.
    latent
        Dimension of the code.
    kind
        As in :class:`MutualAutoencoder`.
    width
        Channels.
    levels
        Values of a categorical pixel.
    seed
        Of the weights.

    Returns
    -------
    Module

    Examples
    --------
    >>> conv_decoder((1, 28, 28), 3, "bernoulli")(torch.zeros(2, 3)).shape
    torch.Size([2, 1, 28, 28])
    """
    if kind not in ("normal", "bernoulli", "categorical") or levels < 2:
        raise TutelageError(
            f"pixels must be 'normal', 'bernoulli' or 'categorical' with at least 2 levels, got {kind!r}"
        )
    return started(ConvDecoder(checked_shape(shape), _sized(latent, width), kind, width, levels), seed, "conv-decoder")


def started(module: Module, seed: int, stream: str) -> Module:
    """The module with all weights drawn anew from the seed, uniform in +-sqrt(3 / fan in); biases start at 0."""
    with torch.no_grad():
        for name, p in module.named_parameters():
            if p.ndim == 1:
                p.zero_()
            elif p.ndim > 1:
                # Variance 1 / fan in, whatever torch's own defaults become in another version.
                unit = 2 * draws.uniforms(draws.keys([seed], f"{stream}-{name}"), p.numel()) - 1
                p.copy_(unit.view_as(p) * (3 / p[0].numel()) ** 0.5)
    return module


def checked_shape(shape: Sequence[int]) -> tuple[int, int, int]:
    """Channels, height, width; an error unless both sides can be halved twice."""
    if len(shape) != 3 or min(shape) < 1 or shape[1] % 4 or shape[2] % 4:
        raise TutelageError(
            f"images of shape {list(shape)} are not (channels, height, width) with sides multiples of 4"
        )
    return shape[0], shape[1], shape[2]


def _sized(latent: int, width: int) -> int:
    if latent < 1 or width < 1:
        raise TutelageError(f"latent and width must be at least 1, got {latent} and {width}")
    return latent
