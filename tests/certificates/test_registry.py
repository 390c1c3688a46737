"""What is registered, what it is checked on, and which options it takes; on a subject of two numbers."""

import pytest

from tutelage import TutelageError
from tutelage.certificates import Finding, certify, certify_all, find, theorems
from tutelage.certificates.records import Condition
from tutelage.certificates.registry import THEOREMS, Subject, signed, subjects

NUMBERS = Subject(
    "numbers",
    "two numbers",
    accepts=lambda *about: len(about) == 2 and all(isinstance(a, float) for a in about),
    scenes=lambda *about: [(0, about), (3, about[::-1])],
    unfit=lambda theorem, scene: "needs a positive sum" if theorem.needs and sum(scene) <= 0 else "",
    chosen=lambda theorem, scene: theorem.name != "left-out",
    example=lambda *, low=1.0: (low, 2 * low),
)


def finding(scene, margin=0.0):
    smaller = scene[0] < scene[1] - margin
    return Finding(conditions=(Condition("first is smaller", scene[0], "<", scene[1] - margin, smaller),), parts=())


@pytest.fixture(autouse=True)
def registered():
    theorems()
    before = dict(THEOREMS)

    @NUMBERS.certificate("in-order", source="Tian 2020, Thm 0")
    def in_order(scene, *, margin: float = 0.0, number: int = 2, kind: str = "a", limit: float | None = None):
        """The first number is the smaller.

        More words.
        """
        return [finding(scene, margin), finding(scene)]

    @NUMBERS.certificate("summing", source="Tian 2020, Thm 0", needs="positive")
    def summing(scene):
        """The sum is positive."""
        return [finding(scene)]

    @NUMBERS.certificate("left-out", source="Tian 2020, Thm 0")
    def left_out(scene):
        return [finding(scene)]

    yield
    THEOREMS.clear()
    THEOREMS.update(before)


def test_a_theorem_is_what_its_function_says():
    theorem = find("in-order")
    assert theorem.statement == "The first number is the smaller."
    assert theorem.options == {"margin": 0.0, "number": 2, "kind": "a", "limit": None}
    assert find("left-out").statement == "left-out"
    assert subjects()["numbers"] is NUMBERS
    assert NUMBERS.settings == {"low": 1.0}
    assert Subject("s", "a", bool, list).settings == {}
    assert "in_order" not in repr(theorem)


def test_defaults_of_a_subject_leave_nothing_out():
    plain = Subject("s", "a", bool, list)
    assert plain.unfit(find("in-order"), None) == ""
    assert plain.chosen(find("in-order"), None) is True


def test_one_name_is_one_theorem_of_one_module():
    def elsewhere(scene):
        """Another."""

    elsewhere.__module__ = "another.module"
    with pytest.raises(TypeError, match="two theorems are called 'in-order'"):
        NUMBERS.certificate("in-order", source="")(elsewhere)

    def again(scene):
        """The same module again, as when a plugin is loaded twice."""

    assert NUMBERS.certificate("in-order", source="")(again) is again


def test_members_are_numbered_from_the_first_of_their_scene():
    certificates = certify("in-order", 1.0, 2.0, margin=0.5)
    assert [c.member for c in certificates] == [0, 1, 3, 4]
    assert [c.conditions[0].holds for c in certificates] == [True, True, False, False]
    assert certificates[0].settings == {"margin": 0.5, "number": 2, "kind": "a", "limit": None}
    assert signed(find("summing"), (1.0, 2.0), {})[0].member == 0


def test_all_are_those_that_fit_and_are_chosen():
    found = certify_all(1.0, 2.0, margin=0.1)
    assert list(found) == ["in-order", "summing"]
    assert [len(c) for c in found.values()] == [4, 2]
    assert found["in-order"][0].settings["margin"] == 0.1
    assert found["summing"][0].settings == {}
    assert list(certify_all(-1.0, -2.0)) == ["in-order"]
    assert len(certify("all", 1.0, 2.0)) == 6


@pytest.mark.parametrize(
    ("name", "about", "options", "why"),
    [
        ("in-ordre", (1.0, 2.0), {}, "did you mean 'in-order'"),
        ("in-order", (1.0, 2.0), {"margn": 1}, r"unknown option 'margn' of the theorem 'in-order' \(known: margin, nu"),
        ("summing", (1.0, 2.0), {"margin": 1}, r"\(known: none\)"),
        ("in-order", (1, "a"), {}, "needs two numbers, got int, str"),
        ("in-order", (), {}, "needs two numbers, got nothing"),
        ("summing", (-1.0, -2.0), {}, "the theorem 'summing' needs a positive sum"),
        ("all", (1, "a"), {}, "no theorem can be checked on int, str: pass one of"),
        (
            "all",
            (1.0, 2.0),
            {"mrgin": 1},
            "no theorem has an option 'mrgin': the options are kind, limit, margin, number",
        ),
        ("all", (1.0, 2.0), {"margin": -1}, "the option margin must be a number of at least 0, got -1"),
    ],
)
def test_what_cannot_be_checked_is_one_sentence(name, about, options, why):
    with pytest.raises(TutelageError, match=why):
        certify(name, *about, **options)


@pytest.mark.parametrize(
    ("option", "good", "bad"),
    [
        ("number", (1, 2**31 - 1), (0, -1, 2**31, 1.0, True, "1", None)),
        ("margin", (0, 0.0, 3, 1e300), (-1e-9, float("nan"), "1", None)),
        ("limit", (0, 0.5, None), (-1, float("nan"), "a")),
        ("kind", ("a", "b"), (1, None, True)),
    ],
)
def test_options_have_the_type_of_their_default(option, good, bad):
    for value in good:
        certify("in-order", 1.0, 2.0, **{option: value})
    for value in bad:
        with pytest.raises(TutelageError, match=f"the option {option} must be"):
            certify("in-order", 1.0, 2.0, **{option: value})
