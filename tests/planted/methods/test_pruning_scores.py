"""Magnitude and movement against loops in numpy."""

import numpy as np
import torch

from tutelage.networks import Network
from tutelage.planted.methods.pruning_scores import _RATE, _STEPS, magnitude, movement
from tutelage.planted.view import StudentsView


def test_both_against_loops():
    draw = torch.Generator().manual_seed(3)

    def normal(*shape):
        return torch.randn(*shape, generator=draw, dtype=torch.float64)

    students = Network((normal(2, 3, 4), normal(2, 4, 2)), (normal(2, 4), normal(2, 2)))
    x, y = normal(2, 20, 3), normal(2, 20, 2)
    view = StudentsView(students, 1, y, (0, 1))
    assert torch.allclose(magnitude(view, x).ranking, students.weights[0].abs().sum(1))
    wanted = [_loop(*(a[m].numpy().copy() for a in (*students.parameters, x, y))) for m in range(2)]
    assert np.allclose(movement(view, x).ranking.numpy(), wanted)


def _loop(w, v, b, c, x, y):
    """Gradient descent on half the squared error, by hand; minus the sum of weight times gradient per unit."""
    score = np.zeros(w.shape[1])
    for _ in range(_STEPS):
        u = x @ w + b
        f = np.maximum(u, 0)
        error = (f @ v + c - y) / len(x)
        back = (error @ v.T) * (u > 0)
        gw, gv, gb, gc = x.T @ back, f.T @ error, back.sum(0), error.sum(0)
        score -= (w * gw).sum(0)
        w, v, b, c = w - _RATE * gw, v - _RATE * gv, b - _RATE * gb, c - _RATE * gc
    return score
