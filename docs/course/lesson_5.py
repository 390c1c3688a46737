"""
Lesson 5: what does distilling transfer?
========================================

A teacher that gives probabilities instead of classes gives more information per example. For linear classifiers what a
student learns from n soft labels is known exactly: the projection of the teacher onto the span of the data (Phuong
2021, chapter 5).
"""

# %%
import math

import torch
from matplotlib import pyplot as plt

from tutelage.distillation import Distillation, HardTarget, Polynomial, best_bound, learned, newton, outcome

seeds = range(100)
task = Polynomial(dimension=50, kappa=1.0)  # the angle between an input and the teacher is uniform

# %% [markdown]
# **Exercise 1.** Take 20 inputs. Compute the projection of the teacher onto their span by least squares, and compare it
# with `learned` (the closed form) and with `newton`, which knows nothing but the loss.

# %% [solution]
transfer = task.transfer(seeds, 20)  # x [set, input, dimension], teacher [set, dimension]
basis = torch.linalg.qr(transfer.x.mT).Q
projection = (basis @ (basis.mT @ transfer.teacher.unsqueeze(-1)))[..., 0]
print(f"largest distance from `learned`: {(projection - learned(transfer)).norm(dim=1).max():.0e}")
print(f"largest distance from `newton`:  {(projection - newton(transfer)).norm(dim=1).max():.0e}")

# %% [markdown]
# **Exercise 2.** Draw the transfer risk (how often the student's class is not the teacher's) for 1 to 50 inputs, and
# the bound of Theorem 5.3 beside it. Where is the bound loose?

# %% [solution]
counts = [1, 2, 5, 10, 20, 30, 40, 49]
risks = [outcome(Distillation(), task, seeds, n).mean_risk[0] for n in counts]
bounds = [best_bound(task.p, n).value for n in counts]
figure, axes = plt.subplots(figsize=(4, 3), layout="constrained")
axes.loglog(counts, risks, marker="o", label="risk")
axes.loglog(counts, bounds, linestyle="--", label="Theorem 5.3")
axes.set(xlabel="inputs", ylabel="transfer risk")
axes.legend()
print("bound over risk:", [round(b / r, 1) for b, r in zip(bounds, risks, strict=True)])

# %% [markdown]
# **Exercise 3.** The same with hard labels (`HardTarget(None)`: the max-margin vector). How many times more inputs does
# a student need for the risk that soft labels reach with 10?

# %% [solution]
soft = outcome(Distillation(), task, seeds, 10).mean_risk[0]
for n in (10, 20, 40):
    print(f"{n} hard labels: risk {outcome(HardTarget(None), task, seeds, n).mean_risk[0]:.3f}")
print(f"10 soft labels: risk {soft:.3f}")

# %% [markdown]
# **Exercise 4.** One input at angle a with the teacher brings the student within a of it. Check this on the 100 sets of
# 5 inputs: is the student's angle never above the smallest angle of an input?

# %% [solution]
few = task.transfer(seeds, 5)
student = learned(few)


def angle(v, w):
    """Angles between the lines of v and w, in degrees."""
    cosine = (v * w).sum(-1).abs() / (v.norm(dim=-1) * w.norm(dim=-1))
    return cosine.clamp(max=1).arccos() * 180 / math.pi


nearest = angle(few.x, few.teacher.unsqueeze(1)).amin(1)
farther = angle(student, few.teacher) > nearest + 1e-6
print("sets in which the student is farther:", int(farther.sum()), "of", len(farther))
