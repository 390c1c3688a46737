"""The directive ``rooms``: packages and the arrows between them as a picture, drawn from the import contracts.

The contracts of ``pyproject.toml`` are what import-linter checks, so the picture is as true as they are.
"""

import tomllib
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

WIDTH, ROW, BOX = 640, 46, 30
FLOOR, FLOORS_WIDTH = 32, 190
_GAP = 12
_LETTER = 8.0
"""Pixels of a letter, and more than that: boxes are as wide as their text, and the font is the reader's."""


@dataclass(frozen=True)
class Box:
    """A room in the picture: its middle, its width, and its kind: "subject", "room", or "modules" of the top level."""

    name: str
    x: float
    y: float
    width: float
    kind: str


def contracts(pyproject: Path) -> list[dict[str, Any]]:
    """The import contracts, in the order of the file."""
    return list(tomllib.loads(pyproject.read_text())["tool"]["importlinter"]["contracts"])


def rows_of(contract: dict[str, Any], root: str = "tutelage.") -> list[list[str]]:
    """The layers of a contract from the highest down, each a list of modules without their root.

    >>> rows_of({"layers": ["tutelage.cli", "tutelage.lab : tutelage.data", "a | b"]})
    [['cli'], ['lab', 'data'], ['a', 'b']]
    """
    return [
        [name.strip().removeprefix(root) for name in row.replace("|", ":").split(":")] for row in contract["layers"]
    ]


def arrows_of(contract: dict[str, Any]) -> list[tuple[str, str]]:
    """The pairs of subjects of which the first may import the second.

    >>> arrows_of({"ignore_imports": ["tutelage.a.** -> tutelage.b", "tutelage.a.** -> tutelage.b.**"]})
    [('a', 'b')]
    """
    pairs = (tuple(side.strip().split(".")[1] for side in rule.split("->")) for rule in contract["ignore_imports"])
    return list(dict.fromkeys((a, b) for a, b in pairs))


def boxes_of(rows: list[list[str]], packages: set[str], subjects: set[str]) -> list[Box]:
    """One box per package, row by row; the modules of a row that are no packages share one box."""
    boxes: list[Box] = []
    y = BOX / 2 + 2
    for row in rows:
        rooms = [name for name in row if name in packages]
        modules = [name for name in row if name not in packages and not name.startswith("_")]
        names = rooms + ([" ".join(modules)] if modules else [])
        widths = [len(name) * _LETTER + 20 for name in names]
        x = (WIDTH - sum(widths) - _GAP * (len(widths) - 1)) / 2
        for name, width in zip(names, widths, strict=True):
            kind = "subject" if name in subjects else "room" if name in packages else "modules"
            boxes.append(Box(name, x + width / 2, y, width, kind))
            x += width + _GAP
        y += ROW
    return boxes


def picture(contracts: list[dict[str, Any]], packages: set[str]) -> str:
    """The SVG: rooms on the left, the floors of ``functions`` on the right; it takes its colours from the page."""
    layers, floors, independence = contracts
    subjects = {module.removeprefix("tutelage.") for module in independence["modules"]}
    boxes = boxes_of(rows_of(layers), packages, subjects)
    column = [", ".join(row) for row in rows_of(floors)]
    height = max(boxes[-1].y + BOX, (len(column) + 1) * FLOOR)
    left = WIDTH + 40
    inner = [Box(n, left + FLOORS_WIDTH / 2, (i + 1.5) * FLOOR, FLOORS_WIDTH, "subject") for i, n in enumerate(column)]
    by_name = {box.name: box for box in boxes}
    lines = [_arrow(by_name[a], by_name[b]) for a, b in arrows_of(independence)]
    title = f'<text x="{left + FLOORS_WIDTH / 2}" y="18" class="title">inside functions</text>'
    return (
        f'<svg class="rooms" viewBox="0 0 {left + FLOORS_WIDTH + 4:.0f} {height:.0f}" role="img" '
        'aria-label="Packages by layer, with the imports between subjects, and the layers inside functions">'
        '<defs><marker id="rooms-head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto-start-reverse"><path d="M0 0L8 4L0 8z"/></marker></defs>'
        f"{''.join(map(_drawn, boxes))}{title}{''.join(_drawn(box, FLOOR - 6) for box in inner)}{''.join(lines)}</svg>"
    )


def _drawn(box: Box, height: float = BOX) -> str:
    return (
        f'<g class="{box.kind}"><rect x="{box.x - box.width / 2:.1f}" y="{box.y - height / 2:.1f}" '
        f'width="{box.width:.1f}" height="{height}" rx="5"/>'
        f'<text x="{box.x:.1f}" y="{box.y + 4.5:.1f}">{escape(box.name)}</text></g>'
    )


def _arrow(start: Box, end: Box) -> str:
    """A line down to the box below, or a bow to the side of one that is further away."""
    begin = f"M{start.x:.1f} {start.y + BOX / 2:.1f}"
    if abs(start.x - end.x) < end.width / 2:
        path = f"{begin}L{start.x:.1f} {end.y - BOX / 2:.1f}"
    else:
        side = end.x + (end.width / 2 if start.x > end.x else -end.width / 2)
        path = f"{begin}Q{start.x:.1f} {end.y:.1f} {side:.1f} {end.y:.1f}"
    return f'<path class="arrow" d="{path}" marker-end="url(#rooms-head)"/>'


class RoomsDirective(SphinxDirective):
    """The picture, from the contracts and the packages of this checkout."""

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.srcdir).parent
        packages = {path.parent.name for path in (root / "src" / "tutelage").glob("*/__init__.py")}
        self.env.note_dependency(str(root / "pyproject.toml"))
        return [nodes.raw("", picture(contracts(root / "pyproject.toml"), packages), format="html")]
