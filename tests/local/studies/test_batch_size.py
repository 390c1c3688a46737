"""The noise of a batch's gradient falls with the batch and lies below its bound."""

import numpy as np

from tutelage.local import LocalSetting, local_students, separated_teachers
from tutelage.local.starts import split_students
from tutelage.local.studies import batch_size as study


def test_noise_falls_with_the_batch_and_is_0_at_the_optimum():
    seeds = range(3)
    teachers = separated_teachers(3, 4, seeds)
    start = LocalSetting(teachers, local_students(teachers, 9, seeds))
    few, many = (study.spread_of(start, batch, seeds, 60) for batch in (10, 160))
    assert np.all((few / many > 8) & (few / many < 32))
    perfect = LocalSetting(teachers, split_students(teachers, [[0.5, 0.5], [1.0], [1.0]]))
    assert study.spread_of(perfect, 10, seeds, 5).max() < 1e-25
