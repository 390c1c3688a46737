"""
Online SGD and its order parameters
===================================

Online SGD at a finite learning rate, by simulation and by the equations of its overlaps (Saad and Solla 1995).
"""

import torch

from tutelage.population import Units, online_sgd, order_parameters

d, members, rate, times = 200, 8, 0.6, [0.0, 2.0, 5.0, 10.0]
teacher = Units(torch.eye(2, d)[None], torch.ones(1, 2, 1))
start = torch.zeros(members, 2, d)
start[..., :4] = torch.tensor([[0.5, 0.2, 0.5, 0.0], [0.2, 0.5, 0.0, 0.5]])
students = Units(start, torch.ones(members, 2, 1))

run = online_sgd(teacher, students, rate, times, seeds=range(members))  # one fresh sample a step
limit = order_parameters(teacher, students, rate, times)  # the same for infinitely many dimensions
without = order_parameters(teacher, students, rate / 1000, [1000 * t for t in times])  # gradient flow, nearly
print(f"overlap of a student with its teacher, SGD in {d} dimensions, mean over {members} seeds and standard error")
for i, t in enumerate(times):
    met = run.r[i, :, 0, 0]
    simulated = f"SGD {met.mean():.3f} +- {met.std() / members**0.5:.3f}"
    by_theory = f"equations {limit.r[i, 0, 0, 0]:.3f}   gradient flow {without.r[i, 0, 0, 0]:.3f}"
    print(f"steps/d = {t:4.0f}:  {simulated}   {by_theory}")
