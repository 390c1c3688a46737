"""
Lesson 4: which network does training pick?
===========================================

Many networks fit the same labelled points. On orthogonally separable data gradient descent picks one of them, whatever
the width: two units, one per class, on the max-margin directions (Phuong 2021, chapter 3).
"""

# %%
import math

import torch
from matplotlib import pyplot as plt

from tutelage import certify
from tutelage.margins.datasets import cones
from tutelage.margins.flow import balanced_start, flow
from tutelage.margins.limits import cosines
from tutelage.margins.max_margin import max_margins
from tutelage.margins.orthogonal import separability

seeds = range(4)
data = cones(seeds, count=24, dimension=2)  # four sets of 24 points in the plane

# %% [markdown]
# **Exercise 1.** Points are orthogonally separable if points of one class have positive inner products and points of
# different classes have products of at most 0. Check it for `data.x` [set, point, dimension] and `data.y` by hand, and
# compare with `separability`.

# %% [solution]
products = data.x @ data.x.mT
same = data.y.unsqueeze(2) == data.y.unsqueeze(1)
by_hand = (~same | (products > 0)).all(dim=(1, 2)) & (same | (products <= 0)).all(dim=(1, 2))
print("by hand:     ", by_hand.tolist())
print("separability:", separability(data).holds.tolist())

# %% [markdown]
# **Exercise 2.** Compute the max-margin vector of each class (`max_margins`). Which points lie on the margin? Count
# these support points in each class: their multipliers are positive (`dual`).

# %% [solution]
margins = max_margins(data)
for name, of, sign in (("+1", margins.positive, 1), ("-1", margins.negative, -1)):
    counts = (data.y == sign).sum(1).tolist()
    print(f"class {name}: support points {(of.dual > 1e-9).sum(1).tolist()} of {counts}")

# %% [markdown]
# **Exercise 3.** Train 20 units from a small balanced start by exact gradient flow, up to log t = 690. When do the
# units point along the sum of the points of their class, and when along the max-margin vector? Draw both cosines.

# %% [solution]
start = balanced_start(seeds, units=20, dimension=2, scale=1e-4)
log_times = [-math.inf, 0.0, 2.0, 5.0, 10.0, 30.0, 100.0, 300.0, 690.0]
course = flow(data, start, log_times)
angles = cosines(course.w, course.a, data, margins)
figure, axes = plt.subplots(figsize=(4, 3), layout="constrained")
for name, values in (("class sum", angles.class_sum), ("max-margin vector", angles.max_margin)):
    means = [values[i].nanmean().item() for i in range(len(log_times))]
    axes.plot(log_times[1:], [1 - m for m in means[1:]], marker="o", label=name)
    print(f"mean cosine with the {name}:", [round(m, 4) for m in means])
axes.set(xlabel="log t", ylabel="1 - mean cosine", xscale="log", yscale="log")
axes.legend()

# %% [markdown]
# **Exercise 4.** What does the theorem promise about this very network? Ask `certify` for "two-neuron-pruning" and
# "max-margin-limit". Then change the label of one point and ask again: which conditions are not met now?

# %% [solution]
for name in ("two-neuron-pruning", "max-margin-limit"):
    print(f"{name}: {[c.verdict for c in certify(name, course)]}")
wrong = type(data)(data.x, data.y * torch.where(torch.arange(data.y.shape[1]) == 0, -1, 1))
limit = certify("max-margin-limit", flow(wrong, start, [0.0, math.log(1e4)]))
print("with one label changed:", [c.verdict for c in limit])
print("not met in set 0:", [c.name for c in limit[0].conditions if not c.holds])
