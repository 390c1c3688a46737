"""
Matching the units of two modules
=================================

Which of my units found which of the teacher's? Any two torch modules, here two ConvNets on Fashion-MNIST.

`tutelage data fetch fashion-mnist` brings the images; without them the example makes do with random patterns.
"""

import tempfile
from pathlib import Path

import torch
from torch import nn

from tutelage.data import load_images
from tutelage.errors import TutelageError
from tutelage.measures import match_modules
from tutelage.studies.report import modules_page


def images() -> tuple[torch.Tensor, torch.Tensor]:
    """Some images [N, 1, 28, 28] and their labels."""
    try:
        x, y, _, _ = load_images("fashion-mnist").tensors()
        return x[:2000], y[:2000]
    except TutelageError as refusal:
        print(refusal)
        patterns, y = torch.randn(10, 1, 28, 28), torch.arange(300) % 10
        return patterns[y] + 0.5 * torch.randn(300, 1, 28, 28), y


def convnet(first: int, second: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, first, 3, stride=2), nn.ReLU(), nn.Conv2d(first, second, 3, stride=2), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(second, 10),
    )  # fmt: skip


def train(model: nn.Module, x: torch.Tensor, wanted: torch.Tensor, loss: nn.Module, epochs: int) -> None:
    optimiser = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(100):
            optimiser.zero_grad()
            loss(model(x[rows]), wanted[rows]).backward()
            optimiser.step()


torch.manual_seed(0)
x, y = images()
teacher, student = convnet(6, 8), convnet(12, 16)
train(teacher, x, y, nn.CrossEntropyLoss(), epochs=3)
before = match_modules(teacher, student, x[:500])
with torch.no_grad():
    outputs = teacher(x)
train(student, x, outputs / outputs.std(), nn.MSELoss(), epochs=3)
after = match_modules(teacher, student, x[:500].split(100))
for old, new in zip(before, after, strict=True):
    print(f"before {old}\nafter  {new}")
for j, (k, rho) in enumerate(zip(after[0].best_student, after[0].best_correlation, strict=True)):
    print(f"teacher channel {j}: student channel {k}, correlation {rho:.2f}")
page = Path(tempfile.gettempdir()) / "which_units_match.html"
page.write_text(modules_page(after))
print(f"page with all correlations: {page}")
