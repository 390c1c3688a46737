"""
Distilling a linear student
===========================

What does a student learn from a teacher's soft labels? The teacher's projection onto the data's span (Phuong 2021).
"""

import math

from tutelage.certificates import certify
from tutelage.distillation import (
    Distillation,
    HardTarget,
    Polynomial,
    Weakened,
    balanced_start,
    best_bound,
    flow,
    guaranteed,
    learned,
    limit,
    monotonicity,
    newton,
    outcome,
)

seeds = range(100)
task = Polynomial(dimension=50, kappa=1.0)  # the angle between an input and the teacher is uniform

print("inputs  angle with the teacher  transfer risk       bound of Theorem 5.3")
for count in (1, 5, 20, 49, 50):
    found = outcome(Distillation(), task, seeds, count)
    risk, error = found.mean_risk
    bound = best_bound(task.p, count).value if count < 50 else 0.0
    degrees = math.degrees(found.angle.mean())
    print(f"{count:6d}  {degrees:20.2f}°  {risk:.5f} ± {error:.5f}  {bound:.3f}")

transfer = task.transfer(seeds, 5)
goal = learned(transfer)
print(f"Newton's method ends within {(newton(transfer) - goal).norm(dim=1).max():.1e} of the closed form")

few = transfer[:4]  # a deep student from a small start ends near it, at a place that is known
start = balanced_start(few, range(4), layers=2, scale=0.01)
near = (limit(few, start.w, 2) - goal[:4]).norm(dim=1)
eps = guaranteed(start.scale, goal[:4].norm(dim=1), 2)
print("two layers end off by", [f"{v:.4f} <= {e:.4f}" for v, e in zip(near.tolist(), eps.tolist(), strict=True)])
course = flow(few, start.network, [0.0, 1.0, 10.0, 100.0])
for name in ("induced-flow", "balance-kept", "conserved-quantity"):
    print(f"{name}:", [c.verdict for c in certify(name, course)])

print("learner                     risk     helped by one more input")
for name, learner in (
    ("distillation", Distillation()),
    ("bias weakened by 1/4", Weakened(0.25)),
    ("hard labels, 2,000 steps", HardTarget(2000)),
    ("hard labels, max margin", HardTarget(None)),
):
    helped, _ = monotonicity(learner, task, seeds, 5).index
    print(f"{name:26s}  {outcome(learner, task, seeds, 5).mean_risk[0]:.4f}   {helped:.2f}")
