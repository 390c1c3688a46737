"""Students in the plane under the exact population gradient: no samples, every unit an arrow one can drag."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from pydantic import Field, NonNegativeInt, PositiveFloat, field_validator, model_validator
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError, unknown
from tutelage.population import Units, end_point, first_layer_gradient, flow, loss
from tutelage.settings import Settings
from tutelage.studio.scenes.scene import Look, Preset, StudioScene, counted, scene

TICKS = 200
GROWTH = 0.03
"""Times grow as (exp(GROWTH i) - 1) / GROWTH times the first step."""
GRID = 40
"""Points along each side of the landscape."""
BASINS = 21
"""Starts along each side of the picture of the basins."""
REACH = 2.0
"""Half the side of the plane that is shown."""
_LONGEST = 20.0  # of a unit
_SHORTEST = 1e-3

Place = tuple[float, float]


class FlowSettings(Settings):
    """Settings of the scene Exact flow."""

    teachers: int = Field(5, ge=1, le=24, json_schema_extra={"group": "Units", "label": "teacher units"})
    """Units of the teacher; their directions are random and their lengths 1/2 to 3/2."""
    students: int = Field(10, ge=1, le=24, json_schema_extra={"group": "Units", "label": "student units"})
    """Units of the student."""
    seed: NonNegativeInt = Field(10, le=10**9, json_schema_extra={"group": "Units"})
    """Seed of the directions and of the start."""
    scale: PositiveFloat = Field(0.3, le=3, json_schema_extra={"group": "Units", "step": 0.1, "label": "start"})
    """Standard deviation of the student's weights at the start."""
    first_step: PositiveFloat = Field(
        0.05, le=1, json_schema_extra={"group": "Time", "step": 0.01, "label": "first step"}
    )
    """Length of the first tick; later ones grow by 3 % each."""
    teacher_at: tuple[Place, ...] | None = Field(
        None, json_schema_extra={"hidden": True, "instead_of": ["teachers", "seed"]}
    )
    """Places of the teacher units, instead of random ones."""
    student_at: tuple[Place, ...] | None = Field(
        None, json_schema_extra={"hidden": True, "instead_of": ["students", "seed", "scale"]}
    )
    """Places of the student units at the start, instead of random ones."""

    @model_validator(mode="before")
    @classmethod
    def _counted(cls, values: Any) -> Any:
        return counted(values, 1, 24, teacher_at="teachers", student_at="students")

    @field_validator("teacher_at", "student_at")
    @classmethod
    def _short(cls, places: tuple[Place, ...] | None) -> tuple[Place, ...] | None:
        if places is not None:
            if not 1 <= len(places) <= 24:
                raise ValueError(f"there must be 1 to 24 units, got {len(places)}")
            for place in places:
                _checked(place)
        return places


@dataclass(frozen=True, eq=False)
class FlowState:
    """Units in the plane: teacher [1, m, 2] and student [1, n, 2], float64."""

    teacher: Tensor
    student: Tensor

    @property
    def units(self) -> tuple[Units, Units]:
        return _units(self.teacher), _units(self.student)


def _units(w: Tensor) -> Units:
    return Units(w, torch.ones(*w.shape[:2], 1, dtype=torch.float64))


def _checked(place: Any) -> list[float]:
    """A place as two finite numbers, moved away from 0, where a unit has no direction."""
    try:
        x, y = (float(v) for v in place)
    except (TypeError, ValueError):
        raise TutelageError(f"a place is two numbers, got {str(place)[:40]}") from None
    length = math.hypot(x, y)
    if not length <= _LONGEST:
        raise TutelageError(f"a unit must be shorter than {_LONGEST:g}, got {length:g}: drag it less far")
    return [x, y] if length > _SHORTEST else [_SHORTEST, 0.0]


@scene
class ExactFlow(StudioScene[FlowSettings, FlowState]):
    """Population gradient flow of units in the plane."""

    name: ClassVar[str] = "flow"
    title: ClassVar[str] = "Exact flow"
    about: ClassVar[str] = "Units in the plane follow the exact gradient over Gaussian inputs. Drag one and let go."
    clock: ClassVar[str] = "time"
    order: ClassVar[int] = 2
    settings: ClassVar[type[Settings]] = FlowSettings
    presets: ClassVar[tuple[Preset, ...]] = (
        Preset(
            "alignment",
            "Turning onto teachers",
            "Press play: student units (dots) turn towards teacher units (arrows). Drag one away and watch where it "
            "goes, perhaps to another.",
            "Zhu et al. 2021, Fig. 1",
        ),
        Preset(
            "saddle",
            "Two copies on a saddle",
            "Two student units at the same place stay together and stop at a saddle. Drag one a little to the side: "
            "they part, and each takes a teacher.",
            "Tian 2019, section 5",
            {
                "teachers": 2,
                "students": 2,
                "teacher_at": [[1.0, 0.0], [0.0, 1.0]],
                "student_at": [[0.3, 0.3], [0.3, 0.3]],
            },
        ),
        Preset(
            "too-few",
            "Fewer students than teachers",
            "Two units cannot be three: the student stops at a minimum with a loss above 0, where one unit lies "
            "between two teachers.",
            "",
            {
                "teachers": 3,
                "students": 2,
                "teacher_at": [[1.2, 0.2], [-0.4, 1.0], [-0.7, -0.9]],
                "student_at": [[0.3, 0.4], [-0.5, 0.1]],
            },
        ),
        Preset(
            "race",
            "The strong teacher wins",
            "The long teacher arrow pulls harder: count the student units that turn to it, and watch when the short "
            "one is found.",
            "Tian 2019, section 5",
            {"teachers": 2, "students": 6, "seed": 5, "scale": 0.15, "teacher_at": [[1.7, 0.3], [-0.2, 0.6]]},
        ),
    )

    def ticks(self, settings: FlowSettings) -> int:
        return TICKS

    def time(self, settings: FlowSettings, tick: int) -> float:
        return settings.first_step * math.expm1(GROWTH * tick) / math.expm1(GROWTH)

    def start(self, settings: FlowSettings) -> FlowState:
        if settings.teacher_at is not None:
            teacher = torch.tensor([[_checked(p) for p in settings.teacher_at]], dtype=torch.float64)
        else:
            turn, length = (
                draws.uniforms(draws.keys([settings.seed], name), settings.teachers) for name in ("direction", "length")
            )
            turn = 2 * math.pi * turn
            teacher = torch.stack([turn.cos(), turn.sin()], dim=2) * (0.5 + length).unsqueeze(2)
        if settings.student_at is not None:
            student = torch.tensor([[_checked(p) for p in settings.student_at]], dtype=torch.float64)
        else:
            drawn = draws.normals(draws.keys([settings.seed], "students"), 2 * settings.students)
            student = settings.scale * drawn.view(1, -1, 2)
        return FlowState(teacher, student)

    def advance(self, settings: FlowSettings, state: FlowState, tick: int) -> FlowState:
        length = self.time(settings, tick + 1) - self.time(settings, tick)
        teacher, student = state.units
        return FlowState(state.teacher, flow(teacher, student, [0.0, length], relative=1e-7).w[-1])

    def change(
        self, settings: FlowSettings, state: FlowState, tick: int, event: dict[str, Any]
    ) -> tuple[FlowSettings, FlowState]:
        place = torch.tensor(_checked(event.get("to")), dtype=torch.float64)
        for name in ("student", "teacher"):
            if name in event:
                w, unit = getattr(state, name).clone(), event[name]
                if not isinstance(unit, int) or not 0 <= unit < w.shape[1]:
                    raise TutelageError(f"the {name} unit must be from 0 to {w.shape[1] - 1}, got {unit}")
                w[0, unit] = place
                return settings, FlowState(
                    w if name == "teacher" else state.teacher, w if name == "student" else state.student
                )
        raise TutelageError("a change of this scene moves a 'student' or a 'teacher' unit")

    def mark(self, settings: FlowSettings, state: FlowState, tick: int) -> dict[str, np.ndarray]:
        return {"loss": loss(*state.units).numpy(), "student": state.student[0].numpy()}

    def frame(
        self, settings: FlowSettings, state: FlowState, tick: int, look: Look
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        teacher, student = state.units
        end = end_point(teacher, student)
        unit = look.get("unit", 0)
        unit = unit if isinstance(unit, int) and 0 <= unit < state.student.shape[1] else 0
        arrays = {
            "teacher": state.teacher[0].numpy(),
            "student": state.student[0].numpy(),
            "velocity": -first_layer_gradient(teacher, student)[0].numpy(),
            "loss": end.loss.numpy(),
            "landscape": landscape(state, unit),
            "reach": np.array([REACH]),
        }
        words = {
            "kind": end.kinds[0],
            "gradient": float(end.gradient[0]),
            "least": float(end.least[0]),
            "largest": float(end.largest[0]),
            "unit": unit,
            "note": "",
        }
        return arrays, words

    def answer(self, settings: FlowSettings, moment: Any, question: dict[str, Any]) -> dict[str, Any]:
        if question.get("about") != "basins":
            raise unknown("question", question.get("about"), ["basins"])
        unit = question.get("unit", 0)
        if not isinstance(unit, int) or not 0 <= unit < moment.state.student.shape[1]:
            raise TutelageError(f"unit must be from 0 to {moment.state.student.shape[1] - 1}, got {unit}")
        ends, losses = basins(moment.state, unit)
        return {"unit": unit, "tick": moment.tick, "side": BASINS, "ends": ends, "losses": losses}


def _moved(state: FlowState, unit: int, side: int) -> Units:
    """The students with one unit at every place of a grid: [side^2, n, 2], rows from below."""
    line = torch.linspace(-REACH, REACH, side, dtype=torch.float64)
    places = torch.stack(torch.meshgrid(line, line, indexing="xy"), dim=-1).view(-1, 2)
    places[places.norm(dim=1) < _SHORTEST] = torch.tensor([_SHORTEST, 0.0], dtype=torch.float64)
    w = state.student.repeat(len(places), 1, 1)
    w[:, unit] = places
    return _units(w)


def landscape(state: FlowState, unit: int) -> np.ndarray:
    """The loss as a function of the place of one unit, the others where they are: [GRID, GRID]."""
    return loss(_units(state.teacher), _moved(state, unit, GRID)).view(GRID, GRID).numpy()


def basins(state: FlowState, unit: int) -> tuple[list[int], list[float]]:
    """Where the flow leads when it starts with one unit elsewhere: teacher unit and loss at the end, [BASINS^2] each.

    The teacher unit is the one at the smallest angle with the unit at time 100, -1 where the unit has vanished.
    """
    teacher = _units(state.teacher)
    course = flow(teacher, _moved(state, unit, BASINS), [0.0, 100.0], relative=1e-4, absolute=1e-7)
    w = course.w[-1][:, unit]
    cosine = torch.nn.functional.normalize(w, dim=1) @ torch.nn.functional.normalize(state.teacher[0], dim=1).T
    nearest = torch.where(w.norm(dim=1) < 1e-3, -1, cosine.argmax(1))
    return nearest.tolist(), loss(teacher, course.end).tolist()
