"""
Determinants of students in the plane
=====================================

Can several students stand still away from one teacher? The determinant condition of Zhu et al. 2021, by theorem and by
search.
"""

import math

import numpy as np

from tutelage.alignment.angular import angularity, from_formula, named
from tutelage.alignment.conjecture_search import climb, random_search
from tutelage.alignment.determinants import signs
from tutelage.alignment.relu_theorem import covariance_bounds

# Is a kernel an angular distance function? A negative Fourier coefficient says no, and which test function shows it.
for kernel in (named("relu"), from_formula(lambda t: math.pi - t - 0.5 * np.cos(2 * t), "bent", variation=8.0)):
    found = angularity(kernel)
    print(f"{kernel.name:6s} AD: {found.holds} ({found.reason})")

# Signs of determinants, proved: the last set has two angles that coincide, of which nothing is computed.
found = signs(np.array([[1.0, 3.0, 5.0], [0.5, 1.0, 4.0], [1.0, 1.0, 4.0]]))
for row, degenerate in zip(found.each.tolist(), found.degenerate.tolist(), strict=True):
    print("signs of det M_i:", "degenerate" if degenerate else row)

# Why: given the teacher's two neighbours, its covariance with any other student is negative. These are bounds of it.
print("bounds:", covariance_bounds(np.array([[1.0, 2.0, 3.0, 5.0], [0.1, 0.2, 0.3, 0.4]])).round(7).tolist())

# No counterexample at random; uphill, the best set is still proved to be negative.
for m in (3, 6, 9):
    tried, top = random_search(m, 20_000), climb(m, starts=32, steps=100)
    print(f"m = {m}: {len(tried.positive)} of {tried.sets} positive; highest min rho {top.value:.2g}, ", end="")
    print("proved negative" if top.proved_negative else "open")
