"""Decoders p(x|z) and encoders q(z|x) of small models, members side by side.

A part holds S networks of its own; the estimator r(z|x) of :mod:`.training` is one more encoder, which is only ever
given samples of the model. Latents have the prior N(0, I).
"""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.printing import printed

_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
WIDEST = 8.0
"""The largest |log deviation| a network may answer with."""


def uniform_weights(seeds: Sequence[int], stream: str, fan_in: int, *shape: int) -> nn.Parameter:
    """Entries uniform in +-1/sqrt(fan in), from the stream of each member's seed: [S, *shape]."""
    # Each member has a stream of its own, so it starts the same in any stack.
    entries = (2 * draws.uniforms(draws.keys(seeds, stream), math.prod(shape)) - 1) / fan_in**0.5
    return nn.Parameter(entries.view(len(seeds), *shape).to(torch.get_default_dtype()))


class StackedMLP(nn.Module):
    """S networks with tanh units between dense layers: [S, B, in] -> [S, B, out].

    Weights start uniform in +-1/sqrt(fan in), biases at 0, from the stream of each member's seed.
    """

    def __init__(self, seeds: Sequence[int], widths: Sequence[int], stream: str) -> None:
        super().__init__()
        weights, biases = [], []
        for layer, (fan_in, fan_out) in enumerate(pairwise(widths)):
            weights.append(uniform_weights(seeds, f"{stream}-{layer}", fan_in, fan_in, fan_out))
            biases.append(nn.Parameter(torch.zeros(len(seeds), 1, fan_out)))
        self.weights, self.biases = nn.ParameterList(weights), nn.ParameterList(biases)

    def forward(self, x: Tensor) -> Tensor:
        for layer, (w, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = torch.baddbmm(b, x if layer == 0 else x.tanh(), w)
        return x


def normal_log_density(x: Tensor, mean: Tensor, log_std: Tensor) -> Tensor:
    """log N(x; mean, exp(log_std)^2), summed over the last axis."""
    return (-0.5 * ((x - mean) * (-log_std).exp()).square() - log_std - _HALF_LOG_2PI).sum(-1)


class NormalDecoder(nn.Module):
    """p(x|z) = N(mean(z), diag deviation(z)^2), both from one network with two hidden layers."""

    discrete = False

    def __init__(self, seeds: Sequence[int], latent: int = 1, features: int = 1, hidden: int = 50) -> None:
        super().__init__()
        self.net = StackedMLP(seeds, (latent, hidden, hidden, 2 * features), "decoder")

    def moments(self, z: Tensor) -> tuple[Tensor, Tensor]:
        mean, log_std = self.net(z).chunk(2, dim=-1)
        return mean, log_std.clamp(-WIDEST, WIDEST)

    def log_density(self, x: Tensor, z: Tensor) -> Tensor:
        """log p(x|z): x [S, B, d], z [S, B, k] -> [S, B]."""
        return normal_log_density(x, *self.moments(z))

    def sample(self, z: Tensor, noise: Tensor) -> Tensor:
        """x = mean(z) + deviation(z) noise, through which gradients flow."""
        mean, log_std = self.moments(z)
        return mean + log_std.exp() * noise


class CategoricalDecoder(nn.Module):
    """p(x|z) over a few symbols, by a network with two hidden layers and a softmax."""

    discrete = True

    def __init__(self, seeds: Sequence[int], symbols: int, latent: int = 1, hidden: int = 50) -> None:
        super().__init__()
        self.symbols = symbols
        self.net = StackedMLP(seeds, (latent, hidden, hidden, symbols), "decoder")

    def log_probabilities(self, z: Tensor) -> Tensor:
        """[S, B, k] -> [S, B, symbols]."""
        return self.net(z).log_softmax(-1)

    def log_density(self, x: Tensor, z: Tensor) -> Tensor:
        """log p(x|z): symbols x int64 [S, B] -> [S, B]."""
        return self.log_probabilities(z).gather(-1, x.unsqueeze(-1)).squeeze(-1)

    def sample(self, z: Tensor, uniform: Tensor) -> Tensor:
        """Symbols by inversion of uniform draws [S, B]; gradients do not flow through them."""
        with torch.no_grad():
            cumulative = self.log_probabilities(z).exp().cumsum(-1)
            return (uniform.unsqueeze(-1) > cumulative[..., :-1]).sum(-1)


class NormalEncoder(nn.Module):
    """q(z|x) = N(mean(x), diag deviation(x)^2) from a network with two hidden layers."""

    def __init__(
        self, seeds: Sequence[int], features: int = 1, latent: int = 1, hidden: int = 50, stream: str = "encoder"
    ) -> None:
        super().__init__()
        self.net = StackedMLP(seeds, (features, hidden, hidden, 2 * latent), stream)

    def moments(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """[S, B, d] -> mean and log deviation [S, B, k]."""
        mean, log_std = self.net(x).chunk(2, dim=-1)
        return mean, log_std.clamp(-WIDEST, WIDEST)

    def log_density(self, z: Tensor, x: Tensor) -> Tensor:
        """log q(z|x): z [S, B, k], x [S, B, d] -> [S, B]."""
        return normal_log_density(z, *self.moments(x))


class TableEncoder(nn.Module):
    """q(z|x) with a mean and a deviation of its own for every symbol; means start a little apart."""

    def __init__(self, seeds: Sequence[int], symbols: int, latent: int = 1, stream: str = "encoder") -> None:
        super().__init__()
        start = draws.normals(draws.keys(seeds, stream), symbols * latent).view(len(seeds), symbols, latent)
        self.mean = nn.Parameter(0.1 * start.to(torch.get_default_dtype()))
        self.log_std = nn.Parameter(torch.zeros(len(seeds), symbols, latent))

    def moments(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Symbols int64 [S, B] -> mean and log deviation [S, B, k]."""
        if x.is_floating_point():
            raise TutelageError("a table of symbols encodes whole numbers, not real data: use a network")
        index = x.unsqueeze(-1).expand(*x.shape, self.mean.shape[-1])
        return self.mean.gather(1, index), self.log_std.clamp(-WIDEST, WIDEST).gather(1, index)

    def log_density(self, z: Tensor, x: Tensor) -> Tensor:
        """log q(z|x): z [S, B, k], symbols x int64 [S, B] -> [S, B]."""
        return normal_log_density(z, *self.moments(x))

    def log_densities(self, z: Tensor) -> Tensor:
        """log q(z|x) of every symbol x: [S, B, k] -> [S, B, symbols]."""
        log_std = self.log_std.clamp(-WIDEST, WIDEST)
        return normal_log_density(z.unsqueeze(2), self.mean.unsqueeze(1), log_std.unsqueeze(1))


Encoder = NormalEncoder | TableEncoder
Decoder = NormalDecoder | CategoricalDecoder


@printed
@dataclass(frozen=True)
class Model:
    """S stacked models: decoder, encoder and estimator r(z|x), each with its own parameters.

    The estimator describes the model, not the data: it is trained on samples of the model only.

    Parameters
    ----------
    decoder, encoder, estimator
        Stacked networks.
    latent
        Dimension of the code.
    """

    decoder: Decoder
    encoder: Encoder
    estimator: Encoder
    latent: int = 1

    @property
    def members(self) -> int:
        return next(self.decoder.parameters()).shape[0]

    @property
    def prior_entropy(self) -> float:
        """H(z) of N(0, I): (k/2) log(2 pi e)."""
        return 0.5 * self.latent * math.log(2 * math.pi * math.e)

    def weights(self) -> dict[str, Tensor]:
        """All weights by the name of their part and their own; as they are, not copies."""
        parts = {"decoder": self.decoder, "encoder": self.encoder, "estimator": self.estimator}
        return {f"{part}.{name}": w for part, net in parts.items() for name, w in net.state_dict().items()}

    def select(self, rows: Sequence[int] | Tensor, dtype: torch.dtype = torch.float64) -> "Model":
        """A copy of some members."""
        chosen = torch.as_tensor(rows)
        parts = (copy.deepcopy(part).to(dtype) for part in (self.decoder, self.encoder, self.estimator))
        model = Model(*parts, latent=self.latent)  # type: ignore[arg-type, misc]
        for part in (model.decoder, model.encoder, model.estimator):
            for parameter in part.parameters():
                parameter.data = parameter.data[chosen]
        return model


def normal_models(seeds: Sequence[int], hidden: int = 32, latent: int = 1) -> Model:
    """Models of numbers: networks with two hidden layers give means and deviations (Phuong 2021, section 4.6.1).

    Parameters
    ----------
    seeds
        One per member.
    hidden, latent
        Sizes.

    Returns
    -------
    Model
    """
    return Model(
        NormalDecoder(seeds, latent, 1, hidden),
        NormalEncoder(seeds, 1, latent, hidden),
        NormalEncoder(seeds, 1, latent, hidden, stream="estimator"),
        latent,
    )


def categorical_models(seeds: Sequence[int], symbols: int = 10, hidden: int = 32, latent: int = 1) -> Model:
    """Models of symbols: a softmax network decodes, one normal per symbol encodes (Phuong 2021, section 4.6.2).

    Parameters
    ----------
    seeds
        One per member.
    symbols, hidden, latent
        Sizes.

    Returns
    -------
    Model
    """
    if symbols < 2:
        raise TutelageError(f"symbols must be at least 2 for a categorical model, got {symbols}")
    return Model(
        CategoricalDecoder(seeds, symbols, latent, hidden),
        TableEncoder(seeds, symbols, latent),
        TableEncoder(seeds, symbols, latent, stream="estimator"),
        latent,
    )
