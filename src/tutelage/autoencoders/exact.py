r"""What a model with one or two latent dimensions is, by quadrature: no samples, no estimate.

The latent is integrated on a fine grid under its prior. Continuous data of one dimension are integrated too.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.autoencoders.parts import CategoricalDecoder, NormalDecoder
from tutelage.autoencoders.training import Model
from tutelage.errors import Refusal

REACH = 6.5
"""Of the grid of latents, in deviations of the prior: 8e-11 of its mass lies beyond."""
COLLAPSED = 0.02
"""Nats of information below which a code counts as collapsed."""


@dataclass(frozen=True, eq=False)
class Exact:
    """Of every member: I(x; z), E_data log p(x), the ELBO on the data and E KL(q(z|x) || p(z|x)), their gap; [S] each."""

    information: Tensor
    likelihood: Tensor
    elbo: Tensor
    gap: Tensor

    @property
    def collapsed(self) -> Tensor:
        return self.information < COLLAPSED


def grid(latent: int, points: int) -> tuple[Tensor, Tensor]:
    """Latents [P, k] and the logarithm of their prior mass, by the trapezoidal rule: [P]."""
    if latent not in (1, 2):
        raise Refusal(f"quadrature serves latents of one or two dimensions, not {latent}: use the bounds instead")
    line = torch.linspace(-REACH, REACH, points, dtype=torch.float64)
    mass = -0.5 * line.square() - 0.5 * math.log(2 * math.pi) + math.log(float(line[1] - line[0]))
    if latent == 1:
        return line.unsqueeze(1), mass
    both = torch.cartesian_prod(line, line)
    return both, (mass[:, None] + mass[None, :]).flatten()


@torch.no_grad()
def evaluate(model: Model, points: int | None = None, data_points: int = 801) -> Exact:
    """Exact quantities on the data's law: uniform symbols, or N(0, 1) where x is a number.

    points: of the latent grid along each axis, 1601 in one dimension and 161 in two unless told.
    """
    z, log_mass = grid(model.latent, points or {1: 1601, 2: 161}.get(model.latent, 0))
    if isinstance(model.decoder, CategoricalDecoder):
        symbols = model.decoder.symbols
        log_p = _on(model, z, lambda decoder, latents: decoder.log_probabilities(latents))  # [S, P, K]
        x, log_data = torch.arange(symbols), torch.full((symbols,), -math.log(symbols), dtype=torch.float64)
        log_dx = torch.zeros(symbols, dtype=torch.float64)
    else:
        x, log_data, log_dx, log_p = _line(model, z, data_points)
    log_marginal = (log_p + log_mass[:, None]).logsumexp(1)  # [S, X]
    joint = (log_p + log_mass[:, None] + log_dx).exp()
    information = (joint * (log_p - log_marginal.unsqueeze(1))).sum((1, 2))
    weight = log_data.exp() if isinstance(model.decoder, CategoricalDecoder) else (log_data + log_dx).exp()
    likelihood = (weight * log_marginal).sum(1)
    gap = (weight * _to_posterior(model, x, z, log_p, log_mass, log_marginal)).sum(1)
    return Exact(information, likelihood, likelihood - gap, gap)


@torch.no_grad()
def posterior(model: Model, x: Tensor, points: int = 1601) -> tuple[Tensor, Tensor]:
    """Latents [P, 1] of a grid and p(z|x) there, for symbols or numbers x [X]: [S, X, P]."""
    z, log_mass = grid(model.latent, points)
    log_p = _on(model, z, lambda decoder, latents: _log_density_at(decoder, latents, x))
    log_joint = log_p + log_mass[:, None]
    step = log_mass - (-0.5 * z.square() - 0.5 * math.log(2 * math.pi)).sum(1)
    return z, (log_joint - log_joint.logsumexp(1, keepdim=True) - step[:, None]).exp().mT


def _line(model: Model, z: Tensor, points: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """A line of data, log N(0, 1) on it, log of its steps, and log p(x|z): [X], [X], [X], [S, P, X]."""
    x = torch.linspace(-REACH, REACH, points, dtype=torch.float64)
    log_dx = torch.full((points,), math.log(float(x[1] - x[0])), dtype=torch.float64)
    log_p = _on(model, z, lambda decoder, latents: _log_density_at(decoder, latents, x))
    return x, -0.5 * x.square() - 0.5 * math.log(2 * math.pi), log_dx, log_p


def _log_density_at(decoder: NormalDecoder | CategoricalDecoder, z: Tensor, x: Tensor) -> Tensor:
    """log p(x|z) for every pair: z [S, P, k], x [X] -> [S, P, X]."""
    if isinstance(decoder, CategoricalDecoder):
        return decoder.log_probabilities(z)[..., x]
    mean, log_std = decoder.moments(z)
    if mean.shape[-1] != 1:
        raise Refusal("data of several dimensions are not integrated: exact numbers need one number a sample")
    return -0.5 * ((x - mean) * (-log_std).exp()).square() - log_std - 0.5 * math.log(2 * math.pi)


def _on(model: Model, z: Tensor, function) -> Tensor:
    """A function of the decoder in float64 on latents that all members share."""
    decoder = model.decoder
    was = next(decoder.parameters()).dtype
    members = next(decoder.parameters()).shape[0]
    try:
        return function(decoder.double(), z.expand(members, -1, -1))
    finally:
        decoder.to(was)


def _to_posterior(
    model: Model, x: Tensor, z: Tensor, log_p: Tensor, log_mass: Tensor, log_marginal: Tensor
) -> Tensor:
    """KL(q(z|x) || p(z|x)) at every x, on the grid: [S, X].

    A code narrower than the grid's step would be lost between its points: KL is then taken with the code's own mass on
    the grid made one.
    """
    members = log_p.shape[0]
    given = x.expand(members, -1) if not x.is_floating_point() else x.expand(members, -1).unsqueeze(-1)
    encoder = model.encoder
    was = next(encoder.parameters()).dtype
    mean, log_std = encoder.double().moments(given)
    encoder.to(was)
    log_prior = (-0.5 * z.square() - 0.5 * math.log(2 * math.pi)).sum(1)
    log_step = log_mass - log_prior
    out = []
    for k in range(mean.shape[1]):  # symbols or points of data: a grid of latents at a time
        scaled = (z - mean[:, k : k + 1]) * (-log_std[:, k : k + 1]).exp()
        log_q = (-0.5 * scaled.square() - log_std[:, k : k + 1] - 0.5 * math.log(2 * math.pi)).sum(-1) + log_step
        log_q = log_q - log_q.logsumexp(1, keepdim=True)
        log_post = log_p[:, :, k] + log_mass - log_marginal[:, k : k + 1]
        out.append((log_q.exp() * (log_q - log_post)).sum(1))
    return torch.stack(out, dim=1)
