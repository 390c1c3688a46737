"""Neuron clustering: groups of student units by k-means, with the number of groups chosen by silhouette."""

import numpy as np
import torch
from torch import Tensor

from tutelage.planted.answer import MethodAnswer
from tutelage.planted.methods._sklearn import each, sklearn
from tutelage.planted.registry import method
from tutelage.planted.view import StudentsView


@method("kmeans-weights")
def kmeans_weights(students: StudentsView, inputs: Tensor) -> MethodAnswer:
    """Groups of units with similar input weights and biases, each scaled to length 1."""
    return _grouped(torch.nn.functional.normalize(students.incoming(), dim=2))


@method("kmeans-activations")
def kmeans_activations(students: StudentsView, inputs: Tensor) -> MethodAnswer:
    """Groups of units with similar activations, each centred and scaled to length 1."""
    f = students.activations(inputs)
    return _grouped(torch.nn.functional.normalize(f - f.mean(1, keepdim=True), dim=1).mT)


def _grouped(rows: Tensor) -> MethodAnswer:
    """Units [S, n, ...] in groups; a group is surer the nearer its units are to its middle, a single unit least."""
    labels = np.stack(each(rows, _labels)).astype(int)
    count = labels.max() + 1
    scores = np.stack(
        [
            [_tightness(x, each == group) for group in range(count)]
            for x, each in zip(rows.double().numpy(), labels, strict=True)
        ]
    )
    return MethodAnswer(groups=labels, scores=scores, count=labels.max(1) + 1)


def _labels(x: np.ndarray) -> np.ndarray:
    cluster, metrics = sklearn("cluster"), sklearn("metrics")
    if len(np.unique(x.round(9), axis=0)) < 3:
        return np.zeros(len(x), int)
    sizes = sorted(
        {min(max(2, round(len(x) * share)), len(np.unique(x.round(9), axis=0)) - 1) for share in (0.1, 0.2, 0.35, 0.5)}
    )
    tried = [cluster.KMeans(k, n_init=3, random_state=0).fit_predict(x) for k in sizes]
    return max(tried, key=lambda labels: metrics.silhouette_score(x, labels) if len(set(labels)) > 1 else -1.0)


def _tightness(x: np.ndarray, group: np.ndarray) -> float:
    if group.sum() < 2:
        return -10.0
    return -float(np.linalg.norm(x[group] - x[group].mean(0), axis=1).mean())
