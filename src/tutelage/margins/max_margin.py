r"""One-class max-margin vectors through the origin (Phuong 2021, eqs. 3.6 and 3.7).

.. math:: w_\pm = \arg\min \|w\|^2 \quad\text{subject to}\quad w \cdot x_i \ge 1 \text{ for } y_i = \pm 1

By non-negative least squares: with :math:`\alpha \ge 0` minimising :math:`\|X\alpha\|^2 + (1 - 1^T\alpha)^2` and r the
last residual, w = X alpha / r has w.x_i >= 1 with equality where alpha_i > 0. Where r = 0 the class has no separating
vector at all, and the samples with alpha_i > 0 say so: their convex hull holds the origin (Gordan).
"""

from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import nnls
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.margins.datasets import LabelledPoints
from tutelage.printing import printed

_IMPOSSIBLE = 1e-12
"""Of the data's scale: a margin below this counts as none."""


@dataclass(frozen=True, eq=False)
class MaxMargin:
    """The max-margin vector of one class of S sets.

    w [S, d]; dual: alpha with w = sum alpha_i x_i, 0 off the class [S, n]; support: samples of the class with
    w.x_i = 1, bool [S, n]; rank: of the support samples [S]; kkt: the largest of the residuals of feasibility,
    complementary slackness and stationarity, relative [S].
    """

    w: Tensor
    dual: Tensor
    support: Tensor
    rank: Tensor
    kkt: Tensor

    @property
    def norm(self) -> Tensor:
        return self.w.norm(dim=1)

    @property
    def direction(self) -> Tensor:
        return self.w / self.norm[:, None]

    @property
    def spans(self) -> Tensor:
        """Whether the support samples span the whole space, as Theorem 3.1 asks: bool [S]."""
        return self.rank == self.w.shape[1]


@printed
@dataclass(frozen=True, eq=False)
class MaxMargins:
    """Max-margin vectors w_+ and w_- of both classes of S sets.

    Attributes
    ----------
    positive, negative
        Each with the vectors, supports, dual variables and residuals.
    """

    positive: MaxMargin
    negative: MaxMargin

    def of(self, sign: int) -> MaxMargin:
        return self.positive if sign > 0 else self.negative

    def for_units(self, a: Tensor) -> Tensor:
        """w_+ for units with a_j > 0, w_- for the others: a [.., S, p] -> [.., S, p, d]."""
        return torch.where(a.unsqueeze(-1) > 0, self.positive.w[:, None], self.negative.w[:, None])


def max_margins(data: LabelledPoints) -> MaxMargins:
    """Max-margin vectors of both classes of every set.

    Parameters
    ----------
    data
        Labelled points.

    Returns
    -------
    MaxMargins

    Raises
    ------
    TutelageError
        If a class cannot be separated from 0.

    Examples
    --------
    >>> data = LabelledPoints(torch.tensor([[2.0, 0.0], [2.0, 2.0], [-1.0, 0.0]]), torch.tensor([1, 1, -1]))
    >>> found = max_margins(data)
    >>> found.positive.w[0].tolist(), found.positive.support[0].tolist(), found.negative.w[0].tolist()
    ([0.5, 0.0], [True, True, False], [-1.0, 0.0])
    """
    return MaxMargins(_one_class(data, 1), _one_class(data, -1))


def _one_class(data: LabelledPoints, sign: int) -> MaxMargin:
    mine = (data.y == sign).numpy()
    x = data.x.numpy()
    dual = np.zeros(mine.shape)
    for s in range(data.members):
        dual[s, mine[s]] = _dual(x[s, mine[s]], s, sign, np.flatnonzero(mine[s]))
    alpha, inside = torch.from_numpy(dual), torch.from_numpy(mine)
    w = (alpha.unsqueeze(1) @ data.x).squeeze(1)
    height = (data.x @ w.unsqueeze(2)).squeeze(2)
    size = 1 + data.x.norm(dim=2) * w.norm(dim=1, keepdim=True)
    support = inside & ((height - 1).abs() <= 1e-9 * size)
    short = torch.where(inside, 1 - height, 0).clamp_min(0).amax(1)
    slack = (alpha * (height - 1)).abs().amax(1) / alpha.amax(1)
    least = (-alpha).clamp_min(0).amax(1)  # stationarity w = X alpha holds by construction
    rank = torch.linalg.matrix_rank(data.x * support.unsqueeze(2) / data.x.norm(dim=2, keepdim=True), rtol=1e-9)
    return MaxMargin(w, alpha, support, rank, torch.stack([short, slack, least]).amax(0))


def _dual(x: np.ndarray, member: int, sign: int, names: np.ndarray) -> np.ndarray:
    """alpha of one class of one set: x [m, d] -> [m]."""
    length = np.linalg.norm(x, axis=1)
    scale, ones = length.mean(), np.ones(len(x))
    # On the points as they are first. Where that fails, on points of length 1 whose heights are not 1 but what their
    # lengths ask for: short points next to long ones look like 0 to the first attempt.
    alpha, possible = _least(x / scale, ones)
    if possible:
        return _polished(x, ones, alpha / scale**2)
    unit, heights = x / length[:, None], length.min() / length  # short points next to long ones seem to be 0 above
    alpha, possible = _least(unit, heights)
    if not possible:
        held = names[alpha > 1e-9 * alpha.max()]
        raise TutelageError(
            f"the samples labelled {sign:+d} of set {member} have no max-margin vector: 0 lies in the convex hull of "
            f"samples {', '.join(map(str, held))}, so no w has w.x > 0 on all of them; leave one of these out"
        )
    alpha = _polished(unit, heights, alpha)
    if not (unit @ (alpha @ unit) >= (1 - 1e-6) * heights).all():
        raise TutelageError(
            f"the samples labelled {sign:+d} of set {member} have lengths from {length.min():.1e} to "
            f"{length.max():.1e}, too far apart for a max-margin vector in float64: leave out the longest or shortest"
        )
    return alpha / length.min() / length


def _least(x: np.ndarray, heights: np.ndarray) -> tuple[np.ndarray, bool]:
    """alpha of the shortest w = sum alpha_i x_i with w.x_i >= heights_i, and True; shares that sum to 0, and False."""
    rows = np.vstack([x.T, heights])
    # Least squares with one more row: |X alpha|^2 + (1 - h.alpha)^2, with alpha >= 0. Lagrange multipliers of the
    # max-margin problem are a multiple of the solution, and a solution without residual is a convex combination that
    # gives 0.
    target = np.zeros(len(rows))
    target[-1] = 1.0
    alpha, _ = nnls(rows, target, maxiter=50 * len(x) + 100)
    left = 1 - (heights * alpha).sum()
    if left <= _IMPOSSIBLE or np.linalg.norm(rows[:-1] @ alpha) <= _IMPOSSIBLE:
        return alpha, False
    return alpha / left, True


def _polished(x: np.ndarray, heights: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """alpha with w.x_i = heights_i on the support to the last digits, where that keeps it non-negative."""
    support = np.flatnonzero(alpha > 0)
    # On a known support the problem is a linear system. Its solution is taken only where it stays non-negative, so
    # polishing never makes the answer worse.
    solution = np.linalg.lstsq(x[support] @ x[support].T, heights[support], rcond=None)[0]
    better = np.zeros_like(alpha)
    better[support] = solution
    return better if (solution >= 0).all() else alpha
