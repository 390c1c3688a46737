"""Subsets with few labels: counts, no overlap, nesting, and what cannot be drawn."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage.data.subsets import class_subset
from tutelage.errors import TutelageError


@given(st.integers(0, 1000), st.integers(2, 8), st.integers(0, 4), st.integers(0, 2))
def test_every_class_has_its_share_and_no_row_serves_twice(seed, per_class, held, unlabelled):
    held = min(held, per_class - 1)
    labels = torch.randint(4, (200,), generator=torch.Generator().manual_seed(seed))
    rows = class_subset(labels, per_class, held=held, unlabelled=unlabelled, seed=seed)
    for part, count in ((rows.train, per_class - held), (rows.held, held), (rows.unlabelled, unlabelled)):
        assert torch.bincount(labels[part], minlength=4).tolist() == [count] * 4
    every = torch.cat([rows.train, rows.held, rows.unlabelled])
    assert len(every.unique()) == len(every)


def test_a_larger_set_holds_the_smaller_and_seeds_differ():
    labels = np.arange(300) % 3
    small, large = (class_subset(labels, x, held=5, seed=7) for x in (10, 20))
    assert set(small.train.tolist()) < set(large.train.tolist())
    assert small.held.tolist() == large.held.tolist()
    assert len(small.train) + len(small.held) + len(small.unlabelled) == 300
    assert class_subset(labels, 10, held=5, seed=8).train.tolist() != small.train.tolist()


@pytest.mark.parametrize(
    ("labels", "settings", "said"),
    [
        ([0, 0, 2, 2], {"per_class": 1, "held": 0}, "class 1 is absent"),
        ([0, 0, 1, 1], {"per_class": 1, "held": 0, "classes": 3}, "class 2 is absent"),
        ([0, 0, 1], {"per_class": 2, "held": 1}, "class 1 has 1 images, and 2 per class"),
        ([0, 0], {"per_class": 2, "held": 1, "unlabelled": 1}, "and 3 per class are needed"),
        ([0, 0], {"per_class": 2, "held": 2}, "held must be from 0 to 1"),
        ([0, 0], {"per_class": 2, "held": 1, "unlabelled": -1}, "unlabelled must be at least 0"),
        ([], {"per_class": 2, "held": 1}, "at least one sample"),
        ([0, -100], {"per_class": 1, "held": 0}, "one class per sample, counted from 0"),
    ],
)
def test_what_cannot_be_drawn_is_said(labels, settings, said):
    with pytest.raises(TutelageError, match=said):
        class_subset(torch.tensor(labels, dtype=torch.long), settings.pop("per_class"), **settings)
