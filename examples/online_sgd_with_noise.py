"""
Online SGD with label noise
===========================

A soft committee machine learns from fresh noisy samples, beside the equations of its overlaps (Saad and Solla 1995).
"""

import torch

import tutelage as tt

d, eta, noise, times, seeds = 200, 0.5, 0.3, [0, 5, 10, 20], range(6)
committee = {"activation": "erf", "bias": False, "head": 1.0}
teacher = tt.teachers.Normal(inputs=d, hidden=2, outputs=1, orthogonal=True, **committee).build(
    [0], dtype=torch.float64
)
inputs = tt.inputs.Gaussian(train=1, evaluate=100).draw(teacher, seeds)
students = tt.students.FanInNormal(hidden=2, scale=0.5, **committee).build(teacher, seeds)
how = {"batch": 1, "sampling": "online", "label_noise": noise, "frozen": (-1,), "learning_rate": eta / d}
run = tt.train(teacher, students, inputs, steps=times[-1] * d, record=[t * d for t in times], **how)
simulated = tt.measure(run, ["population_loss"])["population_loss"]
limit = tt.population.order_parameters(teacher, students, eta, times, label_noise=noise).losses()
for t, a, b in zip(times, simulated, limit, strict=True):
    print(f"steps/d = {t:2d}   online SGD {a.mean():.4f} +- {a.std() / len(a) ** 0.5:.4f}   equations {b.mean():.4f}")
