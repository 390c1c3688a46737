"""
Lesson 1: what does a student recover?
======================================

A fixed teacher labels inputs, and many students learn from it. Run the first cells, then write your own code where a
cell says so. Every cell runs in a few seconds on a laptop.
"""

# %% [markdown]
# A teacher with five hidden units, and eight students with 20 units each. Every *member* has its own teacher, inputs
# and start, all drawn from its seed. Unit 0 of the teacher is the strongest: outgoing weights fall like 1/(j+1).

# %%
import numpy as np
from matplotlib import pyplot as plt

import tutelage as tt

seeds = range(8)


def trained(width_factor=4.0, polarity=1.0, noise=0.0, steps=4_000):
    """Students of a teacher with five units, and what was measured on them."""
    teacher = tt.teachers.Levels(inputs=50, hidden=5, outputs=20, polarity=polarity).build(seeds)
    inputs = tt.inputs.Gaussian(std=1.5, train=5_000, evaluate=2_000).draw(teacher, seeds)
    students = tt.students.SmallNormal(width_factor=width_factor).build(teacher, seeds)
    run = tt.train(teacher, students, inputs, steps=steps, batch=16, learning_rate=0.01, label_noise=noise)
    return tt.measure(run)


report = trained()
print("arrays [recorded step, member, ...]:", report["best_correlation"].shape)

# %% [markdown]
# **Exercise 1.** A teacher unit counts as recovered when its best correlation with a student unit is above 0.95. How
# many of the five units does each student recover? Which teacher units are missed?

# %% [solution]
recovered = report["best_correlation"][-1] > 0.95  # [member, teacher unit]
print("per member:      ", recovered.sum(axis=1))
print("per teacher unit:", recovered.sum(axis=0), "of", len(seeds))

# %% [markdown]
# **Exercise 2.** Draw every student unit as a point: its best correlation with a teacher unit against its fan-out, the
# length of its outgoing weights (`report["specialisation"]`, `report["fan_out"]`). Which corner stays empty, and what
# does that say about the units that resemble no teacher unit?

# %% [solution]
figure, axes = plt.subplots(figsize=(4, 3), layout="constrained")
axes.scatter(report["specialisation"][-1], report["fan_out"][-1], s=8)
axes.set(xlabel="best correlation with a teacher unit", ylabel="fan-out")
like = report["specialisation"][-1] > 0.95
print("mean fan-out of units like a teacher unit:", report["fan_out"][-1][like].mean().round(3))
print("mean fan-out of all other units:          ", report["fan_out"][-1][~like].mean().round(3))

# %% [markdown]
# **Exercise 3.** Students exactly as wide as the teacher have no spare units. Compare how many units are recovered on
# average for width factors 1, 2 and 4, with the standard error over members.

# %% [solution]
for factor in (1.0, 2.0, 4.0):
    recovered = (trained(width_factor=factor)["best_correlation"][-1] > 0.95).sum(axis=1)
    error = recovered.std(ddof=1) / np.sqrt(len(recovered))
    print(f"width factor {factor:.0f}: {recovered.mean():.2f} of 5 recovered, standard error {error:.2f}")

# %% [markdown]
# **Exercise 4.** Let the strength of the teacher units decay faster (`polarity=2`), or add noise to the labels
# (`noise=0.5`). Which teacher units are missed first?

# %% [solution]
for name, settings in (("polarity 2", {"polarity": 2.0}), ("noise 0.5", {"noise": 0.5})):
    recovered = (trained(**settings)["best_correlation"][-1] > 0.95).sum(axis=0)
    print(f"{name}: recovered per teacher unit {recovered} of {len(seeds)}")
