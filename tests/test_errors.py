"""TutelageErrors are one sentence and name what is possible."""

import pytest

from tutelage.errors import InternalError, TutelageError, unknown


def test_a_refusal_is_a_value_error():
    with pytest.raises(ValueError, match="give one"):
        raise TutelageError("give one")


def test_an_unknown_name_comes_with_the_nearest_known_one():
    error = unknown("study", "los-curves", ["l-shape", "loss-curves", "success-rate"])
    assert isinstance(error, TutelageError)
    assert "'los-curves'; did you mean 'loss-curves'?" in str(error)


def test_a_name_far_from_all_comes_without_a_guess():
    text = str(unknown("study", "zzz", ["l-shape", "loss-curves"]))
    assert "did you mean" not in text
    assert "l-shape, loss-curves" in text


def test_known_names_are_listed_in_order_from_any_iterable():
    assert str(unknown("distribution", "x", (name for name in ["b", "a", "c"]))).endswith("(known: a, b, c)")


@pytest.mark.parametrize("name", [None, 3, ["a"], {"a": 1}])
def test_a_name_need_not_be_a_string(name):
    assert f"'{name}'" in str(unknown("distribution", name, ["a"]))


def test_an_internal_error_asks_for_a_report():
    error = InternalError("a bound of 1 was proved, but 2 was found")
    assert "internal error: a bound of 1 was proved" in str(error)
    assert "please report" in str(error)
    assert not isinstance(error, ValueError)
