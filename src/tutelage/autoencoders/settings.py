"""What autoencoders are trained for, and what of :class:`.Training` their trainers support."""

import math
from dataclasses import dataclass

from tutelage.autoencoders.bounds import Bounds
from tutelage.autoencoders.exact import COLLAPSED_INFORMATION, COLLAPSED_KL
from tutelage.autoencoders.objective import Gradient
from tutelage.errors import TutelageError
from tutelage.printing import printed
from tutelage.training import Adam, Settle, Training
from tutelage.training.settings import Supported

BEYOND = 1e300
"""No setting is larger."""
_SWITCHES = "penalty", "resample", "beta", "warm_up", "free_bits"


@printed
@dataclass(frozen=True)
class InformationObjective:
    """Objective of an autoencoder besides the target information (Phuong 2021, eq. 4.11).

    Parameters
    ----------
    penalty
        C of eq. 4.11.
    resample
        k of the resampling encoder; 1 is the plain one.
    beta
        Factor of the KL term.
    warm_up
        Steps over which that factor rises from 0.
    free_bits
        Nats of KL that cost nothing.
    gradient
        How the information of a discrete decoder is differentiated: by the "sum" over all symbols or by "reinforce".
    """

    penalty: float = 1.0
    resample: int = 1
    beta: float = 1.0
    warm_up: int = 0
    free_bits: float = 0.0
    gradient: Gradient = "sum"

    def __post_init__(self) -> None:
        for name in _SWITCHES:
            value = getattr(self, name)
            if not isinstance(value, int | float) or abs(value) > BEYOND:
                raise TutelageError(
                    f"{name} must be a number of at most {BEYOND:g}, not of type {type(value).__name__}"
                )
        if not 0 < self.penalty < math.inf:
            raise TutelageError(f"penalty must be above 0, got {self.penalty:g}; leave the target out for a plain VAE")
        if self.resample < 1:
            raise TutelageError(f"resample must be at least 1, got {self.resample:g}")
        if self.resample > 1 and (self.beta != 1 or self.warm_up or self.free_bits):
            raise TutelageError("the resampling bound has no KL term to weigh: leave beta, warm_up and free_bits alone")
        if not (self.beta >= 0 and self.warm_up >= 0 and self.free_bits >= 0):
            raise TutelageError("beta, warm_up and free_bits must be at least 0")
        if self.gradient not in ("sum", "reinforce"):
            raise TutelageError(f"gradient must be 'sum' or 'reinforce', got {self.gradient!r}")

    def kl_weight(self, step: int) -> float:
        """Of the KL term at a step, counted from 0."""
        return self.beta * (min(1.0, (step + 1) / self.warm_up) if self.warm_up else 1.0)


@printed
@dataclass(frozen=True)
class SentenceObjective(InformationObjective):
    """:class:`InformationObjective` for sentences.

    Parameters
    ----------
    penalty, resample, beta, warm_up, free_bits, gradient
        As in :class:`InformationObjective`.
    samples
        Sentences of the model in the batch of the gradient, and in that of the sign.
    taught
        Sentences in the batch that the estimator learns from.
    """

    resample: int = 5
    gradient: Gradient = "reinforce"
    samples: int = 64
    taught: int = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gradient != "reinforce" or self.samples < 2 or self.taught < 1:
            raise TutelageError(
                "sentences are too many to sum over: the gradient is 'reinforce', of two samples or more"
            )


def settled_adam(steps: int, batch: int = 128, learning_rate: float = 1e-3, share: float = 0.25) -> Training:
    """Adam with a rate that falls to a tenth at the end.

    Parameters
    ----------
    steps, batch, learning_rate
        As in :class:`~tutelage.training.Training`.
    share
        Last share of the steps over which the rate falls.

    Returns
    -------
    Training

    Examples
    --------
    >>> settled_adam(1000).steps
    1000
    """
    schedule = Settle(share=share)
    return Training(steps=steps, batch=batch, learning_rate=learning_rate, schedule=schedule, optimiser=Adam())


def steps_and_batch(settings: Training, trainer: str) -> tuple[int, int]:
    """Number of steps and samples of a batch; an error for settings that the trainer does not support."""
    Supported(trainer, "steps", "replacement").check(settings)
    assert settings.steps is not None  # or it would not be supported
    assert settings.batch != "all"
    if settings.batch < 2:
        raise TutelageError(f"batch must be at least 2, got {settings.batch}")
    return settings.steps, settings.batch


_MEMORY = 0.95  # of the running estimate: as much noise as the mean of 39 batches


@printed
@dataclass(frozen=True)
class TrainingRecord:
    """Where training stood after a step.

    target: M, None for a VAE; estimate: the running mean of I; elbo, kl, reconstruction: of that step's batch, the KL
    with the factor 1 whatever it was trained with (elbo: E log mean_j w_j where codes are resampled); wrong_signs:
    share of the steps since the last record at which one batch and the running mean of those before it disagreed on
    the sign of I - M, 0 for a VAE. Near the target half of the signs are wrong: there they matter least.
    """

    step: int
    target: float | None
    estimate: float
    elbo: float
    kl: float
    reconstruction: float
    wrong_signs: float

    @property
    def collapsed(self) -> bool:
        """Whether the code says next to nothing."""
        return self.kl < COLLAPSED_KL or self.estimate < COLLAPSED_INFORMATION


class Watch:
    """The running mean of the estimate of I, and how often one batch's sign of I - M disagreed with it."""

    def __init__(self, target: float | None) -> None:
        self.target, self.estimate = target, 0.0
        self._seen = self._wrong = self._counted = 0

    def sign(self, information: float) -> int:
        """Of I - M by one batch, 0 for a VAE; takes the batch into the running mean."""
        sign = _sign(information, self.target)
        if self._seen:
            self._wrong += sign != _sign(self.estimate, self.target)
            self._counted += 1
        self._seen += 1
        self.estimate += max(1 / self._seen, 1 - _MEMORY) * (information - self.estimate)
        return sign

    def wrong_signs(self) -> float:
        """Share of wrong signs since this was asked last."""
        share = self._wrong / max(1, self._counted)
        self._wrong = self._counted = 0
        return share


def _sign(information: float, target: float | None) -> int:
    return 0 if target is None else (information > target) - (information < target)


@printed
@dataclass(frozen=True)
class Information:
    """What the code of a finished model carries, in nats.

    Attributes
    ----------
    target
        M, or None for a VAE.
    bounds
        On I(x; z) of the model.
    elbo, elbo_error
        On the data, with its standard error.
    reconstruction, kl
        E log p(x|z) and E KL(q(z|x) || p(z)) on the data.
    likelihood
        Lower bound on E log p(x) that tightens with the number of codes.
    active, latent
        Latents that move with the data, of how many.
    wrong_signs
        Share of wrong signs in the last quarter of the training's records; None where it was not trained here.
    """

    target: float | None
    bounds: Bounds
    elbo: float
    elbo_error: float
    reconstruction: float
    kl: float
    likelihood: float
    active: int
    latent: int
    wrong_signs: float | None

    @property
    def gap(self) -> float:
        """What the ELBO lacks to E log p(x), from below: the encoder's share of the blame."""
        return self.likelihood - self.elbo

    @property
    def collapsed(self) -> bool:
        """Whether the code says next to nothing."""
        return self.kl < COLLAPSED_KL or self.bounds.interval[1] < COLLAPSED_INFORMATION

    def __str__(self) -> str:
        asked = "no target" if self.target is None else f"target {self.target:g} nats"
        lines = [
            f"{asked}: {self.bounds}",
            f"ELBO {self.elbo:.3f} (s.e. {self.elbo_error:.3f}): reconstruction {self.reconstruction:.3f}, "
            f"KL {self.kl:.3f}",
            f"log-likelihood at least {self.likelihood:.3f}; {self.active} of {self.latent} latents move with the data",
        ]
        if self.wrong_signs is not None and self.target is not None:
            lines.append(f"{self.wrong_signs:.0%} of the last signs were wrong")
        if self.collapsed:
            lines.append("the code has collapsed: it says next to nothing")
        return "\n".join(lines)
