"""
The weights of a black box
==========================

Recover the weights of a network from answers alone: any function of points [N, d] will do as the black box.
"""

from itertools import pairwise

import torch

import tutelage as tt

draw = torch.Generator().manual_seed(3)
widths = (8, 10, 6, 2)
weights = tuple(torch.randn(1, a, b, generator=draw, dtype=torch.float64) for a, b in pairwise(widths))
biases = tuple(torch.randn(1, b, generator=draw, dtype=torch.float64) for b in widths[1:])
secret = tt.Network(weights, biases)


def black_box(points: torch.Tensor) -> torch.Tensor:
    return tt.networks.outputs(secret, points)[0]


found = tt.identify(black_box, inputs=8, outputs=2, box=(-4, 4))
print(f"hidden units found: {found.units}, with {found.queries:,} queries")
print(f"unexplained share of the function: {found.unexplained:.1e}")
for note in found.notes:
    print(f"not found: {note}")
if found.complete:
    print(f"largest relative error of a layer: {tt.match(secret, found.network).residual.max():.1e}")

for noise in (1e-10, 1e-7):  # an answer that is a little off
    noisy = tt.identify(
        lambda x, e=noise: black_box(x) + e * (2 * torch.rand(len(x), 2, generator=draw, dtype=torch.float64) - 1),
        inputs=8,
        outputs=2,
        box=(-4, 4),
        noise=noise,
    )
    print(f"noise {noise:.0e}: units {noisy.units}, unexplained {noisy.unexplained:.1e}")
