"""Starts of searches among students near their teachers."""

from collections.abc import Sequence

import torch

from tutelage.local import LocalSetting, groups, local_students


def attached_students(teachers: torch.Tensor, students: int, seeds: Sequence[int]) -> torch.Tensor:
    """Students near teachers such that each teacher is the nearest of some student: [S, m, d].

    Where the noise has left a teacher without one, a tenth of a radian of noise is taken, which cannot do that.
    """
    drawn = local_students(teachers, students, seeds)
    without = (groups(LocalSetting(teachers, drawn)).mass() == 0).any(1)
    return torch.where(without[:, None, None], local_students(teachers, students, seeds, spread=0.1), drawn)
