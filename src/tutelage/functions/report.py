"""Self-contained pages of HTML about two networks: the verdict, why, the numbers, and a slice drawn."""

import base64
from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from tutelage.functions.checks import rounded_up


def comparison_page(names: tuple[str, str], words: Sequence[str], data: dict[str, Any], picture: bytes | None) -> str:
    """The page as text; nothing in it is fetched from elsewhere.

    words: what the command prints; data: what it gives as JSON; picture: the slice as PNG, where one can be drawn.
    """
    drawn = base64.b64encode(picture).decode() if picture else None
    return _rendered("comparison.html.j2", names=names, words=words, data=data, picture=drawn)


def check_page(data: dict[str, Any], words: Sequence[str]) -> str:
    """The certificate of an export as text; data: what the command gives as JSON; words: what it prints."""
    return _rendered("check.html.j2", data=data, words=words, up=rounded_up)


def _rendered(template: str, **values: Any) -> str:
    environment = Environment(
        loader=PackageLoader("tutelage.functions", "."), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template(template).render(**values)
