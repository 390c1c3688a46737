r"""What a model with one or two latent dimensions is, by quadrature: no samples, no estimate.

The latent is integrated on a fine grid under its prior, and data of one dimension too. Where the grid does not hold the
model's mass (a code or decoder narrower than its steps, a decoder that reaches beyond it) nothing is returned.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage import draws
from tutelage.arrays import doubles
from tutelage.autoencoders.objective import log_weights, standard_normal, to_prior
from tutelage.autoencoders.parts import CategoricalDecoder, Encoder, Model
from tutelage.errors import TutelageError
from tutelage.printing import printed
from tutelage.whole import positive, whole

REACH = 7.0
"""Of the grids, in deviations of the prior: 3e-12 of its mass lies beyond."""
COLLAPSED_KL, COLLAPSED_INFORMATION = 0.01, 0.02
"""Nats below which a code counts as collapsed: of KL(q(z|x) || p(z)), or of I(x; z)."""
_POINTS = {1: 801, 2: 121}  # of the latent grid along each axis
_ELEMENTS = 4_000_000  # of the largest array
_MISSED = 1e-3  # mass off the grid that is let pass


@printed
@dataclass(frozen=True, eq=False)
class Exact:
    """Exact quantities of every member, in nats, [S] each.

    Attributes
    ----------
    information
        I(x; z) of the model.
    infomax
        H(z) + E log r(z|x), the estimator's bound without sampling noise.
    sharpness
        E H(z|x), mean entropy of the model's posteriors.
    likelihood, elbo
        E log p(x) and the ELBO on the data.
    gap
        E KL(q(z|x) || p(z|x)) on the data.
    kl
        E KL(q(z|x) || p(z)) on the data.
    """

    information: Tensor
    infomax: Tensor
    sharpness: Tensor
    likelihood: Tensor
    elbo: Tensor
    gap: Tensor
    kl: Tensor

    @property
    def collapsed(self) -> Tensor:
        """Whether the code says next to nothing: [S]."""
        return (self.kl < COLLAPSED_KL) | (self.information < COLLAPSED_INFORMATION)


def grid(latent: int, points: int | None = None) -> tuple[Tensor, Tensor]:
    """Grid of codes for the trapezoidal rule.

    Parameters
    ----------
    latent
        Dimension k.
    points
        Per axis.

    Returns
    -------
    z, log_cell
        [P, k], and the logarithm of the volume of a cell.
    """
    if latent not in _POINTS:
        raise TutelageError(f"quadrature serves latents of one or two dimensions, not {latent}: use the bounds instead")
    line = torch.linspace(-REACH, REACH, _steps(points, _POINTS[latent], "points"), dtype=torch.float64)
    log_cell = latent * (line[1] - line[0]).log()
    return (line.unsqueeze(1) if latent == 1 else torch.cartesian_prod(line, line)), log_cell


def _steps(points: int | None, usual: int, name: str) -> int:
    number = usual if points is None else whole(points)
    if number is None or number < 2:
        raise TutelageError(f"{name} must be a whole number of at least 2, got {points!r}")
    return number


@torch.no_grad()
def evaluate(model: Model, *, points: int | None = None, data_points: int = 401) -> Exact:
    """Exact quantities of small models by quadrature, under uniform symbols or N(0, 1).

    Parameters
    ----------
    model
        S members.
    points
        Grid points of the code per axis; default: 801 in one dimension, 121 in two.
    data_points
        Grid points of the data.

    Returns
    -------
    Exact
    """
    z, _ = grid(model.latent, points)
    x = _distribution(model, data_points)[0]
    # Members are taken some at a time, because the joint of codes and data is P x X numbers for each of them.
    chunk = max(1, _ELEMENTS // (len(z) * len(x)))
    parts = [_evaluate(model.select(r), points, data_points) for r in torch.arange(model.members).split(chunk)]
    return Exact(*(torch.cat([getattr(part, name) for part in parts]) for name in Exact.__dataclass_fields__))


def _evaluate(model: Model, points: int | None, data_points: int) -> Exact:
    x, log_data, log_dx = _distribution(model, data_points)
    z, log_dz = grid(model.latent, points)
    log_prior = standard_normal(z) + log_dz  # of the cells: [P]
    log_p = log_conditional(model, z, x)  # [S, P, X]
    # All in logarithms of cells, and sums by logsumexp, since densities of narrow decoders under- and overflow.
    log_joint = log_p + log_prior[:, None] + log_dx
    joint = log_joint.exp()
    _hold(joint.sum((1, 2)), "the model", "decoder")
    log_marginal = (log_p + log_prior[:, None]).logsumexp(1)  # [S, X]
    log_posterior = log_p + log_prior[:, None] - log_marginal.unsqueeze(1)  # of the cells: [S, P, X]
    information = (joint * (log_p - log_marginal.unsqueeze(1))).sum((1, 2))
    sharpness = (joint * (log_dz - log_posterior)).sum((1, 2))
    log_r = log_code(model.estimator, z, x).mT
    weight = (log_data + log_dx).exp()
    log_q = log_code(model.encoder, z, x).mT + log_dz
    q = log_q.exp()
    _hold((q.sum(1) * weight).sum(1), "the encoder", "encoder")
    gap = (q * (log_q - log_posterior)).sum(1)
    mean, log_std = model.encoder.moments(_given(model, x))
    kl = (to_prior(mean, log_std).sum(-1) * weight).sum(1)
    return Exact(
        information,
        model.prior_entropy + (joint * log_r).sum((1, 2)),
        sharpness,
        (weight * log_marginal).sum(1),
        (weight * (q * log_p).sum(1)).sum(1) - kl,
        (weight * gap).sum(1),
        kl,
    )


@torch.no_grad()
def posterior(model: Model, x: Tensor, points: int | None = None) -> tuple[Tensor, Tensor]:
    """Density p(z|x) of the model on a grid of codes.

    Parameters
    ----------
    model
        S members.
    x
        Symbols or numbers [X].
    points
        Grid points per axis.

    Returns
    -------
    z, density
        Grid [P, k], and p(z|x) there, [S, X, P].
    """
    chosen = model.select(range(model.members))
    z, log_dz = grid(model.latent, points)
    log_joint = log_conditional(chosen, z, x) + standard_normal(z)[:, None]
    return z, (log_joint - log_joint.logsumexp(1, keepdim=True) - log_dz).exp().mT


@torch.no_grad()
def code(
    model: Model, x: Tensor, *, resample: int = 1, sets: int = 256, seed: int = 0, points: int | None = None
) -> tuple[Tensor, Tensor]:
    """Density of the encoder on a grid of codes.

    Parameters
    ----------
    model
        S members.
    x
        Symbols or numbers [X].
    resample
        k of the resampling encoder; its density is the mean of k p(x, z) / (w(z) + sum of k - 1 weights) over fresh
        weights (Phuong 2021, section 4.5; Cremer et al. 2017).
    sets
        Sets of fresh weights.
    seed
        Of the weights.
    points
        Grid points per axis.

    Returns
    -------
    z, density
        Grid [P, k], and q(z|x) there, [S, X, P].
    """
    chosen = model.select(range(model.members))
    z, log_dz = grid(model.latent, points)
    if isinstance(model.decoder, CategoricalDecoder):
        x = _symbols(x, model.decoder.symbols)
    log_q = log_code(chosen.encoder, z, x)  # [S, X, P]
    resample, sets = positive(resample, "resample"), positive(sets, "sets")
    if resample == 1:
        return z, log_q.exp()
    log_joint = (log_conditional(chosen, z, x) + standard_normal(z)[:, None]).mT
    key = draws.keys([seed] * model.members, "autoencoder-resampled")
    shape = (model.members, sets * (resample - 1), len(x), model.latent)
    noise = draws.normals(key, math.prod(shape[1:])).view(shape)
    others = log_weights(chosen, _given(chosen, x), noise).view(model.members, sets, resample - 1, len(x)).logsumexp(2)
    log_weight = log_joint - log_q
    # Invariant: the sum over the sets so far of p(x, z) / (w(z) + sum of their k - 1 other weights). One set at a time:
    # all sets together would be [S, sets, X, P].
    total = torch.zeros_like(log_q)
    for other in others.unbind(1):  # [S, X] each
        total += (log_joint - torch.logaddexp(log_weight, other.unsqueeze(2))).exp()
    density = total * resample / sets
    mass = density.sum(2, keepdim=True) * log_dz.exp()
    _hold(mass.flatten(), "the resampling encoder", "encoder", allowed=0.1)  # of the noise of the sets
    return z, density / mass


def divergence(p: Tensor, q: Tensor, cell: float) -> Tensor:
    """KL(p || q) of densities on a grid.

    Parameters
    ----------
    p, q
        Densities [..., P].
    cell
        Volume of a cell.

    Returns
    -------
    Tensor
        [...]; infinite where q is 0 on more than rounding (2e-16) of the mass of p. Less is the tail of a density that
        underflows on the grid, and counts with the smallest number in place of 0.

    Examples
    --------
    >>> p, q = torch.tensor([[0.5, 0.5], [0.5, 0.5]]), torch.tensor([[1.0, 0.0], [0.5, 0.5]])
    >>> divergence(p, q, 1.0).tolist()
    [inf, 0.0]
    """
    p, q, cell = doubles(p, "p"), doubles(q, "q"), float(cell)
    if not (p.ndim and q.ndim and p.shape[-1] == q.shape[-1] > 0):
        raise TutelageError(
            f"p and q must be densities at the same grid points, got shapes {list(p.shape)} and {list(q.shape)}"
        )
    if not bool(((p >= 0) & (p < math.inf)).all() and ((q >= 0) & (q < math.inf)).all()):
        raise TutelageError("p and q must be densities, which are finite and not negative: remove other values")
    if not 0 < cell < math.inf:
        raise TutelageError(f"cell must be positive and finite, got {cell}")
    small = torch.finfo(p.dtype).tiny
    # A zero of q where p is only rounding is no proof of an infinite divergence.
    outside = torch.where(q == 0, p, 0.0).sum(-1) > torch.finfo(p.dtype).eps * p.sum(-1)
    value = (p * (p.clamp_min(small).log() - q.clamp_min(small).log())).sum(-1) * cell
    return torch.where(outside, math.inf, value)


def active_units(model: Model, x: Tensor, least: float = 0.01) -> Tensor:
    """How many latents move with the data: the variance of E(z_k|x) over x is above ``least`` (Burda et al. 2016).

    x: [S, B, d] or symbols [S, B] -> [S].
    """
    with torch.no_grad():
        return (model.encoder.moments(x)[0].var(1) > least).sum(-1)


def log_conditional(model: Model, z: Tensor, x: Tensor) -> Tensor:
    """log p(x|z) for every pair, in float64 models: z [P, k], x [X] -> [S, P, X]."""
    latents = z.expand(model.members, -1, -1)
    if isinstance(model.decoder, CategoricalDecoder):
        return model.decoder.log_probabilities(latents)[..., _symbols(x, model.decoder.symbols)]
    mean, log_std = model.decoder.moments(latents)
    if mean.shape[-1] != 1:
        raise TutelageError("data of several dimensions are not integrated: exact numbers need one number per sample")
    return -0.5 * ((x - mean) * (-log_std).exp()).square() - log_std - 0.5 * math.log(2 * math.pi)


def _symbols(x: Tensor, count: int) -> Tensor:
    x = torch.as_tensor(x)
    if x.is_floating_point() or not bool(((x >= 0) & (x < count)).all()):
        raise TutelageError(f"symbols must be whole numbers from 0 to {count - 1}, as an integer tensor")
    return x


def log_code(encoder: Encoder, z: Tensor, x: Tensor) -> Tensor:
    """log q(z|x) for every pair, in float64 models: z [P, k], x [X] -> [S, X, P]."""
    members = next(encoder.parameters()).shape[0]
    given = x.expand(members, -1) if not x.is_floating_point() else x.expand(members, -1).unsqueeze(-1)
    mean, log_std = (m.unsqueeze(2) for m in encoder.moments(given))
    return standard_normal((z - mean) * (-log_std).exp()) - log_std.sum(-1)


def _distribution(model: Model, points: int) -> tuple[Tensor, Tensor, Tensor]:
    """Values x of the data, log of their density or probability, and log of the steps between them: [X] each."""
    if isinstance(model.decoder, CategoricalDecoder):
        symbols = model.decoder.symbols
        even = torch.full((symbols,), -math.log(symbols), dtype=torch.float64)
        return torch.arange(symbols), even, torch.zeros(symbols, dtype=torch.float64)
    x = torch.linspace(-REACH, REACH, points := _steps(points, points, "data_points"), dtype=torch.float64)
    return x, standard_normal(x.unsqueeze(1)), (x[1] - x[0]).log().expand(points)


def _given(model: Model, x: Tensor) -> Tensor:
    """Data that all members share, as encoders take them."""
    every = x.expand(model.members, -1)
    return every.unsqueeze(-1) if x.is_floating_point() else every


def _hold(mass: Tensor, whose: str, part: str, allowed: float = _MISSED) -> None:
    """Reject where the grid does not hold what it integrates."""
    off = float((mass - 1).abs().max())
    if not off <= allowed:
        raise TutelageError(
            f"the grid holds the mass of {whose} to {off:.1e} only: its {part} is too narrow or reaches too far; ask "
            "for more points"
        )
