r"""Which units of a teacher are in a student: the truth that answers are scored against.

For teacher unit j and the units k of the same layer of a student, with activations over the inputs,

.. math:: \rho_{jk} = \mathrm{corr}(f^*_j, f_k), \qquad
    R_j^2 = \frac{c_j^T C^+ c_j}{\mathrm{var} f^*_j}, \quad C = \mathrm{cov}(f), \; c_j = \mathrm{cov}(f, f^*_j)

Above the threshold t (0.95, Tian 2020, section 7.1) a unit is *present* if :math:`|\rho_{jk}| > t` for one k, *split*
if for several, *in superposition* if for none but :math:`R_j > t`, so that a combination of several units is it; else
*absent*. A combination that the students had before training too says nothing, and does not count.

By activation, the moments are those of the scoring points. By certificate, they are exact: the first layer of piecewise
linear networks has closed forms under Gaussian inputs (:mod:`tutelage.population`), so no sample decides; elsewhere a
unit is decided where a 99 % interval of its correlation, by Fisher's transformation, leaves out t.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.measures import RECOVERED, correlations
from tutelage.networks import Network, forward
from tutelage.planted.view import incoming
from tutelage.population import biased
from tutelage.printing import printed
from tutelage.training.inputs import Distribution, Gaussian, GaussianCovariance

STATES = ("absent", "superposition", "split", "present")
"""Names of the codes 0, 1, 2, 3."""
ABSENT, SUPERPOSITION, SPLIT, PRESENT = range(4)
NOT_DECIDED = -1
_QUANTILE = 2.5758293035489004  # of the normal distribution, for 99 %
_PIECEWISE = ("relu", "leaky", "abs", "linear")


@printed
@dataclass(frozen=True, eq=False)
class Truth:
    """What is in S students of m teacher units in one layer of n units.

    Attributes
    ----------
    state
        Codes of ``STATES`` by activation, int64 [S, m].
    certified
        The same by certificate, -1 where it is not decided.
    correlation
        Correlations of teacher units with student units, [S, m, n].
    explained
        R of the best combination of student units, [S, m].
    directions
        For each teacher unit the student unit or combination of units that is nearest to it, [S, m, n].
    features
        Activations of the teacher units on the scoring points, [S, N, m].
    exact
        Whether the certificate is a closed form.
    """

    state: Tensor
    certified: Tensor
    correlation: Tensor
    explained: Tensor
    directions: Tensor
    features: Tensor
    exact: bool

    @property
    def inside(self) -> Tensor:
        """Whether a teacher unit is in the student in any form: bool [S, m]."""
        return self.state != ABSENT


def truth(
    teacher: Network,
    students: Network,
    points: Tensor,
    layer: int = 1,
    distribution: Distribution | None = None,
    start: Network | None = None,
) -> Truth:
    """Which teacher units are in the students, by activation and by certificate.

    Parameters
    ----------
    teacher, students
        Networks of S members and the same depth.
    points
        Scoring points [S, N, d].
    layer
        Hidden layer, from 1.
    distribution
        Where the points come from; with Gaussian inputs the certificate of the first layer is a closed form.
    start
        The students before training: a teacher unit that a combination of their units is already is not counted as in
        superposition.

    Returns
    -------
    Truth

    Examples
    --------
    >>> import tutelage as tt
    >>> teacher = tt.teachers.Levels(inputs=4, hidden=3, outputs=2).build(range(2))
    >>> points = tt.inputs.Gaussian(evaluate=200).draw(teacher, range(2)).evaluate
    >>> truth(teacher, teacher, points).state.tolist()
    [[3, 3, 3], [3, 3, 3]]
    """
    taught, learnt = forward(teacher, points).features[layer], forward(students, points).features[layer]
    rho = correlations(taught.double(), learnt.double())
    explained, coefficients = _combination(learnt.double(), taught.double())
    known = None if start is None else _combination(forward(start, points).features[layer].double(), taught.double())[0]
    state = _beyond(states(rho, explained), known)
    best = rho.abs().argmax(2, keepdim=True)
    alone = torch.zeros_like(rho).scatter_(2, best, 1.0)
    single = ((state == PRESENT) | (state == SPLIT)).unsqueeze(2)
    exact = _exact(teacher, students, distribution) if layer == 1 else None
    if exact is None:
        certified = _beyond(_by_interval(rho, explained, points.shape[1]), known)
    else:
        before = None if start is None else _exact(teacher, start, distribution)
        certified = _beyond(states(*exact), None if before is None else before[1])
    directions = torch.where(single, alone, coefficients)
    return Truth(state, certified, rho, explained, directions, taught, exact is not None)


def states(rho: Tensor, explained: Tensor, threshold: float = RECOVERED) -> Tensor:
    """Codes of ``STATES`` from correlations [S, m, n] and R [S, m]."""
    count = (rho.abs() > threshold).sum(2)
    alone = torch.where(count > 1, SPLIT, PRESENT)
    return torch.where(count > 0, alone, torch.where(explained > threshold, SUPERPOSITION, ABSENT))


def _beyond(state: Tensor, known: Tensor | None) -> Tensor:
    """The states with superposition only where R [S, m] at the start was below the threshold."""
    if known is None:
        return state
    return torch.where((state == SUPERPOSITION) & (known > RECOVERED), ABSENT, state)


def _combination(learnt: Tensor, taught: Tensor) -> tuple[Tensor, Tensor]:
    """R [S, m] and coefficients [S, m, n] of the least squares of teacher units on student units."""
    x, y = learnt - learnt.mean(1, keepdim=True), taught - taught.mean(1, keepdim=True)
    return _least_squares(x.mT @ x / x.shape[1], x.mT @ y / x.shape[1], y.square().mean(1))


def _least_squares(c: Tensor, cross: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
    """From C [S, n, n], c_j as columns [S, n, m] and variances [S, m]; directions without variance are left out."""
    coefficients = torch.linalg.pinv(c, hermitian=True, rtol=1e-9) @ cross
    share = (coefficients * cross).sum(1) / variance.clamp_min(torch.finfo(c.dtype).tiny)
    return share.clamp(0, 1).sqrt(), coefficients.mT


def _exact(teacher: Network, students: Network, distribution: Distribution | None) -> tuple[Tensor, Tensor] | None:
    """Population correlations [S, m, n] and R [S, m] of the first layers; None without a closed form."""
    alike = (teacher.activation, teacher.slope) == (students.activation, students.slope)
    root = _root(distribution, teacher.inputs)
    if root is None or not alike or students.activation not in _PIECEWISE:
        return None
    units = [(w[..., :-1] * root, w[..., -1]) for w in (incoming(n, 1).double() for n in (teacher, students))]
    one = (torch.zeros_like(units[0][0][:, :1]), torch.ones_like(units[0][1][:, :1]))
    w, b = (torch.cat([u[i] for u in (*units, one)], 1).double() for i in (0, 1))
    products = biased.product(w, b, w, b, students.activation, students.slope)
    means = products[:, :, -1]
    covariance = (products - means[:, :, None] * means[:, None])[:, :-1, :-1]
    m = teacher.widths[1]
    size = covariance.diagonal(dim1=1, dim2=2).clamp_min(0)
    # what is left of the variance of a constant unit is rounding of its mean square
    constant = size <= 1e-9 * products.diagonal(dim1=1, dim2=2)[:, :-1]
    root_size = torch.where(constant, torch.inf, size.sqrt())
    rho = covariance / root_size[:, :, None] / root_size[:, None]
    explained, _ = _least_squares(covariance[:, m:, m:], covariance[:, m:, :m], size[:, :m])
    return rho[:, :m, m:], explained


def _root(distribution: Distribution | None, inputs: int) -> Tensor | float | None:
    """Standard deviations of independent Gaussian inputs; None for other inputs."""
    if isinstance(distribution, Gaussian):
        return distribution.std
    if isinstance(distribution, GaussianCovariance) and distribution.covariance is None and distribution.mean is None:
        ranks = torch.arange(1, inputs + 1, dtype=torch.float64)
        variances = distribution.variances
        return (ranks ** -(distribution.decay or 0.0) if variances is None else torch.tensor(variances)).double().sqrt()
    return None


def _by_interval(rho: Tensor, explained: Tensor, samples: int) -> Tensor:
    """States that are the same at both ends of 99 % intervals, -1 for the others.

    The interval is that of Fisher's transformation; atanh of a correlation has the standard error 1/sqrt(N - 3).
    """
    reach = _QUANTILE / max(samples - 3, 1) ** 0.5
    ends = [states(_moved(rho, end), _moved(explained, end)) for end in (-reach, reach)]
    return torch.where(ends[0] == ends[1], ends[0], NOT_DECIDED)


def _moved(correlation: Tensor, by: float) -> Tensor:
    """Correlations after a step on Fisher's scale."""
    return torch.tanh((torch.atanh(correlation.abs().clamp(max=1 - 1e-12)) + by).clamp_min(0))
