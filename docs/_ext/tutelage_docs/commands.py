"""The page of the command line: every command with its help."""

from typer.main import get_command
from typer.testing import CliRunner

from tutelage.cli.lazy import load
from tutelage.cli.main import COMMANDS, app


def page() -> str:
    """The Markdown page: a table of commands, then the help of each."""
    rows = "\n".join(
        f"| [`tutelage {name}`](#tutelage-{name}) | {summary} |" for name, (_, summary) in COMMANDS.items()
    )
    parts = [
        "# Command line",
        "Exit codes: 0 yes, 1 a negative verdict, 2 bad input, 70 an internal error, 130 interrupted. "
        "Most commands take `--json` for machines.",
        f"| command | what it does |\n|---|---|\n{rows}",
    ]
    parts += [f"## tutelage {name}\n\n```text\n{helps(name)}\n```" for name in COMMANDS]
    return "\n\n".join(parts) + "\n"


def helps(name: str) -> str:
    """The help of a command and of the commands below it."""
    below = list(getattr(load(name, f"tutelage.cli.{COMMANDS[name][0]}"), "commands", {}))
    return "\n\n".join(_help([name, *rest]) for rest in [[], *([command] for command in below)])


def _help(words: list[str]) -> str:
    environment = {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
    shown = CliRunner().invoke(app, [*words, "--help"], prog_name=get_command(app).name, env=environment).stdout
    return "\n".join(line.rstrip() for line in shown.strip().splitlines())
