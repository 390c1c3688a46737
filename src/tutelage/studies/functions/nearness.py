"""How near students came to their teachers, and how small their gradient is: what the studies of theorems share."""

from dataclasses import dataclass

import numpy as np
import torch

from tutelage.certificates.hyperplanes import distances
from tutelage.certificates.scene import scenes
from tutelage.runs import Pack, build


@dataclass(frozen=True)
class Nearness:
    """One recorded step of a pack: distance [S, m] of every teacher boundary from the nearest student's, as in
    Definition 3 of seed 000 (the larger of sine and offset); gradient [S]: the largest |g_1| on the training samples.
    """

    step: int
    distance: np.ndarray
    gradient: np.ndarray


def nearness(pack: Pack, steps: tuple[int, ...]) -> list[Nearness]:
    """The students of a pack at recorded steps whose weights were kept."""
    teacher, points = pack.teacher(), build(pack.spec)[2].train
    out = []
    for step in steps:
        seen = list(scenes(teacher, pack.weights(step), points))
        near = [distances(s).worst[:, : s.m, s.m :].amin(2) for s in seen]
        largest = [s.gradients[0].abs().flatten(1).amax(1) for s in seen]
        out.append(Nearness(step, torch.cat(near).numpy(), torch.cat(largest).numpy()))
    return out


def spread(steps: int, count: int, first: int = 10) -> tuple[int, ...]:
    """So many steps from the first to the last, in equal ratios.

    >>> spread(1000, 3)
    (10, 100, 1000)
    """
    return tuple(sorted({round(s) for s in np.geomspace(min(first, steps), steps, count)}))
