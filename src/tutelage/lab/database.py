"""The one place where DuckDB is opened, and how names and texts from files are written into its statements.

Results may come from anybody: the names of columns and settings in them are data, and so are paths. A connection is
therefore locked before the first statement that is made from data: it reads the files it was opened for and no other,
and nothing that a statement says can change that. Quoting is the first wall, the lock the second.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from tutelage.errors import TutelageError

COLUMN = re.compile(r"\w+")
"""Names of arrays and columns in results."""

SETTING = re.compile(r"\w+(\.\w+)*")
"""Dotted names of settings in results."""


def identifier(name: str) -> str:
    """A name as SQL writes it, whatever is in it.

    >>> print(identifier('a" FROM b; --'))
    "a"" FROM b; --"
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str | Path) -> str:
    """A text as SQL writes it.

    >>> print(literal("it's"))
    'it''s'
    """
    return "'" + str(text).replace("'", "''") + "'"


def module() -> ModuleType:
    """DuckDB; an error that says what to install where it is missing."""
    try:
        import duckdb
    except ImportError:
        raise TutelageError("queries need DuckDB, which is not installed: pip install duckdb") from None
    return duckdb


def opened(files: Iterable[str | Path] = (), memory: int | None = None) -> Any:
    """A connection that opens these files and no other, and whose settings cannot be changed any more.

    memory: bytes that DuckDB may take (default: its own limit); it never writes to the disk instead.
    """
    connection = module().connect(":memory:")
    connection.execute("SET temp_directory = ''")
    if memory is not None:
        connection.execute(f"SET memory_limit = '{memory}B'")
    connection.execute(f"SET allowed_paths = [{', '.join(map(literal, files))}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection
