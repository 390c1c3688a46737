"""The cheat sheet as one printed page (PDF), drawn from the blocks of its page on the site."""

import re
from pathlib import Path

PAGE = (11.69, 8.27)  # inches of A4
COLUMNS, TOP, LEFT = 3, 0.93, 0.03
LINE, HEAD, GAP = 0.0205, 0.029, 0.02  # heights, as shares of the page
SIZE = 6.8  # points
_BLOCK = re.compile(r"^## ([^\n]+)\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[tuple[str, list[str]]]:
    """Headings of a Markdown page, each with the lines of the block below it."""
    return [(title, code.splitlines()) for title, code in _BLOCK.findall(page)]


def columns(given: list[tuple[str, list[str]]]) -> list[list[tuple[str, list[str]]]]:
    """Blocks in columns of about equal length, in their order."""
    lengths = [HEAD + GAP + LINE * len(lines) for _, lines in given]
    out: list[list[tuple[str, list[str]]]] = [[] for _ in range(COLUMNS)]
    before = 0.0
    for block, length in zip(given, lengths, strict=True):
        middle = (before + length / 2) / sum(lengths)
        out[int(middle * COLUMNS)].append(block)
        before += length
    return out


def write(page: Path, pdf: Path) -> None:
    """Draw the page."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=PAGE)
    figure.text(LEFT, 0.96, "tutelage: cheat sheet", size=13, weight="bold", va="center")
    for column, group in enumerate(columns(blocks(page.read_text()))):
        x, y = LEFT + column * (1 - LEFT) / COLUMNS, TOP
        for title, lines in group:
            figure.text(x, y, title, size=9, weight="bold", color="#1f5f8b", va="top")
            y -= HEAD
            for line in lines:
                figure.text(x, y, line, size=SIZE, family="monospace", va="top", parse_math=False)
                y -= LINE
            y -= GAP
    pdf.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(pdf, dpi=150)
