"""A progress bar for trainings that are started from Python."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class StepCallback:
    """Passes the number of steps done on to a progress bar and to the caller's function."""

    def __init__(self, *functions: Callable[[int], None]) -> None:
        self.functions = functions
        self.describe: Callable[[str], None] | None = None

    def __call__(self, steps: int) -> None:
        for function in self.functions:
            function(steps)


@contextmanager
def progress_bar(wanted: bool, total: int, on_progress: Callable[[int], None] | None) -> Iterator[StepCallback]:
    """A function to call with steps done, which draws a bar on the terminal where one is wanted."""
    others = [on_progress] if on_progress else []
    if not wanted:
        yield StepCallback(*others)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = BarColumn(), TaskProgressColumn(), TextColumn("{task.completed:.0f} steps"), TimeRemainingColumn()
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("", total=total)
        callback = StepCallback(lambda steps: bar.advance(task, steps), *others)
        callback.describe = lambda text: console.print(f"engine: {text}", highlight=False)
        yield callback
