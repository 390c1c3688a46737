"""The values behind verdicts, read back and asked with SQL."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tutelage as tt
from tutelage import TutelageError
from tutelage.lab.claim_values import SCHEMA, every_value, values_of


@pytest.fixture
def out(tmp_path):
    """Two studies with three members each, and a folder that no study wrote."""
    for study, first in (("one", 0.0), ("two", 10.0)):
        folder = tmp_path / "quick" / study
        folder.mkdir(parents=True)
        (folder / "claims.json").write_text("[]")
        values = [first, first + 1, float("nan")]
        rows = {"claim": ["a"] * 3, "setting": ["s"] * 3, "member": [0, 1, 2], "value": values}
        table = pa.table(rows | {"at_best": [None] * 3, "premise": [True, False, None]}, schema=SCHEMA)
        pq.write_table(table, folder / "values.parquet")
    (tmp_path / "quick" / "other").mkdir()
    pq.write_table(table, tmp_path / "quick" / "other" / "values.parquet")
    return tmp_path


def test_the_values_of_a_study_are_read_by_its_name(out):
    table = tt.results("two", scale="quick", out=out)
    np.testing.assert_array_equal(table["value"].to_numpy(), [10.0, 11.0, np.nan])
    assert table["premise"].to_pylist() == [True, False, None]


def test_all_values_carry_study_and_scale(out):
    assert every_value(out).select(["study", "scale"]).to_pylist() == [
        *[{"study": "one", "scale": "quick"}] * 3, *[{"study": "two", "scale": "quick"}] * 3,
    ]  # fmt: skip


def test_sql_pools_members_of_several_studies(out):
    pooled = tt.query("SELECT avg(value) AS mean FROM claim_values WHERE NOT isnan(value)", out)
    assert pooled["mean"].to_pylist() == [5.5]


def test_sql_may_only_read(out):
    with pytest.raises(TutelageError, match="one SELECT"):
        tt.query("DROP TABLE claim_values", out)


@pytest.mark.parametrize("wrong", ["FROM members", "FROM"])
def test_a_query_that_cannot_be_answered_says_why(out, wrong):
    with pytest.raises(TutelageError, match="query"):
        tt.query(f"SELECT * {wrong}", out)


def test_a_study_that_is_not_there_is_named(out):
    with pytest.raises(TutelageError, match="three"):
        values_of("three", "quick", out)
    with pytest.raises(TutelageError, match="holds no values of claims"):
        values_of("one", "quick", out / "quick")
