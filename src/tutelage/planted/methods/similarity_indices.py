"""Similarity indices of layers, used to find units: canonical directions, and what a layer's similarity rests on."""

import torch
from torch import Tensor

from tutelage.measures import second_moments, similarity
from tutelage.measures.similarity import KEPT
from tutelage.planted.answer import MethodAnswer
from tutelage.planted.registry import method
from tutelage.planted.view import StudentsView


@method("cca", sees="twins")
def cca(students: StudentsView, inputs: Tensor) -> MethodAnswer:
    """Directions of canonical correlation with a twin, the largest correlation first (Hotelling 1936)."""
    return _canonical(students, inputs, 1 - 1e-9)


@method("svcca", sees="twins")
def svcca(students: StudentsView, inputs: Tensor) -> MethodAnswer:
    """The same within the principal directions that hold 99 % of the variance (Raghu et al. 2017)."""
    return _canonical(students, inputs, KEPT)


def _canonical(students: StudentsView, inputs: Tensor, keep: float) -> MethodAnswer:
    x, y = (
        f.double() - f.double().mean(1, keepdim=True)
        for f in (students.activations(inputs), students.reference(inputs))
    )
    maps = [_whitening(f.mT @ f / f.shape[1], keep) for f in (x, y)]
    u, rho, _ = torch.linalg.svd(maps[0].mT @ (x.mT @ y / x.shape[1]) @ maps[1], full_matrices=False)
    return MethodAnswer(directions=(maps[0] @ u).mT, scores=rho)


def _whitening(c: Tensor, keep: float) -> Tensor:
    """Directions of unit variance that hold this share of the variance, as columns; the others are 0: [S, n, n]."""
    values, vectors = torch.linalg.eigh(c)
    values = values.clamp_min(0)
    smaller = values.cumsum(1) - values
    kept = smaller + values > (1 - keep) * values.sum(1, keepdim=True)
    return vectors * torch.where(kept, values.clamp_min(1e-300).rsqrt(), 0).unsqueeze(1)


@method("cka", sees="twins")
def cka(students: StudentsView, inputs: Tensor) -> MethodAnswer:
    """Units by how much the linear CKA with a twin falls without them (Kornblith et al. 2019)."""
    x, y = students.activations(inputs), students.reference(inputs)
    whole = similarity(second_moments([(x, y)]), by="cka")
    keep = ~torch.eye(students.units, dtype=torch.bool)
    without = [similarity(second_moments([(x[:, :, rest], y)]), by="cka") for rest in keep]
    return MethodAnswer(ranking=whole.unsqueeze(1) - torch.stack(without, 1))
