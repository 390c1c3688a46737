"""A process that has imported the command line and is copied for every command of a test.

A command in a process of its own costs seconds of imports before it does anything. This process pays for them once;
a command is then a fork of it, with arguments, folder, variables and streams of its own, and nothing that one command
registers or changes is there for the next.

Each line of the standard input is a command in JSON; each line of the standard output is the status it ended with.
"""

import atexit
import gc
import importlib
import json
import os
import signal
import sys
from collections.abc import Callable

WORK = ("certificates", "distillation", "functions", "lab.query", "lab.store_tools", "measures", "studies.report")
"""What commands import when they begin to work."""


def main() -> None:
    command_line = importlib.import_module("tutelage.cli.main")
    for place, _ in command_line.COMMANDS.values():
        importlib.import_module(f"tutelage.cli.{place.partition(':')[0]}")
    for package in WORK:
        importlib.import_module(f"tutelage.{package}")
    gc.freeze()  # what is imported stays shared: no collection of a fork goes through it
    for line in sys.stdin:
        number = os.fork()
        if number == 0:
            become(**json.loads(line))
            os._exit(status_of(command_line.main))
        print(os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]), flush=True)


def become(words: list[str], folder: str, variables: dict[str, str], out: str, err: str, seconds: int) -> None:
    """Turn a fork into the process of a command, which is killed after this many seconds."""
    signal.alarm(seconds)
    for stream, path, mode in ((0, os.devnull, os.O_RDONLY), (1, out, os.O_WRONLY), (2, err, os.O_WRONLY)):
        os.dup2(os.open(path, mode), stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    sys.argv = ["tutelage", *words]


def status_of(command: Callable[[], None]) -> int:
    """Run a command to its end; imported modules are not taken apart, which would take as long as most commands."""
    try:
        command()
    except SystemExit as end:
        status = end.code or 0
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return status


if __name__ == "__main__":
    main()
