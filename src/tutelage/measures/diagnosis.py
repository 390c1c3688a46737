"""What did a student not learn, and why: a reason, with its numbers, for every teacher unit that no student found."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tutelage.measures.correlation import RECOVERED, best_correlation
from tutelage.measures.overlaps import observed, strength
from tutelage.measures.report import Report
from tutelage.measures.snapshot import Snapshot, slices
from tutelage.networks import Network
from tutelage.networks.forward import linear
from tutelage.printing import printed
from tutelage.training.inputs import Inputs

REASONS = ("outside the data", "unobserved", "starved", "weak", "stuck", "not yet reached")
"""In the order in which they are looked for; the first that applies is the reason."""

NEAR = 0.1
"""A sample is near a boundary within this many standard deviations of the unit's pre-activation."""

_RISING = 1e-3  # of the best correlation between two recorded steps, below which a unit is not being approached
_WEAK = 0.1
"""A unit is weak below this share of the strength of the strongest unit of its layer."""


@printed
@dataclass(frozen=True)
class Diagnosis:
    """Why a teacher unit was not recovered: the reason and the numbers behind it.

    Attributes
    ----------
    member, layer, unit
        Which teacher unit; layers count from 1, units and members from 0.
    reason
        See :func:`diagnose`.
    correlation
        Best correlation with a student unit.
    samples
        Training samples on the rarer side of the unit's boundary.
    observed
        How many of them the best observer among the student units is active on.
    near
        Samples near the boundary.
    unknowns
        Parameters of the boundary: one per weight and one for the bias.
    strength, strongest
        Fan-out norm of the unit, and the largest of its layer.
    rise
        Increase of the best correlation between the last two recorded steps, or None where it is not known.
    """

    member: int
    layer: int
    unit: int
    reason: str
    correlation: float
    samples: int
    observed: int
    near: int
    unknowns: int
    strength: float
    strongest: float
    rise: float | None = None

    def __str__(self) -> str:
        """The reason in a sentence."""
        match self.reason:
            case "outside the data":
                why = "its boundary does not run through the training samples, which all lie on one side of it"
            case "unobserved":
                why = f"no student is active on both sides of its boundary ({self.samples:,} samples on the rarer side)"
            case "starved":
                why = f"only {self.near:,} training samples lie near its boundary, which has {self.unknowns:,} unknowns"
            case "weak":
                share = self.strength / self.strongest
                why = f"its strength {self.strength:.3g} is {share:.2g} of the strongest unit's {self.strongest:.3g}"
            case _:
                why = f"it is observed ({self.observed:,} samples), sampled ({self.near:,} near) and strong enough"
        moving = "" if self.rise is None else f", {self.rise:+.3f} since the step recorded before"
        return f"{self.reason}: {why}; best correlation {self.correlation:.3f}{moving}"


def diagnose(teacher: Network, students: Network, inputs: Inputs, history: Report | None = None) -> list[Diagnosis]:
    """Explain every teacher unit that no student unit matches with correlation above 0.95.

    Correlations are computed on the evaluation points, samples are counted on the training points. Reasons, the first
    that applies: *outside the data*, *unobserved* (Tian 2020, Def. 4, counted on samples), *starved* (fewer samples
    near the boundary than it has parameters), *weak* (strength below a tenth of the largest), *stuck* (its best
    correlation has not risen by 0.001 since the step recorded before), *not yet reached*.

    Parameters
    ----------
    teacher, students
        Networks with S members each; leave out members that diverged.
    inputs
        The points they were trained and evaluated on.
    history
        A report with ``best_correlation`` at several steps tells whether the unit is being approached; without one no
        unit is called stuck.

    Returns
    -------
    list of Diagnosis
        One per unit that was not recovered, member by member.

    Examples
    --------
    >>> import tutelage as tt
    >>> teacher = tt.teachers.Levels(inputs=10, hidden=3, outputs=2).build([0])
    >>> inputs = tt.inputs.Gaussian(train=200, evaluate=200).draw(teacher, [0])
    >>> students = tt.students.SmallNormal(width_factor=2).build(teacher, [0])  # not trained
    >>> print(diagnose(teacher, students, inputs)[0])
    not yet reached: it is observed (48 samples), sampled (12 near) and strong enough; best correlation 0.442
    """
    with torch.no_grad():
        parts = [_numbers(s) for s in slices(teacher, students, inputs)]
    numbers = {name: torch.cat([part[name] for part in parts]).cpu().numpy() for name in parts[0]}
    rises = _rises(history)
    layers = [(layer, unit) for layer, m in enumerate(teacher.widths[1:-1], start=1) for unit in range(m)]
    missed = np.argwhere(numbers["correlation"] <= RECOVERED)
    return [
        Diagnosis(
            member=int(member),
            layer=layers[place][0],
            unit=layers[place][1],
            reason=_reason(
                {name: values[member, place] for name, values in numbers.items()},
                None if rises is None else rises[member, place],
            ),
            rise=None if rises is None else float(rises[member, place]),
            **{name: values[member, place].item() for name, values in numbers.items()},
        )
        for member, place in missed
    ]


def summary(diagnoses: Sequence[Diagnosis]) -> dict[str, int]:
    """How many units there are of each reason, in the order of ``REASONS``."""
    counts = Counter(d.reason for d in diagnoses)
    return {reason: counts[reason] for reason in REASONS}


def _numbers(s: Snapshot) -> dict[str, Tensor]:
    """What the reasons are judged by, for every teacher unit: [S, sum m] each."""
    s.need_like_layers("diagnose")
    by_layer = [_boundary(s, layer) for layer in s.hidden_layers]
    return {
        "correlation": best_correlation(s),
        "samples": torch.cat([b[0] for b in by_layer], dim=1),
        "observed": observed(s).long(),
        "near": torch.cat([b[1] for b in by_layer], dim=1),
        "unknowns": torch.cat([b[2] for b in by_layer], dim=1),
        "strength": (strengths := strength(s)),
        "strongest": torch.cat(
            [o.amax(1, keepdim=True).expand_as(o) for o in strengths.split(_hidden(s), dim=1)], dim=1
        ),
    }


def _hidden(s: Snapshot) -> list[int]:
    return list(s.teacher.widths[1:-1])


def _boundary(s: Snapshot, layer: int) -> tuple[Tensor, Tensor, Tensor]:
    """Of each teacher unit of a layer: training samples on the rarer side, samples near, unknowns; [S, m_l] each."""
    u = linear(s.teacher_network, layer - 1, s.teacher_training_activity.features[layer - 1])
    above = (u > 0).sum(1)
    near = (u.abs() <= NEAR * u.std(1, correction=0, keepdim=True)).sum(1)
    unknowns = s.teacher.widths[layer - 1] + (s.teacher_network.biases is not None)
    return torch.minimum(above, u.shape[1] - above), near, torch.full_like(near, unknowns)


def _reason(of: dict[str, Any], rise: float | None) -> str:
    """The first reason that applies."""
    applies = (
        of["samples"] == 0,
        of["observed"] == 0,
        of["near"] < of["unknowns"],
        of["strength"] < _WEAK * of["strongest"],
        rise is not None and rise < _RISING,
        True,
    )
    return REASONS[applies.index(True)]


def _rises(history: Report | None) -> np.ndarray | None:
    """How much the best correlation of every teacher unit has grown since the step recorded before: [S, sum m]."""
    if history is None or "best_correlation" not in history.values or len(history.steps) < 2:
        return None
    return history["best_correlation"][-1] - history["best_correlation"][-2]
