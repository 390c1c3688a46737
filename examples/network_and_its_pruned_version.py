"""
A network and its pruned version
================================

Small weights set to zero: a bound on what that does, stored with the boxes that prove it and checked again without
rounding.
"""

import tempfile
from pathlib import Path

import torch
from torch import nn

from tutelage.functions import check_certificate, difference_bound, save_certificate
from tutelage.networks import from_module

torch.manual_seed(2)
network = from_module(nn.Sequential(nn.Linear(2, 10), nn.ReLU(), nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, 2)))
pruned = network.map(lambda a: torch.where(a.abs() < 0.05, 0, a))
kept = sum(int((a != 0).sum()) for a in pruned.parameters) / sum(a.numel() for a in network.parameters)

found = difference_bound(network, pruned, (-1, 1))
epsilon = 1.1 * found.at_most.max().item()
print(f"{100 * kept:.0f} % of the weights are left; outputs differ by at most {found.at_most.max():.3f}")

proof = difference_bound(network, pruned, (-1, 1), epsilon, keep=True)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "proof.json"
    save_certificate(proof, [epsilon] * 2, path)
    ends = -torch.ones(2), torch.ones(2)
    print(f"within {epsilon:.3f}: {proof.verdict}, {proof.reason}")
    print("checked again:", check_certificate(path, network, pruned, *ends)[1])
