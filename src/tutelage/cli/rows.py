"""Rows of values on a terminal of any width."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from tutelage.printing import printable


def print_rows(names: Sequence[str], rows: Sequence[Sequence[Any]], note: str = "", drop: Sequence[str] = ()) -> None:
    """Print rows as a table, or one line per value where the table is wider than the terminal.

    drop: columns to leave out first where the terminal is narrow.
    """
    console = Console(highlight=False)
    names = [printable(name) for name in names]
    cells = [[_cell(value) for value in row] for row in rows]
    widths = {name: max([len(name), *(len(row[i]) for row in cells)]) for i, name in enumerate(names)}
    kept, left_out = list(names), []
    for name in drop:
        if sum(widths[n] + 2 for n in kept) > console.width and name in kept:
            kept.remove(name)
            left_out.append(name)
    chosen = [names.index(name) for name in kept]
    if sum(widths[name] + 2 for name in kept) <= console.width or len(kept) == 1:
        table = Table(box=None, padding=(0, 2, 0, 0))
        for name in kept:
            table.add_column(escape(name), overflow="fold")
        for row in cells:
            table.add_row(*(escape(row[i]) for i in chosen))
        console.print(table)
    else:
        _print_records(console, kept, [[row[i] for i in chosen] for row in cells])
    if left_out:
        console.print(f"columns that do not fit: {', '.join(left_out)}; --json prints all")
    if note:
        console.print(note)


def _cell(value: Any) -> str:
    from tutelage.studies.report.words import short

    if value is None:
        return ""
    return short(value) if isinstance(value, float) else printable(str(value))


def _print_records(console: Console, names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """One block per row, one line per value."""
    width = max(map(len, names))
    for number, row in enumerate(rows):
        console.print(f"[dim]row {number}[/]")
        for name, value in zip(names, row, strict=True):
            console.print(Text.assemble((f"  {name:<{width}}  ", "bold"), value), soft_wrap=True)
