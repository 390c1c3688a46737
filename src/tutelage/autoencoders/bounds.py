r"""Information of models whose latent is too large to integrate: a bound from below and one from above.

.. math:: H(z) + E \log r(z|x) \;\le\; I(x; z) \;\le\;
    E \log p(x|z) - E \log \tfrac{1}{k} \sum_j \frac{p(x|z_j)\, p(z_j)}{r(z_j|x)}

All means are over samples (z, x) of the model, z_j over r(z|x). The left is the infomax bound (Phuong 2021, Theorem
4.1); the right holds since the last mean is a lower bound of E log p(x). Both hold for every r, in expectation; the
samples are not those of any training.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage import draws
from tutelage.autoencoders.objective import log_weights
from tutelage.autoencoders.parts import CategoricalDecoder, Model
from tutelage.errors import TutelageError
from tutelage.printing import printed


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
        text = f"{self.lower:.3f} ± {self.lower_error:.3f} <= I <= {self.upper:.3f} ± {self.upper_error:.3f} nats"
        return f"{text} ({self.why})" if self.why else text


def from_samples(log_r: Tensor, log_p: Tensor, log_marginal: Tensor, prior_entropy: float) -> Bounds:
    """Bounds from log r(z|x), log p(x|z) and a lower bound of log p(x) at samples of the model: [N] each.

    >>> one = torch.zeros(3)
    >>> print(from_samples(one - 1.4, one, one - 0.1, 1.4))
    0.000 ± 0.000 <= I <= 0.100 ± 0.000 nats
    """
    if len(log_r) < 2:
        raise TutelageError("a standard error needs two samples or more")
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
        raise TutelageError("the bounds need two samples or more, and one code for each at least")
    members, kind = model.members, next(model.decoder.parameters()).dtype
    if len(seeds) != members:
        raise TutelageError(f"there are {len(seeds)} seeds for {members} members: give one each")
    keys = {name: draws.keys(seeds, f"autoencoder-held-out-{name}") for name in ("latent", "sample", "code")}
    z = draws.normals(keys["latent"], samples * model.latent, dtype=kind).view(members, samples, model.latent)
    if isinstance(model.decoder, CategoricalDecoder):
        x = model.decoder.sample(z, draws.uniforms(keys["sample"], samples).to(kind))
    else:
        shape = model.decoder.moments(z)[0].shape
        x = model.decoder.sample(z, draws.normals(keys["sample"], math.prod(shape[1:]), dtype=kind).view(shape))
    noise = draws.normals(keys["code"], codes * z[0].numel(), dtype=kind).view(members, codes, samples, model.latent)
    judge = Model(model.decoder, model.estimator, model.estimator, model.latent)  # r in the encoder's place
    log_marginal = log_weights(judge, x, noise).logsumexp(1) - math.log(codes)
    log_r, log_p = model.estimator.log_density(z, x), model.decoder.log_density(x, z)
    return [from_samples(log_r[s], log_p[s], log_marginal[s], model.prior_entropy) for s in range(members)]
