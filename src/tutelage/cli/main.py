"""`tutelage` and its commands.

Exit codes: 0 yes, 1 a negative verdict, 2 bad input, 70 an internal error, 130 interrupted, 141 nobody reads on.
"""

import errno
import os
import signal
import sys
import traceback
from contextlib import suppress

import typer
from rich.console import Console

from tutelage.cli import commands, data, specs, store
from tutelage.cli.certify import certify
from tutelage.cli.compare import compare
from tutelage.cli.distil import distil
from tutelage.cli.engines import engines
from tutelage.cli.explain import explain
from tutelage.cli.identify import identify
from tutelage.cli.prune import prune
from tutelage.errors import Refusal
from tutelage.settings import one_line

app = typer.Typer(
    name="tutelage",
    help="A laboratory for teacher-student networks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(commands.studies)
app.command()(commands.reproduce)
app.command()(commands.run)
app.command()(commands.report)
app.command()(commands.ledger)
app.command()(explain)
app.command()(certify)
app.command()(compare)
app.command()(distil)
app.command()(engines)
app.command()(prune)
app.command()(identify)
app.add_typer(specs.app)
app.add_typer(store.app)
app.add_typer(data.app)
app.command()(store.query)

VERDICT, ERROR, INTERNAL, INTERRUPTED, UNREAD = 1, 2, 70, 130, 141
TRACEBACK = "TUTELAGE_TRACEBACK"
"""Set to 1, this variable shows the traceback of an internal error."""


def _interrupt(number: int, frame: object) -> None:
    """A polite kill ends a command as Ctrl-C does."""
    raise KeyboardInterrupt


def main() -> None:
    """Run a command; say what went wrong in one sentence, without a traceback."""
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
    _say("interrupted; finished packs are kept, and the same command goes on from there")
    return INTERRUPTED


def _failed(error: BaseException | None) -> int:
    """Say what went wrong, and give the exit code."""
    if isinstance(error, Refusal):
        _say(str(error))
        return ERROR
    if isinstance(error, OSError):
        if error.errno == errno.EPIPE:
            return UNREAD
        if error.errno is not None:  # a full disk, a folder that may not be written: the machine's word
            _say(f"{error.strerror}{f': {error.filename}' if error.filename is not None else ''}")
            return ERROR
    if isinstance(error, MemoryError) or "allocate memory" in str(error) or "out of memory" in str(error):
        _say("there is not enough memory for this: take fewer members, samples or units")
        return ERROR
    if os.environ.get(TRACEBACK) == "1":
        traceback.print_exception(error)
    what = one_line(f"{type(error).__name__}: {error}")
    _say(f"internal error: {what}; please report it, with the traceback that {TRACEBACK}=1 shows")
    return INTERNAL


def _say(sentence: str) -> None:
    Console(stderr=True, soft_wrap=True, highlight=False, markup=False).print(f"tutelage: {sentence}")
