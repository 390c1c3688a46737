"""Networks with exits under way: each has its batches, its best weights so far, and a pupil that learns."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.exits._pupil import Pupil
from tutelage.exits.inference import exit_accuracy
from tutelage.exits.objective import check_labels, teacher_sets
from tutelage.exits.stacked.pupils import Pupils, Seat, can_stack
from tutelage.exits.tasks import Augment, ExitTask, State, Trace, TrainedExits, batches

_AHEAD = 32  # batches whose samples are gathered at a time, at most
_NUMBERS = 2**27  # that they hold, at most, if they are several


def seat(courses: Sequence["ExitCourse"]) -> None:
    """Give each course the network it trains; networks that can be stacked and differ only in data and seed share one
    stack.
    """
    # Networks share a stack where one set of kernels serves them: the same shapes, settings, objective and batch sizes.
    stacks: dict[tuple, list[ExitCourse]] = {}
    for course in courses:
        task, batch = course.task, course.batches
        if not can_stack(task.model, task.x, task.settings, task.epochs * course.steps):
            course.pupil = Pupil(task.model, batch, task.settings, task.objective, course.sets)
            continue
        shapes = tuple(tuple(p.shape) for p in task.model.parameters()), tuple(task.x.shape[1:])
        sizes = batch.size, batch.extra, len(batch.labelled), len(batch.unlabelled)
        stacks.setdefault((task.settings, task.objective, course.sets, shapes, sizes), []).append(course)
    for stack in stacks.values():
        task, models = stack[0].task, [course.task.model for course in stack]
        pupils = Pupils(models, stack[0].batches, task.x.shape[1:], task.settings, task.objective, stack[0].sets)
        for member, course in enumerate(stack):
            course.pupil = Seat(pupils, member, course.task.model)


def advance(
    courses: list["ExitCourse"], begin: int, end: int, after: Callable[[int, list["ExitCourse"]], None]
) -> None:
    """Train for the epochs from begin to end."""
    steps, ahead = max(course.steps for course in courses), min(course.ahead for course in courses)
    for epoch in range(begin, end):
        for start in range(0, steps, ahead):
            for course in courses:
                course.gather(epoch, start, ahead)
            for step in range(start, min(start + ahead, steps)):
                for course in courses:
                    course.advance(step)
        for course in courses:
            course.close(epoch)
        after(epoch + 1, courses)


class ExitCourse:
    """A task under way: its pupil, its batches, and the best weights so far."""

    def __init__(self, task: ExitTask, augment: Augment | None) -> None:
        assert task.settings.batch != "all"  # or it would not be supported
        self.task, self.augment = task, augment
        self.sets = teacher_sets(task.model.exits, task.objective.teachers)
        self.batches = batches(task.x, task.y, task.settings.batch, any(self.sets), task.seed)
        self.steps = self.batches.steps
        self.rates = list(task.settings.rates(task.epochs * self.steps, self.steps))
        self.done = 0
        self.moves = draws.keys([task.seed], "exits-augmentation", task.x.device)
        self._check()
        self.pupil: Pupil | Seat
        self.losses: list[float] = []
        self.best: tuple[float, int, dict[str, Tensor]] | None = None

    def _check(self) -> None:
        """Reject samples that are not finite or do not fit the network, and labels that are no classes of it."""
        x, model = self.task.x, self.task.model
        device, home = self.batches.order.device, next(model.parameters()).device
        if device != home:
            raise TutelageError(f"the samples are on {device} and the network on {home}: move one to the other")
        if isinstance(x, Tensor) and not x.isfinite().all():
            raise TutelageError("some samples are not finite: leave them out")
        was = model.training
        try:
            with torch.no_grad():
                outputs = model.eval()(x[:1])[0].shape[1]
        except RuntimeError as error:
            message = str(error).splitlines()[0]
            raise TutelageError(f"the network does not take samples of shape {list(x.shape[1:])} ({message})") from None
        finally:
            model.train(was)
        check_labels(self.task.y, outputs)

    @property
    def ahead(self) -> int:
        """Batches whose samples may be gathered at a time."""
        return max(1, min(_AHEAD, _NUMBERS // (self.batches.width * math.prod(self.task.x.shape[1:]))))

    def gather(self, epoch: int, start: int, ahead: int) -> None:
        """The samples of the next batches of an epoch, moved about where that was asked."""
        stop = min(start + ahead, self.steps)
        if start >= stop:
            return
        with self.pupil.at_work():
            rows = self.batches.rows(epoch, start, stop)
            x = self.task.x[rows.flatten()]
            if self.augment:
                x = self.augment(x.unsqueeze(0), self.moves, (epoch * self.steps + start) * self.batches.width)[0]
            self.pupil.prepare(x.view(*rows.shape, *x.shape[1:]), self.task.y[rows], min(ahead, self.steps))

    def advance(self, step: int) -> None:
        """One step of this epoch, if it has so many."""
        if step < self.steps:
            with self.pupil.at_work():
                self.pupil.advance(self.rates[self.done])
            self.done += 1

    def close(self, epoch: int) -> None:
        """The epoch's loss; the weights that are the best on the held samples are kept."""
        losses = self.pupil.seen[epoch * self.steps : (epoch + 1) * self.steps, 0]
        with self.pupil.at_work():
            self.losses.append(float(losses.mean()))
            if self.task.held:
                accuracy = float(exit_accuracy(self.pupil.model, *self.task.held).single.mean())
                # The first of equal epochs is kept: it trained less.
                if self.best is None or accuracy > self.best[0]:
                    state = {name: value.clone() for name, value in self.pupil.model.state_dict().items()}
                    self.best = accuracy, epoch + 1, state
        if not math.isfinite(self.losses[-1]):
            raise TutelageError(
                f"training diverged in epoch {epoch + 1}: lower the learning rate {self.task.settings.rate:g}"
            )

    def state(self) -> State:
        """All that the epochs to come depend on, on the host."""
        out = {name: value.detach().cpu().numpy() for name, value in self.pupil.state().items()}
        if self.best is not None:
            out |= {f"best.{name}": value.cpu().numpy() for name, value in self.best[2].items()}
            out["best"] = np.array([self.best[0], self.best[1]])
        return out | {"losses": np.array(self.losses)}

    def restore(self, state: State, epochs: int) -> None:
        """Go on from a state after so many epochs; nothing to do for the one just reached."""
        if self.done == epochs * self.steps:
            return
        with self.pupil.at_work():
            self.pupil.restore({name: torch.as_tensor(value) for name, value in state.items()})
        self.losses, self.done = state["losses"].tolist(), epochs * self.steps
        if "best" in state:
            weights = {k.removeprefix("best."): torch.as_tensor(v) for k, v in state.items() if k.startswith("best.")}
            self.best = float(state["best"][0]), int(state["best"][1]), weights

    def result(self) -> TrainedExits:
        model, epoch = self.pupil.finished(), self.task.epochs
        if self.best:
            epoch = self.best[1]
            model.load_state_dict(self.best[2])
        record = self.pupil.seen.cpu()
        trace = Trace(record[:, 1], record[:, 2], record[:, 3]) if any(self.sets) else None
        return TrainedExits(model.eval(), tuple(self.losses), trace, epoch)
