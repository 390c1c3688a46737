r"""Starts of small loss: random directions, or random directions in a learned subspace, with the best lengths.

Algorithm 1 draws :math:`w_i \sim N(0, I_d)`, Algorithm 2 :math:`w_i \sim N(0, Q Q^T)` with Q the top r eigenvectors of
:math:`\hat M = \frac1N \sum_k y_k (x_k x_k^T - I)`. Both then solve
:math:`\min_{z \ge 0} \tfrac12 E(\sum_i z_i |w_i \cdot x| - y)^2` and give :math:`w'_i = \sqrt{z_i / |w_i|}\, w_i` (Zhou
et al. 2021, section 3.3). Each exactly, or from samples.
"""

from collections.abc import Sequence

import numpy as np
import torch
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from scipy.optimize import nnls
from torch import Tensor

from tutelage.arrays import doubles
from tutelage.draws import as_seeds, keys, normals
from tutelage.errors import TutelageError
from tutelage.local.setting import ineffective
from tutelage.population.kernels import kernel
from tutelage.whole import positive, whole

_RANK = 1e-14  # of the greatest diagonal entry of a Gram matrix: what is below it adds no direction


def teachers_of(teachers: Tensor, seeds: Sequence[int]) -> Tensor:
    """Teachers as float64 [S, r, d] or [1, r, d] for that many seeds; an error for others and for the zero vector."""
    stacked, members = doubles(teachers, "teachers").detach().cpu(), len(as_seeds(seeds))
    stacked = stacked[None] if stacked.ndim == 2 else stacked
    if stacked.ndim != 3 or 0 in stacked.shape or len(stacked) not in (1, members):
        raise TutelageError(
            f"teachers must have the shape [r, d], [1, r, d] or [{members}, r, d] for {members} seeds, got "
            f"{list(stacked.shape)}"
        )
    if not bool((stacked.isfinite().all(2) & (stacked != 0).any(2)).all()):
        raise TutelageError("a teacher is the zero vector or not finite, and has no direction: leave it out")
    return stacked


def labels(teachers: Tensor, x: Tensor) -> Tensor:
    """y = sum_i |w*_i.x| at points [S, N, d]: [S, N]."""
    return (x.double() @ teachers.double().mT).abs().sum(2)


def samples(teachers: Tensor, number: int, seeds: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Inputs x ~ N(0, I) labelled by the teachers.

    Parameters
    ----------
    teachers
        [S, r, d] or [1, r, d].
    number
        Samples per member.
    seeds
        One per member.

    Returns
    -------
    x, y
        [S, N, d] and [S, N].
    """
    teachers, number = teachers_of(teachers, seeds), positive(number, "number")
    d = teachers.shape[-1]
    x = normals(keys(seeds, "local samples"), number * d).view(-1, number, d)
    return x, labels(teachers, x)


def fit_lengths(directions: Tensor, teachers: Tensor) -> Tensor:
    """The best students in these directions [S, m, d] for teachers [S, r, d] or [1, r, d], exactly: [S, m, d].

    Non-negative least squares on the Gram matrix of the units; a direction that gets no length becomes a zero student,
    which never moves afterwards.
    """
    directions, teachers = directions.double(), teachers.double().expand(len(directions), -1, -1)
    gram = kernel(directions, directions, "abs").numpy()
    targets = kernel(directions, teachers, "abs").sum(2).numpy()
    return _with_lengths(directions, gram, targets)


def fit_lengths_to_samples(directions: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The same from samples x [S, N, d], y [S, N]."""
    directions = directions.double()
    features = (x.double() @ directions.mT).abs()
    gram = (features.mT @ features / x.shape[1]).numpy()
    targets = ((features * y.double().unsqueeze(2)).mean(1)).numpy()
    return _with_lengths(directions, gram, targets)


def _with_lengths(directions: Tensor, gram: np.ndarray, targets: np.ndarray) -> Tensor:
    """Students of the lengths that non-negative least squares give these directions, member by member."""
    z = np.stack([_nnls(g, b) for g, b in zip(gram, targets, strict=True)])
    return ineffective(torch.from_numpy(z).unsqueeze(2) * directions)


def _nnls(gram: np.ndarray, target: np.ndarray) -> np.ndarray:
    """argmin over z >= 0 of z^T gram z / 2 - target.z, through a root of the Gram matrix."""
    # z^T G z / 2 - b.z = |R z - c|^2 / 2 up to a constant, with G = R^T R and R^T c = b: the form nnls solves. More
    # directions than dimensions of the kernel make G singular to rounding, and pivoting stops where no new direction is
    # left.
    factor, order, rank, _ = dpstrf(gram, tol=_RANK * gram.diagonal().max())  # pivoted, since it may be singular
    order = order - 1
    root = np.zeros((rank, len(gram)))
    root[:, order] = np.triu(factor)[:rank]
    wanted = solve_triangular(factor[:rank, :rank], target[order[:rank]], trans="T")
    return nnls(root, wanted, maxiter=30 * len(gram))[0]


def random_directions(m: int, d: int, seeds: Sequence[int]) -> Tensor:
    """w ~ N(0, I): [S, m, d] (Zhou et al. 2021, Algorithm 1)."""
    return normals(keys(seeds, "local random directions"), m * d).view(-1, m, d)


def subspace_directions(m: int, basis: Tensor, seeds: Sequence[int]) -> Tensor:
    """w ~ N(0, Q Q^T) for orthonormal columns Q [S, d, r]: [S, m, d] (Zhou et al. 2021, Algorithm 2)."""
    r = basis.shape[2]
    return normals(keys(seeds, "local subspace directions"), m * r).view(-1, m, r) @ basis.mT


def second_moment(teachers: Tensor) -> Tensor:
    r"""E[f*(x) (x x^T - I)] = sqrt(2/pi) sum_i |w*_i| u_i u_i^T, u_i the units: [S, d, d] (Zhou et al. 2021, Lemma
    E.2).
    """
    teachers = teachers.double()
    lengths = teachers.norm(dim=2, keepdim=True)
    return float(np.sqrt(2 / np.pi)) * (teachers / lengths).mT @ teachers


def sampled_second_moment(x: Tensor, y: Tensor) -> Tensor:
    """(1/N) sum_k y_k (x_k x_k^T - I) of samples x [S, N, d], y [S, N]: [S, d, d]."""
    x, y = x.double(), y.double()
    eye = torch.eye(x.shape[2], dtype=torch.float64)
    return (x * y.unsqueeze(2)).mT @ x / x.shape[1] - y.mean(1)[:, None, None] * eye


def subspace(moment: Tensor, r: int) -> Tensor:
    """The r eigenvectors of the greatest eigenvalues of a second moment [S, d, d]: [S, d, r]."""
    d = moment.shape[-1]
    if r > d:
        raise TutelageError(f"a space of {d} dimensions has no subspace of {r}: give r of at most d, or Algorithm 1")
    return torch.linalg.eigh(moment).eigenvectors[..., d - r :]


def random_start(teachers: Tensor, m: int, seeds: Sequence[int], number: int | None = None) -> Tensor:
    """Random initialisation with fitted lengths (Zhou et al. 2021, Algorithm 1).

    Parameters
    ----------
    teachers
        [S, r, d] or [1, r, d].
    m
        Number of students.
    seeds
        One per member.
    number
        Number of samples; None for exact expectations.

    Returns
    -------
    Tensor
        Students [S, m, d].

    Examples
    --------
    >>> from tutelage.local import LocalSetting, loss, separated_teachers
    >>> teachers = separated_teachers(2, 3, [0])
    >>> start = random_start(teachers, 50, [0])
    >>> start.shape, bool(loss(LocalSetting(teachers, start)) < 0.1)
    (torch.Size([1, 50, 3]), True)
    """
    teachers = teachers_of(teachers, seeds)
    check_enough(m, teachers.shape[1])
    directions = random_directions(m, teachers.shape[2], seeds)
    if number is None:
        return fit_lengths(directions, teachers)
    return fit_lengths_to_samples(directions, *samples(teachers, number, seeds))


def subspace_start(teachers: Tensor, m: int, seeds: Sequence[int], number: int | None = None) -> Tensor:
    """Initialisation in the estimated subspace of the teachers (Zhou et al. 2021, Algorithm 2).

    Parameters
    ----------
    teachers, m, seeds, number
        As in :func:`random_start`; with ``number``, the subspace and the lengths come from the same samples.

    Returns
    -------
    Tensor
        Students [S, m, d].

    Examples
    --------
    >>> from tutelage.local import separated_teachers
    >>> subspace_start(separated_teachers(2, 6, [0]), 20, [0]).shape
    torch.Size([1, 20, 6])
    """
    teachers = teachers_of(teachers, seeds)
    r = teachers.shape[1]
    check_enough(m, r)
    if number is None:
        basis = subspace(second_moment(teachers), r).expand(len(seeds), -1, -1)
        return fit_lengths(subspace_directions(m, basis, seeds), teachers)
    x, y = samples(teachers, number, seeds)
    basis = subspace(sampled_second_moment(x, y), r)
    return fit_lengths_to_samples(subspace_directions(m, basis, seeds), x, y)


def check_enough(m: int, r: int) -> None:
    """Reject fewer students than teachers."""
    if (number := whole(m)) is None or number < r:
        raise TutelageError(f"there are {m} students for {r} teachers: the theory needs at least as many")
