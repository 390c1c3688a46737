"""What an exit costs: asked of the whole network, and of the same exit cut out by hand; anytime beside both.

python benchmarks/bench_exits.py [--json FILE]
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

from provenance import provenance
from tutelage.exits.attached_exits import with_exits
from tutelage.exits.inference import exit_times
from tutelage.exits.msdnet import CIFAR
from tutelage.exits.multi_exit import MultiExit, multi_exit_conv

TURNS, WARM = 300, 20


def backbone() -> nn.Sequential:
    """A plain network of six convolutions, to be cut behind the second and the fourth."""
    layers: list[nn.Module] = []
    for channels in (3, 32, 32, 32, 32, 32):
        layers += [nn.Conv2d(channels, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))


def by_hand(net: MultiExit) -> tuple[nn.Module, nn.Module]:
    """The first and the last exit as plain sequences of the same layers."""
    first, last = nn.Sequential(net.stages[0], net.heads[0]), nn.Sequential(*net.stages, net.heads[-1])
    return first.eval(), last.eval()


def ratio(net: MultiExit, x: torch.Tensor, number: int, hand: nn.Module) -> float:
    """Median over turns of the time of ``at`` over that of the same exit by hand, each turn one after the other."""
    seen = []
    with torch.no_grad():
        for turn in range(TURNS + WARM):
            calls = [lambda: net.at(x, number), lambda: hand(x)]
            seconds = [0.0, 0.0]
            for which in (0, 1) if turn % 2 else (1, 0):
                start = time.perf_counter()
                calls[which]()
                seconds[which] = time.perf_counter() - start
            seen.append(seconds[0] / seconds[1])
    return float(np.median(seen[WARM:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    small, large, body = multi_exit_conv(1, 10).eval(), CIFAR.build(100, seed=None).eval(), backbone().eval()
    cut = with_exits(body, ["5", "11"], torch.randn(2, 3, 32, 32))
    networks = {
        "small conv, 8 x 8": (small, torch.randn(1, 1, 8, 8), by_hand(small)),
        "MSDNet of CIFAR, 32 x 32": (large, torch.randn(1, 3, 32, 32), by_hand(large)),
        "six convolutions cut at two layers, 32 x 32": (
            cut,
            torch.randn(1, 3, 32, 32),
            (nn.Sequential(body[:6], cut.heads[0].head).eval(), body),
        ),
    }
    result: dict = {"provenance": provenance()}
    for name, (net, x, hands) in networks.items():
        times = exit_times(net, x, repeats=20)
        result[name] = {
            "budget, ms": np.round(1000 * times.budget.median(0).values.numpy(), 3).tolist(),
            "anytime, ms": np.round(1000 * times.anytime.median(0).values.numpy(), 3).tolist(),
            "budget over by hand": [
                round(ratio(net, x, m, hand), 3) for m, hand in zip((1, net.exits), hands, strict=True)
            ],
        }
    print(json.dumps(result, indent=1))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
