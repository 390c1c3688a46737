"""What training climbs: the ELBO, and the information of the model as an estimator sees it (Phuong 2021, sec. 4.4)."""

import math
from typing import Literal

import torch
from torch import Tensor

from tutelage.autoencoders.parts import Model, NormalDecoder, TableEncoder
from tutelage.errors import TutelageError

Gradient = Literal["sum", "reinforce"]


def standard_normal(z: Tensor) -> Tensor:
    """log N(z; 0, I), summed over the last axis."""
    return -0.5 * (z.square() + math.log(2 * math.pi)).sum(-1)


def to_prior(mean: Tensor, log_std: Tensor) -> Tensor:
    """KL(N(mean, deviation^2) || N(0, I)) in closed form, one number per latent: the shape of ``mean``.

    >>> to_prior(torch.tensor([1.0]), torch.tensor([0.0])).tolist()
    [0.5]
    """
    return 0.5 * (mean.square() + (2 * log_std).exp() - 1 - 2 * log_std)


def elbo(model: Model, x: Tensor, noise: Tensor, *, weight: float = 1.0, free_bits: float = 0.0) -> Tensor:
    """ELBO of every member on a batch, with the KL in closed form.

    Parameters
    ----------
    model
        S members.
    x
        Data [S, B, ...].
    noise
        Standard normal [S, B, k]: z = mean + deviation * noise.
    weight
        Factor of the KL.
    free_bits
        Nats of the batch's mean KL that cost nothing.

    Returns
    -------
    Tensor
        [S].
    """
    mean, log_std = model.encoder.moments(x)
    kl = to_prior(mean, log_std).sum(-1).mean(1)
    fit = model.decoder.log_density(x, mean + log_std.exp() * noise).mean(1)
    # Free bits are of the batch's mean: below them the KL has no gradient, so a code may keep that much for nothing.
    return fit - weight * (kl.clamp_min(free_bits) if free_bits else kl)


def log_weights(model: Model, x: Tensor, noise: Tensor) -> Tensor:
    """log p(x|z) p(z) / q(z|x) for J codes z of every x: noise [S, J, B, k] -> [S, J, B]."""
    members, j, batch, latent = noise.shape
    mean, log_std = (m.unsqueeze(1) for m in model.encoder.moments(x))
    z = mean + log_std.exp() * noise
    again = x.unsqueeze(1).expand(members, j, *x.shape[1:]).reshape(members, j * batch, *x.shape[2:])
    log_p = model.decoder.log_density(again, z.reshape(members, j * batch, latent)).view(members, j, batch)
    return log_p + standard_normal(z) - standard_normal(noise) + log_std.sum(-1)


def resampled_bound(model: Model, x: Tensor, noise: Tensor) -> Tensor:
    """E log mean_j w_j, which the resampling encoder's ELBO is not below (Phuong 2021, sec. 4.5; Cremer et al. 2017):
    [S].
    """
    return (log_weights(model, x, noise).logsumexp(1) - math.log(noise.shape[1])).mean(1)


def infomax(model: Model, z: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
    """Samples of the model and the estimator's log density at their codes.

    Parameters
    ----------
    model
        S members.
    z
        Codes [S, B, k].
    noise
        That the samples are made of.

    Returns
    -------
    x, log_density
        [S, B, ...] and log r(z|x) [S, B].
    """
    x = model.decoder.sample(z, noise)
    return x, model.estimator.log_density(z, x)


def information_gain(model: Model, z: Tensor, noise: Tensor, gradient: Gradient = "sum") -> Tensor:
    """A batch estimate of E log r(z|x) under the model whose gradient in the decoder is unbiased: [S].

    Continuous x: by reparametrisation. Discrete x: by the sum over all symbols (Phuong 2021, eq. C.17), or by REINFORCE
    with the batch's mean as its baseline (C.19), whose value is 0 and whose gradient is not.
    """
    decoder, estimator = model.decoder, model.estimator
    if isinstance(decoder, NormalDecoder):
        return infomax(model, z, noise)[1].mean(1)
    # The exact sum has no variance but needs all symbols; REINFORCE needs samples only, and is noisy.
    if gradient == "sum":
        if not isinstance(estimator, TableEncoder):
            raise TutelageError(
                "the sum over symbols needs an estimator with one row per symbol: use a table, or REINFORCE"
            )
        scores = estimator.log_densities(z)
        return (decoder.log_probabilities(z).exp() * scores).sum(-1).mean(1)
    x = decoder.sample(z, noise)
    log_p = decoder.log_density(x, z)
    with torch.no_grad():
        scores = estimator.log_density(z, x)
    return score_function(log_p, scores)


def score_function(log_p: Tensor, scores: Tensor) -> Tensor:
    """A number that is 0 and has the gradient E (grad log p) (score - mean score), unbiased: [..., B] twice -> [...].

    The mean is over the same batch, which takes 1/B of the gradient away; that is given back.
    """
    count = log_p.shape[-1]
    # A baseline that contains the sample itself shrinks the gradient by (B - 1) / B; dividing by B - 1 instead of B
    # undoes it.
    centred = scores - scores.mean(-1, keepdim=True)
    return (centred * (log_p - log_p.detach())).sum(-1) / (count - 1)
