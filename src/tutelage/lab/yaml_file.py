"""Tables that users write as YAML: plain data and nothing else, or a sentence that names the file and the line.

Reading runs no code, follows no tag, and costs no more than the file's size: aliases that unfold into more than that,
and tables nested deeper than any experiment, raise an error before they are built.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from tutelage.errors import TutelageError
from tutelage.settings import one_line

LARGEST = 1 << 20
"""Bytes of a file."""

_DEEPEST = 16  # tables and lists inside each other
_VALUES = 10_000  # of a short file with its aliases unfolded; a long one may have as many as it has letters
_MOST = 1 << 24  # of any file
_DIGITS = 300  # of a whole number: what has more is none that a float can hold
_MISREAD = re.compile(r"[-+]?(0[0-9_]+|[0-9_]+(:[0-5]?[0-9])+(\.[0-9_]*)?)")  # octal or to base 60 in YAML 1.1
_PLAIN = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "bool", "null", "seq", "map")}
_MERGE = "tag:yaml.org,2002:merge"


class _Loader(yaml.SafeLoader):
    """The safe loader; besides, 1e-3 is a number (as in YAML 1.2), and depth has an end."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.path: list[str] = []  # names of the tables around the node being read, "" inside a list

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        self.path.append(index.value if isinstance(index, ScalarNode) else "")
        if len(self.path) > _DEEPEST:
            where = _place(self.path, self.line + 1)
            raise TutelageError(f"nests tables or lists more than {_DEEPEST} deep{where}: no experiment does")
        node = super().compose_node(parent, index)
        self.path.pop()
        return node

    def construct_object(self, node: Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError):
            if not isinstance(node, ScalarNode):
                raise
            kind = _kind(node.tag)
            raise TutelageError(
                f"is not valid YAML at line {node.start_mark.line + 1}: a value is no '{kind}'"
            ) from None


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)


def read_table(
    path: str | Path, holds: str = "teacher, student, inputs, training and seeds", largest: int = LARGEST
) -> dict[str, Any]:
    """The one table a YAML file holds, with names that are text and values that are plain data.

    holds: the names of the table, for the error of a file that holds none; largest: bytes of the file.
    """
    tables = read_tables(path, holds, largest)
    if len(tables) > 1:
        raise TutelageError(f"{path} holds {len(tables)} tables and must hold one, with {holds}")
    return tables[0]


def read_tables(
    path: str | Path, holds: str = "teacher, student, inputs, training and seeds", largest: int = LARGEST
) -> list[dict[str, Any]]:
    """The tables of a YAML file, with lines ``---`` between them."""
    try:
        with open(path, "rb") as file:
            content = file.read(largest + 1)
    except OSError as error:
        raise TutelageError(f"{path} cannot be read ({error.strerror})") from None
    if len(content) > largest:
        raise TutelageError(f"{path} is larger than {largest >> 20} MiB: an experiment is a short text")
    try:
        tables = _values(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise TutelageError(f"{path} is not valid YAML: it is not text in UTF-8") from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise TutelageError(f"{path}{_what(error)}") from None
    if not tables or not all(isinstance(values, dict) for values in tables):
        raise TutelageError(f"{path} must hold a table with {holds}")
    return tables


def _what(error: Exception) -> str:
    """What is wrong with a file, to follow its name."""
    if isinstance(error, TutelageError):
        return one_line(f" {error}")
    where = getattr(error, "problem_mark", None)
    why = getattr(error, "problem", None) or getattr(error, "reason", None) or (error.args[:1] or [""])[0]
    if str(why).startswith("but"):  # the parser's sentence began in its context
        why = f"{getattr(error, 'context', '')}, {why}"
    return one_line(f" is not valid YAML{f' at line {where.line + 1}' if where else ''}" + (f": {why}" if why else ""))


def _values(text: str) -> list[Any]:
    loader, documents, total = _Loader(text), [], 0
    try:
        while loader.check_node() and (node := loader.get_node()) is not None:
            total += _measure(node, {})[0]  # of all tables together: short ones may not add up to a bomb
            if total > max(_VALUES, len(text)):
                raise TutelageError("unfolds aliases into too many values: write them out")
            documents.append(loader.construct_document(node))
        return documents
    finally:
        loader.dispose()


def _measure(node: Node, known: dict[int, tuple[int, int] | None], path: Sequence[str] = ()) -> tuple[int, int]:
    """Number of values and depth of a node with its aliases unfolded; an error where they are not those of plain data.

    A node met again is an alias: it was measured already, or else it lies inside itself.
    """
    where = _place(path, node.start_mark.line + 1)
    if id(node) in known:
        size = known[id(node)]
        if size is None:
            raise TutelageError(f"holds a value inside itself{where}: write it out")
        return size
    known[id(node)] = None
    if node.tag not in _PLAIN:
        kinds = f"text, numbers, lists and tables, not '{_kind(node.tag)}'"
        raise TutelageError(f"is not valid YAML{where}: values are {kinds}")
    if isinstance(node, ScalarNode):
        _whole_characters(node, where)
        if node.tag == "tag:yaml.org,2002:int" and len(node.value) > _DIGITS:
            raise TutelageError(f"has a number of {len(node.value)} digits{where}: at most {_DIGITS} are allowed")
        if node.style is None and _MISREAD.fullmatch(node.value):
            plain = "a number with a leading zero or a colon is read in several ways"
            raise TutelageError(
                f"has the value {node.value[:40]}{where}: {plain}, write it as a decimal number or in quotes"
            )
    sizes = []
    if isinstance(node, MappingNode):
        sizes = [_measure(part, known, (*path, name)) for name, part in _parts(node, path)]
    elif isinstance(node, SequenceNode):
        sizes = [_measure(part, known, path) for part in node.value]
    values, depth = 1 + sum(s for s, _ in sizes), 1 + max((d for _, d in sizes), default=0)
    if values > _MOST or depth > _DEEPEST:
        raise TutelageError(f"unfolds aliases into too many values{where}: write them out")
    known[id(node)] = values, depth
    return values, depth


def _whole_characters(text: ScalarNode, where: str) -> None:
    """An escape may name half of a surrogate pair, which no file and no terminal takes."""
    try:
        text.value.encode()
    except UnicodeEncodeError:
        raise TutelageError(f"is not valid YAML{where}: it contains an invalid Unicode surrogate") from None


def _place(path: Sequence[str], line: int) -> str:
    """Where in a file something stands: the setting, if it has a name, and the line."""
    name = ".".join(part for part in path if part)[:100]
    return f"{f' in {name!r}' if name else ''} at line {line}"


def _kind(tag: str) -> str:
    return tag.removeprefix("tag:yaml.org,2002:")[:60]


def _parts(table: MappingNode, path: Sequence[str]) -> list[tuple[str, Node]]:
    """Names and values of a table; names are text and do not repeat."""
    names = set()
    for name, _ in table.value:
        where = _place(path, name.start_mark.line + 1)
        if name.tag == _MERGE:
            continue
        if not isinstance(name, ScalarNode) or name.tag != "tag:yaml.org,2002:str":
            raise TutelageError(f"has a setting whose name is not text{where}: put quotes around it")
        _whole_characters(name, where)
        if name.value in names:
            raise TutelageError(f"has '{name.value[:100]}' twice in one table{where}: remove one of them")
        names.add(name.value)
    return [(name.value, value) for name, value in table.value]
