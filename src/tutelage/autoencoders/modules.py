"""The mutual autoencoder around any torch encoder and decoder (seed 004, Algorithm 4.1)."""

import copy
import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from tutelage import draws
from tutelage.autoencoders.bounds import Bounds, from_samples
from tutelage.autoencoders.exact import COLLAPSED_INFORMATION, COLLAPSED_KL
from tutelage.autoencoders.likelihoods import Kind, Likelihood, entropy, pair
from tutelage.autoencoders.objective import score_function, standard_normal, to_prior
from tutelage.autoencoders.training import checked_targets
from tutelage.errors import Refusal
from tutelage.files import write_atomically

_EVERY = 50  # steps between records
_AHEAD = 1 << 15  # draws made at a time
_MEMORY = 0.95  # of the running estimate


@dataclass(frozen=True)
class Record:
    """Where training stood after a step: the target M (None for a VAE), the running estimate of I, ELBO and KL."""

    step: int
    target: float | None
    estimate: float
    elbo: float
    kl: float

    @property
    def collapsed(self) -> bool:
        """Whether the code says next to nothing."""
        return self.kl < COLLAPSED_KL or self.estimate < COLLAPSED_INFORMATION


class MutualAutoencoder:
    """A VAE whose code carries the information asked for.

    encoder: data [B, ...] -> mean and log-variance of the code, [B, k] each; decoder: codes [B, k] -> what ``kind`` of
    law it speaks of (see :class:`.Likelihood`); target: M in nats, None for a plain VAE; penalty: C of (4.11);
    estimator: r(z|x), built like the encoder, a copy of it with weights of its own unless given. It is shown samples of
    the model alone, never data.
    """

    def __init__(
        self,
        encoder: nn.Module,
        decoder: nn.Module,
        target: float | None,
        *,
        kind: Kind = "normal",
        penalty: float = 1.0,
        estimator: nn.Module | None = None,
    ) -> None:
        checked_targets([target], [0])
        if not 0 < penalty < math.inf:
            raise Refusal(f"the penalty C is above 0, not {penalty:g}; for a plain VAE leave the target out")
        self.likelihood = Likelihood(kind)
        self.encoder, self.decoder = encoder, decoder
        self.estimator = copy.deepcopy(encoder) if estimator is None else estimator
        if {id(p) for p in self.estimator.parameters()} & {id(p) for p in encoder.parameters()}:
            raise Refusal("the estimator shares weights with the encoder: it speaks of the model, give it its own")
        self.target, self.penalty = target, penalty
        self.log: list[Record] = []
        self._size: int | None = None

    def fit(
        self,
        data: Tensor | Iterable,
        *,
        steps: int = 2000,
        batch: int = 128,
        learning_rate: float = 1e-3,
        seed: int = 0,
        on_record: Callable[[Record], None] | None = None,
    ) -> "MutualAutoencoder":
        """Train on samples [N, ...], or on a loader of batches (read once and kept, labels left out)."""
        x = _samples(data)
        self._check(x)
        if steps < 1 or batch < 2 or not learning_rate > 0:
            raise Refusal("training needs a step or more, a batch of two or more and a rate above 0")
        theta = [*self.encoder.parameters(), *self.decoder.parameters()]
        up, aside = (torch.optim.Adam(p, learning_rate) for p in (theta, self.estimator.parameters()))
        stream, running = _Stream(seed, x.device), 0.0
        for part in (self.encoder, self.decoder, self.estimator):
            part.train()
        for step in range(steps):
            information = self._sign_batch(stream, batch)
            up.zero_grad()
            elbo, kl = self._elbo(x[stream.rows(batch, len(x))], stream)
            loss = -elbo
            if self.target is not None:
                sign = (information > self.target) - (information < self.target)
                loss = loss + self.penalty * sign * self._gain(stream, batch)
            loss.backward()
            up.step()
            self._fit_estimator(aside, stream, batch)
            running += max(1 / (step + 1), 1 - _MEMORY) * (information - running)
            if not math.isfinite(float(loss.detach()) + information):
                raise Refusal(f"training diverged at step {step + 1}: lower the learning rate {learning_rate:g} or C")
            if (step + 1) % _EVERY == 0 or step + 1 == steps:
                self.log.append(Record(step + 1, self.target, running, float(elbo.detach()), float(kl.detach())))
                if on_record:
                    on_record(self.log[-1])
        for part in (self.encoder, self.decoder, self.estimator):
            part.eval()
        return self

    @torch.no_grad()
    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and deviation of the code of each sample: [B, k] twice."""
        mean, log_variance = pair(self.encoder(x), "encoder")
        self._size = mean.shape[1]
        return mean, (0.5 * log_variance).exp()

    @torch.no_grad()
    def sample(self, count: int, seed: int = 0) -> Tensor:
        """Samples of the model: codes from the prior, decoded."""
        return self._model_samples(_Stream(seed, self._device), count)[1]

    @torch.no_grad()
    def reconstruct(self, x: Tensor, seed: int = 0) -> Tensor:
        """Samples encoded and decoded again, both at random."""
        stream = _Stream(seed, x.device)
        mean, deviation = self.encode(x)
        out = self.decoder(mean + deviation * stream.normal("again", mean.shape))
        return self.likelihood.sample(out, self._draw(stream, self.likelihood.shape(out)))

    @torch.no_grad()
    def bounds(self, samples: int = 4096, codes: int = 16, seed: int = 1) -> Bounds:
        """I(x; z) of the model from below and above, from fresh samples of it (see :mod:`.bounds`)."""
        stream = _Stream(seed, self._device, "held-out-")
        z, x, out = self._model_samples(stream, samples)
        mean, log_variance = pair(self.estimator(x), "estimator")
        weights = []
        for _ in range(codes):
            noise = stream.normal("code", mean.shape)
            other = mean + (0.5 * log_variance).exp() * noise
            log_r = standard_normal(noise) - 0.5 * log_variance.sum(-1)
            weights.append(self.likelihood.log_density(self.decoder(other), x) + standard_normal(other) - log_r)
        log_marginal = torch.stack(weights).logsumexp(0) - math.log(codes)
        return from_samples(self._score(z, x), self.likelihood.log_density(out, x), log_marginal, self._entropy)

    @torch.no_grad()
    def active_units(self, x: Tensor, least: float = 0.01) -> int:
        """How many codes move with the data: the variance of their mean over samples is above ``least``."""
        return int((self.encode(x)[0].var(0) > least).sum())

    def save(self, path: str | Path) -> None:
        """Write all weights as safetensors, with the settings beside them."""
        tensors = {
            f"{name}.{key}": value.detach().contiguous().clone()
            for name, part in self._parts().items()
            for key, value in part.state_dict().items()
        }
        settings = {
            "kind": self.likelihood.kind,
            "target": self.target,
            "penalty": self.penalty,
            "latent": self._latent,
        }
        write_atomically(Path(path), save(tensors, {k: str(v) for k, v in settings.items()}))

    @classmethod
    def load(
        cls, path: str | Path, encoder: nn.Module, decoder: nn.Module, estimator: nn.Module | None = None
    ) -> "MutualAutoencoder":
        """Read what :meth:`save` wrote into modules of the same shapes."""
        try:
            with safe_open(str(path), framework="pt") as file:
                told = file.metadata() or {}
                tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        except (OSError, SafetensorError) as error:
            raise Refusal(f"{path} cannot be read as safetensors ({error})") from None
        if not {"kind", "target", "penalty", "latent"} <= told.keys():
            raise Refusal(f"{path} holds no mutual autoencoder: save one with .save(path)")
        target = None if told["target"] == "None" else float(told["target"])
        found = cls(encoder, decoder, target, kind=told["kind"], penalty=float(told["penalty"]), estimator=estimator)
        found._size = int(told["latent"])
        for name, part in found._parts().items():
            own = {k.removeprefix(f"{name}."): v for k, v in tensors.items() if k.startswith(f"{name}.")}
            try:
                part.load_state_dict(own)
            except RuntimeError as error:
                said = str(error).splitlines()[-1].strip()
                raise Refusal(f"the {name} in {path} does not fit the module given ({said})") from None
            part.eval()
        return found

    def plain(self) -> list[dict]:
        """The log as plain data."""
        return [asdict(record) for record in self.log]

    # ------------------------------------------------------------------------------------------------------------

    def _parts(self) -> dict[str, nn.Module]:
        return {"encoder": self.encoder, "decoder": self.decoder, "estimator": self.estimator}

    @property
    def _device(self) -> torch.device:
        return next(self.decoder.parameters()).device

    @property
    def _entropy(self) -> float:
        return 0.5 * self._latent * math.log(2 * math.pi * math.e)

    @property
    def _latent(self) -> int:
        if self._size is None:
            raise Refusal("the size of the code is not known yet: fit the model, or encode some data, first")
        return self._size

    def _check(self, x: Tensor) -> None:
        self.likelihood.check(x)
        if self.target is not None:
            checked_targets([self.target], [0], entropy(x) if self.likelihood.discrete else None)
        with torch.no_grad():
            try:
                mean = pair(self.encoder(x[:2]), "encoder")[0]
                out = self.decoder(mean)
            except (RuntimeError, TypeError) as error:
                said = str(error).splitlines()[0]
                raise Refusal(f"encoder and decoder do not fit data of shape {list(x.shape)} ({said})") from None
        if mean.ndim != 2:
            raise Refusal(f"the encoder gives codes of shape {list(mean.shape)}: wanted one row a sample")
        self.likelihood.log_density(out, x[:2])
        self._size = mean.shape[1]

    def _elbo(self, x: Tensor, stream: "_Stream") -> tuple[Tensor, Tensor]:
        mean, log_variance = pair(self.encoder(x), "encoder")
        z = mean + (0.5 * log_variance).exp() * stream.normal("encoder", mean.shape)
        kl = to_prior(mean, 0.5 * log_variance).sum(-1).mean()
        return self.likelihood.log_density(self.decoder(z), x).mean() - kl, kl

    def _draw(self, stream: "_Stream", shape: torch.Size) -> Tensor:
        return stream.uniform("sample", shape) if self.likelihood.discrete else stream.normal("sample", shape)

    def _model_samples(self, stream: "_Stream", count: int) -> tuple[Tensor, Tensor, Tensor | tuple[Tensor, Tensor]]:
        z = stream.normal("latent", torch.Size((count, self._latent)))
        out = self.decoder(z)
        return z, self.likelihood.sample(out, self._draw(stream, self.likelihood.shape(out))), out

    def _score(self, z: Tensor, x: Tensor) -> Tensor:
        """log r(z|x): [B]."""
        mean, log_variance = pair(self.estimator(x), "estimator")
        return standard_normal((z - mean) * (-0.5 * log_variance).exp()) - 0.5 * log_variance.sum(-1)

    @torch.no_grad()
    def _sign_batch(self, stream: "_Stream", batch: int) -> float:
        """I as a fresh batch has it, which is not the batch of any gradient."""
        z, x, _ = self._model_samples(stream, batch)
        return self._entropy + float(self._score(z, x).mean())

    def _gain(self, stream: "_Stream", batch: int) -> Tensor:
        """A number whose gradient in the decoder is that of E log r(z|x): reparametrised, or by REINFORCE."""
        z, x, out = self._model_samples(stream, batch)
        self.estimator.requires_grad_(False)
        scores = self._score(z, x)
        self.estimator.requires_grad_(True)
        if not self.likelihood.discrete:
            return scores.mean()
        return score_function(self.likelihood.log_density(out, x), scores)

    def _fit_estimator(self, optimiser: torch.optim.Optimizer, stream: "_Stream", batch: int) -> None:
        with torch.no_grad():
            z, x, _ = self._model_samples(stream, batch)
        optimiser.zero_grad()
        (-self._score(z, x).mean()).backward()
        optimiser.step()


class _Stream:
    """Draws one after the other, each name from its own counter-based stream, made many at a time."""

    def __init__(self, seed: int, device: torch.device, prefix: str = "") -> None:
        self._seed, self._device, self._prefix = seed, device, prefix
        self._made: dict[str, Tensor] = {}
        self._at: dict[str, int] = {}

    def normal(self, name: str, shape: torch.Size) -> Tensor:
        return self._next(name, shape.numel(), draws.normals).to(torch.get_default_dtype()).view(shape)

    def uniform(self, name: str, shape: torch.Size) -> Tensor:
        return self._next(name, shape.numel(), draws.uniforms).to(torch.get_default_dtype()).view(shape)

    def rows(self, count: int, bound: int) -> Tensor:
        return self._next("rows", count, lambda key, many, start: draws.indices(key, many, bound, start))

    def _next(self, name: str, count: int, draw: Callable[[Tensor, int, int], Tensor]) -> Tensor:
        left = self._made.get(name)
        if left is None or len(left) < count:
            at, many = self._at.get(name, 0), max(count, _AHEAD)
            key = draws.keys([self._seed], f"mutual-autoencoder-{self._prefix}{name}", self._device)
            more = draw(key, many, at)[0]
            left, self._at[name] = more if left is None else torch.cat([left, more]), at + many
        self._made[name] = left[count:]
        return left[:count]


def _samples(data: Tensor | Iterable) -> Tensor:
    """All samples; of batches with labels, the first of each."""
    if not isinstance(data, Tensor):
        pieces = [piece[0] if isinstance(piece, tuple | list) else piece for piece in data]
        if not pieces:
            raise Refusal("there are no samples to learn from: the loader is empty")
        data = torch.cat(pieces)
    if data.ndim == 0 or len(data) < 2:
        raise Refusal("there are no samples to learn from: give two or more")
    return data
