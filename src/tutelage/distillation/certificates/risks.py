"""What Phuong 2021 promises of the expected transfer risk: Theorems 5.3 and D.4, Corollaries 5.1 and 5.2.

The expectation is over transfer sets, so each gives one certificate for all members together: the mean risk with its
standard error against the bound, not decided while they are within three standard errors.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from tutelage.certificates.records import Condition, Finding, Part, check
from tutelage.distillation.bounds import best_bound, miss, polynomial_bound, polynomial_step
from tutelage.distillation.certificates.scene import DistillationScene, distillation_certificate
from tutelage.distillation.tasks import DistillationTask
from tutelage.errors import TutelageError


@distillation_certificate("risk-bound", source="Theorem 5.3", needs="task")
def risk_bound(scene: DistillationScene) -> Sequence[Finding]:
    """The expected risk is 0 for n >= d, and at most p(beta) + p(pi/2 - beta)^n for n < d and any beta.

    At the best beta; the second part has the factor 1 - p(beta) that the proof gives.
    """
    task, n = _task(scene), scene.transfer.count
    if n >= scene.transfer.dimension:
        worst = float(task.risk(scene.goal).max())
        rank = check("smallest rank of the sets", int(scene.transfer.rank.min()), ">=", scene.transfer.dimension)
        return [Finding([Part("n >= d", (), check("largest risk", worst, "<=", 0.0))], (rank, _same(scene)))]
    parts = []
    for words, tighter in (("as printed", False), ("tighter", True)):
        bound = best_bound(task.p, n, tighter=tighter)
        parts.append(Part(words, (), _mean_risk(scene, scene.goal, bound.value, f"beta {bound.beta:.4f}")))
    return [Finding(parts, (_same(scene),))]


@distillation_certificate("margin-risk", source="Corollary 5.1", needs="task")
def margin_risk(scene: DistillationScene, *, beta: float = math.pi / 3) -> Sequence[Finding]:
    """Where p(beta) = 0 and gamma = p(pi/2 - beta) < 1, the expected risk is at most gamma^n."""
    task = _task(scene)
    hard, gamma = task.p(torch.tensor([beta, math.pi / 2 - beta], dtype=torch.float64)).tolist()
    conditions = (_same(scene), check("p(beta)", hard, "<=", 0.0), check("gamma", gamma, "<", 1.0))
    return [Finding([Part("all sets", (), _mean_risk(scene, scene.goal, gamma**scene.transfer.count))], conditions)]


@distillation_certificate("polynomial-risk", source="Corollary 5.2", needs="task")
def polynomial_risk(scene: DistillationScene, *, kappa: float = 1.0) -> Sequence[Finding]:
    """Where p(theta) <= (1 - 2 theta / pi)^kappa, the expected risk is at most (1 + (log n)^kappa) / n^kappa.

    The condition on p is held at 2,001 angles.
    """
    task, n = _task(scene), scene.transfer.count
    theta = torch.linspace(0, math.pi / 2, 2001, dtype=torch.float64)
    over = task.p(theta) - (1 - 2 * theta / math.pi).clamp_min(0) ** kappa
    below = check(
        "largest p beyond the polynomial", float(over.max()), "<=", 1e-12, f"at {float(theta[over.argmax()]):.3g}"
    )
    step, last = polynomial_step(kappa, n), polynomial_bound(kappa, n)
    parts = [
        Part("all sets", (), _mean_risk(scene, scene.goal, last)),
        Part("the step before", (), check("(1 - n^(-1/n))^kappa + n^-kappa", step, "<=", last + 1e-12)),
    ]
    return [Finding(parts, (_same(scene), below))]


@distillation_certificate("approximate-risk", source="Theorem D.4", needs="task")
def approximate_risk(scene: DistillationScene, *, share: float | None = None) -> Sequence[Finding]:
    """Students within eps of w_hat have expected risk at most p(beta) + p(pi/2 - delta - beta)^n for n < d.

    eps is ``share`` times |w_hat|, so that delta is a constant over sets as the theorem needs; without a share, the
    largest that occurs. Students are those of the last record, or of w_hat itself without a course. The second part has
    the least delta, arcsin(share), in place of sqrt(2 pi share).
    """
    task, n = _task(scene), scene.transfer.count
    end = scene.goal if scene.course is None else scene.course.w[-1]
    worst = float(((end - scene.goal).norm(dim=1) / scene.goal.norm(dim=1)).max())
    share = worst if share is None else share
    conditions = [
        _same(scene),
        check("inputs per set, below d", n, "<", scene.transfer.dimension),
        check("largest |w - w_hat| / |w_hat|", worst, "<=", share),
        check("share", share, "<=", 0.5),
    ]
    parts = []
    for words, sharp in (("as printed", False), ("sharp angle", True)):
        one = torch.tensor(1.0, dtype=torch.float64)
        delta = min(float(miss(torch.tensor(min(share, 0.5), dtype=torch.float64), one, sharp=sharp)), math.pi / 2)
        bound = best_bound(task.p, n, delta=delta)
        parts.append(Part(words, (), _mean_risk(scene, end, bound.value, f"delta {delta:.4f}, beta {bound.beta:.4f}")))
    return [Finding(parts, conditions)]


def _mean_risk(scene: DistillationScene, w: Tensor, bound: float, witness: str = "") -> Condition:
    """The mean risk of students w [S, d] against a bound, three standard errors deciding."""
    task = _task(scene)
    risk = task.risk(w)
    mean = float(risk.mean())
    error = float(risk.std() / math.sqrt(len(risk))) if len(risk) > 1 else math.inf
    words = f"standard error {error:.2g} over {len(risk)} sets" + (f", {witness}" if witness else "")
    if not task.exact:
        words += "; p and the risks come from a sample"
    clear = mean + 3 * error <= bound or mean - 3 * error > bound or bound >= 1
    return check("mean risk", mean, "<=", bound, words, decided=clear and task.exact, error=error)


def _same(scene: DistillationScene) -> Condition:
    """The sets' teacher is the task's."""
    off = float((scene.transfer.teacher - _task(scene).teacher).abs().max())
    return check("difference of the sets' teacher from the task's", off, "<=", 0.0)


def _task(scene: DistillationScene) -> DistillationTask:
    if scene.task is None:
        raise TutelageError("there is no distribution of inputs: give task=...")
    return scene.task
