"""Which SQL only reads: one SELECT whose parse tree holds nothing that writes, runs code or opens a file by name.

DuckDB 2.0 accepts COPY, INSERT, UPDATE and DELETE inside WITH, and calls the whole a SELECT; ``query('...')`` runs a
string as SQL. So the statement's type alone says little: every node of the tree must be of a known kind.
"""

import json
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from tutelage.errors import TutelageError
from tutelage.lab.database import opened

_NODES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
_SOURCES = {"BASE_TABLE", "SUBQUERY", "JOIN", "EMPTY", "EXPRESSION_LIST", "PIVOT", "SHOW_REF", "TABLE_FUNCTION"}
_MODIFIERS = {"ORDER_MODIFIER", "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "DISTINCT_MODIFIER"}
_ORDERS = {"ORDER_DEFAULT", "ASCENDING", "DESCENDING"}
_KNOWN = _NODES | _SOURCES | _MODIFIERS | _ORDERS
_TABLES_OF_NUMBERS = {"range", "generate_series", "unnest", "repeat"}
_DENIED = {"getenv", "write_log", "getvariable", "nextval", "query", "query_table"}


def check_read_only(duckdb: ModuleType, sql: str) -> None:
    """Raise an error unless ``sql`` is one SELECT that only reads tables and views."""
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
