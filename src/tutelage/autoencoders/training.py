r"""Training with the information asked for (seed 004, Algorithm 4.1).

.. math:: \max\; \mathcal{L}(p, q) - C\, |\hat I - M|, \qquad
    \hat I = H(z) + E_{p(z) p(x|z)} \log r(z|x) \le I(x; z) \qquad (004, eqs. 4.10, 4.11)

The estimator r is trained beside the model, one step for each of its steps, on samples of the model alone: it has no way
to see data. The sign of I - M comes from samples that are not those of the gradient.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from tutelage import draws
from tutelage.autoencoders.parts import CategoricalDecoder, NormalDecoder, NormalEncoder, TableEncoder
from tutelage.errors import Refusal

Encoder = NormalEncoder | TableEncoder
Decoder = NormalDecoder | CategoricalDecoder
Sampler = Callable[[Tensor, int, int], Tensor]
"""Data: (keys [S], how many, place of the first) -> [S, B, d] or symbols [S, B]."""

_SPAN = 50  # steps whose draws are made at a time
_MEMORY = 0.98  # of the running mean that is reported as the estimate


@dataclass(frozen=True)
class Model:
    """S models: decoder, encoder and estimator with one network each a member, and a latent of so many dimensions."""

    decoder: Decoder
    encoder: Encoder
    estimator: Encoder
    latent: int = 1

    @property
    def prior_entropy(self) -> float:
        """H(z) of N(0, I): (k/2) log(2 pi e)."""
        return 0.5 * self.latent * math.log(2 * math.pi * math.e)


@dataclass(frozen=True)
class Settings:
    """How the models are trained.

    penalty: C of (4.11); resample: k of the resampling encoder, 1 is the plain one; beta: factor of the KL term;
    warm_up: steps over which that factor rises from 0; free_bits: nats of KL that cost nothing; gradient: how the
    information of a discrete decoder is differentiated, by the sum over all symbols or by REINFORCE.
    """

    steps: int = 4000
    batch: int = 128
    learning_rate: float = 1e-3
    penalty: float = 1.0
    resample: int = 1
    beta: float = 1.0
    warm_up: int = 0
    free_bits: float = 0.0
    gradient: Literal["sum", "reinforce"] = "sum"

    def __post_init__(self) -> None:
        if not self.penalty > 0:
            raise Refusal(f"the penalty C is above 0, not {self.penalty:g}; leave out the target for a plain VAE")
        if self.resample < 1 or self.batch < 2 or self.steps < 1:
            raise Refusal("training needs at least one step, two samples a batch and one sample to resample from")
        if self.resample > 1 and (self.beta != 1 or self.warm_up or self.free_bits):
            raise Refusal("the resampling bound has no KL term to weigh: leave beta, warm_up and free_bits alone")


@dataclass(frozen=True, eq=False)
class Course:
    """What training told on its way, at the recorded steps: the running estimate of I and the ELBO, [T, S] each."""

    steps: tuple[int, ...]
    estimate: Tensor
    elbo: Tensor


def train_models(
    model: Model,
    data: Sampler,
    targets: Sequence[float | None],
    seeds: Sequence[int],
    settings: Settings | None = None,
    *,
    most: float | None = None,
    record: Sequence[int] = (),
    on_progress: Callable[[float], None] | None = None,
) -> Course:
    """Train all members in place; targets: M of each member, None for a plain VAE.

    most: the entropy of the data where they are discrete; no more information than that can be asked for.
    """
    how = settings or Settings()
    wanted = _targets(targets, seeds, most)
    plain = wanted.isnan()
    theta = [*model.decoder.parameters(), *model.encoder.parameters()]
    up, aside = (torch.optim.Adam(p, how.learning_rate) for p in (theta, model.estimator.parameters()))
    noise = _Noise(model, seeds, how)
    information = torch.zeros(len(seeds))
    running, steps = torch.zeros(len(seeds)), tuple(sorted({*record, how.steps}))
    told: list[tuple[Tensor, Tensor]] = []
    for step in range(how.steps):
        part = noise(step)
        x = data(noise.data, how.batch, step * how.batch)
        bound = elbo(model, x, part.code, how, step)
        push = torch.where(plain, 0.0, how.penalty * (information - wanted.nan_to_num()).sign())
        gain = information_gain(model, part.latent[0], part.sample[0], how)
        (push * gain - bound).sum().backward()
        up.step()
        up.zero_grad()
        with torch.no_grad():
            z = part.latent[1]
            samples = model.decoder.sample(z, part.sample[1])
        aside.zero_grad()  # also what the step above left there
        seen = model.estimator.log_density(z, samples).mean(1)
        (-seen).sum().backward()
        aside.step()
        aside.zero_grad()
        information = model.prior_entropy + seen.detach()
        share = 1 / (step + 1) if step < 1 / (1 - _MEMORY) else 1 - _MEMORY
        running = running + share * (information - running)
        if step + 1 in steps:
            told.append((running.clone(), bound.detach().clone()))
        if (step + 1) % _SPAN == 0:
            if not (bound.isfinite().all() and information.isfinite().all()):
                lost = torch.nonzero(~(bound.isfinite() & information.isfinite()))[:, 0].tolist()
                raise Refusal(f"members {lost} diverged by step {step + 1}: lower the learning rate or the penalty")
            if on_progress:
                on_progress((step + 1) / how.steps)
    estimates, bounds = (torch.stack(column) for column in zip(*told, strict=True))
    return Course(steps, estimates, bounds)


def elbo(model: Model, x: Tensor, noise: Tensor, how: Settings, step: int = 10**9) -> Tensor:
    """The bound of every member on a batch: [S]; noise [S, k, B, latent].

    With k = 1 that is E log p(x|z) - KL(q(z|x) || p(z)), the KL in closed form; with more, E log mean_j of the weights
    p(x|z_j) p(z_j) / q(z_j|x), a bound of the resampling encoder's.
    """
    mean, log_std = model.encoder.moments(x)
    if how.resample == 1:
        z = mean + log_std.exp() * noise[:, 0]
        kl = 0.5 * (mean.square() + (2 * log_std).exp() - 1 - 2 * log_std).sum(-1)
        if how.free_bits:
            kl = kl.mean(1, keepdim=True).clamp_min(how.free_bits)
        weight = how.beta * (min(1.0, (step + 1) / how.warm_up) if how.warm_up else 1.0)
        return (model.decoder.log_density(x, z) - weight * kl).mean(1)
    members, k, batch, latent = noise.shape
    each = (a.unsqueeze(1).expand(members, k, batch, latent).reshape(members, k * batch, latent) for a in (mean, log_std))
    centre, spread = each
    z = centre + spread.exp() * noise.reshape(members, k * batch, latent)
    again = x.unsqueeze(1).expand(members, k, *x.shape[1:]).reshape(members, k * batch, *x.shape[2:])
    log_prior = normal(z)
    log_own = normal(noise.reshape(members, k * batch, latent)) - spread.sum(-1)
    weights = model.decoder.log_density(again, z) + log_prior - log_own
    return (weights.view(members, k, batch).logsumexp(1) - math.log(k)).mean(1)


def normal(z: Tensor) -> Tensor:
    """log N(z; 0, I)."""
    return -0.5 * (z.square() + math.log(2 * math.pi)).sum(-1)


def information_gain(model: Model, z: Tensor, noise: Tensor, how: Settings) -> Tensor:
    """A batch estimate of E log r(z|x) under the model whose gradient in the decoder is right: [S].

    Continuous x: by reparametrisation. Discrete x: by the sum over all symbols (C.17), or by REINFORCE with the mean of
    the batch as its baseline (C.19), whose value is 0 and whose gradient is not.
    """
    decoder = model.decoder
    if isinstance(decoder, NormalDecoder):
        return model.estimator.log_density(z, decoder.sample(z, noise)).mean(1)
    if how.gradient == "sum":
        members, batch, latent = z.shape
        symbols = torch.arange(decoder.symbols, device=z.device).repeat(batch).expand(members, -1)
        again = z.repeat_interleave(decoder.symbols, dim=1)
        with torch.no_grad():
            scores = model.estimator.log_density(again, symbols).view(members, batch, -1)
        return (decoder.log_probabilities(z).exp() * scores).sum(-1).mean(1)
    x = decoder.sample(z, noise)
    with torch.no_grad():
        scores = model.estimator.log_density(z, x)
        scores = scores - scores.mean(1, keepdim=True)
    log_p = decoder.log_density(x, z)
    return (scores * (log_p - log_p.detach())).mean(1) * z.shape[1] / (z.shape[1] - 1)


@dataclass(frozen=True)
class _Part:
    """Draws of one step: code [S, k, B, latent]; two batches of latents and of what turns them into samples."""

    code: Tensor
    latent: tuple[Tensor, Tensor]
    sample: tuple[Tensor, Tensor]


class _Noise:
    """All draws of the training, each member's from its own streams, made for several steps at a time."""

    def __init__(self, model: Model, seeds: Sequence[int], how: Settings) -> None:
        self.how, self.latent, self.discrete = how, model.latent, model.decoder.discrete
        self.features = 1 if self.discrete else model.decoder.net.biases[-1].shape[-1] // 2
        self.keys = {name: draws.keys(seeds, f"autoencoder-{name}") for name in ("code", "latent", "sample")}
        self.data = draws.keys(seeds, "autoencoder-data")
        self._begin = -1

    def __call__(self, step: int) -> _Part:
        begin = step - step % _SPAN
        if begin != self._begin:
            self._draw(begin)
        t = step - begin
        pairs = (self._latent[:, t], self._sample[:, t])
        (z, again), (noise, fresh) = ((a[:, 0], a[:, 1]) for a in pairs)
        return _Part(self._code[:, t], (z, again), (noise, fresh))

    def _draw(self, begin: int) -> None:
        how, kind = self.how, torch.get_default_dtype()
        sizes = {
            "code": (how.resample, how.batch, self.latent),
            "latent": (2, how.batch, self.latent),
            "sample": (2, how.batch) if self.discrete else (2, how.batch, self.features),
        }
        made = {}
        for name, size in sizes.items():
            count = math.prod(size)
            draw = draws.uniforms if self.discrete and name == "sample" else draws.normals
            made[name] = draw(self.keys[name], _SPAN * count, start=begin * count).to(kind)
            made[name] = made[name].view(-1, _SPAN, *size)
        self._code, self._latent, self._sample = made["code"], made["latent"], made["sample"]
        self._begin = begin


def _targets(targets: Sequence[float | None], seeds: Sequence[int], most: float | None) -> Tensor:
    if len(targets) != len(seeds):
        raise Refusal(f"there are {len(targets)} targets for {len(seeds)} members: give one each, None for a VAE")
    for target in targets:
        if target is not None and not 0 <= target < math.inf:
            raise Refusal(f"a target of {target:g} nats cannot be met: information lies at 0 or above")
        if target is not None and most is not None and target > most + 1e-9:
            raise Refusal(f"a target of {target:g} nats cannot be met: the data have {most:.4g} nats in all")
    return torch.tensor([math.nan if t is None else t for t in targets])
