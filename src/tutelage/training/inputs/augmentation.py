r"""The two augmentations of a data set that the sample bounds of Tian 2020 ask for (Def. 7).

Points are [S, N, d], or [N, d] for one set, and the augmented set begins with the points themselves. The paper moves
them by :math:`2\varepsilon/(c K^{3/2})` (:func:`step`), with K the units of the lowest layer of teacher and student.
"""

import torch
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.training.inputs.inputs import Inputs


def step(epsilon: float, units: int, c: float = 1.0) -> float:
    r"""How far Def. 7 moves a point: :math:`2\varepsilon / (c K^{3/2})`.

    >>> step(0.4, units=4)
    0.1
    """
    return 2 * epsilon / (c * units**1.5)


def teacher_agnostic(points: Tensor | Inputs, step: float, moved: int | None = None, seed: int = 0) -> Tensor:
    r"""The points and each of them moved by ``step`` along every axis, both ways: (2d + 1) N points.

    .. math:: \{x \pm \mathrm{step}\, e_u : x \in D,\; u = 1..d\} \cup D

    moved: take only so many of the 2dN moved points, drawn without repetition, the same ones for all members.
    [S, N, d] -> [S, (2d+1) N, d], or [S, N + moved, d].

    >>> teacher_agnostic(torch.tensor([[1.0]]), 0.5).flatten().tolist()
    [1.0, 1.5, 0.5]
    """
    points = points.train if isinstance(points, Inputs) else points
    _refuse_step(step)
    count, d = points.shape[-2:]
    chosen = torch.arange(2 * d * count) if moved is None else _drawn(2 * d * count, moved, seed)
    chosen = chosen.to(points.device)
    row, turn = chosen // (2 * d), chosen % (2 * d)
    moves = points.new_zeros(len(chosen), d)
    moves[torch.arange(len(chosen)), turn // 2] = torch.where(turn % 2 == 0, step, -step).to(points.dtype)
    return torch.cat([points, points[..., row, :] + moves], dim=-2)


def teacher_aware(
    points: Tensor | Inputs, teacher: Network, band: float, step: float, moved: int | None = None, seed: int = 0
) -> tuple[Tensor, ...]:
    r"""The points, and those within ``band`` of a teacher boundary moved across it by ``step``, both ways.

    .. math:: \{x \pm \mathrm{step}\, \tilde w^*_j : x \in D \cap I_j(\mathrm{band})\} \cup D

    with regular :math:`\tilde w^*_j` of the lowest layer. How many points lie in a band differs from member to member,
    so the answer is one set [N + P, d] a member; moved: at most so many of the P moved points, none of them twice.
    """
    points = points.train if isinstance(points, Inputs) else points
    _refuse_step(step)
    points = points.unsqueeze(0) if points.ndim == 2 else points
    length = teacher.weights[0].norm(dim=1)
    if (length == 0).any():
        s, j = (length == 0).nonzero()[0].tolist()
        raise TutelageError(
            f"unit {j} of teacher {s} has weights 0 and so no boundary to move points across: remove it"
        )
    normal = (teacher.weights[0] / length.unsqueeze(1)).mT.to(points.dtype)  # [S, m, d]
    offset = torch.zeros_like(length) if teacher.biases is None else teacher.biases[0] / length
    height = points @ normal.mT + offset.unsqueeze(1).to(points.dtype)
    out = []
    for s, near in enumerate(height.abs() <= band):  # as many as there are in the bands, another number a member
        x, w = points[s if len(points) > 1 else 0], normal[s]
        row, unit = near.nonzero(as_tuple=True)
        move = step * w[unit]
        added = torch.stack([x[row] + move, x[row] - move], dim=1).flatten(0, 1)
        if moved is not None and moved < len(added):
            added = added[_drawn(len(added), moved, seed).to(added.device)]
        out.append(torch.cat([x, added]))
    return tuple(out)


def _drawn(total: int, number: int, seed: int) -> Tensor:
    """``number`` of 0 .. total-1 without repetition, in ascending order."""
    if not 0 <= number <= total:
        raise TutelageError(f"count must be at most {total}, the number of moved points, got {number}")
    return draws.permutations(draws.keys([seed], "augmentation"), total, 0)[0, :number].sort().values


def _refuse_step(step: float) -> None:
    if not step > 0:
        raise TutelageError(f"step must be above 0, got {step}")
