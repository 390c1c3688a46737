"""
Eight students of one teacher
=============================

The first hour: a teacher, eight students, and what each of them became.
"""

import tutelage as tt
from tutelage.measures import CLASSES

seeds = range(8)
teacher = tt.teachers.Levels(inputs=50, hidden=5, outputs=20, polarity=1.0).build(seeds)
inputs = tt.inputs.Gaussian(std=1.5, train=5_000, evaluate=2_000).draw(teacher, seeds)
students = tt.students.SmallNormal(width_factor=4).build(teacher, seeds)

run = tt.train(teacher, students, inputs, steps=6_000, record=range(0, 6_001, 1_000))
report = tt.measure(run)

for step, loss, rho in zip(report.steps, report["evaluate_loss"], report["rho_mean"], strict=True):
    print(f"step {step:5d}   loss {loss.mean():8.5f}   mean best correlation {rho.mean():.3f}")

final = report["unit_class"][-1]
for code, name in enumerate(CLASSES):
    print(f"{name:>14}: {(final == code).sum(axis=1).mean():5.2f} of {final.shape[1]} units per student")
