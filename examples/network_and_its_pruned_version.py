"""
A network and its pruned version
================================

Small weights set to zero: a bound on what that does, with a proof that a program of its own checks, which needs numpy
and nothing of this library.
"""

import tempfile
from pathlib import Path

import torch
from torch import nn

from tutelage.functions import box, difference_bound, save_proof
from tutelage.networks import from_module
from tutelage.networks.exporting import save_onnx
from tutelage.verifying import verified

torch.manual_seed(2)
network = from_module(nn.Sequential(nn.Linear(2, 10), nn.ReLU(), nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, 2)))
pruned = network.map(lambda a: torch.where(a.abs() < 0.05, 0, a))
kept = sum(int((a != 0).sum()) for a in pruned.parameters) / sum(a.numel() for a in network.parameters)

domain = box(-1, 1, dimension=2)
found = difference_bound(network, pruned, domain)
epsilon = 1.1 * found.at_most.max().item()
print(f"{100 * kept:.0f} % of the weights are left; outputs differ by at most {found.at_most.max():.3f}")

answer = difference_bound(network, pruned, domain, epsilon, keep=True)
print(f"within {epsilon:.3f}: {answer.verdict}, {answer.reason}")
with tempfile.TemporaryDirectory() as folder:
    files = [Path(folder) / name for name in ("network.onnx", "pruned.onnx")]
    for each, file in zip((network, pruned), files, strict=True):
        save_onnx(each, file)
    parts = save_proof(Path(folder) / "proof.json", answer, *files, domain, epsilon=epsilon)
    print(f"a proof of {parts} parts, checked:", verified(Path(folder) / "proof.json", *files))
