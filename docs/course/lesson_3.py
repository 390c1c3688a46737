"""
Lesson 3: which function is it?
===============================

Weights are not the function: units can be permuted, rescaled, split and merged without any change of the outputs. This
lesson is about the function: its folds, its linear regions, and whether two networks are the same function.
"""

# %%
import torch

import tutelage as tt
from tutelage.functions import box, enumerate_regions

seeds = [3]
teacher = tt.teachers.Levels(inputs=2, hidden=3, outputs=1, bias=-0.2).build(seeds)
inputs = tt.inputs.Gaussian(std=1.5, train=4_000, evaluate=1_000).draw(teacher, seeds)
students = tt.students.UniformFanIn(width_factor=2).build(teacher, seeds)
student = tt.train(teacher, students, inputs, steps=20_000, learning_rate=0.05).students
window = box(-3, 3, dimension=2)

# %% [markdown]
# **Exercise 1.** Three lines cut the plane into at most seven pieces. How many linear regions do the teacher and the
# student have in the window? Why can the student have more?

# %% [solution]
for name, network in (("teacher", teacher), ("student", student)):
    print(f"{name}: {network.widths[1]} units, {len(enumerate_regions(network, window))} regions")
print("Each unit adds a line; six lines cut the plane into at most 22 pieces.")

# %% [markdown]
# **Exercise 2.** Write a copy of the teacher with its units in another order and with unit 0 scaled: incoming weights
# and bias times 4, outgoing weights divided by 4. Ask `tt.same_function` whether it is the same function. Then change
# one weight by 0.001 and ask again.

# %% [solution]
(w, v), (b, c) = (t.clone() for t in teacher.weights), (t.clone() for t in teacher.biases)
order = [2, 0, 1]
w, b, v = w[:, :, order], b[:, order], v[:, order]
w[:, :, 0], b[:, 0], v[:, 0] = 4 * w[:, :, 0], 4 * b[:, 0], v[:, 0] / 4
copy = tt.Network((w, v), (b, c))
print("permuted and scaled:", tt.same_function(teacher, copy).verdict)
w[0, 0, 0] += 0.001
answer = tt.same_function(teacher, tt.Network((w, v), (b, c)), (-3, 3))
print(f"one weight moved:    {answer.verdict}, by {answer.difference:.1g} at {answer.witness.numpy().round(2)}")

# %% [markdown]
# **Exercise 3.** A wider student has 24 units, its teacher four. How many does `tt.prune` remove with tolerances 0,
# 0.01 and 0.1? By how much do the outputs change at most on the box from -4 to 4, and by how much on evaluation points?

# %% [solution]
four = tt.teachers.Levels(inputs=10, hidden=4, outputs=5).build([0])
points = tt.inputs.Gaussian(train=3_000, evaluate=1_000).draw(four, [0])
start = tt.students.SmallNormal(width_factor=6).build(four, [0])
wide = tt.train(four, start, points, steps=20_000, learning_rate=0.05).students
for tolerance in (0.0, 0.01, 0.1):
    small = tt.prune(wide, box=(-4, 4), tolerance=tolerance)
    moved = tt.networks.outputs(small.network, points.evaluate) - tt.networks.outputs(wide, points.evaluate)
    print(f"tolerance {tolerance}: {wide.widths[1]} -> {small.widths.item()} units, outputs change by at most", end=" ")
    print(f"{small.proof.bound.max():.1g} (proved); on evaluation points {moved.abs().max():.1g}")

# %% [markdown]
# **Exercise 4.** Of a black box you see the outputs only. Recover its weights with `tt.identify`, and compare them with
# the true ones by `tt.match`. What can never be recovered?

# %% [solution]
secret = teacher.map(lambda a: a.to(torch.float64))
copied = tt.identify(lambda x: tt.networks.outputs(secret, x)[0], inputs=2, outputs=1, box=(-4, 4))
print(f"hidden units found: {copied.units}, with {copied.queries:,} queries")
print(f"largest relative error of a layer: {tt.match(secret, copied.network).residual.max():.0e}")
print("The order of the units, and the scale moved from one layer to the next, leave no trace in the function.")
