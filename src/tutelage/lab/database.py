"""The one place where DuckDB is opened: which SQL may run, what it may read, and how much it may take.

Results may come from anybody: the names of columns and settings in them are data, and so are paths. A connection is
therefore locked before the first statement that is made from data: it reads the files it was opened for and no other,
and nothing that a statement says can change that. Quoting is the first wall, the lock the second.

What a user asks is SQL, and may only read. DuckDB 2.0 accepts COPY, INSERT, UPDATE and DELETE inside WITH, and calls
the whole a SELECT; ``query('...')`` runs a string as SQL. So the statement's type alone says little: every node of the
parse tree must be of a known kind (:func:`check_read_only`).
"""

import json
import os
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any

import pyarrow as pa

from tutelage.errors import TutelageError

try:
    import resource
except ImportError:  # Windows: memory is not limited there
    resource = None  # type: ignore[assignment]

COLUMN = re.compile(r"\w+")
"""Names of arrays and columns in results."""

SETTING = re.compile(r"\w+(\.\w+)*")
"""Dotted names of settings in results."""

_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
_SOURCES = {"BASE_TABLE", "SUBQUERY", "JOIN", "EMPTY", "EXPRESSION_LIST", "PIVOT", "SHOW_REF", "TABLE_FUNCTION"}
_MODIFIERS = {"ORDER_MODIFIER", "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "DISTINCT_MODIFIER"}
_ORDERS = {"ORDER_DEFAULT", "ASCENDING", "DESCENDING"}
_KNOWN = _NODES | _SOURCES | _MODIFIERS | _ORDERS
_TABLES_OF_NUMBERS = {"range", "generate_series", "unnest", "repeat"}
_DENIED = {"getenv", "write_log", "getvariable", "nextval", "query", "query_table"}

_LIMITED = Lock()
_STACK = 2 << 20  # bytes of a thread's stack where the system sets no limit of its own


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


@contextmanager
def limited(more: int) -> Iterator[None]:
    """Let this process take at most so many bytes more than it has; what needs more than that is not allocated.

    Libraries in C limit what they count themselves, and much of what they allocate they do not count. So the limit is
    that of the system, for the whole process, and one at a time. Linux alone counts all memory towards it; the stacks
    of the threads that DuckDB starts, one per core, count as well, and are room beside the limit.
    """
    if resource is None:
        yield
        return
    with _LIMITED:
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        try:
            pages = int(Path("/proc/self/statm").read_text().split()[5])
        except (OSError, ValueError, IndexError):
            yield
            return
        most = pages * resource.getpagesize() + more + _stacks()
        resource.setrlimit(resource.RLIMIT_DATA, (most if soft == resource.RLIM_INFINITY else min(most, soft), hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _stacks() -> int:
    """Bytes for the stacks of one thread per core and of the one that waits for them."""
    each = resource.getrlimit(resource.RLIMIT_STACK)[0]
    return (2 + (os.cpu_count() or 1)) * (_STACK if each == resource.RLIM_INFINITY else min(each, 8 * _STACK))


def interruptible(connection: Any, sql: str, seconds: float) -> pa.Table:
    """The answer to a statement, from a thread beside this one, so that a signal to this one, or time, ends the work.

    DuckDB looks at no signals while it computes: Python would handle them only when the answer is there.
    """
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="query") as worker:
        answer = worker.submit(lambda: connection.sql(sql).to_arrow_table())
        try:
            return answer.result(seconds)
        except BaseException as end:
            while not answer.done():  # an interrupt that comes before the work has begun would be lost
                connection.interrupt()
                wait([answer], timeout=0.05)
            if isinstance(end, TimeoutError):
                raise TutelageError(
                    f"the query takes longer than {seconds:g} seconds: select fewer rows, or raise seconds"
                ) from None
            raise


def check_read_only(sql: str) -> None:
    """Raise an error unless ``sql`` is one SELECT that only reads tables and views."""
    duckdb = module()
    statements = duckdb.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise TutelageError("a query must be one SELECT: results are read, never changed")
    with opened() as connection:
        ((text,),) = connection.execute("SELECT json_serialize_sql($sql::VARCHAR)", {"sql": sql}).fetchall()
    tree = json.loads(text)
    if tree["error"]:
        raise TutelageError(f"a query must be one SELECT ({tree['error_message']}): results are read, never changed")
    for node in _nodes(tree["statements"]):
        _check_node(node)


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    """All objects of a parse tree; no recursion, so that depth costs nothing."""
    left = [tree]
    while left:
        here = left.pop()
        if isinstance(here, dict):
            yield here
            left += here.values()
        elif isinstance(here, list):
            left += here


def _check_node(node: dict[str, Any]) -> None:
    kind = node.get("type")
    if isinstance(kind, str) and "class" not in node and kind not in _KNOWN:
        what = kind.removesuffix("_QUERY_NODE").removesuffix("_NODE").replace("_", " ")
        raise TutelageError(f"a query must be one SELECT without {what} in it: results are read, never changed")
    if kind == "TABLE_FUNCTION":
        name = str(node.get("function", {}).get("function_name")).lower()
        if name not in _TABLES_OF_NUMBERS:
            allowed = ", ".join(sorted(_TABLES_OF_NUMBERS))
            raise TutelageError(
                f"the table function '{name}' is not allowed in a query: use the views, or one of {allowed}"
            )
    elif kind == "FUNCTION" and str(node.get("function_name")).lower() in _DENIED:
        raise TutelageError(f"the function '{node['function_name']}' is not allowed in a query: leave it out")
