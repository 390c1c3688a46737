"""Settings of experiments as columns for SQL, whatever their names: made from what the manifests say, by DuckDB itself.

A setting has its dotted name with underscores (``teacher.polarity`` is ``teacher_polarity``), and its last part alone
(``polarity``) where no other setting of the view ends alike. A view has the settings that vary among its experiments,
defaults included, and those that a query names.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tutelage.lab.database import identifier, literal


@dataclass(frozen=True)
class SettingColumn:
    """A setting as a column: its dotted name, its names in SQL, its type there, whether it may differ by member."""

    dotted: str
    names: tuple[str, ...]
    type: str
    per_member: bool

    @property
    def path(self) -> str:
        escaped = self.dotted.replace("\\", "\\\\").replace('"', '\\"')
        return literal(f'$."{escaped}"')

    def value(self, table: str) -> str:
        """The value for all members, from the settings of a table."""
        if self.type.endswith("[]") or self.type == "JSON":
            value = f"json_extract({table}.settings, {self.path})"
            return value if self.type == "JSON" else f"CAST({value} AS {self.type})"
        return f"TRY_CAST(json_extract_string({table}.settings, {self.path}) AS {self.type})"

    def of_member(self, table: str, member: str) -> str:
        """The value for one member: its own where there is one value per member."""
        if not self.per_member:
            return self.value(table)
        value = f"json_extract({table}.settings, {self.path})"
        return (
            f"coalesce({self.value(table)}, TRY_CAST(json_extract_string({value}, '$[' || {member} || ']') AS DOUBLE))"
        )


def settings_columns(connection: Any, where: str, sql: str, taken: Iterable[str]) -> list[SettingColumn]:
    """The settings that the view of some experiments has as columns.

    where: a condition on the table ``known`` that picks the experiments; sql: the query, whose words pick settings that
    do not vary; taken: names of columns that the view has already.
    """
    per_member = {
        name
        for (names,) in connection.execute(f"SELECT DISTINCT per_member FROM known WHERE {where}").fetchall()
        for name in names.split()
    }
    keys = connection.execute(
        "SELECT DISTINCT unnest(json_keys(settings)) AS name FROM "
        f"(SELECT any_value(settings) AS settings FROM known WHERE {where} GROUP BY kind, layout) ORDER BY name"
    ).fetchall()
    words = set(re.findall(r"\w+", sql.lower()))
    names = _names([name for (name,) in keys], set(taken))
    every = "*" in sql
    out = []
    for dotted, aliases in names.items():
        setting = SettingColumn(dotted, aliases, "JSON", dotted in per_member)
        used = tuple(name for name in aliases if name in words)
        if not used and every and _varies(connection, where, setting):
            used = aliases[:1]
        if used:
            out.append(SettingColumn(dotted, used, _type(connection, where, setting), setting.per_member))
    return out


def selected(settings: Iterable[SettingColumn], table: str, member: str | None) -> list[str]:
    """The columns of a SELECT: every setting under all its names."""
    return [
        f"{setting.of_member(table, member) if member else setting.value(table)} AS {identifier(name)}"
        for setting in settings
        for name in setting.names
    ]


def _names(dotted: list[str], taken: set[str]) -> dict[str, tuple[str, ...]]:
    """The names of each setting in SQL: the whole one, and its last part where that is unique and not taken."""
    last = Counter(name.rpartition(".")[2].lower() for name in dotted)
    out: dict[str, tuple[str, ...]] = {}
    for name in dotted:
        whole, end = re.sub(r"\W", "_", name).lower(), name.rpartition(".")[2].lower()
        names = [n for n in dict.fromkeys((end if last[end] == 1 else whole, whole)) if n not in taken]
        if names:
            out[name] = tuple(names)
            taken.update(names)
    return out


def _varies(connection: Any, where: str, setting: SettingColumn) -> bool:
    value = f"CAST(json_extract(settings, {setting.path}) AS VARCHAR)"
    row = connection.execute(f"SELECT min({value}) <> max({value}) FROM known WHERE {where}").fetchone()
    return bool(row[0])


def _type(connection: Any, where: str, setting: SettingColumn) -> str:
    """The SQL type that holds the values of a setting."""
    rows = connection.execute(
        f"SELECT DISTINCT json_type(json_extract(settings, {setting.path})) FROM known WHERE {where}"
    ).fetchall()
    kinds = {kind for (kind,) in rows if kind not in (None, "NULL")}
    if setting.per_member:
        return "DOUBLE"
    if kinds <= {"UBIGINT", "BIGINT"} and kinds:
        return "BIGINT"
    if kinds <= {"UBIGINT", "BIGINT", "DOUBLE"} and kinds:
        return "DOUBLE"
    if kinds == {"BOOLEAN"}:
        return "BOOLEAN"
    return "JSON" if kinds & {"ARRAY", "OBJECT"} else "VARCHAR"
