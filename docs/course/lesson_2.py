"""
Lesson 2: exact dynamics
========================

For Gaussian inputs the expected loss of two-layer networks has a closed form. So training can be
followed without a single sample, and its minima and saddles can be found.
"""

# %%
import torch
from matplotlib import pyplot as plt

from tutelage.population import Units, end_point, flow, loss

d = 8  # inputs
teacher = Units(torch.eye(2, d)[None], torch.ones(1, 2, 1))  # two orthogonal units of length 1
draw = torch.Generator().manual_seed(0)

# %% [markdown]
# `Units(w, c)` are the hidden units of S networks: directions w [S, n, d] and outgoing weights c [S, n, C].
#
# **Exercise 1.** Check the closed form: draw 200,000 Gaussian inputs, compute half the mean squared difference between
# the outputs of the teacher and of one student, and compare it with `loss`. How large is the standard error of your
# estimate?

# %% [solution]
student = Units(0.5 * torch.randn(1, 2, d, generator=draw, dtype=torch.float64), torch.ones(1, 2, 1))
x = torch.randn(200_000, d, generator=draw, dtype=torch.float64)
gap = (torch.relu(x @ teacher.w[0].T) - torch.relu(x @ student.w[0].T)).sum(1)
sampled = gap.square() / 2
print(f"closed form {loss(teacher, student).item():.4f}")
print(f"sampled     {sampled.mean():.4f}, standard error {sampled.std() / len(x) ** 0.5:.4f}")

# %% [markdown]
# **Exercise 2.** Take a teacher with eight orthogonal units and 24 students with eight units each, and follow the
# gradient flow up to time 1,000 (`flow`, `end_point`). How many end at a loss of 0? Are the others at a saddle, or at a
# minimum that is not a global one?

# %% [solution]
eight = Units(torch.eye(8, d)[None], torch.ones(1, 8, 1))
many = Units(0.5 * torch.randn(24, 8, d, generator=draw, dtype=torch.float64), torch.ones(24, 8, 1))
times = [0.0, *(10 ** (i / 10) for i in range(-10, 31))]
course = flow(eight, many, times=times)
ends, kinds = course.losses()[-1], end_point(eight, course.end).kinds
for name, chosen in (("below 1e-6", ends < 1e-6), ("above", ends >= 1e-6)):
    reached = {kind for kind, end in zip(kinds, chosen.tolist(), strict=True) if end}
    print(f"loss {name}: {chosen.sum()} students, which end at a", " or ".join(sorted(reached)))
print(f"largest loss at the end: {ends.max():.4f}")

# %% [markdown]
# **Exercise 3.** Start both units of a student at the same place. Where does the flow end, and why can the two units
# never separate? Move each unit by about 1e-6 and look again.

# %% [solution]
place = 0.3 * torch.randn(1, 1, d, generator=draw, dtype=torch.float64)
twins = Units(place.expand(1, 2, d).clone(), torch.ones(1, 2, 1))
apart = Units(twins.w + 1e-6 * torch.randn(1, 2, d, generator=draw, dtype=torch.float64), torch.ones(1, 2, 1))
for name, start in (("the same place", twins), ("moved by 1e-6", apart)):
    run = flow(teacher, start, times=[0.0, 500.0])
    print(f"{name}: {end_point(teacher, run.end).kinds[0]}, loss {run.losses()[-1].item():.2e}")

# %% [markdown]
# **Exercise 4.** Draw the loss of the 24 students of exercise 2 against time, with logarithmic axes. When does a
# student that ends at 0 leave its last plateau? Print the median of the first recorded times at which the loss is
# below 0.001.

# %% [solution]
figure, axes = plt.subplots(figsize=(4, 3), layout="constrained")
losses = course.losses()  # [time, student]
axes.loglog(times[1:], losses[1:].clamp_min(1e-12), color="C0", alpha=0.3)
axes.set(xlabel="time", ylabel="expected loss", ylim=(1e-8, 10))
first = [times[int(i)] for i, end in zip((losses < 1e-3).int().argmax(0), losses[-1], strict=True) if end < 1e-3]
print(f"{len(first)} students end below 0.001; half of them are there at time {sorted(first)[len(first) // 2]:.0f}")
