"""The directive ``word``: a small picture of a word of the glossary, in the colours of the page."""

from collections.abc import Sequence
from itertools import pairwise

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

WIDTH, HEIGHT = 132, 84
Point = tuple[float, float]


def line(a: Point, b: Point, kind: str = "") -> str:
    """A line; kinds are classes of the style sheet: "teacher" (accent, thick), "student" (thin), "faint"."""
    return f'<path class="{kind}" d="M{a[0]:.4g} {a[1]:.4g}L{b[0]:.4g} {b[1]:.4g}"/>'


def dot(at: Point, kind: str = "", radius: float = 4) -> str:
    """A filled circle."""
    return f'<circle class="{kind}" cx="{at[0]:.4g}" cy="{at[1]:.4g}" r="{radius:.3g}"/>'


def curve(points: Sequence[Point], kind: str = "") -> str:
    """A line through points."""
    return f'<path class="{kind}" d="M{"L".join(f"{x:.4g} {y:.4g}" for x, y in points)}"/>'


def network(widths: Sequence[int], left: float, right: float, kind: str) -> str:
    """Layers of units between two places, every unit joined to all of the next layer."""
    xs = [left + (right - left) * i / (len(widths) - 1) for i in range(len(widths))]
    layers = [[(x, HEIGHT * (j + 1) / (n + 1)) for j in range(n)] for x, n in zip(xs, widths, strict=True)]
    joins = [line(a, b, "faint") for low, high in pairwise(layers) for a in low for b in high]
    return "".join([*joins, *(dot(p, kind) for layer in layers for p in layer)])


def bars(heights: Sequence[float], kind: str) -> str:
    """Bars from the ground up, of heights from 0 to 1."""
    step = WIDTH / (len(heights) + 1)
    tops = [(step * (j + 1), HEIGHT - 10 - h * (HEIGHT - 22)) for j, h in enumerate(heights)]
    return "".join(line((x, HEIGHT - 10), (x, top), f"bar {kind}") for x, top in tops)


def interval(y: float, low: float, high: float, kind: str) -> str:
    """A confidence interval with its mean."""
    return line((low, y), (high, y), kind) + dot(((low + high) / 2, y), kind)


def _member() -> str:
    return "".join(f'<g transform="translate({24 - 12 * i} {-8 + 8 * i})">{_sheet()}</g>' for i in range(3))


def _sheet() -> str:
    small = f'<g transform="translate(14 18) scale(.58)">{network((2, 3, 1), 8, 112, "student")}</g>'
    return f'<rect x="12" y="16" width="78" height="52" rx="4"/>{small}'


def _observer() -> str:
    active = '<path class="area" d="M0 84L0 20L132 64L132 84Z"/>'  # where the student unit is active
    return active + line((0, 20), (132, 64), "student") + line((44, 0), (84, 84), "teacher")


def _region() -> str:
    corners = [(45, 53), (65, 22), (92, 36), (74, 64)]
    sides = list(pairwise([*corners, corners[0]]))
    cell = '<path class="area" d="M' + "L".join(f"{x} {y}" for x, y in corners) + 'Z"/>'
    return cell + "".join(line(*(_along(a, b, t) for t in (-4, 5))) for a, b in sides)


def _along(a: Point, b: Point, t: float) -> Point:
    return a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])


def _population() -> str:
    loss = [(x, 70 - 52 * ((x - 66) / 58) ** 2) for x in range(8, 125, 4)]
    sampled = [(x, y + 18 * ((x * 7) % 11 / 11 - 0.5)) for x, y in loss]  # any wiggle
    return curve(sampled, "student") + curve(loss, "teacher")


def _claim() -> str:
    rows = ((24, 78, 118, "teacher"), (42, 20, 52, "student"), (60, 50, 92, "faint"))
    return line((66, 6), (66, 78), "dashed") + "".join(interval(*row) for row in rows)


def _fan_out() -> str:
    ends = [(112, y) for y in (14, 42, 70)]
    joins = "".join(line((30, 42), end, "teacher") + dot(end, "student") for end in ends)
    return joins + dot((30, 42), "teacher", 7)


PICTURES = {
    "claim": _claim(),
    "fan-out": _fan_out(),
    "fold": '<path class="area" d="M40 84L92 0L132 0L132 84Z"/>' + line((40, 84), (92, 0), "teacher"),
    "member": _member(),
    "observer": _observer(),
    "polarity": bars([1 / (j + 1) for j in range(6)], "teacher"),
    "population-loss": _population(),
    "recovered": line((20, 84), (112, 0), "teacher") + line((24, 84), (113, 0), "student") + line((0, 30), (132, 40)),
    "region": _region(),
    "student": network((2, 6, 1), 20, 112, "student"),
    "teacher": network((2, 3, 1), 20, 112, "teacher"),
    "width-factor": network((2, 1), 14, 46, "teacher") + network((6, 1), 84, 118, "student"),
}
"""What is drawn for a word."""


def picture(word: str) -> str:
    """The picture as SVG. It stands beside the definition, which says all there is to say, so it is decorative."""
    return f'<svg class="word" viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">{PICTURES[word]}</svg>'


class WordDirective(SphinxDirective):
    """The picture of the word that is given."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        return [nodes.raw("", picture(self.arguments[0]), format="html")]
