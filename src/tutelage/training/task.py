"""What students are trained on: points, labels, and what each step sees of them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.networks import BlackBox, Network, concatenate, outputs
from tutelage.networks.forward import ROWS, outputs_of_batches
from tutelage.printing import printed
from tutelage.settings import of_all, of_members, per_member, without_members
from tutelage.training.inputs import Distribution
from tutelage.training.losses import labels
from tutelage.training.settings import Training

Batches = Callable[[int], "Tensor | tuple[Tensor, Tensor]"]
"""From a step to its points [B, d] or [S, B, d], or to points and labels; a pure function of the step."""

_DRAWN = 1 << 22  # numbers of points drawn at a time


@printed
@dataclass(frozen=True)
class Task:
    """What an engine needs besides the students.

    Attributes
    ----------
    points
        Training inputs [S, N, d].
    labels
        Labels [S, N, C].
    training
        Settings of the training.
    seeds
        One seed per member; they decide which samples are in which batch.
    teacher
        Who labels points that are drawn at every step.
    distribution
        Where points of online training are drawn from.
    batches
        The user's function from a step to its points.
    point_seeds
        Seeds of the streams of fresh points; default: those of the members.
    taught
        The teacher's outputs at ``points``, or labels of a data set, where noise is added at every step.
    places
        Places of the members among those that the user's function knows; default: all of them in order.
    """

    points: Tensor
    labels: Tensor
    training: Training
    seeds: tuple[int, ...]
    teacher: Network | BlackBox | None = None
    distribution: Distribution | None = None
    batches: Batches | None = None
    point_seeds: tuple[int, ...] | None = None
    taught: Tensor | None = None
    places: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.training.mixed_precision:
            raise TutelageError("Training.mixed_precision=True is not supported by train: use False")
        if self.training.sampling == "online" and self.distribution is None and self.batches is None:
            raise TutelageError(
                "sampling 'online' needs a distribution to draw from: pass inputs from a distribution such as "
                "tutelage.inputs.Gaussian(...).draw(teacher, seeds)"
            )
        self.batch, self.learning_rates  # noqa: B018  (errors are raised here, before any work)

    @property
    def members(self) -> int:
        return len(self.seeds)

    @property
    def samples(self) -> int:
        return self.points.shape[1]

    @property
    def batch(self) -> int:
        return self.training.batch_size(self.samples)

    @property
    def steps(self) -> int:
        return self.training.length(self.samples)

    @property
    def generated(self) -> bool:
        """Whether the samples of a step are made by :meth:`generate`, and are not rows of ``points``."""
        return self.batches is not None or self.training.generated

    @property
    def fresh_points(self) -> bool:
        """Whether the points of a step are made by :meth:`generate`, and not the labels alone."""
        noise = self.training.input_noise
        return self.batches is not None or self.training.sampling == "online" or (noise is not None and noise.fresh)

    @property
    def unusual(self) -> str | None:
        """What sets this task apart from plain SGD on the squared error of a fixed set, in a phrase."""
        return "batches of the user's own function" if self.batches is not None else self.training.unusual

    @property
    def learning_rates(self) -> tuple[float, ...]:
        return per_member(self.training.learning_rate, self.members, "learning_rate")

    @cached_property
    def key(self) -> Tensor:
        """The key of every member's stream of batches, int64 [S]; see :mod:`tutelage.draws`."""
        return draws.keys(self.seeds, "batches", self.points.device)

    def rates(self, start: int, stop: int) -> np.ndarray:
        """Learning rate of every member at steps start .. stop-1: float64 [S, T]."""
        return np.asarray(self.learning_rates)[:, None] * self.factors(start, stop)

    def factors(self, start: int, stop: int) -> np.ndarray:
        """The schedule's factor at steps start .. stop-1: float64 [T]."""
        return self.training.factors(np.arange(start, stop), self.steps, self.training.per_epoch(self.samples))

    def rows(self, start: int, stop: int) -> Tensor:
        """Rows of the training set seen by every member at steps start .. stop-1: int64 [S, T, B].

        With replacement, slot i of step t is draw t*B + i of the member's stream. Without, epoch e is permutation e
        of the stream, cut into N // B batches.
        """
        shape = (self.members, stop - start, self.batch)
        if self.training.batch == "all":
            return torch.arange(self.samples, device=self.points.device).expand(shape)
        if self.training.curriculum:
            return torch.stack([self._picked(step) for step in range(start, stop)], 1)
        if self.training.sampling == "replacement":
            count = (stop - start) * self.batch
            return draws.indices(self.key, count, self.samples, start * self.batch).view(shape)
        per_epoch = self.samples // self.batch
        epochs = range(start // per_epoch, (stop - 1) // per_epoch + 1)
        rows = torch.cat(
            [draws.permutations(self.key, self.samples, e)[:, : per_epoch * self.batch] for e in epochs], dim=-1
        )
        skipped = (start - epochs[0] * per_epoch) * self.batch
        return rows[:, skipped : skipped + (stop - start) * self.batch].view(shape)

    def _picked(self, step: int) -> Tensor:
        """Rows of a step as the curriculum says: int64 [S, B]."""
        curriculum = self.training.curriculum
        assert curriculum is not None
        uniforms = draws.uniforms(self.key, self.batch, step * self.batch)
        return curriculum.checked(self._course(uniforms, step / self.steps), tuple(uniforms.shape), self.samples)

    @cached_property
    def _course(self) -> Callable[[Tensor, float], Tensor]:
        """The function of a curriculum that picks rows, made of these points and labels once."""
        curriculum = self.training.curriculum
        assert curriculum is not None
        return curriculum.function(self.points, self.labels, **curriculum.options)

    @property
    def span(self) -> int:
        """Steps whose samples are generated at a time."""
        return max(1, min(256, _DRAWN // (self.members * self.batch * self.points.shape[2])))

    def generate(self, start: int, stop: int) -> tuple[Tensor, Tensor]:
        """Points [S, T, B, d] and labels [S, T, B, C] of steps start .. stop-1, noise included.

        Draws depend on the member's seed and the step alone.
        """
        x, taught = self._clean(start, stop)
        noise = self.training.input_noise
        if noise is not None and (noise.fresh or self._drawn):
            steps = self._steps_of("input noise", start, stop)
            x = noise.on_values(x.reshape(len(steps), *x.shape[2:]), steps).view(x.shape)
        return x, self._labelled(taught, start, stop)

    def fresh_labels(self, start: int, stop: int) -> Tensor:
        """Labels [S, T, B, C] of steps start .. stop-1 with their noise, for the points of :meth:`rows`."""
        rows = self.rows(start, stop)
        return self._labelled(self._at(self.labels if self.taught is None else self.taught, rows), start, stop)

    @property
    def _drawn(self) -> bool:
        """Whether every sample is seen once, so that any noise on it is fresh."""
        return self.training.sampling == "online" or self.batches is not None

    def _steps_of(self, stream: str, start: int, stop: int) -> Tensor:
        """Keys of the steps of every member's stream, members first: int64 [S * T]."""
        return draws.substreams(self._stream(stream, self.seeds), start, stop).view(-1)

    def _stream(self, name: str, seeds: Sequence[int]) -> Tensor:
        """Keys of a stream, int64 [S], kept: making them from thousands of seeds takes longer than a short span."""
        if name not in self._streams:
            self._streams[name] = draws.keys(seeds, name, self.points.device)
        return self._streams[name]

    @cached_property
    def _streams(self) -> dict[str, Tensor]:
        return {}

    def _labelled(self, taught: Tensor, start: int, stop: int) -> Tensor:
        """Labels of what the teacher says, with noise drawn at every step: [S, T, B, C] -> the same."""
        training, noise = self.training, self.training.label_noise
        if noise is None or not (noise.fresh or self._drawn):
            return labels(training.loss, taught, training.temperature)
        steps = self._steps_of("label noise", start, stop)
        y = noise.on_values(taught.reshape(len(steps), *taught.shape[2:]), steps)
        y = noise.on_labels(labels(training.loss, y, training.temperature), steps, training.loss)
        return y.view(*taught.shape[:3], -1)

    @staticmethod
    def _at(array: Tensor, rows: Tensor) -> Tensor:
        """Rows [S, T, B] of an array [S, N, k], as [S, T, B, k]."""
        flat = rows.flatten(1).unsqueeze(-1).expand(-1, -1, array.shape[2])
        return array.gather(1, flat).view(*rows.shape, -1)

    def _clean(self, start: int, stop: int) -> tuple[Tensor, Tensor]:
        """Points [S, T, B, d] and what the teacher says about them [S, T, B, C], without noise drawn at every step."""
        if self.batches is not None:
            return self._from_user(start, stop)
        if self.training.sampling == "online":
            assert self.distribution is not None
            assert self.teacher is not None
            key = self._stream("online", self.point_seeds or self.seeds)
            some = ROWS // math.gcd(ROWS, self.batch)  # steps that the teacher sees together
            begin, end = start // some * some, -(-stop // some) * some
            shared, width = self.distribution.shared, self.points.shape[2]
            x = self.distribution.fresh(key[:1] if shared else key, begin, end, self.batch, width, self.points.dtype)
            x = x.expand(self.members, -1, -1, -1)
            y = outputs_of_batches(self.teacher, x.reshape(self.members, -1, some * self.batch, width))
            here = slice(start - begin, stop - begin)
            return x[:, here], y.view(*x.shape[:3], -1)[:, here]
        rows = self.rows(start, stop)
        return self._at(self.points, rows), self._at(self.labels if self.taught is None else self.taught, rows)

    def _from_user(self, start: int, stop: int) -> tuple[Tensor, Tensor]:
        assert self.batches is not None
        pairs = [self._checked(step, self.batches(step)) for step in range(start, stop)]
        x, y = (torch.stack(arrays, 1) for arrays in zip(*pairs, strict=True))
        return x, y

    def _checked(self, step: int, made: Tensor | tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """What the user's function made of a step, as points [S, B, d] and outputs of the teacher [S, B, C]."""
        x, y = (made, None) if isinstance(made, Tensor) else made
        if x.shape[-2:] != (self.batch, self.points.shape[2]) or x.ndim not in (2, 3):
            raise TutelageError(
                f"batches({step}) must return points of shape [{self.batch}, {self.points.shape[2]}], or "
                f"[{self.members}, {self.batch}, {self.points.shape[2]}] for one set per member, got {list(x.shape)}"
            )
        x = self._mine(step, x.to(self.points))
        if y is None:
            if self.teacher is None:
                raise TutelageError(f"batches({step}) gave no labels and there is no teacher: return points and labels")
            return x, outputs(self.teacher, x)
        if y.shape[-2:] != (self.batch, self.labels.shape[2]) or y.ndim not in (2, 3):
            raise TutelageError(
                f"batches({step}) must return labels of shape [{self.batch}, {self.labels.shape[2]}], got "
                f"{list(y.shape)}"
            )
        return x, self._mine(step, y.to(self.labels))

    def _mine(self, step: int, array: Tensor) -> Tensor:
        """An array of the user's function for the members of this task: [B, n] or [all, B, n] -> [S, B, n]."""
        if array.ndim == 2:
            return array.expand(self.members, -1, -1)
        places = self.places or tuple(range(self.members))
        if max(places) >= len(array):
            raise TutelageError(
                f"batches({step}) must return one set, or one for each of {self.members} members, got {len(array)}"
            )
        return array[list(places)]

    @staticmethod
    def join(tasks: Sequence["Task"]) -> "Task":
        """Tasks of one training (but for the learning rates) and one shape as a single one, members in order."""
        if len(tasks) == 1:
            return tasks[0]
        first = tasks[0].training
        alike = without_members(first)
        if any(without_members(task.training) != alike for task in tasks):
            raise TutelageError("tasks with different trainings cannot be joined")
        if any(task.batches or task.distribution != tasks[0].distribution for task in tasks):
            raise TutelageError("tasks with different distributions cannot be joined")
        teachers = [task.teacher for task in tasks if isinstance(task.teacher, Network)]
        taught = [task.taught for task in tasks if task.taught is not None]
        return Task(
            points=torch.cat([task.points for task in tasks]),
            labels=torch.cat([task.labels for task in tasks]),
            training=of_all([task.training for task in tasks], [task.members for task in tasks]),
            seeds=tuple(seed for task in tasks for seed in task.seeds),
            teacher=concatenate(teachers) if teachers else None,
            distribution=tasks[0].distribution,
            point_seeds=tuple(seed for task in tasks for seed in task.point_seeds or task.seeds),
            taught=torch.cat(taught) if taught else None,
        )

    def __getitem__(self, members: Sequence[int]) -> "Task":
        """The same task for some of its members."""
        training = of_members(self.training, members)
        index = torch.as_tensor(members, device=self.points.device)
        point_seeds, taught = self.point_seeds, self.taught
        return replace(
            self,
            points=self.points[: len(members)] if self.points.stride(0) == 0 else self.points[index],
            labels=self.labels[index],
            training=training,
            seeds=tuple(self.seeds[i] for i in members),
            teacher=None if self.teacher is None else self.teacher[members],
            point_seeds=None if point_seeds is None else tuple(point_seeds[i] for i in members),
            taught=None if taught is None else taught[index],
            places=tuple((self.places or range(self.members))[i] for i in members),
        )
