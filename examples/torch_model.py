"""
A torch module as teacher
=========================

A network of your own: import it from torch, let it teach, save it, and give a student back to torch.
"""

import tempfile
from pathlib import Path

import torch
from torch import nn

import tutelage as tt

torch.manual_seed(0)
mine = nn.Sequential(nn.Linear(10, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 3)).eval()
teacher = tt.networks.from_module(mine).to(dtype=torch.float32)  # folding the batch norm gives float64

inputs = tt.inputs.Gaussian(train=2_000, evaluate=1_000).draw(teacher, seeds=[0])
students = tt.students.UniformFanIn(width_factor=3).build(teacher, seeds=[0])
run = tt.train(teacher, students, inputs, steps=5_000, learning_rate=0.05)

path = Path(tempfile.mkdtemp()) / "student.safetensors"
tt.networks.save(run.students, path)
student = tt.networks.to_module(tt.networks.load(path))

points = inputs.evaluate[0]
error = (student(points) - mine(points)).square().sum(-1).mean() / 2
print(f"loss of the student, asked through torch: {error:.6f}")
print(f"loss of the student, measured here:       {tt.measure(run)['evaluate_loss'][-1, 0]:.6f}")
