"""Linear probes: the direction in activation space that predicts each teacher unit best (Alain and Bengio 2017)."""

import numpy as np
import torch
from torch import Tensor

from tutelage.planted.answer import MethodAnswer
from tutelage.planted.methods._sklearn import quiet, sklearn
from tutelage.planted.registry import method
from tutelage.planted.view import StudentsView

_PENALTIES = np.logspace(-6, 2, 9)


@method("linear-probe", sees="teacher")
def linear_probe(students: StudentsView, inputs: Tensor) -> MethodAnswer:
    """Ridge regressions of teacher units on activations, scored by their R^2 on a held-out half of the inputs."""
    half = inputs.shape[1] // 2
    directions, scores = [], []
    with quiet():
        for x, y in zip(students.activations(inputs).numpy(), students.reference(inputs).numpy(), strict=True):
            ridge = sklearn("linear_model").RidgeCV(_PENALTIES, alpha_per_target=True)
            scores.append(_explained(y[half:], ridge.fit(x[:half], y[:half]).predict(x[half:])))
            directions.append(ridge.fit(x, y).coef_)
    return MethodAnswer(directions=torch.from_numpy(np.stack(directions)), scores=torch.from_numpy(np.stack(scores)))


def _explained(y: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """R^2 of every column, 0 where a column is constant: [m]."""
    spread = ((y - y.mean(0)) ** 2).sum(0)
    left = ((y - predicted) ** 2).sum(0)
    return np.where(spread > 0, 1 - left / np.where(spread > 0, spread, 1), 0.0)
