"""
The gradient at a hidden layer
==============================

Tian 2020, Lemma 1: the gradient at a hidden layer is a difference of teacher and student activations.
"""

import torch

import tutelage as tt
from tutelage.networks import backward, forward, recursive_gradient

seeds = range(4)
recipe = tt.teachers.Levels(inputs=8, hidden=(6, 5, 4), outputs=3, bias="median")
distribution = tt.inputs.Gaussian(train=100, evaluate=100)
teacher = recipe.build(seeds, distribution, dtype=torch.float64)
students = tt.students.UniformFanIn(width_factor=2).build(teacher, seeds)
points = distribution.draw(teacher, seeds).train

taught, learnt = forward(teacher, points), forward(students, points)
by_backpropagation = backward(students, learnt, taught.outputs - learnt.outputs)
for layer in range(1, students.depth + 1):
    by_the_rule = recursive_gradient(students, learnt, teacher, taught, layer)
    difference = (by_the_rule - by_backpropagation[layer - 1]).abs().max()
    print(f"layer {layer}: largest gradient {by_the_rule.abs().max():.3f}, largest difference {difference:.1e}")
