"""The record of a comparison says which verdicts mean the same function."""

import pytest

from tutelage.functions.answers import Comparison


@pytest.mark.parametrize(
    ("verdict", "same"),
    [("same and related", True), ("same, not related", True), ("different", False), ("not decided", False)],
)
def test_same_is_what_both_verdicts_of_equality_share(verdict, same):
    record = Comparison(verdict, "why", "all inputs", False, 1e-9, 0.0, None, False, None, None)
    assert record.same == same
