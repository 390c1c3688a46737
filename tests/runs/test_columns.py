"""Settings as columns, defaults and all, without building specs."""

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutelage.runs import Spec, plain
from tutelage.runs.columns import DETAILS, SETTINGS, columns


def test_columns_hold_what_the_spec_holds(values):
    spec = Spec(**values(training={"batch": "all", "learning_rate": [0.1, 0.2, 0.3]}, precision="float64"))
    row = columns(json.loads(json.dumps(plain(spec))))
    assert set(row) == {*SETTINGS.names, *DETAILS.names}
    assert (row["teacher_kind"], row["student_kind"], row["inputs_kind"]) == ("levels", "small-normal", "gaussian")
    assert (row["dimension"], row["hidden"], row["hidden_layers"], row["outputs"]) == (6, 3, 1, 2)
    assert (row["polarity"], row["polarity_of"]) == (1.0, None)
    assert (row["learning_rate"], row["learning_rate_of"]) == (None, [0.1, 0.2, 0.3])
    assert (row["samples"], row["batch"], row["steps"], row["std"]) == (40, 40, 30, 1.5)
    assert (row["members"], row["seeds"], row["precision"], row["schedule"]) == (3, [0, 1, 2], "float64", "constant")


def test_settings_at_their_default_have_it(values):
    settings = plain(Spec(**values(teacher={"polarity": 0.0}, inputs={"std": 1.0})))
    row = columns(settings)
    assert "polarity" not in settings["teacher"]
    assert (row["polarity"], row["std"], row["learning_rate"], row["batch"]) == (0.0, 1.0, 0.01, 16)


def test_measures_and_precision_tell_tables_apart(values):
    layouts = {
        columns(plain(Spec(**values(record={"measures": m}, precision=p))))["layout"]
        for m in (["evaluate_loss"], ["evaluate_loss", "fan_out"])
        for p in ("float32", "float64")
    }
    assert len(layouts) == 4


def test_a_kind_that_is_not_known_here_leaves_its_columns_empty(values):
    row = columns(plain(Spec(**values())) | {"teacher": {"kind": "of-a-user", "inputs": 9}})
    assert (row["teacher_kind"], row["dimension"], row["polarity"], row["hidden"]) == ("of-a-user", 9, None, None)


trees = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(["teacher", "student", "inputs", "training", "record", "seeds"]), trees))
def test_settings_of_any_shape_are_columns(settings):
    row = columns(settings)
    schema = pa.schema([*SETTINGS, *DETAILS])
    assert pa.Table.from_pylist([row], schema).num_rows == 1


def test_half_a_character_is_no_text():
    assert columns({"precision": "\ud800"})["precision"] is None


@pytest.mark.parametrize("value", [2**70, True, "3", 1.5])
def test_what_is_no_whole_number_stays_empty(value):
    assert columns({"training": {"steps": value}})["steps"] is None
