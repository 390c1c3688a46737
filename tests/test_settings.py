"""Settings are frozen, and what is wrong with them is said in one sentence that names the field."""

import inspect
import pydoc
from typing import Literal

import pytest
from pydantic import Field, PositiveFloat, PositiveInt, ValidationError, field_validator

import tutelage as tt
from tutelage.errors import TutelageError
from tutelage.lab.teacher_student import Record, TeacherStudent
from tutelage.settings import PerMember, Recipe, Settings, first_paragraph, per_member
from tutelage.training import Training
from tutelage.training.inputs import Distribution
from tutelage.training.optimisers import Optimiser
from tutelage.training.schedules import Schedule
from tutelage.training.students import Student
from tutelage.training.teachers import Teacher


class Oven(Settings):
    heat: PositiveFloat
    minutes: PositiveInt = 10
    weights: PerMember = 1.0


class Note(Settings):
    text: str

    @field_validator("text")
    @classmethod
    def _never(cls, text: str) -> str:
        raise ValueError(f"not {text}")


class Dish(Recipe):
    portions: PositiveInt = 2


class Soup(Dish):
    kind: Literal["soup"] = "soup"
    salt: float = Field(default=1.0, ge=0)


class Stew(Soup):
    kind: Literal["stew"] = "stew"


class Drink(Recipe):
    pass


class Tea(Drink):
    kind: Literal["tea"] = "tea"


def refusal(make, *values, **settings) -> str:
    with pytest.raises(TutelageError) as caught:
        make(*values, **settings)
    text = str(caught.value)
    assert "\n" not in text
    assert "pydantic" not in text
    return text


def test_settings_are_frozen():
    oven = Oven(heat=200)
    with pytest.raises(ValidationError, match="frozen"):
        oven.heat = 100
    assert oven.heat == 200


def test_equal_settings_have_equal_hashes():
    assert hash(Oven(heat=200, weights=[1, 2])) == hash(Oven(heat=200.0, weights=(1.0, 2.0)))
    assert Oven(heat=200) != Oven(heat=201)


def test_an_unknown_name_suggests_the_nearest():
    assert "'minuts'; did you mean 'minutes'?" in refusal(Oven, heat=1, minuts=3)
    assert "of oven" in refusal(Oven, heat=1, minuts=3)
    assert "soup 'sallt'; did you mean 'salt'?" in refusal(Soup, sallt=2)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_not_finite_are_refused(value):
    assert "'heat' in the oven" in refusal(Oven, heat=value)
    assert "finite" in refusal(Oven, heat=value)
    assert "'salt' in the soup" in refusal(Soup, salt=value)
    assert "'weights" in refusal(Oven, heat=1, weights=(1.0, value))


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        ({"heat": -3}, ["'heat'", "greater than 0", "-3"]),
        ({"heat": "warm"}, ["'heat'", "number", "'warm'"]),
        ({"heat": 1, "minutes": 1.5}, ["'minutes'", "integer", "1.5"]),
        ({}, ["'heat' is missing in the oven"]),
    ],
)
def test_a_wrong_value_is_named_with_its_field_and_what_was_wanted(settings, parts):
    text = refusal(Oven, **settings)
    assert [part for part in parts if part not in text] == []


def test_the_kind_of_a_recipe_cannot_be_another():
    assert "'kind' in the soup" in refusal(Soup, kind="stew")


def test_recipes_register_under_their_kind_in_their_own_family():
    assert Dish.kinds == {"soup": Soup, "stew": Stew}
    assert Drink.kinds == {"tea": Tea}


def test_parse_builds_the_kind_that_is_named():
    assert Dish.parse({"kind": "soup", "salt": 2}) == Soup(salt=2.0)
    assert type(Dish.parse({"kind": "stew", "portions": 5})) is Stew


def test_parse_takes_a_finished_recipe_as_it_is():
    soup = Soup()
    assert Dish.parse(soup) is soup


def test_parse_inverts_the_dump():
    soup = Soup(salt=0.5, portions=3)
    assert Dish.parse(soup.model_dump()) == soup


def test_parse_leaves_its_table_alone():
    table = {"kind": "soup", "salt": 2}
    Dish.parse(table)
    assert table == {"kind": "soup", "salt": 2}


@pytest.mark.parametrize("values", [{"salt": 1}, {}, None, 3, [("kind", "soup")], Tea()])
def test_parse_wants_a_table_with_a_kind(values):
    assert refusal(Dish.parse, values) == "'dish' must be a table with a kind (one of soup, stew)"


def test_the_name_of_a_kind_stands_for_its_defaults():
    assert Dish.parse("soup") == Soup()
    assert "kind of dish 'sooup'; did you mean 'soup'?" in refusal(Dish.parse, "sooup")


def test_parse_suggests_the_nearest_kind():
    assert "kind of dish 'sooup'; did you mean 'soup'?" in refusal(Dish.parse, {"kind": "sooup"})


@pytest.mark.parametrize("kind", [None, 3, True])
def test_parse_refuses_a_kind_that_is_no_name(kind):
    assert "known: soup, stew" in refusal(Dish.parse, {"kind": kind})


@pytest.mark.parametrize("kind", [["soup"], {"soup": 1}])
def test_parse_refuses_a_kind_that_cannot_be_looked_up(kind):
    assert "soup, stew" in refusal(Dish.parse, {"kind": kind})


@pytest.mark.parametrize("key", [1, True, None])
def test_parse_refuses_a_setting_whose_name_is_no_string(key):
    """As a YAML file may hold one: an unquoted `on`, `1` or `~` is not a string there."""
    assert f"'{key}'" in refusal(Dish.parse, {"kind": "soup", key: 2})


def test_parse_passes_on_what_is_wrong_inside():
    assert "'salt' in the soup" in refusal(Dish.parse, {"kind": "soup", "salt": -1})


@pytest.mark.parametrize("value", [0.5, 1, 0])
def test_a_number_is_repeated_for_every_member(value):
    assert per_member(value, 3, "rate") == (float(value),) * 3


@pytest.mark.parametrize("value", [(1, 2.5, 3), [1, 2.5, 3]])
def test_one_number_a_member_stays_as_it_is(value):
    assert per_member(value, 3, "rate") == (1.0, 2.5, 3.0)


@pytest.mark.parametrize("value", [(), (1.0,), (1.0, 2.0, 3.0, 4.0)])
def test_a_wrong_number_of_entries_is_refused_with_both_counts(value):
    text = refusal(per_member, value, 3, "rate")
    assert text.startswith(f"'rate' has {len(value)} entries for 3 members")


@pytest.mark.parametrize("values", [{"heat": True}, {"heat": 1, "minutes": False}, {"heat": 1, "weights": [1, True]}])
def test_true_and_false_do_not_pass_for_numbers(values):
    assert "must not be a boolean" in refusal(Oven, **values)


@pytest.mark.parametrize("minutes", [2**63, 10**400, int("f" * 9000, 16), "1" + "0" * 30], ids=range(4))
def test_whole_numbers_have_64_bits(minutes):
    assert "'minutes' in the oven must lie between -2^63 and 2^63" in refusal(Oven, heat=1, minutes=minutes)


@pytest.mark.parametrize(
    "value", ["x" * 100_000, list("x" * 100_000), [int("f" * 9000, 16)], {"x" * 5000: 1}], ids=range(4)
)
def test_what_was_given_is_cut_short_in_the_sentence(value):
    assert len(refusal(Oven, heat=value)) < 250
    assert len(refusal(Dish.parse, {"kind": value})) < 250


@pytest.mark.parametrize("name", ["two\nlines", "\x1b[31m", "\u2028", "\ud800"], ids=ascii)
def test_names_that_cannot_be_printed_are_spelt_out(name):
    text = refusal(Oven, **{"heat": 1, name: 2})
    assert text.isprintable()
    assert repr(name) in text


def test_half_a_character_is_refused():
    assert "contains an invalid Unicode surrogate" in refusal(Note, text="\ud800")


def test_a_docstring_below_a_field_describes_it():
    class Pot(Settings):
        """A pot,
        of iron.

        And more.
        """

        lid: bool = True
        """Whether it has a lid."""

    assert Pot.model_fields["lid"].description == "Whether it has a lid."
    assert first_paragraph(Pot) == "A pot, of iron."


def test_help_shows_settings_with_their_meaning_and_no_machinery():
    text = pydoc.plain(pydoc.render_doc(tt.teachers.Levels))
    assert "polarity : float or tuple, default 0.0" in text
    assert "1/j^p" in text
    assert ">>> teacher = Levels(" in text
    assert "model_" not in text
    assert "BaseModel" not in text.split("Method resolution order")[0]
    assert len(text.splitlines()) < 100
    assert "inputs, hidden, outputs, shared=False, polarity=0.0" in str(inspect.signature(tt.teachers.Levels))


@pytest.mark.parametrize(
    "family", [Teacher, Student, Distribution, Schedule, Optimiser, Training, Record, TeacherStudent]
)
def test_every_setting_a_user_writes_says_what_it_means(family):
    kinds = [kind for kind in getattr(family, "kinds", {}).values() if kind.__module__.startswith("tutelage")]
    for model in [family] if family in (Training, Record, TeacherStudent) else kinds:
        for name, field in model.model_fields.items():
            assert name == "kind" or (field.description or "").endswith("."), f"{model.__name__}.{name}"


def test_settings_are_written_without_their_defaults():
    assert repr(tt.teachers.Levels(inputs=4, hidden=3, outputs=2)) == "Levels(inputs=4, hidden=(3,), outputs=2)"
    rates = Training(steps=5, learning_rate=tuple(range(1, 21)))
    assert str(rates) == "Training(steps=5, learning_rate=(1.0, 2.0, ..., 20.0; 20 values))"
