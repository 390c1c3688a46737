"""Progress on a terminal: a bar over all packs with the time left and, below it, how the claims stand as packs land."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from tutelage.runs import Pack
from tutelage.studies.live import Landing, Standing

OnProgress = Callable[[float], None]
OnLanded = Callable[[Pack], None]
OnEvidence = Callable[[str, float], None]


@contextmanager
def shown(
    label: str, total: float, quiet: bool, landing: Landing | None = None
) -> Iterator[tuple[OnProgress, OnLanded, OnEvidence]]:
    """Functions to tell of work done, of packs landed and of the share of a study's evidence worked out.

    They draw on a terminal and are silent elsewhere.
    """
    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%")
    bar = Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console)
    task = bar.add_task(label, total=total)
    add = landing.add if landing else lambda pack: None
    if quiet or not console.is_terminal:
        yield lambda done: None, add, lambda study, share: None
        return
    with Live(bar, console=console, refresh_per_second=4, transient=True) as live:

        def landed(pack: Pack) -> None:
            add(pack)
            if landing:
                live.update(Group(bar, standings_table(landing.standings())))

        tasks: dict[str, TaskID] = {}

        def evidence(study: str, share: float) -> None:
            if study not in tasks:
                tasks[study] = bar.add_task(study, total=1.0)
            bar.update(tasks[study], completed=share)

        yield lambda done: bar.update(task, advance=done), landed, evidence


def standings_table(standings: list[Standing]) -> Table:
    """Packs landed and verdicts so far, a row a study."""
    table = Table("study", "packs", "holds", "fails", "undecided", "waiting")
    for s in standings:
        counts = [str(s.verdicts[name]) for name in ("holds", "fails", "undecided")]
        table.add_row(s.study, f"{s.landed}/{s.packs}", *counts, str(s.waiting))
    return table
