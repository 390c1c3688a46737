"""
Which network training picks
============================

Which network that fits does training pick? On orthogonally separable data, two max-margin units (Phuong 2021).
"""

import math

import torch

from tutelage.certificates import certify
from tutelage.margins.datasets import cones
from tutelage.margins.flow import balanced_start, flow
from tutelage.margins.limits import cosines, growth
from tutelage.margins.max_margin import max_margins
from tutelage.margins.orthogonal import separability

seeds = range(4)
data = cones(seeds, count=24, dimension=3)
print("orthogonally separable:", separability(data).holds.tolist())

margins = max_margins(data)
start = balanced_start(seeds, units=20, dimension=3, scale=1e-4)
log_times = [-math.inf, 0.0, 2.0, 10.0, 100.0, 300 * math.log(10)]
course = flow(data, start, log_times)  # exact gradient flow, to t = 1e300

met = cosines(course.w, course.a, data, margins)
for i, log_t in enumerate(log_times):
    sums, wide = met.class_sum[i].mean(), met.max_margin[i].mean()
    print(f"log t = {log_t:6.1f}: mean cosine with the class sum {sums:.4f}, with the max-margin vector {wide:.4f}")

plus = growth(course, 1)
print(
    "|W+|^2 / log t:",
    plus.pace[-1].round(decimals=3).tolist(),
    "limit:",
    margins.positive.norm.round(decimals=3).tolist(),
)
print("rank of W, within 3 %:", [int((s > 0.03 * s[0]).sum()) for s in torch.linalg.svdvals(course.w[-1])])
for name in ("absorbing-sectors", "two-neuron-pruning", "max-margin-limit"):
    print(f"{name}:", [c.verdict for c in certify(name, course)])
