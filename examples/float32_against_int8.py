"""
Float32 against int8
====================

Weights rounded to 8 bits: how far can the outputs move, and where is the top class safe?
"""

import torch
from torch import nn

from tutelage.functions import difference_bound, difference_curve, top_class_agreement
from tutelage.networks import from_module

torch.manual_seed(1)
network = from_module(nn.Sequential(nn.Linear(5, 12), nn.ReLU(), nn.Linear(12, 12), nn.ReLU(), nn.Linear(12, 3)))
quantised = network.map(lambda a: (a / (scale := a.abs().max() / 127)).round() * scale)

found = difference_bound(network, quantised, (-1, 1))
for output, (most, least) in enumerate(zip(found.at_most.tolist(), found.largest.tolist(), strict=True)):
    print(f"output {output}: within {most:.4f} everywhere in the box, {least:.4f} at the worst input found")

centre = torch.zeros(5)
for radius, part in zip((0.1, 0.5, 1.0), difference_curve(network, quantised, centre, (0.1, 0.5, 1.0)), strict=True):
    print(f"up to {radius} from 0: within {part.at_most.max():.4f}")

bound = found.at_most.max().item()
for margin in (0.0, 2 * bound):
    verdict = top_class_agreement(network, quantised, (-1, 1), margin, seconds=20).verdict
    print(f"same top class wherever the first leads by {margin:.3f} or more: {verdict}")
