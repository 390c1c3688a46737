"""What a mutual autoencoder tells: its course during training, and what it carries afterwards."""

from dataclasses import dataclass

from tutelage.autoencoders.bounds import Bounds
from tutelage.autoencoders.exact import COLLAPSED_INFORMATION, COLLAPSED_KL
from tutelage.printing import printed

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
            f"ELBO {self.elbo:.3f} ± {self.elbo_error:.3f}: reconstruction {self.reconstruction:.3f}, KL {self.kl:.3f}",
            f"log-likelihood at least {self.likelihood:.3f}; {self.active} of {self.latent} latents move with the data",
        ]
        if self.wrong_signs is not None and self.target is not None:
            lines.append(f"{self.wrong_signs:.0%} of the last signs were wrong")
        if self.collapsed:
            lines.append("the code has collapsed: it says next to nothing")
        return "\n".join(lines)
