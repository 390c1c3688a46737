"""What Phuong 2021 says of angles: more data never harm, small errors turn little, and easy inputs are classed
right.
"""

import math
from collections.abc import Sequence

import torch

from tutelage.certificates.records import Finding, Part, check, unknown
from tutelage.distillation.bounds import miss
from tutelage.distillation.certificates.scene import DistillationScene, distillation_certificate
from tutelage.distillation.learners import angle, learned, unsigned_angle


@distillation_certificate("strong-monotonicity", source="Lemma 5.1")
def strong_monotonicity(scene: DistillationScene, *, tolerance: float = 1e-7) -> Sequence[Finding]:
    """Adding inputs never increases the angle between the student and the teacher, and cos = |Q^T w_*| / |w_*|.

    Every beginning of a set is held against the next longer one. Angles near 0 carry the square root of rounding, which
    the tolerance allows.
    """
    transfer = scene.transfer
    angles = [unsigned_angle(learned(transfer.first(k)), transfer.teacher) for k in range(1, transfer.count + 1)]
    path = torch.stack(angles)
    rise = (path[1:] - path[:-1]).amax(0) if len(path) > 1 else torch.full((scene.members,), -math.inf)
    inside = (transfer.basis.mT @ transfer.teacher.unsqueeze(2)).squeeze(2).norm(dim=1) / transfer.teacher.norm(dim=1)
    off = (path[-1].cos() - inside).abs()
    return [
        Finding(
            [
                Part("every longer set", (), check("largest rise of the angle", float(rise[s]), "<=", tolerance)),
                Part("identity", (), check("cosine against |Q^T w_*|", float(off[s]), "<=", 1e-12)),
            ],
            (scene.full_rank(s),),
        )
        for s in range(scene.members)
    ]


@distillation_certificate("small-angle", source="Lemma D.3", needs="course")
def small_angle(scene: DistillationScene) -> Sequence[Finding]:
    """Within eps <= |w_hat| / 2 of w_hat a student's angle with it is at most sqrt(2 pi eps / |w_hat|).

    At the last record; the least such angle, arcsin(eps / |w_hat|), is the second part.
    """
    end, goal = scene.way.w[-1], scene.goal
    eps, length = (end - goal).norm(dim=1), goal.norm(dim=1)
    out = []
    for s in range(scene.members):
        near = check("eps, of |w_hat|", float(eps[s] / length[s]), "<=", 0.5)
        if not near.holds:
            out.append(Finding([Part("last record", (), unknown("angle", "w is too far from w_hat"))], (near,)))
            continue
        turned = float(angle(end[s], goal[s]))
        caps = {words: float(miss(eps[s], length[s], sharp=words == "sharp")) for words in ("as printed", "sharp")}
        parts = [Part(words, (), check("angle", turned, "<=", cap + 1e-12)) for words, cap in caps.items()]
        out.append(Finding(parts, (near,)))
    return out


@distillation_certificate("easy-inputs", source="proof of Theorem 5.3", needs="task")
def easy_inputs(scene: DistillationScene, *, beta: float = math.pi / 4, points: int = 500) -> Sequence[Finding]:
    """An input at less than beta from the teacher is classed right once some x_i lies within pi/2 - beta of it."""
    transfer, task = scene.transfer, scene.task
    test = task.points(range(scene.members), points, "test")  # type: ignore[union-attr]
    easy = unsigned_angle(test, transfer.teacher.unsqueeze(1).expand_as(test)) < beta
    taught = unsigned_angle(transfer.x, transfer.teacher.unsqueeze(1).expand_as(transfer.x)) < math.pi / 2 - beta
    by_student, by_teacher = ((test @ w.unsqueeze(2)).squeeze(2) >= 0 for w in (scene.goal, transfer.teacher))
    wrong = ((by_student != by_teacher) & easy).sum(1)
    return [
        Finding(
            [Part("easy inputs", (), check("classed wrong", int(wrong[s]), "<=", 0, f"of {int(easy[s].sum())}"))],
            (check("inputs within pi/2 - beta of the teacher", int(taught[s].sum()), ">=", 1),),
        )
        for s in range(scene.members)
    ]
