"""Two small residual networks trained here from different starts: the line between them, before and after matching.

    python benchmarks/matching_resnets.py [--epochs 10] [--json FILE]

Networks with batch norms on the 8 x 8 digits, judged on the test digits. Matching by weights (several assignments in
turns) and by activations, with the statistics of the batch norms measured again on the line (REPAIR for such networks).
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

import tutelage as tt
from provenance import provenance
from tutelage.data import load_images
from tutelage.functions import match_channels


class Block(nn.Module):
    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.one, self.norm_one = nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after)
        self.two, self.norm_two = nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after)
        self.short = nn.Conv2d(before, after, 1, stride, bias=False) if before != after else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = functional.relu(self.norm_one(self.one(x)))
        return functional.relu(self.norm_two(self.two(y)) + self.short(x))


class ResNet(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.stem, self.norm = nn.Conv2d(1, channels, 3, 1, 1, bias=False), nn.BatchNorm2d(channels)
        self.one, self.two = Block(channels, channels, 1), Block(channels, 2 * channels, 2)
        self.three = Block(2 * channels, 2 * channels, 1)
        self.end = nn.Linear(2 * channels, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.relu(self.norm(self.stem(x)))
        return self.end(self.three(self.two(self.one(x))).mean((2, 3)))


def trained(x: torch.Tensor, y: torch.Tensor, seed: int, epochs: int, channels: int) -> nn.Module:
    torch.manual_seed(seed)
    module = ResNet(channels)
    optimiser = torch.optim.SGD(module.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs)
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(64):
            optimiser.zero_grad()
            functional.cross_entropy(module(x[rows]), y[rows]).backward()
            optimiser.step()
        schedule.step()
    return module.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--channels", type=int, default=32)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    images = load_images("digits")
    (x, y), (u, v) = (
        (torch.from_numpy(np.asarray(a, np.float32)).movedim(-1, 1) / 16, torch.from_numpy(b))
        for a, b in ((images.train, images.train_labels), (images.test, images.test_labels))
    )
    first, second = (trained(x, y, seed, options.epochs, options.channels) for seed in (0, 1))
    rows = {}
    for by in ("weights", "activations"):
        begin = time.perf_counter()
        match_channels(first, second, x, by=by)
        seconds = time.perf_counter() - begin
        found = tt.barrier(first, second, u, v, by=by, repair=True, steps=10)
        assert found.repaired is not None
        assert found.accuracy is not None
        assert found.matched_accuracy is not None
        assert found.repaired_accuracy is not None
        rows[by] = {
            "seconds": round(seconds, 2),
            "barrier": [round(found.height(line).item(), 4) for line in ("loss", "matched", "repaired")],
            "accuracy half-way": [
                round(a[5].item(), 4) for a in (found.accuracy, found.matched_accuracy, found.repaired_accuracy)
            ],
            "accuracy at the ends": [round(found.accuracy[k].item(), 4) for k in (0, -1)],
        }
    result = {"provenance": provenance(), "lines": ["as they are", "matched", "matched and repaired"], **rows}
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
