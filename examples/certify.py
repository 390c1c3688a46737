"""
Certificates of trained students
================================

What the theorems say of a trained student: conditions with their values, conclusions, verdicts.
"""

import torch

import tutelage as tt
from tutelage.certificates import certify_all
from tutelage.networks import Network

seeds = range(2)
teacher = tt.teachers.Levels(inputs=8, hidden=3, outputs=2).build(seeds, dtype=torch.float64)
inputs = tt.inputs.Gaussian(std=1.5, train=500, evaluate=500).draw(teacher, seeds)

# A student that is its teacher with two more units, which have a fan-out each, and cancel.
extra = torch.randn(2, 8, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
below = torch.cat([teacher.weights[0], extra, 2 * extra], dim=2)
bias = torch.cat([teacher.biases[0], torch.full((2, 1), 0.2), torch.full((2, 1), 0.4)], dim=1)
above = torch.cat([teacher.weights[1], torch.ones(2, 1, 2), -torch.ones(2, 1, 2) / 2], dim=1)
exact = Network((below, above), (bias, teacher.biases[1]))
print(tt.certify("pruning", teacher, exact, inputs)[0], "\n")

# Students trained for a while: the gradient is not zero, so the exact theorems do not apply, and say by how much.
students = tt.students.SmallNormal(width_factor=3, scale=0.1).build(teacher, seeds)
run = tt.train(teacher, students, inputs, steps=5_000, batch=16, learning_rate=0.02)
for name, certificates in certify_all(teacher, run.students, inputs).items():
    first = certificates[0]
    print(f"{name:22s} {first.summary:20s} {'; '.join(first.unmet)}")
