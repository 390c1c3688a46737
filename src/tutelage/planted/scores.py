r"""How good an answer is, as one would judge an estimator.

The candidates of a student are ordered by their scores, ties at random. A candidate *hits* the teacher unit with which
it correlates most, if that is above 0.95 and the unit is in the student. With :math:`h_k` hits and :math:`u_k`
different units hit among the first k candidates, and M units in the student,

.. math:: \mathrm{precision}_k = h_k / k, \qquad \mathrm{recall}_k = u_k / M

Candidates that hit the same unit again are right, and find nothing new. Every score is one number per member, so that
the members are independent values for an interval; NaN where it is not defined.
"""

import numpy as np
import torch
from torch import Tensor

from tutelage import draws
from tutelage.measures import RECOVERED, correlations
from tutelage.planted.answer import Candidates
from tutelage.planted.truth import Truth

FALSE_DISCOVERIES = 0.1
"""The share of wrong candidates at which recall is told."""
LEVEL = 0.05
"""Level of p-values; intervals are of one minus it."""
RECALLS = np.linspace(0, 1, 11)
"""Recall at which the precision-recall curve is told."""
_BINS, _ORDERS = 10, 16

SCORES = {
    "recall": "units found at 10 % false discoveries",
    "average_precision": "area under the precision-recall curve",
    "chance": "the same for the candidates in random order",
    "gain": "average precision above chance",
    "calibration_error": "distance of stated probabilities from the share that is right",
    "false_positives": "share of wrong candidates with p below 0.05",
    "coverage": "share of 95 % intervals that hold the correlation",
    "count_bias": "stated number of units minus their number",
}
"""What every score is, in a phrase."""


class Judged:
    """Candidates in the order of their scores.

    Parameters
    ----------
    units
        The teacher unit that each candidate hits, -1 for none: int [S, K].
    real
        Which candidates are no padding: bool [S, K].
    inside
        How many units are in each student: [S].
    teacher_units
        Units of the teacher, m.
    """

    def __init__(self, units: np.ndarray, real: np.ndarray, inside: np.ndarray, teacher_units: int) -> None:
        self.units, self.real, self.inside = units, real, inside
        one_hot = units[..., None] == np.arange(teacher_units)
        self.new = one_hot & (one_hot.cumsum(1) == 1)  # [S, K, m]
        self.precision = (units >= 0).cumsum(1) / np.arange(1, units.shape[1] + 1)
        self.recall = self.new.any(2).cumsum(1) / np.maximum(inside, 1)[:, None]

    def defined(self, values: np.ndarray) -> np.ndarray:
        """NaN for members without a unit to find."""
        return np.where((self.inside > 0).reshape(-1, *[1] * (values.ndim - 1)), values, np.nan)

    def average_precision(self) -> np.ndarray:
        """Mean of the precision at every unit found, 0 for those never found: [S]."""
        return self.defined((self.new.any(2) * self.precision).sum(1) / np.maximum(self.inside, 1))

    def prefix(self, share: float = FALSE_DISCOVERIES) -> np.ndarray:
        """The first candidates with at most this share of wrong ones, as many as possible: bool [S, K]."""
        allowed = self.real & (1 - self.precision <= share + 1e-12)
        length = np.where(allowed, np.arange(1, allowed.shape[1] + 1), 0).max(1)
        return np.arange(allowed.shape[1]) < length[:, None]

    def found(self, share: float = FALSE_DISCOVERIES) -> np.ndarray:
        """The units found among these: bool [S, m]."""
        return (self.new & self.prefix(share)[..., None]).any(1)

    def curve(self) -> np.ndarray:
        """The largest precision at each recall of ``RECALLS`` or above: [S, 11]."""
        reached = np.where(self.real, self.recall, -1)[:, None] >= RECALLS[:, None] - 1e-12
        return self.defined(np.where(reached, self.precision[:, None], 0).max(2))


def score(candidates: Candidates, truth: Truth, points: Tensor, seeds: tuple[int, ...]) -> dict[str, np.ndarray]:
    """All scores of an answer.

    Parameters
    ----------
    candidates
        The checked answer.
    truth
        What is in the students.
    points
        Scoring points [S, N, d], those of the truth.
    seeds
        Seeds of the members, for the order of ties.

    Returns
    -------
    dict
        The ``SCORES`` [S] by name; ``found`` and ``inside`` bool [S, m]; ``curve`` [S, 11].
    """
    strength, units = hits(candidates, truth, points)
    key = draws.keys(seeds, "planted-ties")
    judged = _ordered(candidates.scores, units, truth, key)
    shuffled = [
        _ordered(_shuffled(candidates.scores), units, truth, draws.mix(key + order + 1)).average_precision()
        for order in range(_ORDERS)
    ]
    chance, precision = np.mean(shuffled, 0), judged.average_precision()
    found = judged.found()
    values = {
        "recall": judged.defined(found.sum(1) / np.maximum(judged.inside, 1)),
        "average_precision": precision,
        "chance": chance,
        "gain": precision - chance,
        **_own_claims(candidates, strength.numpy(), (units >= 0).numpy(), judged.inside),
    }
    return values | {"found": found, "inside": truth.inside.numpy(), "curve": judged.curve()}


def hits(candidates: Candidates, truth: Truth, points: Tensor) -> tuple[Tensor, Tensor]:
    """Correlation of every candidate with its teacher unit, and that unit or -1 where it is not hit: [S, K] each."""
    rho = correlations(truth.features.double(), candidates.activity(points).double()).abs()  # [S, m, K]
    strength, unit = rho.max(1)
    if candidates.named is not None:
        unit = candidates.named
        strength = rho.gather(1, unit.unsqueeze(1)).squeeze(1)
    right = (strength > RECOVERED) & truth.inside.gather(1, unit) & torch.isfinite(candidates.scores)
    return strength, torch.where(right, unit, -1)


def _ordered(scores: Tensor, units: Tensor, truth: Truth, key: Tensor) -> Judged:
    tie = draws.uniforms(key, scores.shape[1]).numpy()
    order = np.lexsort((tie, -scores.numpy()), axis=1)
    in_order = np.take_along_axis(units.numpy(), order, 1)
    real = np.isfinite(np.take_along_axis(scores.numpy(), order, 1))
    return Judged(in_order, real, truth.inside.sum(1).numpy(), truth.inside.shape[1])


def _shuffled(scores: Tensor) -> Tensor:
    """Equal scores, so that ties decide; padding stays last."""
    return torch.where(torch.isfinite(scores), 0.0, scores)


def _own_claims(c: Candidates, strength: np.ndarray, right: np.ndarray, inside: np.ndarray) -> dict[str, np.ndarray]:
    """What a method says of its own answer compared with what is so: [S] each, NaN where it says nothing."""
    nothing = np.full(len(inside), np.nan)
    out = dict.fromkeys(("calibration_error", "false_positives", "coverage", "count_bias"), nothing)
    real = torch.isfinite(c.scores).numpy()
    if c.probabilities is not None:
        out["calibration_error"] = _calibration_error(c.probabilities.numpy(), right, real)
    if c.p_values is not None:
        wrong = real & ~right
        out["false_positives"] = _share(c.p_values.numpy() <= LEVEL, wrong)
    if c.intervals is not None:
        low, high = c.intervals.numpy()[..., 0], c.intervals.numpy()[..., 1]
        out["coverage"] = _share((low <= strength) & (strength <= high), real)
    if c.count is not None:
        out["count_bias"] = c.count.numpy() - inside
    return out


def _calibration_error(probabilities: np.ndarray, right: np.ndarray, real: np.ndarray) -> np.ndarray:
    """Mean distance of probability and share of right candidates over ten bins, weighed by candidates: [S]."""
    which = np.minimum((probabilities * _BINS).astype(int), _BINS - 1)
    total = np.zeros(len(right))
    for place in range(_BINS):
        inside = real & (which == place)
        total += np.abs(np.where(inside, probabilities - right, 0).sum(1))
    return total / np.maximum(real.sum(1), 1)


def _share(met: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Share of the chosen entries of each row that are met: [S]; NaN where none is chosen."""
    count = among.sum(1)
    return np.where(count > 0, (met & among).sum(1) / np.maximum(count, 1), np.nan)
