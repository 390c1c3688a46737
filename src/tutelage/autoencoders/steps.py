"""One step of Algorithm 4.1 for a model made of any torch modules (Phuong 2021)."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.autoencoders.bounds import Joint, NamedDraws
from tutelage.autoencoders.likelihoods import pair
from tutelage.autoencoders.objective import Gradient, score_function, standard_normal
from tutelage.autoencoders.settings import InformationObjective
from tutelage.errors import TutelageError


@dataclass(frozen=True, eq=False)
class Terms:
    """Of one batch, numbers: what is climbed, and the ELBO, E log p(x|z) and KL that are told of it."""

    climbed: Tensor
    elbo: Tensor
    reconstruction: Tensor
    kl: Tensor


def bound(joint: Joint, x: Tensor, stream: NamedDraws, how: InformationObjective, step: int) -> Terms:
    """The ELBO of a batch with its switches, or the resampling encoder's bound E log mean_j w_j (Phuong 2021, sec.
    4.5).
    """
    if how.resample > 1:
        return _resampled(joint, x, stream, how.resample)
    noise = stream.normal("encoder", torch.Size((len(x), joint.latent)))
    fit, kl = (term.mean() for term in joint.terms(x, noise))
    weight = how.kl_weight(step)
    if weight == 1 and not how.free_bits:
        return Terms(fit - kl, fit - kl, fit, kl)
    return Terms(fit - weight * (kl.clamp_min(how.free_bits) if how.free_bits else kl), fit - kl, fit, kl)


def _resampled(joint: Joint, x: Tensor, stream: NamedDraws, k: int) -> Terms:
    moments = pair(joint.encoder(x), "encoder")
    drawn = [joint.log_weight(x, moments, stream.normal("encoder", moments[0].shape)) for _ in range(k)]
    log_w, log_p = torch.stack([w for w, _, _ in drawn]), torch.stack([p for _, p, _ in drawn])
    climbed = (log_w.logsumexp(0) - math.log(k)).mean()
    # Reported only: the fit that the resampling encoder's kept code has on average.
    share = log_w.detach().softmax(0)  # of being the code that is kept
    fit = (share * log_p).sum(0).mean()
    return Terms(climbed, climbed, fit, fit - climbed)


@torch.no_grad()
def kept_codes(joint: Joint, x: Tensor, stream: NamedDraws, resample: int) -> Tensor:
    """A code of each sample at random; of several, one is kept with probability w_j / sum w (Phuong 2021, sec. 4.5):
    [B, k].
    """
    moments = pair(joint.encoder(x), "encoder")
    noises = [stream.normal("again", moments[0].shape) for _ in range(resample)]
    if resample == 1:
        return moments[0] + (0.5 * moments[1]).exp() * noises[0]
    drawn = [joint.log_weight(x, moments, noise) for noise in noises]
    shares = torch.stack([w for w, _, _ in drawn], -1).softmax(-1).cumsum(-1)
    kept = (stream.uniform("kept", torch.Size((len(x), 1))) > shares[:, :-1]).sum(-1)
    return torch.stack([z for _, _, z in drawn])[kept, torch.arange(len(x), device=x.device)]


@torch.no_grad()
def estimate(joint: Joint, stream: NamedDraws, batch: int) -> float:
    """I as a fresh batch has it, which is not the batch of any gradient."""
    z, x, _ = joint.samples(stream, batch)
    return joint.prior_entropy + float(joint.score(z, x).mean())


def gain(joint: Joint, stream: NamedDraws, gradient: Gradient, batch: int) -> Tensor:
    """A number whose gradient in the decoder is that of E log r(z|x).

    Continuous x: reparametrised. Symbols: by REINFORCE (Phuong 2021, eq. C.19), or by the sum over all of them (C.17).
    """
    if joint.likelihood.kind == "categorical" and gradient == "sum":
        return _summed(joint, stream, batch)
    z, x, out = joint.samples(stream, batch)
    # The estimator is held still while the model climbs: it has a step of its own, on samples of the model.
    joint.estimator.requires_grad_(False)
    scores = joint.score(z, x)
    joint.estimator.requires_grad_(True)
    if not joint.likelihood.symbols(out):
        return scores.mean()
    return score_function(joint.likelihood.log_density(out, x), scores)


def _summed(joint: Joint, stream: NamedDraws, batch: int) -> Tensor:
    """The sum over all symbols, where a sample is one symbol."""
    z = stream.normal("latent", torch.Size((batch, joint.latent)))
    logits = joint.decoder(z)
    shape = joint.likelihood.shape(logits)
    if shape.numel() != batch:
        raise TutelageError(
            f"a sample has {shape.numel() // batch} symbols, and the sum over all values of x is for one symbol: use "
            "gradient='reinforce'"
        )
    with torch.no_grad():
        every = torch.arange(logits.shape[-1], device=z.device).view(-1, *shape[1:])
        mean, log_variance = pair(joint.estimator(every), "estimator")
        off = (z.unsqueeze(1) - mean) * (-0.5 * log_variance).exp()
        scores = standard_normal(off) - 0.5 * log_variance.sum(-1)  # [B, K]
    return (logits.view(batch, -1).softmax(-1) * scores).sum(-1).mean()


def fit_estimator(joint: Joint, optimiser: torch.optim.Optimizer, stream: NamedDraws, batch: int) -> None:
    """One step of the estimator, on samples of the model as it now is."""
    with torch.no_grad():
        z, x, _ = joint.samples(stream, batch)
    optimiser.zero_grad()
    (-joint.score(z, x).mean()).backward()
    optimiser.step()
