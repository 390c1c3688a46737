"""
A data set, no teacher
======================

An ordinary torch DataLoader of labelled points; members differ in their start and in their batches.
"""

import torch
from torch.utils.data import DataLoader, TensorDataset

import tutelage as tt
from tutelage.training.inputs import from_loader

draw = torch.Generator().manual_seed(0)
x = torch.randn(1_200, 6, generator=draw)
y = (x[:, 0] * x[:, 1] > 0).long() + (x[:, 2] > 1).long()
train, test = (
    DataLoader(TensorDataset(x[part], y[part]), batch_size=50) for part in (slice(1_000), slice(1_000, None))
)
seeds = range(5)
inputs = from_loader(train, seeds=seeds, evaluate=test)
students = tt.students.FanInNormal(hidden=40).build(tt.networks.BlackBox(None, 6, 3, 5), seeds)
stop = {"kind": "plateau", "patience": 3, "every": 200, "share": 0.02}
run = tt.train(None, students, inputs, epochs=100, batch=20, learning_rate=0.2, loss="cross-entropy", stop=stop)
agreement = tt.measure(run, ["agreement"])["agreement"]
print(f"correct on new points: {agreement[0].mean():.2f} before training, {agreement[-1].mean():.2f} after")
print("stopped at steps", run.stopped_at.tolist(), "of", run.steps[-1])
