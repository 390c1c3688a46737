"""
Similarity of layers
====================

How alike are the layers of two networks? Five indices, and the same from samples that come in pieces.
"""

import torch

import tutelage as tt
from tutelage.measures import INDICES, second_moments, similarity
from tutelage.networks import forward

seeds = range(4)
teacher = tt.teachers.Levels(inputs=50, hidden=5, outputs=20).build(seeds)
inputs = tt.inputs.Gaussian(std=1.5, train=5_000, evaluate=2_000).draw(teacher, seeds)
students = tt.students.SmallNormal(width_factor=4).build(teacher, seeds)
run = tt.train(teacher, students, inputs, steps=4_000)

first, second = (forward(network, inputs.evaluate).features[1] for network in (teacher, run.students))
for name, index in INDICES.items():
    values = similarity(first, second, by=name)
    meaning = f"{index.low:g} to {index.high:.3g}, {index.direction}, {index.identical:g} for identical layers"
    print(f"{name:>10}: {values.mean():.3f} over {len(values)} students   ({meaning})")

pieces = ((first[:, i : i + 500], second[:, i : i + 500]) for i in range(0, 2_000, 500))
print(f"from pieces: cka {similarity(second_moments(pieces), by='cka').mean():.3f}")

shuffled = second[..., torch.randperm(second.shape[-1])]
print(f"the order of units does not matter: cka {similarity(second, shuffled, by='cka').min():.3f}")
