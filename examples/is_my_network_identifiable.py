"""
Does the function determine the weights?
========================================

Does a network's function determine its weights? A random network, one made for it, and what a student finds out.
"""

from itertools import pairwise

import torch

import tutelage as tt
from tutelage.functions.identifying.construction import construct
from tutelage.functions.identifying.identifiability import identifiability
from tutelage.networks import Network, outputs

box = (-1, 1)
draw = torch.Generator().manual_seed(0)
widths = (2, 2, 2, 1)
weights = tuple(torch.randn(1, i, o, generator=draw).double() for i, o in pairwise(widths))
biases = tuple(torch.randn(1, o, generator=draw).double() / 2 for o in widths[1:])

print("a random network is", identifiability(Network(weights, biases), box), "\n")

made = construct(widths, box, seed=1)
report = identifiability(made, box)
print("a constructed one is", report)
for folds in report.layers:
    print(
        f"  from layer {folds.layer} on: {folds.pieces} pieces of folds, {folds.levels} by order, {folds.edges} edges"
    )

seeds = range(8)
teachers = tt.networks.concatenate([made] * len(seeds))
inputs = tt.inputs.Uniform(train=4_000, evaluate=1_000).draw(teachers, seeds)
students = tt.students.UniformFanIn().build(teachers, seeds)
run = tt.train(teachers, students, inputs, steps=3_000, learning_rate=0.1)
loss = (outputs(run.students, inputs.evaluate) - outputs(teachers, inputs.evaluate)).square().mean((1, 2))
for s in seeds:
    found = identifiability(run.students[s], box, stop=True)
    why = "identifiable" if found.holds else f"not shown: {', '.join(found.unmet) or 'undecided'}"
    print(f"student {s}: loss {loss[s].item():.1e}, {why}")
