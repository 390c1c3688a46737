"""What the tests of the command line share."""

import io

import pytest
from rich.console import Console


@pytest.fixture
def on_terminal():
    """From something that rich prints and a width to the text on a terminal of that width."""

    def text(printed, width):
        file = io.StringIO()
        Console(width=width, file=file, highlight=False).print(printed)
        return file.getvalue()

    return text
