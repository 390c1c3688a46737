"""Normalised correlation of student units with teacher units, and what follows from it (Tian 2020, eq. 9)."""

import torch
from torch import Tensor

from tutelage.measures import moments
from tutelage.measures.registry import measure_of
from tutelage.measures.scaling import far_from_unity, to_unity
from tutelage.measures.snapshot import Snapshot

RECOVERED = 0.95
"""A teacher unit counts as recovered above this correlation with its best student (Tian 2020, section 7.1)."""


def correlations(first: Tensor, second: Tensor) -> Tensor:
    r"""Correlations of all pairs of units of two layers (Tian 2020, eq. 9).

    .. math:: \rho_{jk} = \frac{\langle f_j - \bar f_j,\; f_k - \bar f_k\rangle}{\|f_j - \bar f_j\|\,\|f_k - \bar f_k\|}

    Parameters
    ----------
    first, second
        Activations on the same samples, [S, N, m] and [S, N, n].

    Returns
    -------
    Tensor
        rho in [-1, 1], [S, m, n]; 0 where a unit is constant over the samples, up to rounding.

    Examples
    --------
    >>> x = torch.tensor([[[1.0], [2.0], [4.0]]])
    >>> correlations(x, torch.cat([3 * x, -x, torch.ones_like(x)], dim=-1)).round(decimals=6) + 0.0
    tensor([[[ 1., -1.,  0.]]])
    """
    return _cosines(_centred(first), _centred(second))


def _centred(f: Tensor) -> tuple[Tensor, Tensor]:
    """Activations without their mean [S, N, n], and one over their norms [S, n], 0 for units that are constant.

    Units whose squares would vanish or overflow are multiplied by a power of two first: correlations stay as they are.
    """
    mean = f.mean(dim=1, keepdim=True)
    centred = f - mean
    ones = f.new_ones(1, 1, 1).expand(f.shape[0], 1, f.shape[1])
    # Most units are of ordinary size: all are squared at once, and only those whose squares cannot be trusted again.
    squares = torch.bmm(ones, centred.square())  # a product is the fastest sum over samples
    far = far_from_unity(squares.squeeze(1))
    if far.any():
        rows = f.mT[far]  # [units, N]
        rows = rows * to_unity(torch.linalg.vector_norm(rows, torch.inf, dim=1, keepdim=True))
        mean.mT[far] = rows.mean(1, keepdim=True)
        centred.mT[far] = rows - rows.mean(1, keepdim=True)
        squares.mT[far] = centred.mT[far].square().sum(1, keepdim=True)
    norm = squares.sqrt()
    # what rounding alone leaves of a constant: machine epsilon times its size, over N samples
    constant = norm <= 8 * torch.finfo(f.dtype).eps * mean.abs() * f.shape[1] ** 0.5
    return centred, torch.where(constant, 0, 1 / norm.clamp_min(torch.finfo(f.dtype).tiny)).squeeze(1)


def _cosines(first: tuple[Tensor, Tensor], second: tuple[Tensor, Tensor]) -> Tensor:
    # Divided by the norms after the product: the matrices are [m, n], far smaller than the activations [N, m].
    products = torch.bmm(first[0].mT, second[0])
    return (products * first[1].unsqueeze(2) * second[1].unsqueeze(1)).clamp_(-1, 1)


def by_layer(s: Snapshot) -> list[Tensor]:
    """The correlation matrix of every hidden layer of the students, [S, m_l, n_l] each, on the evaluation points.

    Where teacher and students differ in depth, every layer of the students is compared with all units of the teacher,
    [S, sum of m_l, n_l].
    """
    if moments.applies(s):
        return [moments.correlations(s, lambda: _centred(s.teacher_activity.features[1]))]
    layers = s.hidden_layers
    taught = s.once_for_all("centred", lambda: _teacher_layers(s))
    return s.once(
        "correlations",
        lambda: [
            _cosines(teacher, _centred(s.activity.features[layer]))
            for layer, teacher in zip(layers, taught, strict=True)
        ],
    )


def _teacher_layers(s: Snapshot) -> list[tuple[Tensor, Tensor]]:
    """What each hidden layer of the students is compared with: the teacher's layer, or all its units."""
    centred = [_centred(f) for f in s.teacher_activity.features[1:-1]]
    if len(centred) == len(s.hidden_layers):
        return centred
    everything = torch.cat([c for c, _ in centred], dim=2), torch.cat([n for _, n in centred], dim=1)
    return [everything] * len(s.hidden_layers)


def like_depths(s: Snapshot) -> bool:
    """Whether teacher and students have as many layers, so that like layers are compared."""
    return s.teacher.depth == s.students.depth


@measure_of("pair")
def correlation(s: Snapshot) -> Tensor:
    """rho_jk of every teacher unit j with every student unit k (Tian 2020, eq. 9)."""
    layers = by_layer(s)
    if not like_depths(s):
        return torch.cat(layers, dim=2)
    return layers[0] if len(layers) == 1 else torch.cat([c.flatten(1) for c in layers], dim=1)


@measure_of("unit", of_teacher_units=True)
def specialisation(s: Snapshot) -> Tensor:
    """max_j rho_jk: how well the best teacher unit explains student unit k."""
    return torch.cat([c.amax(1) for c in by_layer(s)], dim=1)


@measure_of("unit", of_teacher_units=True)
def best_teacher(s: Snapshot) -> Tensor:
    """argmax_j rho_jk: the teacher unit that student unit k resembles most, counted from 0 in its layer.

    Where teacher and students differ in depth it is counted through all layers of the teacher.
    """
    return torch.cat([c.argmax(1) for c in by_layer(s)], dim=1)


@measure_of("teacher")
def best_correlation(s: Snapshot) -> Tensor:
    """max_k rho_jk: how well teacher unit j is found by its best student unit."""
    return _best(s)


@measure_of("teacher")
def recovered(s: Snapshot) -> Tensor:
    """Whether max_k rho_jk > 0.95; for other thresholds compare ``best_correlation``."""
    return _best(s) > RECOVERED


def _best(s: Snapshot) -> Tensor:
    """max_k rho_jk of every teacher unit: [S, sum of m_l]."""
    layers = by_layer(s)
    return torch.cat([c.amax(2) for c in layers], dim=1) if like_depths(s) else torch.cat(layers, dim=2).amax(2)


@measure_of("layer", of_teacher_units=True)
def rho_mean(s: Snapshot) -> Tensor:
    """mean_j max_k rho_jk of every hidden layer (Tian 2020, eq. 9)."""
    return torch.stack([c.amax(2).mean(1) for c in by_layer(s)], dim=1)
