"""From a small loss descent arrives within the promised steps, however it began and was fed (Zhou et al. 2021, Theorems
4 to 6).
"""

import torch

from tutelage.certificates.records import Certificate, Condition, Part, check
from tutelage.errors import TutelageError
from tutelage.local.bounds import KAPPA
from tutelage.local.certificates._local import THRESHOLD, near, signed
from tutelage.local.descent import Descent, greatest_rate


def arrival(run: Descent, eps: float, *, threshold: float = THRESHOLD) -> list[Certificate]:
    """L <= eps within T = 4 / (eta kappa^2 eps) steps, kappa = 1 / sqrt(6 r w_max): O(r w_max / (eta eps)).

    For a descent from any students (Theorem 4), from :func:`.initialise.random_start` or ``subspace_start`` (Theorem
    5), or on samples (Theorem 6). The first step is that of the run's levels where eps is one of them, else the first
    recorded one. A run that ends before both its arrival and T decides nothing.
    """
    if not eps > 0:
        raise TutelageError(f"the loss to arrive at is above 0, not {eps}")
    start, limit = run.start, greatest_rate(run.start)
    promised = 4 * start.r * start.longest / (run.rate * KAPPA**2 * eps)
    first = _first(run, eps)

    def conditions(s: int) -> tuple[Condition, ...]:
        stable = check("rate", float(run.rate[s]), "<=", float(limit[s]), "1 / (2 sum |w*|)")
        return near(start, s, run.losses[0], threshold), stable

    def parts(s: int) -> tuple[Part, ...]:
        step, last = int(first[s]), run.steps[-1]
        there = f"L <= {eps:g} at step {step}" if step >= 0 else f"not within the {last} steps of the run"
        taken, decided = (step, True) if step >= 0 else (last + 1, last >= float(promised[s]))
        return (Part("steps", (), check("steps to eps", taken, "<=", float(promised[s]), there, decided)),)

    statement = "From a small loss gradient descent arrives within steps that do not depend on the width."
    settings = {"eps": eps, "threshold": threshold, "empirical": "threshold"}
    return signed(start, "arrival", "Theorems 4, 5 and 6", statement, parts, conditions, **settings)


def _first(run: Descent, eps: float) -> torch.Tensor:
    """The first known step with L <= eps, or -1: [S]."""
    if eps in run.levels:
        return run.reached[:, run.levels.index(eps)]
    below = run.losses <= eps
    step = torch.tensor(run.steps)[below.int().argmax(0)]
    return torch.where(below.any(0), step, -1)
