"""A course with changes on the way as one experiment, as far as one experiment goes."""

from collections.abc import Sequence
from typing import Any

from tutelage.lab import TeacherStudent
from tutelage.studio.scenes._students import StudentsSettings
from tutelage.training import Stages


def as_experiment(settings: StudentsSettings, events: Sequence[Any]) -> tuple[TeacherStudent, str]:
    """The experiment that computes a course, and a sentence about what it leaves out.

    Changes of the learning rate are stages of its schedule. A change of anything else ends it at that step.

    Parameters
    ----------
    settings
        Settings at the start.
    events
        Changes with their ticks, in order.

    Returns
    -------
    experiment, note
        Its numbers are those of the course up to its last step; "" where that is the last step of the course.
    """
    now, at, rates = settings, list[int](), [settings.learning_rate]
    for event in events:
        later = StudentsSettings(**(now.model_dump() | event.change))
        step = settings.step(event.tick)
        changed = [name for name in event.change if getattr(later, name) != getattr(now, name)]
        if step >= settings.steps or not changed:
            continue
        if step == 0:
            settings, rates = later, [later.learning_rate]
        elif changed != ["learning_rate"]:
            return _staged(settings, at, rates, step), _note(step, {name: getattr(later, name) for name in changed})
        else:
            at, rates = [*at, step], [*rates, later.learning_rate]
        now = later
    return _staged(settings, at, rates, settings.steps), ""


def _staged(settings: StudentsSettings, at: list[int], rates: list[float], steps: int) -> TeacherStudent:
    experiment = settings.experiment()
    last = dict(zip(at, rates[1:], strict=True))  # of several at one step, the last one
    update: dict[str, Any] = {"steps": steps}
    if at:  # the values are the learning rates themselves, since a ratio of two would be rounded
        update |= {"learning_rate": 1.0, "schedule": Stages(at=tuple(last), values=(rates[0], *last.values()))}
    return experiment.model_copy(update={"training": experiment.training.model_copy(update=update)})


def _note(step: int, changed: dict[str, Any]) -> str:
    what = " and ".join(f"{name} to {value}" for name, value in changed.items())
    return (
        f"At step {step:,} the page changed {what}, which one experiment cannot do, so this file ends there: the "
        "Python snippet of the page computes the rest."
    )
