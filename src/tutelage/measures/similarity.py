r"""How alike two layers are as representations: CCA, SVCCA, PWCCA, linear CKA (biased, debiased, of minibatches)
and Procrustes, through one interface.

All of them are functions of the centred second moments of the units' activations, X [N, p] and Y [N, q], so one pass
over the samples is enough (:mod:`.second_moments`) and members are stacked. With
:math:`C_{XY} = \sum_i (x_i - \bar x)(y_i - \bar y)^T`, the canonical correlations :math:`\rho_i` are the singular
values of :math:`C_{XX}^{-1/2} C_{XY} C_{YY}^{-1/2}`, taken over directions with variance above rounding.

A layer that is constant over the samples has nothing in common with any other: similarity 0, the largest distance.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from tutelage.errors import TutelageError, unknown
from tutelage.measures.registry import measure_of
from tutelage.measures.scaling import to_unity
from tutelage.measures.second_moments import SecondMoments, second_moments
from tutelage.measures.snapshot import Snapshot

KEPT = 0.99
"""Share of the variance that SVCCA keeps."""

Formula = Callable[..., Tensor]


@dataclass(frozen=True)
class Index:
    """A way to compare layers: what its values mean, and what may be done to a layer without changing them.

    low, high: its range; identical: its value for a layer and itself; unchanged_by: maps of either layer's units that
    leave it as it is, of "permutation", "scale" (all units by one factor), "rotation" and "invertible";
    symmetric: whether the layers may be exchanged.
    """

    name: str
    low: float
    high: float
    identical: float
    unchanged_by: tuple[str, ...]
    symmetric: bool
    formula: Formula

    @property
    def direction(self) -> str:
        return "larger is more alike" if self.identical == self.high else "smaller is more alike"

    def __call__(self, moments: SecondMoments, **options: Any) -> Tensor:
        return self.formula(_to_unity(moments), **options)


INDICES: dict[str, Index] = {}


def index(
    *, low: float = 0.0, high: float = 1.0, identical: float, unchanged_by: tuple[str, ...], symmetric: bool = True
) -> Callable[[Formula], Index]:
    """Register a formula on second moments as the index of its name; its docstring stays with it."""

    def register(formula: Formula) -> Index:
        made = Index(formula.__name__, low, high, identical, unchanged_by, symmetric, formula)
        object.__setattr__(made, "__doc__", formula.__doc__)
        INDICES[made.name] = made
        return made

    return register


def similarity(first: Tensor | SecondMoments, second: Tensor | None = None, by: str = "cka", **options: Any) -> Tensor:
    """Similarity of two layers by an index that ignores permutation of units.

    Parameters
    ----------
    first, second
        Activations [S, N, p] and [S, N, q] on the same samples (or [N, p] and [N, q]); or, as the only argument, the
        second moments of samples that arrived in pieces (:func:`second_moments`).
    by
        Name of the index, a key of ``INDICES``.
    **options
        Options of that index.

    Returns
    -------
    Tensor
        One value per member, [S].

    Examples
    --------
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0], [4.0, 4.0], [0.0, 1.0], [2.0, 2.0]])
    >>> similarity(x, x.flip(1) * 3, by="cka").round(decimals=9)
    tensor([1.], dtype=torch.float64)
    """
    if by not in INDICES:
        raise unknown("index of similarity", by, INDICES)
    if isinstance(first, SecondMoments):
        return INDICES[by](first, **options)
    if second is None:
        raise TutelageError("similarity compares two layers: give the activations of both, or their second moments")
    return INDICES[by](second_moments([(first, second)]), **options)


@index(identical=1.0, unchanged_by=("permutation", "scale", "rotation", "invertible"))
def cca(moments: SecondMoments) -> Tensor:
    r"""Mean canonical correlation, :math:`\frac{1}{\min(r_X, r_Y)} \sum_i \rho_i` with the ranks r (Hardoon 2004)."""
    x, y = _whitening(moments.xx), _whitening(moments.yy)
    return _mean_correlation(moments, x, y)


@index(identical=1.0, unchanged_by=("permutation", "scale", "rotation"))
def svcca(moments: SecondMoments, keep: float = KEPT) -> Tensor:
    """CCA after each layer is reduced to the fewest principal directions that keep a share of variance (Raghu 2017)."""
    if not 0 < keep <= 1:
        raise TutelageError(f"keep must be above 0 and at most 1, a share of the variance, got {keep}")
    return _mean_correlation(moments, _whitening(moments.xx, keep), _whitening(moments.yy, keep))


@index(identical=1.0, unchanged_by=("permutation", "scale"), symmetric=False)
def pwcca(moments: SecondMoments) -> Tensor:
    r"""Canonical correlations weighted by how much of the first layer they account for (Morcos 2018).

    .. math:: \sum_i \alpha_i \rho_i / \sum_i \alpha_i, \qquad \alpha_i = \sum_j |\langle h_i, x_j \rangle|

    with the canonical variables h_i of the first layer. Only the second layer may be mapped invertibly.
    """
    x, y = _whitening(moments.xx), _whitening(moments.yy)
    _refuse_few_samples(moments, x, y)
    u, rho, _ = torch.linalg.svd(x.mT @ moments.xy @ y, full_matrices=False)
    loadings = u.mT @ (x.mT @ moments.xx)  # <h_i, x_j>
    alpha = loadings.abs().sum(2)
    total = alpha.sum(1)
    return torch.where(total > 0, (alpha * rho).sum(1) / total.clamp_min(_TINY), 0).clamp(0, 1)


@index(identical=1.0, unchanged_by=("permutation", "scale", "rotation"))
def cka(moments: SecondMoments) -> Tensor:
    r"""Linear centred kernel alignment, :math:`\|C_{XY}\|_F^2 / (\|C_{XX}\|_F \|C_{YY}\|_F)` (Kornblith 2019)."""
    product = _norm(moments.xx) * _norm(moments.yy)
    return torch.where(product > 0, _norm(moments.xy) ** 2 / product.clamp_min(_TINY), 0).clamp(0, 1)


@index(low=-1.0, identical=1.0, unchanged_by=("permutation", "scale", "rotation"))
def debiased_cka(moments: SecondMoments) -> Tensor:
    r"""Linear CKA from unbiased estimates, near 0 for unrelated layers however many units they have (Nguyen 2021).

    .. math:: h_{XY} = \|C_{XY}\|_F^2 - \tfrac{N}{N - 2} \sum_i |x_i|^2 |y_i|^2
        + \tfrac{\sum_i |x_i|^2 \sum_i |y_i|^2}{(N - 1)(N - 2)}, \qquad h_{XY} / \sqrt{h_{XX} h_{YY}}

    with centred x and y: the estimate of Song et al. (2012) for linear kernels. The plain index of unrelated layers
    goes to 1 as units outnumber samples.
    """
    return _alignment(_unbiased(moments))


def minibatch_cka(pieces: Iterable[tuple[Tensor, Tensor]]) -> Tensor:
    """Linear CKA whose three terms are estimated without bias in every batch and then averaged (Nguyen 2021).

    Parameters
    ----------
    pieces
        Pairs of activations ([S, N_i, p], [S, N_i, q]) or ([N_i, p], [N_i, q]), at least four samples each.

    Returns
    -------
    Tensor
        One value per member, [S].

    Examples
    --------
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0], [4.0, 4.0], [0.0, 1.0], [2.0, 2.0]])
    >>> minibatch_cka([(x, 2 * x), (x.flip(1), 2 * x.flip(1))]).round(decimals=9)
    tensor([1.], dtype=torch.float64)
    """
    batches = [second_moments([piece]) for piece in pieces]
    if not batches:
        raise TutelageError("there are no samples to compare layers on: give at least one batch")
    scaled = (_to_unity(m, like=batches[0]) for m in batches)
    return _alignment(sum(_unbiased(m) / (m.count * (m.count - 3)) for m in scaled))  # type: ignore[arg-type]


def _unbiased(moments: SecondMoments) -> Tensor:
    """N (N - 3) times the unbiased estimates of HSIC of x with x, y with y and x with y: [S, 3]."""
    n = moments.count
    if n < 4:
        raise TutelageError(f"unbiased estimates need at least 4 samples, got {n}")
    plain = torch.stack([_norm(c) ** 2 for c in (moments.xx, moments.yy, moments.xy)], dim=1)
    x, y = _trace(moments.xx), _trace(moments.yy)
    return plain - torch.stack([x * x, y * y, x * y], dim=1) * (n / (n - 2) * moments.lengths - 1 / ((n - 1) * (n - 2)))


def _alignment(terms: Tensor) -> Tensor:
    """The ratio of the third term to the root of the other two; 0 where a layer does not vary: [S, 3] -> [S]."""
    product = terms[:, 0].clamp_min(0) * terms[:, 1].clamp_min(0)
    return torch.where(product > 0, terms[:, 2] / product.clamp_min(_TINY).sqrt(), 0).clamp(-1, 1)


@index(high=torch.pi / 2, identical=0.0, unchanged_by=("permutation", "scale", "rotation"))
def procrustes(moments: SecondMoments) -> Tensor:
    r"""Angle in radians between the layers after the best rotation, :math:`\arccos(\|C_{XY}\|_* / (\|X\| \|Y\|))`.

    A metric between layers up to rotation and scale (Williams 2021); \|.\|_* is the sum of singular values. Angles
    below about 1e-7 cannot be told from 0 in double precision.
    """
    nuclear = torch.linalg.svdvals(moments.xy).sum(1)
    product = (_trace(moments.xx) * _trace(moments.yy)).sqrt()
    cosine = torch.where(product > 0, nuclear / product.clamp_min(_TINY), 0).clamp(0, 1)
    return torch.where(cosine > 1 - _ROUNDING, 0, torch.arccos(cosine))


_TINY = torch.finfo(torch.float64).tiny
_ROUNDING = 64 * torch.finfo(torch.float64).eps


def kept_directions(moments: SecondMoments, keep: float = KEPT) -> tuple[Tensor, Tensor]:
    """How many principal directions of each layer SVCCA keeps: [S] and [S]."""
    return tuple(_kept(torch.linalg.eigvalsh(c), keep).sum(1) for c in (moments.xx, moments.yy))  # type: ignore[return-value]


def _kept(values: Tensor, keep: float) -> Tensor:
    """Which eigenvalues, in rising order [S, p], are above rounding and among the largest that hold a share."""
    values = values.clamp_min(0)
    top, total = values[:, -1:], values.sum(1, keepdim=True)
    # Eigenvalues of a matrix of moments are off by about p eps times the largest: below, they may be rounding alone.
    above = values > values.shape[1] * _ROUNDING * top
    smaller = values.cumsum(1) - values  # what all smaller directions hold together
    needed = smaller + values > (1 - keep) * total * (1 + _ROUNDING)
    return above & needed


def _whitening(c: Tensor, keep: float = 1.0) -> Tensor:
    """Maps to uncorrelated directions of unit variance: [S, p, p], columns of directions left out are 0."""
    values, vectors = torch.linalg.eigh(c)
    kept = _kept(values, keep)
    return vectors * torch.where(kept, values.clamp_min(_TINY).rsqrt(), 0).unsqueeze(1)


def _mean_correlation(moments: SecondMoments, x: Tensor, y: Tensor) -> Tensor:
    _refuse_few_samples(moments, x, y)
    # The singular values of the whitened cross-moments are the canonical correlations; directions that whitening left
    # out are columns of zeros, and add correlations of 0 to the sum.
    rho = torch.linalg.svdvals(x.mT @ moments.xy @ y).clamp(0, 1)
    count = torch.minimum(_rank(x), _rank(y))
    return torch.where(count > 0, rho.sum(1) / count.clamp_min(1), 0)


def _refuse_few_samples(moments: SecondMoments, x: Tensor, y: Tensor) -> None:
    """With fewer samples than directions of both layers together some correlations are 1 whatever the layers are."""
    needed = int((_rank(x) + _rank(y)).max().item())
    if moments.count <= needed:
        raise TutelageError(
            f"canonical correlations of layers with {needed} directions together need more than {needed} samples, "
            f"got {moments.count}: give more samples, or compare by cka or procrustes"
        )


def _rank(whitening: Tensor) -> Tensor:
    return (whitening != 0).any(1).sum(1)


def _to_unity(moments: SecondMoments, like: SecondMoments | None = None) -> SecondMoments:
    """The moments of both layers times one power of two each, which no index depends on: of the order of 1.

    like: the moments whose size decides, where several have to stay comparable.
    """
    sizes = moments if like is None else like
    x, y = (to_unity(_trace(c).sqrt())[:, None, None] for c in (sizes.xx, sizes.yy))
    return replace(moments, xx=moments.xx * x * x, yy=moments.yy * y * y, xy=moments.xy * x * y)


def _norm(c: Tensor) -> Tensor:
    return torch.linalg.matrix_norm(c)


def _trace(c: Tensor) -> Tensor:
    return c.diagonal(dim1=1, dim2=2).sum(1)


_alone = threading.Lock()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute in one thread; the setting is one for the whole process, so only one caller at a time."""
    with _alone:
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)


def _recorded(by: str) -> None:
    """Offer an index as a measure: hidden layers of teacher and students on the evaluation points."""

    def measure(s: Snapshot) -> Tensor:
        with _one_thread():  # products, and eigenvalues of some 100 units, would depend on the number of threads
            return torch.stack([INDICES[by](moments) for moments in _of_layers(s)], dim=1)

    measure.__name__ = by
    measure.__doc__ = f"Likeness of each hidden layer with the teacher's: {INDICES[by].__doc__}"
    measure_of("layer", of_teacher_units=True)(measure)


def _of_layers(s: Snapshot) -> list[SecondMoments]:
    s.need_like_layers("a similarity of layers")
    taught, learnt = s.teacher_activity.features, s.activity.features
    return s.once("second moments", lambda: [second_moments([(taught[i], learnt[i])]) for i in s.hidden_layers])


for _name in INDICES:
    _recorded(_name)
