"""What autoencoders are trained for, and what of :class:`.Training` their trainers support."""

import math
from dataclasses import dataclass

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
            raise TutelageError(f"the penalty C is above 0, not {self.penalty:g}; leave the target out for a plain VAE")
        if self.resample < 1:
            raise TutelageError(f"resample must be at least 1, got {self.resample:g}")
        if self.resample > 1 and (self.beta != 1 or self.warm_up or self.free_bits):
            raise TutelageError("the resampling bound has no KL term to weigh: leave beta, warm_up and free_bits alone")
        if not (self.beta >= 0 and self.warm_up >= 0 and self.free_bits >= 0):
            raise TutelageError("beta, warm_up and free_bits are at least 0")
        if self.gradient not in ("sum", "reinforce"):
            raise TutelageError(f"the gradient is 'sum' or 'reinforce', not {self.gradient!r}")

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
