"""The table behind a figure: one row per record, whatever the records stand in."""

from dataclasses import dataclass

import numpy as np
import pyarrow.parquet as pq
import torch

from tutelage.lab.arrays import parquet_bytes
from tutelage.studies.numbers import record_table


@dataclass(frozen=True)
class Run:
    width: int
    loss: np.ndarray
    model: object = None


@dataclass(frozen=True)
class Runs:
    steps: tuple[int, ...]
    runs: dict[tuple[str, int], list[Run]]
    others: list[Run]


def test_records_stand_alone_in_sequences_and_under_keys():
    run, row = Run(3, np.array([[1.0, 2.0]])), {"width": 3, "loss": [[1.0, 2.0]], "model": None}
    assert record_table(run).to_pylist() == [row]
    assert record_table([run, run]).to_pylist() == [row, row]
    assert record_table({("a", 1): run}).to_pylist() == [{"key": "a, 1"} | row]


def test_what_is_neither_a_number_nor_text_is_left_out():
    table = record_table([Run(1, torch.zeros(2), object()), Run(2, torch.ones(2), object())])
    assert table.column_names == ["width", "loss"]
    assert table["loss"].to_pylist() == [[0, 0], [1, 1]]


def test_groups_of_a_record_have_rows_and_columns_of_their_own(tmp_path):
    view = Runs((0, 5), {("a", 1): [Run(1, np.zeros(2))] * 2}, [Run(2, np.ones(1))])
    table = record_table(view)
    assert table["steps"].to_pylist() == [[0, 5], None, None, None]
    assert table["runs_key"].to_pylist() == [None, "a, 1", "a, 1", None]
    assert table["others_width"].to_pylist() == [None, None, None, 2]
    (tmp_path / "numbers.parquet").write_bytes(parquet_bytes(table))
    assert pq.read_table(tmp_path / "numbers.parquet").equals(table)


def test_names_of_arrays_in_a_record_follow_that_of_their_field():
    assert record_table([{"loss": {"first": np.zeros(1), "last": np.ones(1)}}]).column_names == [
        "loss_first", "loss_last",
    ]  # fmt: skip
