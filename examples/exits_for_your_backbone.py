"""
Exits for your own network
==========================

Exits for a network of your own: attach them, train by distillation, answer within a budget, ship one exit.
"""

import tempfile
from pathlib import Path

import torch
from torch import nn

from tutelage.data import load_images
from tutelage.data.subsets import class_subset
from tutelage.errors import TutelageError
from tutelage.exits import (
    ExitObjective,
    early_exit,
    exit_accuracy,
    exit_times,
    exit_within,
    initialised,
    save_exit,
    train_exits,
    with_exits,
)
from tutelage.exits.training import PAPER_SGD
from tutelage.training import Drops, Training

try:
    x, y, test, test_labels = load_images("digits").tensors()
except TutelageError as refusal:  # patterns under noise, where there are no digits
    print(refusal)
    torch.manual_seed(0)
    labels, patterns = torch.arange(900) % 10, torch.randn(10, 1, 8, 8)
    images = patterns[labels] + 2 * torch.randn(900, 1, 8, 8)
    x, y, test, test_labels = images[:500], labels[:500], images[500:], labels[500:]
rows = class_subset(y, per_class=40, held=20)  # 20 digits a class to learn from, 20 to choose the exit on

backbone = nn.Sequential(
    *(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()),
    *(nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()),
    *(nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()),
    *(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(64, 10)),
)
network = with_exits(initialised(backbone, seed=0), ["2", "5"], x[:2])  # two heads; the backbone's own output is exit 3

drop = Drops(at=(20,), unit="epochs")
settings = Training(epochs=30, batch=32, learning_rate=0.1, schedule=drop, optimiser=PAPER_SGD)
for name, teachers in (("exit-wise", "none"), ("distilled", "last")):
    objective = ExitObjective(teachers)
    trained = train_exits(network, x[rows.train], y[rows.train], settings, objective=objective).model
    accuracy = exit_accuracy(trained, test, test_labels)
    print(f"{name}: exits alone {accuracy.single.mul(100).round().int().tolist()} %, "
          f"together {accuracy.ensemble.mul(100).round().int().tolist()} %")  # fmt: skip

costs = exit_times(trained, test[:1], repeats=10).budget.median(0).values
chosen = exit_within(float(costs[1]), costs, exit_accuracy(trained, x[rows.held], y[rows.held]).single)
print(f"within the time of exit 2: exit {chosen}")

with torch.no_grad():
    left = early_exit(trained, test, threshold=0.8).exit_number
print(f"leaving when 80 % sure: {[int((left == m).sum()) for m in (1, 2, 3)]} of {len(test)} leave at exits 1, 2, 3")

path = save_exit(trained, chosen, test[:2], Path(tempfile.mkdtemp()) / "exit.pt2")
print(f"torch.export.load('{path.name}') runs without this package: {path.stat().st_size // 1024} KiB")
