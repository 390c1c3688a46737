"""Commands that are imported when they are used, so that asking for help costs a fraction of a second."""

import importlib
from collections.abc import Mapping
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


def lazy_group(package: str, commands: Mapping[str, tuple[str, str]]) -> type[TyperGroup]:
    """A group of commands: name -> ("module:attribute" in the package, help line).

    The attribute is a function with typer's annotations, or a Typer app with commands of its own.
    """

    class LazyGroup(TyperGroup):
        def list_commands(self, ctx: Any) -> list[str]:
            return list(commands)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            if cmd_name not in commands:
                return None
            where, summary = commands[cmd_name]
            return _Lazy(cmd_name, f"{package}.{where}", summary)

    return LazyGroup


class _Lazy(TyperCommand):
    """Stands for a command until its arguments are parsed."""

    def __init__(self, name: str, where: str, summary: str) -> None:
        super().__init__(name, help=summary)
        self.where = where

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        return load(self.name or "", self.where).make_context(info_name, args, parent, **extra)


def load(name: str, where: str) -> Any:
    """The command itself."""
    module, _, attribute = where.partition(":")
    loaded = getattr(importlib.import_module(module), attribute)
    if isinstance(loaded, typer.Typer):
        app = loaded
        app._add_completion = False
    else:
        app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        app.command(name)(loaded)
    command = typer.main.get_command(app)
    command.name = name
    return command
