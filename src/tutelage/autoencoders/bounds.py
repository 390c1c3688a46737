r"""Information of models whose latent is too large to integrate: a bound from below and one from above.

.. math:: H(z) + E \log r(z|x) \;\le\; I(x; z) \;\le\;
    E \log p(x|z) - E \log \tfrac{1}{k} \sum_j \frac{p(x|z_j)\, p(z_j)}{r(z_j|x)}

All means are over samples (z, x) of the model, z_j over r(z|x). The left is the infomax bound (Phuong 2021, Theorem
4.1); the right holds since the last mean is a lower bound of E log p(x). Both hold for every r, in expectation; the
samples are not those of any training.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from tutelage import draws
from tutelage.autoencoders.likelihoods import Likelihood, pair
from tutelage.autoencoders.objective import log_weights, standard_normal, to_prior
from tutelage.autoencoders.parts import CategoricalDecoder, Model
from tutelage.errors import TutelageError
from tutelage.printing import printed

_AHEAD = 1 << 15  # draws made at a time


class NamedDraws:
    """Draws one after the other, each name from its own counter-based stream, made many at a time.

    >>> a, b = NamedDraws(3, torch.device("cpu")), NamedDraws(3, torch.device("cpu"))
    >>> parts = torch.cat([a.normal("code", torch.Size((2,))) for _ in range(3)])
    >>> torch.equal(parts, b.normal("code", torch.Size((6,))))
    True
    """

    def __init__(self, seed: int, device: torch.device, prefix: str = "") -> None:
        self._seed, self._device, self._prefix = seed, device, prefix
        self._made: dict[str, Tensor] = {}
        self._at: dict[str, int] = {}

    def normal(self, name: str, shape: torch.Size) -> Tensor:
        """The next draws from N(0, 1)."""
        return self._next(name, shape.numel(), draws.normals).to(torch.get_default_dtype()).view(shape)

    def uniform(self, name: str, shape: torch.Size) -> Tensor:
        """The next draws from (0, 1)."""
        return self._next(name, shape.numel(), draws.uniforms).to(torch.get_default_dtype()).view(shape)

    def rows(self, count: int, bound: int) -> Tensor:
        """The next row numbers below ``bound``."""
        return self._next("rows", count, lambda key, many, start: draws.indices(key, many, bound, start))

    def _next(self, name: str, count: int, draw: Callable[[Tensor, int, int], Tensor]) -> Tensor:
        # Draws are made ahead to save calls; what is handed out does not depend on how far ahead.
        left = self._made.get(name)
        if left is None or len(left) < count:
            at, many = self._at.get(name, 0), max(count, _AHEAD)
            key = draws.keys([self._seed], f"mutual-autoencoder-{self._prefix}{name}", self._device)
            more = draw(key, many, at)[0]
            left, self._at[name] = more if left is None else torch.cat([left, more]), at + many
        self._made[name] = left[count:]
        return left[:count]


@printed
@dataclass(frozen=True)
class Bounds:
    """Lower and upper bound on I(x; z) in nats, with standard errors.

    Attributes
    ----------
    lower, lower_error, upper, upper_error
        Estimates and their standard errors.
    """

    lower: float
    lower_error: float
    upper: float
    upper_error: float

    @property
    def why(self) -> str:
        """What is odd about the numbers, in words; empty where nothing is."""
        if self.lower < 0:
            return "the lower bound is below 0: the estimator fits the model's posteriors worse than the prior does"
        if self.upper < self.lower - 4 * math.hypot(self.lower_error, self.upper_error):
            return "the upper bound is below the lower one by more than their errors: take more samples"
        return ""

    @property
    def interval(self) -> tuple[float, float]:
        """What is certain up to noise: no information is below 0."""
        low = max(0.0, self.lower)
        return low, max(low, self.upper)

    def __str__(self) -> str:
        low, high = (
            f"{v:.3f} (s.e. {e:.3f})" for v, e in ((self.lower, self.lower_error), (self.upper, self.upper_error))
        )
        text = f"{low} <= I <= {high} nats"
        return f"{text} ({self.why})" if self.why else text


def from_samples(log_r: Tensor, log_p: Tensor, log_marginal: Tensor, prior_entropy: float) -> Bounds:
    """Bounds from log r(z|x), log p(x|z) and a lower bound of log p(x) at samples of the model: [N] each.

    >>> one = torch.zeros(3)
    >>> print(from_samples(one - 1.4, one, one - 0.1, 1.4))
    0.000 (s.e. 0.000) <= I <= 0.100 (s.e. 0.000) nats
    """
    if len(log_r) < 2:
        raise TutelageError("a standard error needs at least 2 samples")
    # Both are means over independent samples of the model, so their errors are those of a mean. The inner mean over
    # codes is biased to one side only, which keeps the upper bound above.
    low, high = (log_r + prior_entropy).double(), (log_p - log_marginal).double()
    if not (low.isfinite().all() and high.isfinite().all()):
        raise TutelageError("densities are not finite on samples of the model: it has diverged and has no bounds")
    errors = [float(a.std() / len(a) ** 0.5) for a in (low, high)]
    return Bounds(float(low.mean()), errors[0], float(high.mean()), errors[1])


@torch.no_grad()
def bounds(model: Model, seeds: Sequence[int], samples: int = 4096, codes: int = 16) -> list[Bounds]:
    """Bounds on I(x; z) of every member, from fresh samples of it.

    Parameters
    ----------
    model
        S members.
    seeds
        One per member.
    samples
        Samples of the model.
    codes
        k of the upper bound, which tightens as it grows.

    Returns
    -------
    list of Bounds
    """
    if samples < 2 or codes < 1:
        raise TutelageError("bounds need at least 2 samples and at least 1 code per sample")
    members, kind = model.members, next(model.decoder.parameters()).dtype
    if len(seeds) != members:
        raise TutelageError(f"there are {len(seeds)} seeds for {members} members: give one per member")
    keys = {name: draws.keys(seeds, f"autoencoder-held-out-{name}") for name in ("latent", "sample", "code")}
    z = draws.normals(keys["latent"], samples * model.latent, dtype=kind).view(members, samples, model.latent)
    if isinstance(model.decoder, CategoricalDecoder):
        x = model.decoder.sample(z, draws.uniforms(keys["sample"], samples).to(kind))
    else:
        shape = model.decoder.moments(z)[0].shape
        x = model.decoder.sample(z, draws.normals(keys["sample"], math.prod(shape[1:]), dtype=kind).view(shape))
    noise = draws.normals(keys["code"], codes * z[0].numel(), dtype=kind).view(members, codes, samples, model.latent)
    # The upper bound needs some guess of p(z|x). The estimator is trained on samples of the model, where the bound is
    # taken; the encoder knows data alone.
    judge = Model(model.decoder, model.estimator, model.estimator, model.latent)  # r in the encoder's place
    log_marginal = log_weights(judge, x, noise).logsumexp(1) - math.log(codes)
    log_r, log_p = model.estimator.log_density(z, x), model.decoder.log_density(x, z)
    return [from_samples(log_r[s], log_p[s], log_marginal[s], model.prior_entropy) for s in range(members)]


@dataclass
class Joint:
    """The three modules, what the decoder's output means, and the size of the code once it is known."""

    encoder: nn.Module
    decoder: nn.Module
    estimator: nn.Module
    likelihood: Likelihood
    size: int | None = None

    @property
    def parts(self) -> dict[str, nn.Module]:
        return {"encoder": self.encoder, "decoder": self.decoder, "estimator": self.estimator}

    @property
    def device(self) -> torch.device:
        return next(self.decoder.parameters()).device

    @property
    def latent(self) -> int:
        if self.size is None:
            raise TutelageError("the size of the code is not known yet: fit the model, or encode some data, first")
        return self.size

    @property
    def prior_entropy(self) -> float:
        """H(z) of N(0, I): (k/2) log(2 pi e)."""
        return 0.5 * self.latent * math.log(2 * math.pi * math.e)

    def fits(self, x: Tensor) -> float | None:
        """Raise an error for data that the modules do not take; the most information of such data, None for any."""
        with torch.no_grad():
            try:
                mean = pair(self.encoder(x[:2]), "encoder")[0]
                out = self.decoder(mean)
            except (RuntimeError, TypeError) as error:
                message = str(error).splitlines()[0]
                raise TutelageError(
                    f"encoder and decoder do not fit data of shape {list(x.shape)} ({message})"
                ) from None
            if mean.dtype != torch.float32:
                raise TutelageError(
                    f"the encoder gives codes in {str(mean.dtype).removeprefix('torch.')}, and codes are drawn in "
                    "float32: call .float() on encoder, decoder and data"
                )
            if mean.ndim != 2:
                raise TutelageError(f"the encoder gives codes of shape {list(mean.shape)}: wanted one row per sample")
            self.likelihood.log_density(out, x[:2])
        self.size = mean.shape[1]
        return self.likelihood.most(out)

    def samples(self, stream: NamedDraws, count: int) -> tuple[Tensor, Tensor, Any]:
        """Codes z from the prior, samples x of the model there, and the decoder's output: [B, k], [B, ...]."""
        z = stream.normal("latent", torch.Size((count, self.latent)))
        out = self.decoder(z)
        return z, self.decoded(out, stream), out

    def decoded(self, out: Any, stream: NamedDraws) -> Tensor:
        """x drawn from a decoder's output."""
        shape = self.likelihood.shape(out)
        draw = stream.uniform if self.likelihood.symbols(out) else stream.normal
        return self.likelihood.sample(out, draw("sample", shape))

    def score(self, z: Tensor, x: Tensor) -> Tensor:
        """log r(z|x): [B]."""
        mean, log_variance = pair(self.estimator(x), "estimator")
        return standard_normal((z - mean) * (-0.5 * log_variance).exp()) - 0.5 * log_variance.sum(-1)

    def terms(self, x: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """log p(x|z) at one code of each sample, and KL(q(z|x) || p(z)) in closed form: [B] each."""
        mean, log_variance = pair(self.encoder(x), "encoder")
        z = mean + (0.5 * log_variance).exp() * noise
        return self.likelihood.log_density(self.decoder(z), x), to_prior(mean, 0.5 * log_variance).sum(-1)

    def log_weight(self, x: Tensor, moments: tuple[Tensor, Tensor], noise: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """log w = log p(x|z) p(z) / q(z|x) at a code z of each sample, log p(x|z) alone, and z.

        moments: mean and log-variance of q(z|x), which may be the encoder's or the estimator's; [B], [B], [B, k].
        """
        mean, log_variance = moments
        z = mean + (0.5 * log_variance).exp() * noise
        log_q = standard_normal(noise) - 0.5 * log_variance.sum(-1)
        log_p = self.likelihood.log_density(self.decoder(z), x)
        return log_p + standard_normal(z) - log_q, log_p, z

    def log_marginal(self, x: Tensor, guess: nn.Module, codes: int, stream: NamedDraws) -> Tensor:
        """log mean_j w_j over codes from a guess of each sample's posterior, below log p(x) in expectation: [B]."""
        moments = pair(guess(x), "encoder" if guess is self.encoder else "estimator")
        weights = [self.log_weight(x, moments, stream.normal("code", moments[0].shape))[0] for _ in range(codes)]
        return torch.stack(weights).logsumexp(0) - math.log(codes)

    @torch.no_grad()
    def bounds(self, samples: int, codes: int, stream: NamedDraws) -> Bounds:
        """I(x; z) of the model from below and above, from fresh samples of it (see :mod:`.bounds`)."""
        z, x, out = self.samples(stream, samples)
        log_marginal = self.log_marginal(x, self.estimator, codes, stream)
        return from_samples(self.score(z, x), self.likelihood.log_density(out, x), log_marginal, self.prior_entropy)
