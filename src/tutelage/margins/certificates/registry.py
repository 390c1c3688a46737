"""Statements of Phuong 2021, chapter 3: they are checked on a flow of two-layer networks on labelled points."""

import math
from typing import Any

from tutelage.certificates.registry import Function, Subject
from tutelage.margins.certificates.scene import MarginScene
from tutelage.margins.datasets import LAWS
from tutelage.margins.flow import MarginFlow, balanced_start, flow


def _example(
    *,
    data: str = "cones",
    dimension: int = 3,
    units: int = 20,
    scale: float = 1e-4,
    seed: int = 0,
    log_time: float = 300.0,
) -> tuple[MarginFlow]:
    """A flow from a small balanced start to t = exp(log_time)."""
    points = LAWS[data]([seed], dimension=dimension)
    times = [-math.inf, *(t for t in (-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 10.0, 30.0, 100.0) if t < log_time), log_time]
    return (flow(points, balanced_start([seed], units, dimension, scale), times),)


MARGINS = Subject(
    "margins",
    about="a flow of two-layer networks on labelled points (MarginFlow, or MarginScene)",
    accepts=lambda *about: len(about) == 1 and isinstance(about[0], MarginFlow | MarginScene),
    scenes=lambda about: [(0, about if isinstance(about, MarginScene) else MarginScene(about))],
    example=_example,
)


def margin_certificate(name: str, *, source: str) -> Any:
    """Register a function (scene, *, options) -> one finding per member."""
    return MARGINS.certificate(name, source=f"Phuong 2021, {source}")


__all__ = ["MARGINS", "Function", "margin_certificate"]
