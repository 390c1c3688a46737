"""Gradient descent from a small loss: rate, arrival and batches (Zhou et al. 2021, Theorems 4 to 6, Lemma F.1).

They speak of a recorded descent, so that what happened between two recorded steps is not judged.
"""

import torch

from tutelage.certificates.records import Condition, Finding, Part, check
from tutelage.draws import keys, normals
from tutelage.errors import TutelageError
from tutelage.local.bounds import KAPPA
from tutelage.local.certificates._local import ROUNDING, THRESHOLD, certificate, findings, near, size
from tutelage.local.descent import Descent, greatest_rate, stochastic_gradient
from tutelage.local.exact import gradient
from tutelage.local.setting import LocalSetting


@certificate("descent-rate", "Theorems 4 and 6", needs="descent")
def descent_rate(run: Descent, *, threshold: float = THRESHOLD) -> list[Finding]:
    """From a small loss, gradient descent converges at least like 1 / t, whatever the width.

    Theorem 4 on a recorded descent: L falls, and L_t <= 4 / (t eta kappa^2) with the least kappa = |grad L| / L met.

    (The paper's last display has kappa for kappa^2.) kappa is known at the recorded steps alone, so the conclusions
    speak of these.
    """
    start, kappa, limit = run.start, run.constant, greatest_rate(run.start)
    rounding = ROUNDING * size(start) ** 2

    def conditions(s: int) -> tuple[Condition, ...]:
        stable = check("rate", float(run.rate[s]), "<=", float(limit[s]), "1 / (2 sum |w*|)")
        return near(start, s, run.losses[0], threshold), stable

    def parts(s: int) -> tuple[Part, ...]:
        loss, steps = run.losses[:, s], torch.tensor(run.steps, dtype=torch.float64)
        rise = (loss[1:] - loss[:-1]).max() if len(loss) > 1 else torch.tensor(0.0)
        out = [Part("falling", (), check("greatest rise of L", float(rise), "<=", float(rounding[s])))]
        later = steps > 0
        if bool(later.any()) and bool(kappa[s].isfinite()):
            times = loss[later] * steps[later] * run.rate[s] * kappa[s] ** 2 / 4
            worst = int(times.argmax())
            at = f"step {int(steps[later][worst])}, kappa {float(kappa[s]):.3g}"
            out.append(Part("rate", (), check("L_t t eta kappa^2 / 4", float(times[worst]), "<=", 1.0, at)))
        return tuple(out)

    settings = {"threshold": threshold, "empirical": "threshold; kappa is that of the recorded steps"}
    return findings(start, parts, conditions, **settings)


@certificate("sampled-gradient", "Theorem 6")
def sampled_gradient(setting: LocalSetting, *, batch: int = 1000, batches: int = 32) -> list[Finding]:
    r"""The gradient of a batch is near the true one, the nearer the larger the batch.

    Lemma F.1: E|grad L^ - grad L|^2 <= (4 d (d + 2) / N) (sum |w_j|^2 + sum |w*_i|)^2 sum |w_j|^2, N = ``batch``.
    The left side is measured with the given number of batches, and two standard errors are taken off it.
    """
    seeds = range(setting.members)
    exact, streams, count = gradient(setting), keys(seeds, "local gradient batches"), batch * setting.d
    drawn = [normals(streams, count, start=b * count).view(-1, batch, setting.d) for b in range(batches)]
    squared = torch.stack([(stochastic_gradient(setting, x) - exact).square().sum((1, 2)) for x in drawn])
    bound = 4 * setting.d * (setting.d + 2) / batch * size(setting) ** 2 * setting.mass
    mean, error = squared.mean(0), squared.std(0) / batches**0.5

    def parts(s: int) -> tuple[Part, ...]:
        low = float(mean[s] - 2 * error[s])
        about = f"mean {float(mean[s]):.3g} over {batches} batches, standard error {float(error[s]):.2g}"
        return (Part("all students", (), check("E|grad L^ - grad L|^2", low, "<=", float(bound[s]), about)),)

    return findings(setting, parts, batch=batch)


@certificate("arrival", "Theorems 4 to 6", needs="descent")
def arrival(run: Descent, *, loss: float = 1e-3, threshold: float = THRESHOLD) -> list[Finding]:
    """From a small loss, descent reaches a smaller one within the promised number of steps.

    L <= ``loss`` = eps within T = 4 / (eta kappa^2 eps) steps, kappa = 1 / sqrt(6 r w_max): O(r w_max / (eta eps)).

    For a descent from any students (Theorem 4), from :func:`.initialise.random_start` or ``subspace_start`` (Theorem
    5), or on samples (Theorem 6). The first step is that of the run's levels where eps is one of them, else the first
    recorded one. A run that ends before both its arrival and T decides nothing.
    """
    if not loss > 0:
        raise TutelageError(f"loss must be above 0, got {loss}")
    start, limit = run.start, greatest_rate(run.start)
    promised = 4 * start.r * start.longest / (run.rate * KAPPA**2 * loss)
    first = _first(run, loss)

    def conditions(s: int) -> tuple[Condition, ...]:
        stable = check("rate", float(run.rate[s]), "<=", float(limit[s]), "1 / (2 sum |w*|)")
        return near(start, s, run.losses[0], threshold), stable

    def parts(s: int) -> tuple[Part, ...]:
        step, last = int(first[s]), run.steps[-1]
        there = f"L <= {loss:g} at step {step}" if step >= 0 else f"not within the {last} steps of the run"
        taken, decided = (step, True) if step >= 0 else (last + 1, last >= float(promised[s]))
        return (Part("steps", (), check("steps to eps", taken, "<=", float(promised[s]), there, decided)),)

    settings = {"loss": loss, "threshold": threshold, "empirical": "threshold"}
    return findings(start, parts, conditions, **settings)


def _first(run: Descent, loss: float) -> torch.Tensor:
    """The first known step with L <= loss, or -1: [S]."""
    if loss in run.levels:
        return run.reached[:, run.levels.index(loss)]
    below = run.losses <= loss
    step = torch.tensor(run.steps)[below.int().argmax(0)]
    return torch.where(below.any(0), step, -1)
