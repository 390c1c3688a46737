"""The directive ``scene``: a picture of a scene of the playground that opens it there, with a sentence below.

    ```{scene} l-shape
    :opens: specialisation l-shape 200
    :alt: what is in the picture

    A sentence.
    ```

``opens`` is a scene, its preset and a place on its timeline. ``docs/figures/draw_course.py`` draws the pictures.
"""

import re
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlencode

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

_SCENE = re.compile(r"^```\{scene\} ([\w-]+)\n:opens: (.+)\n", re.MULTILINE)


def address(opens: str) -> str:
    """What follows the address of the playground.

    >>> address("flow saddle 40")
    '#scene=flow&preset=saddle&tick=40'
    """
    scene, preset, tick = opens.split()
    return "#" + urlencode({"scene": scene, "preset": preset, "tick": int(tick)})


def scenes_of(page: str) -> dict[str, str]:
    """Pictures of a Markdown page, each with what follows the address of the playground."""
    return {name: address(opens) for name, opens in _SCENE.findall(page)}


class SceneDirective(SphinxDirective):
    """A figure that links to the playground."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {"opens": directives.unchanged_required, "alt": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        playground = "../" * self.env.docname.count("/") + "_static/playground.html"
        target = playground + address(self.options["opens"])
        picture, _ = self.env.relfn2path(f"/figures/course/{self.arguments[0]}.png")
        image = nodes.image(uri=f"/{picture}", alt=self.options["alt"])
        caption = nodes.paragraph(classes=["scene-caption"])
        children = self.parse_content_to_nodes()
        caption.extend(children[0].children if children else [])
        button = nodes.reference("", "Try it", refuri=target, internal=False, classes=["scene-try"])
        caption += [nodes.Text(" "), button]
        return [nodes.reference("", "", image, refuri=target, internal=False, classes=["scene"]), caption]


def read(docs: Path) -> dict[str, str]:
    """All scenes of the pages of the course."""
    return {k: v for page in sorted((docs / "course").glob("*.md")) for k, v in scenes_of(page.read_text()).items()}
