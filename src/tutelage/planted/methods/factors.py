"""Matrix factorisations of the activations: PCA, ICA, NMF and dictionary learning, from scikit-learn.

All get as many components as principal directions are needed for 99 % of the variance. A component is a direction; its
score is the share of the variance of the activations that is linear in the activations along it. Of the dictionaries
the directions are the atoms.
"""

from collections.abc import Callable

import numpy as np
from torch import Tensor

from tutelage.planted.answer import MethodAnswer
from tutelage.planted.methods._sklearn import each, padded, sklearn
from tutelage.planted.registry import method
from tutelage.planted.view import StudentsView

_KEPT = 0.99


@method("pca")
def pca(students: StudentsView, inputs: Tensor) -> MethodAnswer:
    """Principal directions of the activations."""
    return _factored(students, inputs, lambda f, k: sklearn("decomposition").PCA(k).fit(f).components_)


@method("ica")
def ica(students: StudentsView, inputs: Tensor) -> MethodAnswer:
    """Independent components of the activations, by FastICA (Hyvärinen and Oja 2000)."""

    def components(f: np.ndarray, k: int) -> np.ndarray:
        found = sklearn("decomposition").FastICA(k, whiten="unit-variance", random_state=0, max_iter=500)
        return found.fit(f).components_

    return _factored(students, inputs, components)


@method("nmf")
def nmf(students: StudentsView, inputs: Tensor) -> MethodAnswer:
    """Non-negative factors of the activations, shifted to be at least 0 (Lee and Seung 1999)."""

    def components(f: np.ndarray, k: int) -> np.ndarray:
        shifted = f - np.minimum(f.min(0), 0)
        return sklearn("decomposition").NMF(k, init="nndsvda", random_state=0, max_iter=300).fit(shifted).components_

    return _factored(students, inputs, components)


@method("dictionary")
def dictionary(students: StudentsView, inputs: Tensor) -> MethodAnswer:
    """A sparse dictionary of the activations, by online dictionary learning (Mairal et al. 2009)."""

    def components(f: np.ndarray, k: int) -> np.ndarray:
        centred = f - f.mean(0)
        rectified = {"positive_code": True, "positive_dict": True} if (f >= 0).all() else {}
        model = sklearn("decomposition").MiniBatchDictionaryLearning
        found = model(k, alpha=0.1, batch_size=64, max_iter=10, random_state=0, fit_algorithm="cd", **rectified)
        return found.fit(centred / max(np.linalg.norm(centred, axis=1).mean(), 1e-12)).components_

    return _factored(students, inputs, components)


def _factored(
    students: StudentsView, inputs: Tensor, components: Callable[[np.ndarray, int], np.ndarray]
) -> MethodAnswer:
    directions, scores = [], []

    def work(f: np.ndarray) -> np.ndarray:
        alive = f.std(0) > 0
        found = np.zeros((1, f.shape[1]))
        if alive.any():
            inner = components(f[:, alive], _rank(f[:, alive]))
            found = np.zeros((len(inner), f.shape[1]))
            found[:, alive] = inner
        directions.append(found)
        scores.append(_shares(f, found))
        return found

    each(students.activations(inputs), work)
    stacked, sure = padded(directions, scores)
    return MethodAnswer(directions=stacked, scores=sure, count=[len(s) for s in scores])


def _rank(f: np.ndarray) -> int:
    """How many principal directions hold 99 % of the variance."""
    values = np.linalg.eigvalsh(np.cov(f.T).reshape(f.shape[1], -1))[::-1].clip(0)
    return int((np.cumsum(values) < _KEPT * values.sum()).sum()) + 1


def _shares(f: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Share of the variance of the activations that is linear in each code: [K]."""
    centred = f - f.mean(0)
    code = centred @ directions.T
    norms = np.linalg.norm(code, axis=0)
    code = code / np.where(norms > 0, norms, 1)
    return ((centred.T @ code) ** 2).sum(0) / max((centred**2).sum(), 1e-300)
