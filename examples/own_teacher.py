"""
Your own teacher
================

A torch module with layer normalisation teaches four students, through its outputs alone.
"""

import torch
from torch import nn

import tutelage as tt

torch.manual_seed(0)
module = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 2))
shape, seeds = tt.networks.BlackBox(None, inputs=8, outputs=2, members=4), range(4)
inputs = tt.inputs.Sphere(radius=8**0.5, train=2_000, evaluate=1_000).draw(shape, seeds)
students = tt.students.FanInNormal(hidden=(30, 30), activation="gelu").build(shape, seeds)
run = tt.train(
    module, students, inputs, steps=2_000, optimiser={"kind": "adam"}, learning_rate=0.003, record=[100, 500]
)
report = tt.measure(run, ["evaluate_loss", "label_power"])
for step, loss, power in zip(report.steps, report["evaluate_loss"], report["label_power"], strict=True):
    print(f"step {step:4d}: the students miss {100 * (loss / power).mean():5.1f} % of the teacher's variance")
