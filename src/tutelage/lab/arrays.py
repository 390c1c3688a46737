"""Arrays of an experiment as Parquet files: one row per member, one column per array, nested lists for more axes.

So SQL sees them as they are (``SELECT seed, loss[1] FROM departure``), and numpy gets back the same bits.
"""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tutelage.errors import TutelageError
from tutelage.lab.database import COLUMN
from tutelage.lab.experiment import Shared
from tutelage.lab.manifest import readable

VALUES, SHARED = "values.parquet", "shared.parquet"
"""Arrays with a member axis, one row per member; arrays without one, a single row."""


def to_files(results: Mapping[str, Any], members: int, seeds: Any = None) -> dict[str, bytes]:
    """The contents of the files of these results."""
    per_member: dict[str, np.ndarray] = {}
    shared: dict[str, np.ndarray] = {}
    for name, value in results.items():
        if not COLUMN.fullmatch(name):
            raise TutelageError(f"an array of results is called {name[:60]!r}: use letters, digits and underscores")
        array = np.asarray(value.value if isinstance(value, Shared) else value)
        if isinstance(value, Shared):
            shared[name] = array[None]
        elif array.ndim == 0 or len(array) != members:
            raise ValueError(
                f"'{name}' has shape {array.shape}, expected {members} members first (wrap an array without a member "
                "axis in Shared)"
            )
        else:
            per_member[name] = array
    labels: dict[str, np.ndarray] = {"member": np.arange(members, dtype=np.int32)}
    if seeds is not None:
        labels["seed"] = np.asarray(seeds, np.int64)
    files = {VALUES: table_bytes(labels | per_member)} if per_member or not shared else {}
    return files | ({SHARED: table_bytes(shared)} if shared else {})


def table_bytes(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Arrays with one first axis as the bytes of a Parquet file."""
    columns = {name: _column(np.ascontiguousarray(array)) for name, array in arrays.items()}
    fields = [
        pa.field(name, column.type, metadata={"shape": json.dumps(arrays[name].shape), "dtype": arrays[name].dtype.str})
        for name, column in columns.items()
    ]
    return parquet_bytes(pa.table(list(columns.values()), schema=pa.schema(fields)))


def parquet_bytes(table: pa.Table) -> bytes:
    """A table as the bytes of a Parquet file."""
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays that :func:`table_bytes` wrote, with their shapes and types."""
    with readable(path.parent, path.name, "is not a table of arrays"):
        return _arrays(pq.read_table(path))


def _arrays(table: pa.Table) -> dict[str, np.ndarray]:
    out = {}
    for field, column in zip(table.schema, table.columns, strict=True):
        shape, dtype = json.loads(field.metadata[b"shape"]), np.dtype(field.metadata[b"dtype"].decode())
        inner = column.combine_chunks()
        while pa.types.is_list(inner.type):
            inner = inner.flatten()
        values = inner.to_numpy(zero_copy_only=False) if len(inner) else np.empty(0, dtype)
        out[field.name] = np.array(values, dtype=dtype).reshape(shape)  # a copy that may be written to
    return out


def _column(array: np.ndarray) -> pa.Array:
    """An array as a column: nested lists, one level per axis after the first."""
    column = pa.array(array.reshape(-1))
    for axis in range(array.ndim - 1, 0, -1):
        rows = int(np.prod(array.shape[:axis]))
        ends = np.arange(rows + 1, dtype=np.int32) * array.shape[axis]
        column = pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), column)
    return column
