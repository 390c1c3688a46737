"""Orthogonally separable points in the plane: which of the networks that fit them does training pick? (Phuong 2021)."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field, NonNegativeInt, PositiveFloat, model_validator
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.margins import (
    LabelledPoints,
    MarginFlow,
    MaxMargins,
    balanced_start,
    flow,
    max_margins,
    orthants,
    separability,
)
from tutelage.margins.losses import log_loss
from tutelage.settings import Settings
from tutelage.studio.scenes.scene import Look, Preset, StudioScene, counted, scene

TICKS = 150
LAST = 60.0
"""log t at the end."""
GRID = 48
REACH = 3.0
_SUPPORT = [
    [0.6, 1.6, 1], [1.8, 0.5, 1], [2.2, 2.0, 1], [1.5, 2.6, 1], [-0.7, -1.9, -1], [-2.1, -0.8, -1], [-2.4, -2.2, -1],
]  # fmt: skip
_TOO_FAR = [[0.6, 1.6, 1], [1.8, 0.5, 1], [2.0, 1.9, 1], [-1.9, -0.4, -1], [-0.8, 1.0, -1], [-1.2, -1.5, -1]]
_STEPS = 20_000  # of the integrator, after which a course is given up


class MarginSettings(Settings):
    """Settings of the scene of max margins."""

    count: int = Field(12, ge=2, le=60, json_schema_extra={"group": "Data", "label": "points"})
    """Number of points, in two opposite quadrants."""
    data_seed: NonNegativeInt = Field(0, le=10**9, json_schema_extra={"group": "Data", "label": "seed"})
    """Seed of the points."""
    units: int = Field(16, ge=1, le=64, json_schema_extra={"group": "Network"})
    """Hidden units."""
    seed: NonNegativeInt = Field(0, le=10**9, json_schema_extra={"group": "Network"})
    """Seed of the network at the start."""
    scale: PositiveFloat = Field(0.01, le=1, json_schema_extra={"group": "Network", "step": 0.01, "label": "start"})
    """Length of the units at the start."""
    loss: Literal["logistic", "exponential"] = Field("logistic", json_schema_extra={"group": "Network"})
    """Loss that is trained."""
    points: tuple[tuple[float, float, Literal[-1, 1]], ...] | None = Field(
        None, json_schema_extra={"hidden": True, "instead_of": ["count", "data_seed"]}
    )
    """Points with their labels, instead of random ones."""

    @model_validator(mode="before")
    @classmethod
    def _counted(cls, values: Any) -> Any:
        return counted(values, 2, 60, points="count")

    @model_validator(mode="after")
    def _bounded(self) -> "MarginSettings":
        if self.points is not None:
            if not 2 <= len(self.points) <= 60:
                raise ValueError(f"there must be 2 to 60 points, got {len(self.points)}")
            if not all(1e-3 < math.hypot(x, y) < 100 for x, y, _ in self.points):
                raise ValueError("a point must lie between 0.001 and 100 from the origin: drag it elsewhere")
        return self

    def data(self) -> LabelledPoints:
        """The points, to four digits, so that a link gives the same ones."""
        if self.points is not None:
            numbers = torch.tensor(self.points, dtype=torch.float64)
            return LabelledPoints(numbers[:, :2], numbers[:, 2])
        drawn = next(filter(None, (_drawn(seed, self.count) for seed in range(self.data_seed, self.data_seed + 1000))))
        return LabelledPoints((drawn.x * 1e4).round() / 1e4, drawn.y)


def _drawn(seed: int, count: int) -> LabelledPoints | None:
    """Points of this seed, None where all of them have one label."""
    try:
        return orthants([seed], count, 2)
    except TutelageError:
        return None


@dataclass(frozen=True, eq=False)
class MarginState:
    """Points, their max-margin vectors, the whole course, and why one of them is missing."""

    data: LabelledPoints
    vectors: MaxMargins | None
    course: MarginFlow | None
    why: str


@scene
class Margins(StudioScene[MarginSettings, MarginState]):
    """Gradient flow of a two-layer network on points that can be dragged."""

    name: ClassVar[str] = "margins"
    title: ClassVar[str] = "Max margin"
    about: ClassVar[str] = "Which of the networks that fit the data does training pick? Drag the points."
    clock: ClassVar[str] = "log t"
    order: ClassVar[int] = 3
    pace: ClassVar[float] = 15.0
    settings: ClassVar[type[Settings]] = MarginSettings
    presets: ClassVar[tuple[Preset, ...]] = (
        Preset(
            "two-rays",
            "Units turn to two rays",
            "Units (dots) start everywhere and turn onto the two dashed max-margin directions; units that see no point "
            "of their sign stay near 0.",
            "Phuong 2021, Fig. 3.1 and Theorem 3.1",
        ),
        Preset(
            "support",
            "Only support points matter",
            "Drag a point without a ring: nothing changes in the end. Drag a ringed one: the direction follows it.",
            "Phuong 2021, section 3.2",
            {"count": len(_SUPPORT), "points": _SUPPORT},
        ),
        Preset(
            "not-separable",
            "One point too far",
            "One point of class -1 lies at an acute angle to the other class: the data are not orthogonally separable, "
            "and units may end elsewhere.",
            "Phuong 2021, eq. 3.1",
            {"count": len(_TOO_FAR), "points": _TOO_FAR},
        ),
    )  # fmt: skip

    def ticks(self, settings: MarginSettings) -> int:
        return TICKS

    def time(self, settings: MarginSettings, tick: int) -> float:
        """log t; the first tick is the start itself, drawn at -3."""
        return -3.0 + (LAST + 3.0) * tick / TICKS

    def start(self, settings: MarginSettings) -> MarginState:
        data = settings.data()
        try:
            vectors = max_margins(data)
        except TutelageError as error:
            return MarginState(data, None, None, str(error).replace(" of set 0", ""))
        network = balanced_start([settings.seed], settings.units, 2, settings.scale)
        times = [-math.inf, *(self.time(settings, tick) for tick in range(1, TICKS + 1))]
        try:
            course = flow(data, network, times, loss=settings.loss, relative=1e-6, most=_STEPS)
        except TutelageError as error:
            return MarginState(data, vectors, None, str(error).replace("member 0", "the network"))
        return MarginState(data, vectors, course, "")

    def advance(self, settings: MarginSettings, state: MarginState, tick: int) -> MarginState:
        return state

    def mark(self, settings: MarginSettings, state: MarginState, tick: int) -> dict[str, np.ndarray]:
        w, a = self._weights(settings, state, tick)
        margins = _margins(w, a, state.data)
        value = float(log_loss(settings.loss, margins).exp().sum())
        size = float(w.square().sum() + a.square().sum()) / 2
        cosines = _cosines(w, a, state.vectors)
        return {
            "loss": np.array([value]),
            "margin": np.array([float(margins.min()) / max(size, 1e-300)]),
            "cosine": cosines.numpy(),
        }

    def frame(
        self, settings: MarginSettings, state: MarginState, tick: int, look: Look
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        w, a = self._weights(settings, state, tick)
        judged = separability(state.data)
        vectors, support = np.full((2, 2), np.nan), np.zeros(state.data.count)
        if state.vectors is not None:
            both = (state.vectors.positive, state.vectors.negative)
            vectors = torch.stack([v.w[0] for v in both]).numpy()
            support = torch.stack([v.support[0] for v in both]).any(0).numpy()
        groups = np.full(len(a), 2) if state.course is None else state.course.groups_at(tick)[0].numpy()
        side = torch.linspace(-REACH, REACH, GRID, dtype=torch.float64)
        grid = torch.stack(torch.meshgrid(side, side, indexing="xy"), dim=-1).view(-1, 2)
        size = float(w.square().sum() + a.square().sum()) / 2
        field = ((grid @ w.T).relu() @ a) / max(size, 1e-300)
        arrays = {
            "x": state.data.x[0].numpy(), "y": state.data.y[0].numpy(), "support": support, "vectors": vectors,
            "w": (w * a.sign().abs().unsqueeze(1)).numpy(), "a": a.numpy(), "groups": groups,
            "cosine": _cosines(w, a, state.vectors).numpy(), "field": field.view(GRID, GRID).numpy(),
            "margins": _margins(w, a, state.data).numpy(), "reach": np.array([REACH]),
        }  # fmt: skip
        violations = int(judged.violations[0])
        return arrays, {"note": state.why, "violations": violations, "separable": violations == 0}

    def _weights(self, settings: MarginSettings, state: MarginState, tick: int) -> tuple[Tensor, Tensor]:
        """First and second layer at a tick, [p, 2] and [p]; those of the start where there is no course."""
        if state.course is not None:
            return state.course.w[tick, 0], state.course.a[tick, 0]
        start = balanced_start([settings.seed], settings.units, 2, settings.scale)
        return start.weights[0][0].T, start.weights[1][0, :, 0]

    def size(self, state: MarginState) -> int:
        return 1 << 8


def _margins(w: Tensor, a: Tensor, data: LabelledPoints) -> Tensor:
    """y h(x) of every point, [n]."""
    return data.y[0] * ((data.x[0] @ w.T).relu() @ a)


def _cosines(w: Tensor, a: Tensor, vectors: MaxMargins | None) -> Tensor:
    """Cosine of every unit with the max-margin vector of its sign, [p]."""
    if vectors is None:
        return torch.full_like(a, torch.nan)
    wanted = vectors.for_units(a[None])[0]
    return torch.nn.functional.cosine_similarity(w, wanted, dim=1, eps=1e-300)
