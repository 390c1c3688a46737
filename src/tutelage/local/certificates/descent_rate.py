"""Gradient descent from a small loss converges at least like 1 / t, whatever the width (Zhou et al. 2021, Theorems 4
and 6).
"""

from collections.abc import Sequence

import torch

from tutelage.certificates.records import Certificate, Condition, Part, check
from tutelage.draws import keys, normals
from tutelage.local.certificates._local import ROUNDING, THRESHOLD, near, signed, size
from tutelage.local.descent import Descent, greatest_rate, stochastic_gradient
from tutelage.local.exact import gradient
from tutelage.local.setting import LocalSetting


def descent_rate(run: Descent, *, threshold: float = THRESHOLD) -> list[Certificate]:
    """Theorem 4 on a recorded descent: L falls, and L_t <= 4 / (t eta kappa^2) with the least kappa = |grad L| / L met.

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

    statement = "From a small loss gradient descent converges at least like 1 / t, whatever the width."
    settings = {"threshold": threshold, "empirical": "threshold; kappa is that of the recorded steps"}
    return signed(start, "descent rate", "Theorem 4", statement, parts, conditions, **settings)


def sampled_gradient(
    setting: LocalSetting, batch: int, seeds: Sequence[int], *, batches: int = 32
) -> list[Certificate]:
    r"""Lemma F.1: E|grad L^ - grad L|^2 <= (4 d (d + 2) / N) (sum |w_j|^2 + sum |w*_i|)^2 sum |w_j|^2, N = ``batch``.

    The left side is measured with the given number of batches, and two standard errors are taken off it.
    """
    exact, streams, count = gradient(setting), keys(seeds, "local gradient batches"), batch * setting.d
    drawn = [normals(streams, count, start=b * count).view(-1, batch, setting.d) for b in range(batches)]
    squared = torch.stack([(stochastic_gradient(setting, x) - exact).square().sum((1, 2)) for x in drawn])
    bound = 4 * setting.d * (setting.d + 2) / batch * size(setting) ** 2 * setting.mass
    mean, error = squared.mean(0), squared.std(0) / batches**0.5

    def parts(s: int) -> tuple[Part, ...]:
        low = float(mean[s] - 2 * error[s])
        about = f"mean {float(mean[s]):.3g} over {batches} batches, standard error {float(error[s]):.2g}"
        return (Part("all students", (), check("E|grad L^ - grad L|^2", low, "<=", float(bound[s]), about)),)

    statement = "A batch's gradient is near the true one, the nearer the larger the batch."
    return signed(setting, "sampled gradient", "Lemma F.1, for Theorem 6", statement, parts, batch=batch)
