"""Any torch encoder, decoder and estimator as one model: p(z) p(x|z), q(z|x) and r(z|x)."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from tutelage.autoencoders.bounds import Bounds, from_samples
from tutelage.autoencoders.likelihoods import Likelihood, pair
from tutelage.autoencoders.objective import standard_normal, to_prior
from tutelage.autoencoders.streams import NamedDraws
from tutelage.errors import TutelageError


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
