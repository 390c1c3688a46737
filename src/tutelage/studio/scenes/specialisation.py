"""Students of a teacher learn: which teacher unit does each of their units come to follow? (Tian 2019, 2020)."""

from typing import Any, ClassVar

import numpy as np
import torch

from tutelage.errors import TutelageError, unknown
from tutelage.lab import to_yaml
from tutelage.measures import RECOVERED
from tutelage.networks import outputs
from tutelage.settings import Settings
from tutelage.studio.scenes._branches import as_experiment
from tutelage.studio.scenes._stories import story
from tutelage.studio.scenes._students import LOSS, StudentsSettings, StudentsState, live_fields
from tutelage.studio.scenes.scene import Look, Preset, StudioScene, scene

GRID = 48
"""Points along each side of the picture of the error."""
WINDOW = 3.5
"""Half the side of the plane that is shown, in inputs."""


@scene
class Specialisation(StudioScene[StudentsSettings, StudentsState]):
    """Many students learn a teacher by SGD; every unit is a point."""

    name: ClassVar[str] = "specialisation"
    title: ClassVar[str] = "Specialisation"
    about: ClassVar[str] = "Many students learn from a teacher. Which teacher unit does each student unit follow?"
    order: ClassVar[int] = 1
    pace: ClassVar[float] = 60.0
    forms: ClassVar[tuple[str, ...]] = ("yaml", "python", "replay")
    settings: ClassVar[type[Settings]] = StudentsSettings
    presets: ClassVar[tuple[Preset, ...]] = (
        Preset(
            "l-shape",
            "The L",
            "Watch the points: units that follow one teacher unit closely climb on the right; most others lose their "
            "fan-out.",
            "Tian 2020, Fig. 5",
        ),
        Preset(
            "strong-first",
            "Strong units first",
            "With strength decay 2 the strong teacher units (left in Recovery) are found early, the weak ones late or "
            "never.",
            "Tian 2020, Fig. 7",
            {"polarity": 2.0, "width_factor": 2.0},
        ),
        Preset(
            "boundaries",
            "Boundaries in the plane",
            "Watch the student boundaries (thin): most move onto one of the two teacher boundaries (thick), and others "
            "lose their fan-out and fade.",
            "Tian 2020, Fig. 3",
            {
                "dimension": 2, "units": 2, "outputs": 4, "polarity": 0.0, "bias": -0.5, "levels": "wide",
                "width_factor": 3.0, "scale": 0.01, "learning_rate": 0.02, "steps": 40_000,
            },
        ),
        Preset(
            "exact-width",
            "As wide as the teacher",
            "Without spare units every student unit is needed for a teacher unit: compare the number recovered with "
            "The L.",
            "Tian 2020, Fig. 5, 1x",
            {"width_factor": 1.0, "members": 64},
        ),
        Preset(
            "noise",
            "Noise on the labels",
            "Students first find the strong units, and later fit the noise of their training points. Watch when the "
            "loss rises again.",
            "",
            {"noise": 0.3},
        ),
        Preset(
            "many",
            "64 students of 100 units",
            "6,400 units learn at once: the spread over seeds is small where the theory speaks.",
            "",
            {"width_factor": 10.0, "members": 64, "evaluate": 128},
        ),
        Preset(
            "diverging",
            "Too high a learning rate",
            "A student that diverges drops out of the pictures; the others go on.",
            "",
            {"learning_rate": 0.5, "members": 32},
        ),
    )  # fmt: skip

    def ticks(self, settings: StudentsSettings) -> int:
        return settings.ticks

    def time(self, settings: StudentsSettings, tick: int) -> float:
        return float(settings.step(tick))

    def start(self, settings: StudentsSettings) -> StudentsState:
        return StudentsState.start(settings)

    def advance(self, settings: StudentsSettings, state: StudentsState, tick: int) -> StudentsState:
        return state.advanced(settings.step(tick + 1))

    def leap(self, settings: StudentsSettings, state: StudentsState, tick: int, to: int) -> StudentsState:
        return state.advanced(settings.step(to))

    def change(
        self, settings: StudentsSettings, state: StudentsState, tick: int, event: dict[str, Any]
    ) -> tuple[StudentsSettings, StudentsState]:
        for name in event:
            if name not in live_fields():
                raise unknown("setting that may change on the way", name, live_fields())
        changed = StudentsSettings(**(settings.model_dump() | event))
        return changed, state.changed(changed)

    def mark(self, settings: StudentsSettings, state: StudentsState, tick: int) -> dict[str, np.ndarray]:
        above = (state.marked["best_correlation"] > RECOVERED).astype(np.float32)
        return {"loss": state.marked[LOSS], "recovered": np.where(state.lost, np.nan, above.sum(1))}

    def frame(
        self, settings: StudentsSettings, state: StudentsState, tick: int, look: Look
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        member = chosen_member(settings, look)
        arrays = state.shown(member)
        if settings.dimension == 2:
            arrays |= plane(state, member)
        lost = int(state.lost.sum())
        note = ""
        if lost:
            first = int(state.trained.diverged_at[torch.from_numpy(state.lost)].min())
            note = (
                f"{lost} of {settings.members} students diverged, the first at step {first:,}: lower the learning rate"
            )
        return arrays, {"note": note, "member": member}

    def answer(self, settings: StudentsSettings, moment: Any, question: dict[str, Any]) -> dict[str, Any]:
        if question.get("about") != "unit":
            raise unknown("question", question.get("about"), ["unit"])
        return story(settings, moment, question)

    def saved(self, settings: StudentsSettings, events: list[Any], form: str) -> str:
        if form == "yaml":
            experiment, note = as_experiment(settings, events)
            return (f"# {note}\n" if note else "") + to_yaml(experiment)
        raise TutelageError(f"there is no form '{form}' for this scene")

    def size(self, state: StudentsState) -> int:
        return state.bytes


def chosen_member(settings: StudentsSettings, look: Look) -> int:
    """The member that is looked at closely."""
    member = look.get("member", 0)
    return min(max(member if isinstance(member, int) else 0, 0), settings.members - 1)


def plane(state: StudentsState, member: int) -> dict[str, np.ndarray]:
    """Boundaries w.x + b = 0 of one member's units, [m, 3] and [n, 3], and its error on a grid, [GRID, GRID].

    size: largest output of the teacher on the grid, which the error is compared with.
    """
    chosen = slice(member, member + 1)
    teacher, student = state.world.teacher[chosen], state.students[chosen]
    lines = {}
    for name, network in (("teacher_lines", teacher), ("student_lines", student)):
        bias = torch.zeros(1, network.widths[1]) if network.biases is None else network.biases[0]
        lines[name] = torch.cat([network.weights[0][0], bias], dim=0).T.numpy()
    side = torch.linspace(-WINDOW, WINDOW, GRID, dtype=student.dtype)
    points = torch.stack(torch.meshgrid(side, side, indexing="xy"), dim=-1).view(1, -1, 2)
    with torch.no_grad():
        wanted = outputs(teacher, points)
        error = (wanted - outputs(student, points)).norm(dim=-1)
    shown = {"error": error.view(GRID, GRID), "size": wanted.norm(dim=-1).max()[None], "window": torch.tensor([WINDOW])}
    return lines | {name: value.numpy() for name, value in shown.items()}
