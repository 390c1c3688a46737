"""The mutual autoencoder around any torch encoder and decoder (Phuong 2021, Algorithm 4.1)."""

import copy
import math
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tutelage.autoencoders import saving
from tutelage.autoencoders.bounds import Bounds, Joint, NamedDraws
from tutelage.autoencoders.likelihoods import Kind, Likelihood, pair
from tutelage.autoencoders.objective import Gradient
from tutelage.autoencoders.settings import Information, InformationObjective, TrainingRecord, Watch, steps_and_batch
from tutelage.autoencoders.steps import Terms, bound, estimate, fit_estimator, gain, kept_codes
from tutelage.autoencoders.training import checked_targets
from tutelage.errors import TutelageError
from tutelage.training import Adam, Settle, Training
from tutelage.training.settings import given, set_rate

_EVERY = 50  # steps between records
_CHUNK = 1024  # samples looked at together after training
_ADAM: dict[str, Any] = {"batch": 128, "learning_rate": 1e-3, "optimiser": Adam()}  # by default
_SWITCHES = ("penalty", "resample", "beta", "warm_up", "free_bits", "gradient")


class MutualAutoencoder:
    """A VAE whose code carries a given amount of information (Phuong 2021, chapter 4).

    Parameters
    ----------
    encoder
        From data [B, ...] to mean and log-variance of the code, [B, k] each.
    decoder
        From codes [B, k] to the parameters of the distribution ``kind``.
    target
        M in nats; None for a plain VAE.
    kind
        "normal", "bernoulli", "categorical", or "distribution" for a decoder that returns one.
    penalty
        C of eq. 4.11.
    estimator
        r(z|x), built like the encoder; default: a copy of it with its own weights. It sees samples of the model only.
    resample, beta, warm_up, free_bits
        As in :class:`InformationObjective`.
    gradient
        For discrete data: "sum" where a sample is one symbol, else "reinforce".
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
        resample: int = 1,
        beta: float = 1.0,
        warm_up: int = 0,
        free_bits: float = 0.0,
        gradient: Gradient = "reinforce",
    ) -> None:
        checked_targets([target], [0])
        self.objective = InformationObjective(penalty, resample, beta, warm_up, free_bits, gradient)
        self.likelihood = Likelihood(kind)
        if gradient == "sum" and kind != "categorical":
            raise TutelageError(
                f"the sum over symbols is for kind 'categorical', not {kind!r}: leave the gradient alone"
            )
        estimator = copy.deepcopy(encoder) if estimator is None else estimator
        if {id(p) for p in estimator.parameters()} & {id(p) for p in encoder.parameters()}:
            raise TutelageError(
                "the estimator must not share weights with the encoder: build a module of its own for it"
            )
        self.encoder, self.decoder, self.estimator = encoder, decoder, estimator
        self.joint = Joint(encoder, decoder, estimator, self.likelihood)
        self.target = target
        self.log: list[TrainingRecord] = []

    @property
    def penalty(self) -> float:
        """C of (4.11)."""
        return self.objective.penalty

    def fit(
        self,
        data: Tensor | Iterable,
        settings: Training | None = None,
        *,
        seed: int = 0,
        on_record: Callable[[TrainingRecord], None] | None = None,
        **training: Any,
    ) -> "MutualAutoencoder":
        """Train on samples [N, ...], or on a loader of batches (read once and kept, labels left out).

        Settings are those of :class:`.Training`, given as one or by name (steps=..., batch=..., learning_rate=...), not
        both; by name, those left out are 2000 steps of Adam with batches of 128 and the rate 1e-3.
        """
        settings = given(settings, training, steps=2000, **_ADAM)
        steps, batch = steps_and_batch(settings, "MutualAutoencoder.fit")
        x = _samples(data).to(self.joint.device)
        self.likelihood.check(x)
        checked_targets([self.target], [0], self.joint.fits(x))
        theta = [*self.encoder.parameters(), *self.decoder.parameters()]
        up, aside = (settings.optimiser.for_module(p, settings.rate) for p in (theta, self.estimator.parameters()))
        stream, watch = NamedDraws(seed, x.device), Watch(self.target)
        for part in self.joint.parts.values():
            part.train()
        for step, rate in enumerate(settings.rates(steps)):
            set_rate(rate, up, aside)
            terms = self._step(x, up, aside, stream, watch, batch, step)
            if (step + 1) % _EVERY == 0 or step + 1 == steps:
                elbo, kl, fit = (float(term.detach()) for term in (terms.elbo, terms.kl, terms.reconstruction))
                record = TrainingRecord(step + 1, self.target, watch.estimate, elbo, kl, fit, watch.wrong_signs())
                self.log.append(record)
                if on_record:
                    on_record(record)
        for part in self.joint.parts.values():
            part.eval()
        return self

    def _step(
        self,
        x: Tensor,
        up: torch.optim.Optimizer,
        aside: torch.optim.Optimizer,
        stream: NamedDraws,
        watch: Watch,
        batch: int,
        step: int,
    ) -> Terms:
        """One step of the model and one of its estimator (Phuong 2021, Algorithm 4.1)."""
        # Three batches of the model's samples per step: for the sign here, for the gradient in `gain`, for the
        # estimator at the end.
        information = estimate(self.joint, stream, batch)
        sign = watch.sign(information)
        up.zero_grad()
        terms = bound(self.joint, x[stream.rows(batch, len(x))], stream, self.objective, step)
        loss = -terms.climbed
        if self.target is not None:
            loss = loss + self.penalty * sign * gain(self.joint, stream, self.objective.gradient, batch)
        loss.backward()
        up.step()
        fit_estimator(self.joint, aside, stream, batch)
        if not math.isfinite(float(loss.detach()) + information):
            raise TutelageError(f"training diverged at step {step + 1}: lower the learning rate or C")
        return terms

    def refine(self, settings: Training | None = None, *, seed: int = 0, **training: Any) -> "MutualAutoencoder":
        """Train the estimator alone, on samples of the model as it is: the bounds of I close in, the model stays.

        Settings as in :meth:`fit`; by name, those left out are 500 steps at a rate that falls to a tenth of 1e-3.
        """
        settings = given(settings, training, steps=500, schedule=Settle(share=1.0), **_ADAM)
        steps, batch = steps_and_batch(settings, "MutualAutoencoder.refine")
        optimiser = settings.optimiser.for_module(self.estimator.parameters(), settings.rate)
        stream = NamedDraws(seed, self.joint.device, "refined-")
        self.estimator.train()
        for rate in settings.rates(steps):
            set_rate(rate, optimiser)
            fit_estimator(self.joint, optimiser, stream, batch)
        self.estimator.eval()
        return self

    @torch.no_grad()
    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and deviation of the code of each sample: [B, k] twice."""
        mean, log_variance = pair(self.encoder(x), "encoder")
        self.joint.size = mean.shape[1]
        return mean, (0.5 * log_variance).exp()

    @torch.no_grad()
    def sample(self, count: int, seed: int = 0) -> Tensor:
        """Samples of the model: codes from the prior, decoded."""
        return self.joint.samples(NamedDraws(seed, self.joint.device), count)[1]

    @torch.no_grad()
    def reconstruct(self, x: Tensor, seed: int = 0) -> Tensor:
        """Samples encoded and decoded again, both at random; with k > 1 codes, one of them kept by its weight."""
        stream = NamedDraws(seed, x.device)
        z = kept_codes(self.joint, x, stream, self.objective.resample)
        return self.joint.decoded(self.decoder(z), stream)

    def bounds(self, samples: int = 4096, codes: int = 16, seed: int = 1) -> Bounds:
        """I(x; z) of the model from below and above, from fresh samples of it (see :mod:`.bounds`)."""
        return self.joint.bounds(samples, codes, NamedDraws(seed, self.joint.device, "held-out-"))

    @torch.no_grad()
    def information(self, x: Tensor, samples: int = 4096, codes: int = 16, seed: int = 1) -> Information:
        """What the model carries: bounds of I from samples of it, and ELBO, KL, reconstruction, ... on the data x."""
        self.likelihood.check(x)
        self.joint.fits(x)
        stream = NamedDraws(seed, x.device, "judged-")
        terms: list[Tensor] = []
        for part in x.split(_CHUNK):
            fit, kl = self.joint.terms(part, stream.normal("encoder", torch.Size((len(part), self.joint.latent))))
            terms.append(torch.stack([fit, kl, self.joint.log_marginal(part, self.encoder, codes, stream)]).double())
        fit, kl, log_marginal = torch.cat(terms, 1)
        last = self.log[-max(1, len(self.log) // 4) :]
        return Information(
            self.target,
            self.bounds(samples, codes, seed),
            float((fit - kl).mean()),
            float((fit - kl).std() / len(x) ** 0.5),
            float(fit.mean()),
            float(kl.mean()),
            float(log_marginal.mean()),
            self.active_units(x),
            self.joint.latent,
            sum(record.wrong_signs for record in last) / len(last) if last else None,
        )

    def active_units(self, x: Tensor, least: float = 0.01) -> int:
        """How many codes move with the data: the variance of their mean over samples is above ``least``."""
        means = torch.cat([self.encode(part)[0] for part in x.split(_CHUNK)])
        return int((means.var(0) > least).sum())

    def save(self, path: str | Path) -> None:
        """Write all weights as safetensors, with the settings beside them."""
        switches = {name: getattr(self.objective, name) for name in _SWITCHES}
        about = {"kind": self.likelihood.kind, "target": self.target, "latent": self.joint.latent, **switches}
        saving.to_file(path, self.joint.parts, about)

    @classmethod
    def load(
        cls, path: str | Path, encoder: nn.Module, decoder: nn.Module, estimator: nn.Module | None = None
    ) -> "MutualAutoencoder":
        """Read what :meth:`save` wrote into modules of the same shapes."""
        about, tensors = saving.from_file(path)
        switches = {name: about[name] for name in _SWITCHES if name in about}
        try:
            model = cls(encoder, decoder, about["target"], kind=about["kind"], estimator=estimator, **switches)
        except TypeError as error:
            raise TutelageError(f"the settings in {path} are damaged ({error}): save the model again") from None
        if type(about["latent"]) is not int or about["latent"] < 1:
            raise TutelageError(f"the size of the code in {path} must be a whole number, got {about['latent']}")
        model.joint.size = about["latent"]
        saving.into(model.joint.parts, tensors, path)
        return model

    def plain(self) -> list[dict]:
        """The log as plain data."""
        return [asdict(record) for record in self.log]


def _samples(data: Tensor | Iterable) -> Tensor:
    """All samples; of batches with labels, the first of each."""
    if not isinstance(data, Tensor):
        pieces = [piece[0] if isinstance(piece, tuple | list) else piece for piece in data]
        if not pieces:
            raise TutelageError("there are no samples to learn from: the loader is empty")
        if not all(isinstance(piece, Tensor) for piece in pieces):
            raise TutelageError(
                f"data must be a tensor or batches of tensors, got {type(data).__name__}: pass torch.from_numpy(array)"
            )
        data = torch.cat(pieces)
    if data.ndim == 0 or len(data) < 2:
        raise TutelageError("there are no samples to learn from: give at least 2")
    return data
