"""
Does my method find what is there?
==================================

A method of your own that groups student units, scored on planted teachers beside an oracle and chance.

On the command line: tutelage planted alike --with examples/own_method.py. Run as a script, it scores itself.
"""

import numpy as np
import torch

from tutelage.measures import correlations
from tutelage.planted import Difficulty, MethodAnswer, evaluate, method


@method("alike")
def alike(students, inputs):
    """Groups of units whose activations correlate above 0.9, the group with the largest effect first."""
    activations = students.activations(inputs)
    near = (correlations(activations, activations) > 0.9).double()
    first = near.argmax(2)  # the first unit that a unit is like
    effect = activations.std(1) * students.outgoing().norm(dim=2)
    scores = torch.zeros_like(effect).scatter_add_(1, first, effect)
    count = torch.stack([member.unique().numel() * torch.ones(()) for member in first])
    return MethodAnswer(groups=first, scores=scores, count=count)


if __name__ == "__main__":
    print(f"{'method':10s} {'recall':>7s} {'chance':>7s} {'too many':>9s}")
    for name in ("oracle", "alike", "kmeans-activations"):
        scores = evaluate(name, Difficulty(steps=2_000), seeds=4)
        recall, chance, bias = (np.nanmean(scores[n]) for n in ("recall", "chance", "count_bias"))
        print(f"{name:10.10s} {recall:7.2f} {chance:7.2f} {bias:9.1f}")
