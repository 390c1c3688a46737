"""`tutelage` and its commands.

Exit codes: 0 yes, 1 a negative verdict, 2 bad input, 70 an internal error, 130 interrupted, 141 nobody reads on.
"""

import errno
import os
import signal
import sys
import traceback
from contextlib import suppress
from typing import Annotated

import typer

from tutelage import __version__
from tutelage.cli.lazy import lazy_group
from tutelage.deadline import begin_command
from tutelage.errors import TutelageError

COMMANDS = {
    "studies": ("commands:studies", "List the studies: paper, figure, title and rough time at each scale."),
    "reproduce": ("commands:reproduce", "Reproduce figures of the papers and judge their claims."),
    "run": ("commands:run", "Train and measure the students of a YAML file."),
    "query": ("store:query", "Query the results with SQL."),
    "store": ("store:app", "Maintain a results folder: list, check, gc, export, import."),
    "experiment": ("experiments:app", "Inspect experiment files: explain, list, diff, schema."),
    "new": ("new:new", "Write a skeleton of a study, measure, theorem, teacher or experiment, with its test."),
    "report": ("commands:report", "Write the report of reproduced studies again, as HTML or LaTeX."),
    "cite": ("cite:cite", "Print BibTeX entries of the library and of the papers."),
    "ledger": ("commands:ledger", "Write ledger.md: every claim of every stored study, with its verdict."),
    "explain": ("explain:explain", "Explain why teacher units were not recovered."),
    "certify": ("certify:certify", "Check every condition of a theorem on trained networks, and its conclusion."),
    "compare": ("compare:compare", "Decide whether two networks are the same function."),
    "check": ("check:check", "Check an exported, quantised or pruned network against the original."),
    "prune": ("prune:prune", "Remove units without changing the function, with a proof."),
    "match": ("match:match", "Match the units of two networks and measure the line between them."),
    "connect": ("connect:connect", "Build a path of low loss between two networks and measure it."),
    "identify": ("identify:identify", "Reconstruct the weights of a network from its values alone."),
    "distil": ("distil:distil", "Train a student network on the outputs of a teacher network."),
    "studio": ("studio:studio", "Watch students learn on a live page in the browser."),
    "engines": ("engines:engines", "List training engines, and measure their speed."),
    "data": ("data:app", "Fetch, list and check data sets."),
}
"""Every command: where it is, and its line in the help. Modules are imported when their command is used."""

app = typer.Typer(
    name="tutelage",
    cls=lazy_group("tutelage.cli", COMMANDS),
    help="A laboratory for teacher-student networks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"tutelage {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


VERDICT, ERROR, INTERNAL, INTERRUPTED, UNREAD = 1, 2, 70, 130, 141
_STORING = "reproduce", "run"  # commands that store experiments as they go
_LIMITED = "compare", "check", "prune", "identify", "distil"  # commands with a time limit
TRACEBACK = "TUTELAGE_TRACEBACK"
"""Set to 1, this variable shows the traceback of an internal error."""


def _interrupt(number: int, frame: object) -> None:
    """A polite kill ends a command as Ctrl-C does."""
    raise KeyboardInterrupt


def main() -> None:
    """Run a command; say what went wrong in one sentence, without a traceback."""
    begin_command()
    with suppress(ValueError):  # outside the main thread there are no signals to handle
        signal.signal(signal.SIGTERM, _interrupt)
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(_interrupted())
    except SystemExit as end:
        if end.code == INTERRUPTED:  # typer turns Ctrl-C into an exit with this code
            sys.exit(_interrupted())
        if end.code == VERDICT and not isinstance(end.__context__, typer.Exit):  # no command said so: typer gave up
            why = end.__context__
            sys.exit(_failed(why.__cause__ if why is not None and why.__cause__ is not None else why))
        raise
    except Exception as error:
        sys.exit(_failed(error))


def _interrupted() -> int:
    """Say what is left of a command that was interrupted."""
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    if command in _STORING:
        _say("interrupted; finished experiments are stored, and the same command continues from there")
    elif command in _LIMITED:
        _say("interrupted without a result; with --seconds N the best result so far is printed after N seconds")
    else:
        _say("interrupted")
    return INTERRUPTED


def _failed(error: BaseException | None) -> int:
    """Say what went wrong, and give the exit code."""
    if isinstance(error, TutelageError):
        _say(str(error))
        return ERROR
    if isinstance(error, OSError):
        if error.errno == errno.EPIPE:
            return UNREAD
        if error.errno is not None:  # a full disk, a folder that may not be written: the machine's word
            _say(f"{error.strerror}{f': {error.filename}' if error.filename is not None else ''}")
            return ERROR
    if isinstance(error, MemoryError) or "allocate memory" in str(error) or "out of memory" in str(error):
        _say("not enough memory: use fewer members, samples or units")
        return ERROR
    if os.environ.get(TRACEBACK) == "1":
        traceback.print_exception(error)
    from tutelage.settings import one_line

    what = one_line(f"{type(error).__name__}: {error}")
    _say(f"internal error: {what}; please report it, with the traceback that {TRACEBACK}=1 shows")
    return INTERNAL


def _say(sentence: str) -> None:
    from rich.console import Console

    Console(stderr=True, soft_wrap=True, highlight=False, markup=False).print(f"tutelage: {sentence}")
