"""Progress on a terminal: a bar over all experiments with the time left, and how the claims stand so far."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

if TYPE_CHECKING:  # importing the studies takes seconds, and most commands need none
    from tutelage.studies.live import Landed, Landing

OnProgress = Callable[[float], None]
OnLanded = Callable[[Any], None]


@contextmanager
def shown(
    label: str, total: float, quiet: bool, landing: "Landing | None" = None
) -> Iterator[tuple[OnProgress, OnLanded]]:
    """Functions to call with work done, and with results as they are stored.

    They draw on a terminal where there is work to do, and are silent elsewhere.
    """
    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f}%")
    bar = Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console)
    task = bar.add_task(label, total=total)
    add = landing.add if landing else lambda result: None
    if quiet or total == 0 or not console.is_terminal:
        yield lambda done: None, add
        return
    with Live(bar, console=console, refresh_per_second=4, transient=True) as live:

        def landed(result: Any) -> None:
            add(result)
            if landing:
                live.update(Group(bar, standings_table(landing.standings())))

        yield lambda done: bar.update(task, advance=done), landed


@contextmanager
def share_shown(label: str, quiet: bool) -> Iterator[OnProgress]:
    """A function to call with the share of the work that is done, from 0 to 1."""
    last_share = 0.0
    with shown(label, 1.0, quiet) as (advance, _):

        def tell(share: float) -> None:
            nonlocal last_share
            advance(share - last_share)
            last_share = share

        yield tell


@contextmanager
def closing_shown(quiet: bool) -> Iterator[Callable[[float, float, int], None] | None]:
    """A function to call with a proven bound, the largest difference found and the open boxes; None where not drawn."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    with Live(console=console, refresh_per_second=4, transient=True) as live:
        yield lambda most, least, left: live.update(
            f"within {most:.4g}, differs by at least {least:.4g}; {left:,} boxes open"
        )


def standings_table(standings: "list[Landed]") -> Table:
    """Results stored and verdicts so far, one row per study."""
    from tutelage.studies.claims import VERDICTS

    table = Table("study", "experiments", *VERDICTS, "checks passed", "waiting")
    for s in standings:
        counts = [str(s.verdicts[name]) for name in (*VERDICTS, "passes")]
        table.add_row(s.study, f"{s.landed}/{s.experiments}", *counts, str(s.waiting))
    return table
