"""`tutelage` and its commands.

Exit codes: 0 yes, 1 a negative verdict, 2 bad input, 70 an internal error, 130 interrupted, 141 nobody reads on.
"""

import _thread
import errno
import json
import os
import signal
import sys
import traceback
from collections.abc import Iterable
from contextlib import suppress
from threading import Timer
from typing import Annotated, Any

import typer

from tutelage import __version__
from tutelage.cli.lazy import lazy_group
from tutelage.deadline import begin_command
from tutelage.errors import TutelageError
from tutelage.printing import printable

COMMANDS = {
    "studies": ("commands:studies", "List the studies: paper, figure, title and rough time at each scale."),
    "reproduce": ("commands:reproduce", "Reproduce figures of the papers and judge their claims."),
    "run": ("commands:run", "Compute the experiments of a YAML file."),
    "query": ("store:query", "Query the results with SQL."),
    "store": ("store:app", "Maintain a results folder: list, check, gc, export, import."),
    "experiment": ("experiments:app", "Inspect experiment files: explain, list, diff, schema."),
    "new": ("new:new", "Write a skeleton of a study, measure, theorem, teacher or experiment, with its test."),
    "report": ("commands:report", "Write the report of reproduced studies again, as HTML or LaTeX."),
    "pack": ("pack:pack", "Write a reproduced study as one file, to be published with a paper."),
    "unpack": ("pack:unpack", "Verify a packed study, and compute it again."),
    "cite": ("cite:cite", "Print BibTeX entries of the library and of the papers."),
    "ledger": ("commands:ledger", "Write ledger.md: every claim of every stored study, with its verdict."),
    "explain": ("explain:explain", "Explain why teacher units were not recovered."),
    "certify": ("certify:certify", "Check every condition of a theorem on trained networks, and its conclusion."),
    "compare": ("compare:compare", "Decide whether two networks are the same function."),
    "check": ("check:check", "Check an exported, quantised or pruned network against the original."),
    "verify": ("verify:verify", "Check a proof that compare or check wrote."),
    "prune": ("prune:prune", "Remove units without changing the function, with a proof."),
    "match": ("match:match", "Match the units of two networks and measure the line between them."),
    "connect": ("connect:connect", "Build a path of low loss between two networks and measure it."),
    "identify": ("identify:identify", "Reconstruct the weights of a network from its values alone."),
    "distil": ("distil:distil", "Train a student network on the outputs of a teacher network."),
    "planted": ("planted:planted", "Score methods that claim to find structure on planted teachers."),
    "studio": ("studio:studio", "Watch students learn on a live page in the browser."),
    "engines": ("engines:engines", "List training engines, and measure their speed."),
    "data": ("data:app", "Fetch, list and check data sets."),
}
"""Every command: where it is, and its line in the help. Modules are imported when their command is used."""

ClickException = typer.BadParameter.__mro__[2]  # what is wrong with the words of a command; typer does not export it

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
_STORING = "reproduce", "run", "planted", "unpack"  # commands that store experiments as they go
_LIMITED = "compare", "check", "prune", "identify", "distil"  # commands with a time limit
TRACEBACK = "TUTELAGE_TRACEBACK"
"""Set to 1, this variable shows the traceback of an internal error."""


_SIGNALS = signal.SIGINT, signal.SIGTERM
_JSON = "--json"


def main() -> None:
    """Run a command; say what went wrong in one sentence, without a traceback.

    Ctrl-C and a polite kill end it with code 130; one that comes after the last word ends the process at once.
    """
    begin_command()
    heeded = [number for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    interrupts: list[int] = []

    def interrupt(number: int, frame: object) -> None:
        interrupts.append(number)
        raise KeyboardInterrupt

    hook, sys.unraisablehook = sys.unraisablehook, _again
    try:
        _handle(heeded, interrupt)
        code = _run()
        if interrupts and code != INTERRUPTED:  # something on the way took the interrupt for an error of its own
            code = _interrupted()
    except KeyboardInterrupt:
        code = _interrupted()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        # a signal from here on finds an interpreter that is being taken apart: it ends the process without a word
        _handle(heeded, signal.SIG_DFL)
        sys.unraisablehook = hook
    sys.exit(code)


def _handle(numbers: Iterable[int], handler: Any) -> None:
    with suppress(ValueError):  # outside the main thread there are no signals to handle
        for number in numbers:
            signal.signal(number, handler)


def _again(lost: Any) -> None:
    """Repeat an interrupt that came while Python destroyed an object, where exceptions are printed and forgotten."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        Timer(0.01, _thread.interrupt_main).start()  # at once it would be raised, and lost, in here
    else:
        sys.__unraisablehook__(lost)


def _run() -> int | None:
    """Run a command; its exit code."""
    try:
        if _JSON not in sys.argv:
            app()
        code = app(standalone_mode=False)  # raises what is wrong with the options, to be printed as JSON too
        return _interrupted() if code == INTERRUPTED else code if isinstance(code, int) else 0
    except SystemExit as end:
        if end.code == INTERRUPTED:  # typer turns Ctrl-C into an exit with this code
            return _interrupted()
        if end.code == VERDICT and not isinstance(end.__context__, typer.Exit):  # no command said so: typer gave up
            why = end.__context__
            return _failed(why.__cause__ if why is not None and why.__cause__ is not None else why)
        return end.code if isinstance(end.code, int) else 0
    except typer.Abort as error:
        return _failed(error.__cause__)
    except Exception as error:
        return _failed(error)


def _interrupted() -> int:
    """Say what is left of a command that was interrupted; further signals change nothing."""
    _handle(_SIGNALS, signal.SIG_IGN)
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    if command in _STORING:
        what = "interrupted; finished experiments are stored, and the same command continues from there"
    elif command in _LIMITED:
        what = "interrupted without a result; with --seconds N the best result so far is printed after N seconds"
    else:
        what = "interrupted"
    return _say(what, INTERRUPTED)


def _failed(error: BaseException | None) -> int:
    """Say what went wrong, and give the exit code."""
    if (plugins := sys.modules.get("tutelage.plugins")) is not None and not isinstance(error, TutelageError):
        error = plugins.plugin_failure(error) or error
    if isinstance(error, TutelageError):
        return _say(str(error), ERROR)
    if isinstance(error, ClickException):
        wrong: Any = error
        return _say(wrong.format_message(), wrong.exit_code)
    if isinstance(error, OSError):
        if error.errno == errno.EPIPE:
            return UNREAD
        if error.errno is not None:  # a full disk, a folder that may not be written: the machine's word
            return _say(f"{error.strerror}{f': {error.filename}' if error.filename is not None else ''}", ERROR)
    if isinstance(error, MemoryError) or "allocate memory" in str(error) or "out of memory" in str(error):
        return _say("not enough memory: use fewer members, samples or units", ERROR)
    if os.environ.get(TRACEBACK) == "1":
        traceback.print_exception(error)
    from tutelage.settings import one_line

    what = one_line(f"{type(error).__name__}: {error}")
    return _say(f"internal error: {what}; please report it, with the traceback that {TRACEBACK}=1 shows", INTERNAL)


def _say(sentence: str, code: int) -> int:
    """Print a sentence on stderr, with --json as JSON; the exit code that goes with it."""
    from rich.console import Console

    text = json.dumps({"error": sentence, "exit": code}) if _JSON in sys.argv else f"tutelage: {printable(sentence)}"
    Console(stderr=True, soft_wrap=True, highlight=False, markup=False).print(text)
    return code
