"""The command line."""

from tutelage.cli.main import main

__all__ = ["main"]
