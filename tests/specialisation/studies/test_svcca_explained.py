"""The numbers behind the study on a student made by hand: duplicates are merged, idle units dropped."""

import torch

from tutelage.networks import Network
from tutelage.specialisation.studies.svcca_explained import _one


def test_duplicates_and_faint_units_leave_the_likeness_of_the_best_units():
    generator = torch.Generator().manual_seed(0)
    w = torch.randn(1, 8, 3, generator=generator)
    v = torch.randn(1, 3, 2, generator=generator)
    faint = 1e-3 * torch.randn(1, 8, 2, generator=generator)
    teacher = Network((w, v))
    student = Network((torch.cat([w, 2 * w, faint], dim=2), torch.cat([v, v, v[:, :2]], dim=1)))
    seen = _one(teacher, student, torch.randn(1, 500, 8, generator=generator))
    assert seen["unaligned_units"] == 2
    assert 0 < seen["unaligned_variance"] < 1e-5
    assert seen["student_directions"] == seen["teacher_directions"] == 3
    assert abs(seen["svcca"] - 1) < 1e-4
    assert abs(seen["svcca_of_the_best_alone"] - 1) < 1e-9
    assert seen["unit_by_unit"] < 0.95
