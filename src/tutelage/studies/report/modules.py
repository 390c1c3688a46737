"""One page about two torch modules: which student unit found which teacher unit, layer by layer."""

import base64
import io
from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined

from tutelage.errors import TutelageError
from tutelage.measures import RECOVERED, LayerMatch
from tutelage.studies.figures.matches import draw_matches


def modules_page(matches: Sequence[LayerMatch], names: tuple[str, str] = ("teacher", "student")) -> str:
    """The page as text, from what :func:`tutelage.measures.match_modules` found; nothing in it is fetched."""
    if not matches:
        raise TutelageError("there are no layers to report on: match at least one pair")
    picture = io.BytesIO()
    draw_matches(matches).savefig(picture, format="png", dpi=150)
    environment = Environment(
        loader=PackageLoader("tutelage.studies.report", "."), autoescape=True, undefined=StrictUndefined
    )
    drawn = base64.b64encode(picture.getvalue()).decode()
    template = environment.get_template("modules.html.j2")
    return template.render(names=names, matches=matches, picture=drawn, recovered=RECOVERED)
