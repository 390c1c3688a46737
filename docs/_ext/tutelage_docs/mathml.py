"""Formulas as MathML, which browsers draw by themselves: pages need no network and no script for them."""

import re
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

_SPACE = '<mspace width="0.1667em"></mspace>'
_NAME = r"<mi>(?:sin|cos|tan|cot|log|ln|exp|det|max|min)</mi>"
_GAPS = (
    (r"(<mo>&ApplyFunction;</mo>)(?!\s*<mo[^>]*>\()", rf"\1{_SPACE}"),  # sin x, and not sin (x)
    (rf"(<msup>\s*{_NAME}\s*<m\w>[^<]*</m\w>\s*</msup>)(?!\s*<m(?:o|space))", rf"\1{_SPACE}"),  # sin^2 x
    (rf"(</m(?:i|n|sub|sup|row)>)(\s*(?:<msup>\s*)?{_NAME})", rf"\1{_SPACE}\2"),  # x sin y
)
"""Browsers set the name of a function against its neighbours without a gap."""


def mathml(formula: str, as_block: bool = False) -> str:
    """A formula of LaTeX's as MathML, with thin spaces around names of functions."""
    out = tex2mathml(formula, as_block=as_block)
    for pattern, replacement in _GAPS:
        out = re.sub(pattern, replacement, out)
    return out


def inline(translator: Any, node: nodes.math) -> None:
    """Write a formula in a line of text."""
    translator.body.append(f'<span class="math">{mathml(node.astext())}</span>')
    raise nodes.SkipNode


def block(translator: Any, node: nodes.math_block) -> None:
    """Write a formula on lines of its own."""
    translator.body.append(f'<div class="math">{mathml(node.astext(), as_block=True)}</div>\n')
    raise nodes.SkipNode
