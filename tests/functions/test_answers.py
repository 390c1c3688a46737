"""The record of a comparison says which verdicts mean the same function."""

import pytest
import torch

from tutelage.functions.answers import Answer


@pytest.mark.parametrize(
    ("verdict", "same"),
    [("same and related", True), ("same, not related", True), ("different", False), ("not decided", False)],
)
def test_same_is_what_both_verdicts_of_equality_share(verdict, same):
    record = Answer(verdict, "both are the same function", "why", "all inputs", *torch.zeros(2, 1))
    assert record.same == same
