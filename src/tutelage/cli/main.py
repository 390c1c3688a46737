"""`tutelage` and its commands. Refusals are one sentence and exit code 2; Ctrl-C is 130."""

import signal
import sys
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
from tutelage.errors import InternalError, Refusal

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

ERROR, INTERNAL, INTERRUPTED = 2, 70, 130


def _interrupt(number: int, frame: object) -> None:
    """A polite kill ends a command as Ctrl-C does."""
    raise KeyboardInterrupt


def main() -> None:
    """Run a command; say what went wrong in one sentence, without a traceback."""
    console = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    with suppress(ValueError):  # outside the main thread there are no signals to handle
        signal.signal(signal.SIGTERM, _interrupt)
    try:
        app()
    except Refusal as refusal:
        console.print(f"tutelage: {refusal}")
        sys.exit(ERROR)
    except InternalError as error:
        console.print(f"tutelage: {error}")
        sys.exit(INTERNAL)
    except (KeyboardInterrupt, SystemExit) as end:  # typer turns Ctrl-C into an exit with this code
        if isinstance(end, SystemExit) and end.code != INTERRUPTED:
            raise
        console.print("tutelage: interrupted; finished packs are kept, and the same command goes on from there")
        sys.exit(INTERRUPTED)
