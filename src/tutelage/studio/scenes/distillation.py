"""A linear student learns from a teacher's soft labels: how many inputs does it need? (Phuong 2021, chapter 5)."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field, NonNegativeInt, PositiveFloat
from torch import Tensor

from tutelage.distillation import Isotropic, LargeMargin, Polynomial, angle, best_bound, learned
from tutelage.settings import Settings
from tutelage.studio.scenes.scene import Look, Preset, StudioScene, scene

_CURVE = 91  # points of the curve of p


class DistillationSettings(Settings):
    """Settings of the scene Distillation."""

    task: Literal["polynomial", "large-margin", "isotropic"] = Field(
        "polynomial", json_schema_extra={"group": "Inputs"}
    )
    """Distribution of the angle between inputs and teacher: polynomial, with a margin, or that of Gaussian inputs."""
    kappa: PositiveFloat = Field(1.0, le=10, json_schema_extra={"group": "Inputs", "step": 0.25})
    """Degree of the polynomial: larger values leave less mass near the teacher's boundary."""
    limit: float = Field(75.0, gt=0, lt=90, json_schema_extra={"group": "Inputs", "step": 5, "label": "largest angle"})
    """Largest angle with the teacher in degrees, for the task with a margin."""
    dimension: int = Field(40, ge=2, le=200, json_schema_extra={"group": "Inputs"})
    """Number of inputs d."""
    members: int = Field(48, ge=1, le=256, json_schema_extra={"group": "Students", "label": "students"})
    """Students, each with its own transfer set."""
    seed: NonNegativeInt = Field(0, le=10**9, json_schema_extra={"group": "Students", "label": "first seed"})
    """Seed of the first student; the others follow."""

    def distribution(self) -> Polynomial | LargeMargin | Isotropic:
        """The transfer task."""
        if self.task == "isotropic":
            return Isotropic(self.dimension)
        if self.task == "large-margin":
            return LargeMargin(self.dimension, limit=math.radians(self.limit), kappa=self.kappa)
        return Polynomial(self.dimension, kappa=self.kappa)

    @property
    def seeds(self) -> range:
        return range(self.seed, self.seed + self.members)

    @property
    def most(self) -> int:
        """Largest number of samples: a few more than there are dimensions."""
        return self.dimension + max(2, self.dimension // 8)


@dataclass(frozen=True, eq=False)
class DistilledState:
    """Students that have learned from n samples: w [S, d], their angles and exact risks [S], and the bound."""

    count: int
    w: Tensor
    angles: Tensor
    risks: Tensor
    bound: float


@scene
class DistilledCourse(StudioScene[DistillationSettings, DistilledState]):
    """Distilled linear students with one sample more per tick."""

    name: ClassVar[str] = "distillation"
    title: ClassVar[str] = "Distillation"
    about: ClassVar[str] = "A linear student learns a linear teacher's soft labels, one more input per tick."
    clock: ClassVar[str] = "samples"
    order: ClassVar[int] = 4
    pace: ClassVar[float] = 5.0
    settings: ClassVar[type[Settings]] = DistillationSettings
    presets: ClassVar[tuple[Preset, ...]] = (
        Preset(
            "uniform",
            "Angles spread evenly",
            "The angle with the teacher shrinks with every input and drops to 0 at n = d; compare the mean risk with "
            "its bound.",
            "Phuong 2021, Fig. 5.2 and Theorem 5.3",
        ),
        Preset(
            "easy",
            "Few inputs near the boundary",
            "With kappa 3 most inputs point along the teacher: a handful of them is enough for a small risk.",
            "Phuong 2021, Corollary 5.2",
            {"kappa": 3.0},
        ),
        Preset(
            "margin",
            "A wedge without inputs",
            "No input lies within 5 degrees of the boundary, and the risk falls exponentially: after a few dozen "
            "inputs it is 0 to rounding.",
            "Phuong 2021, Corollary 5.1",
            {"task": "large-margin", "limit": 85.0},
        ),
        Preset(
            "isotropic",
            "Gaussian inputs",
            "In many dimensions Gaussian inputs are nearly orthogonal to the teacher: the bound says nothing until "
            "n = d, and the risk falls slowly.",
            "Phuong 2021, section 5.4",
            {"task": "isotropic"},
        ),
    )

    def ticks(self, settings: DistillationSettings) -> int:
        return settings.most - 1

    def time(self, settings: DistillationSettings, tick: int) -> float:
        return float(tick + 1)

    def start(self, settings: DistillationSettings) -> DistilledState:
        return _distilled(settings, 1)

    def advance(self, settings: DistillationSettings, state: DistilledState, tick: int) -> DistilledState:
        return _distilled(settings, tick + 2)

    def mark(self, settings: DistillationSettings, state: DistilledState, tick: int) -> dict[str, np.ndarray]:
        return {"angle": state.angles.numpy(), "risk": state.risks.numpy(), "bound": np.array([state.bound])}

    def frame(
        self, settings: DistillationSettings, state: DistilledState, tick: int, look: Look
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        task = settings.distribution()
        theta = torch.linspace(0, math.pi / 2, _CURVE, dtype=torch.float64)
        member = look.get("member", 0)
        member = member if isinstance(member, int) and 0 <= member < settings.members else 0
        x = task.points([settings.seed + member], state.count)[0]
        along, rest = x[:, 0], x[:, 1:].norm(dim=1)
        sampled = torch.atan2(rest, along.abs())
        arrays = {
            "angle": state.angles.numpy(), "risk": state.risks.numpy(), "bound": np.array([state.bound]),
            "theta": theta.numpy(), "p": task.p(theta).numpy(), "sampled": sampled.numpy(),
            "inputs": torch.stack([along, rest], dim=1).numpy(),
            "student": torch.stack([state.w[:, 0], state.w[:, 1:].norm(dim=1)], dim=1).numpy(),
        }  # fmt: skip
        return arrays, {"note": "", "member": member, "n": state.count, "d": settings.dimension}


@lru_cache(maxsize=4096)
def _bound(settings: DistillationSettings, count: int) -> float:
    return min(best_bound(settings.distribution().p, count).value, 1.0)


def _distilled(settings: DistillationSettings, count: int) -> DistilledState:
    task = settings.distribution()
    w = learned(task.transfer(list(settings.seeds), count))
    angles = angle(w, task.teacher.expand_as(w))
    bound = 0.0 if count >= settings.dimension else _bound(settings, count)
    return DistilledState(count, w, angles, task.risk(w), bound)
