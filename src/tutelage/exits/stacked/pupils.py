"""Training of several networks with exits at once; each has a seat that is used like a network trained alone."""

import copy
import importlib.util
from collections.abc import Sequence

import torch
from torch import Tensor

from tutelage.exits.multi_exit import MultiExit
from tutelage.exits.objective import teacher_shares, training_goal
from tutelage.exits.stacked.layout import layout
from tutelage.exits.stacked.passes import Passes
from tutelage.exits.tasks import Batches, ExitObjective
from tutelage.training.optimisers import Sgd
from tutelage.training.settings import Training

_FEW = 2000  # steps that are not worth the minute in which the kernels are compiled
_WARM = 2  # steps before a recording


def can_stack(model: MultiExit, x: object, settings: Training, steps: int) -> bool:
    """Whether trainings like this one can be stacked: on a GPU with Triton, by :func:`stackable`."""
    if not isinstance(x, Tensor) or not x.is_cuda or importlib.util.find_spec("triton") is None:
        return False
    return stackable(model, x.shape[1:], settings, steps)


def stackable(model: MultiExit, shape: Sequence[int], settings: Training, steps: int) -> bool:
    """Whether there are kernels for a training: an MSDNet in float32 without frozen weights, mixed precision, and
    Nesterov's SGD; and whether it is long enough for them.
    """
    optimiser = settings.optimiser
    if not settings.mixed_precision or steps < _FEW:
        return False
    if not isinstance(optimiser, Sgd) or not optimiser.nesterov or optimiser.l1:
        return False
    if not all(parameter.requires_grad and parameter.dtype == torch.float32 for parameter in model.parameters()):
        return False
    return layout(model, shape) is not None


class Pupils:
    """Copies of networks in training, with batches of one shape and one objective.

    seen [S, steps, 4]: loss, temperature, the teachers' confidence at it and without it, at every step so far.
    """

    def __init__(
        self,
        models: Sequence[MultiExit],
        batches: Batches,
        shape: Sequence[int],
        settings: Training,
        objective: ExitObjective,
        sets: tuple,
        dtype: torch.dtype = torch.bfloat16,
    ) -> None:
        plan, optimiser = layout(models[0], shape), settings.optimiser
        assert plan is not None  # or they could not be stacked
        assert isinstance(optimiser, Sgd)
        device = next(models[0].parameters()).device
        self.shape, self.batches, self.settings, self.objective = tuple(shape), batches, settings, objective
        self.members = len(models)
        self.cuda = device.type == "cuda"
        self.stream = torch.cuda.Stream(device) if self.cuda else None
        if self.stream:
            self.stream.wait_stream(torch.cuda.current_stream(device))
        self.graph: torch.cuda.CUDAGraph | None = None
        self.order = [name for name, _ in models[0].named_parameters()]
        with torch.cuda.stream(self.stream):
            self.passes = Passes(plan, self.members, batches.width, optimiser, dtype, device)
            for member, model in enumerate(models):
                self.passes.load(member, model.state_dict())
            self.teachers = teacher_shares(sets, self.passes.numbers) if any(sets) else None
            steps = (settings.epochs or 0) * batches.steps
            begin = torch.tensor(objective.annealing.temperature, dtype=torch.float64, device=device)
            self.temperature = begin.repeat(self.members)
            self.seen = torch.zeros(self.members, steps, 4, dtype=torch.float64, device=device)
            self.done, self.place = (torch.zeros(1, dtype=torch.int64, device=device) for _ in range(2))
        self.x_ahead, self.y_ahead = torch.empty(0, device=device), torch.empty(0, device=device)
        self.rate: float | None = None

    def prepare(self, member: int, x: Tensor, y: Tensor, room: int) -> None:
        """Samples x [T, B, ...] and labels y [T, B] of a member's next T steps, at most ``room`` of them at a time."""
        if not len(self.x_ahead):
            self.x_ahead, self.y_ahead = (part.new_empty(self.members, room, *part.shape[1:]) for part in (x, y))
        self.x_ahead[member, : len(x)], self.y_ahead[member, : len(y)] = x, y
        self.place.zero_()

    def advance(self, rate: float) -> None:
        """One step of all members, on the next batches that were prepared."""
        if rate != self.rate:
            self.passes.rate.fill_(rate)
            self.rate = rate
        if self.cuda and self.graph is None:
            self._record()
        if self.graph is None:
            self._step()
        else:
            self.graph.replay()

    def _step(self) -> None:
        x, y = (ahead.index_select(1, self.place).squeeze(1) for ahead in (self.x_ahead, self.y_ahead))
        self.place += 1
        self.passes.maps[0].copy_(x.flatten(3))
        rows: list[Tensor] = []

        def objective(z: Tensor) -> Tensor:
            # The same goal as of a network trained alone, mapped over members: their losses add up, and share no
            # weight, so the gradient of the sum is that of each.
            def each(z: Tensor, y: Tensor, temperature: Tensor) -> tuple[Tensor, Tensor, Tensor]:
                how = self.objective.power, self.batches.shares, self.objective.reduction
                return training_goal(z, y, self.teachers, temperature, *how)

            loss, adjusted, raw = torch.vmap(each)(z, y, self.temperature.to(z.dtype))
            rows.extend([loss.detach(), self.temperature.clone(), adjusted, raw])
            return loss.sum()

        self.passes.logits(objective)
        self.seen.index_copy_(1, self.done, torch.stack([row.double() for row in rows], -1).unsqueeze(1))
        self.done += 1
        if self.teachers is not None:
            annealing, factor = self.objective.annealing, torch.ones_like(self.temperature)
            self.temperature *= torch.where(rows[2] > annealing.limit, annealing.factor * factor, factor)

    def _arrays(self) -> list[Tensor]:
        return [*self.passes.arrays(), self.temperature, self.seen, self.done, self.place]

    def _record(self) -> None:
        """Record a step, and leave everything as it was."""
        before = [part.clone() for part in self._arrays()]
        for _ in range(_WARM):
            self.done.zero_()
            self._step()
            self.place.zero_()
        torch.cuda.synchronize(self.seen.device)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream, capture_error_mode="thread_local"):
            self._step()
        for array, value in zip(self._arrays(), before, strict=True):
            array.copy_(value)
        self.graph = graph

    def state(self, member: int) -> dict[str, Tensor]:
        """All that a member's steps to come depend on, under the names that a network trained alone gives."""
        momenta = self.passes.plan.parameters(self.passes.momenta, member)
        weights = self.passes.named(member)
        counts = {
            f"{convolution.norm}.num_batches_tracked": self.done[0]
            for _, convolution in self.passes.plan.convolutions()
        }
        return (
            {f"model.{name}": value for name, value in (weights | counts).items()}
            | {f"momentum.{number}": momenta[name] for number, name in enumerate(self.order)}
            | {"temperature": self.temperature[member], "seen": self.seen[member], "done": self.done}
        )

    def restore(self, member: int, state: dict[str, Tensor]) -> None:
        """Go on from a state."""
        weights = {name.removeprefix("model."): value for name, value in state.items() if name.startswith("model.")}
        self.passes.load(member, weights)
        momenta = self.passes.plan.parameters(self.passes.momenta, member)
        for number, name in enumerate(self.order):
            momenta[name].copy_(state[f"momentum.{number}"])
        self.temperature[member].copy_(state["temperature"])
        self.seen[member].copy_(state["seen"])
        self.done.copy_(state["done"])


class Seat:
    """One member of several pupils, used like a :class:`.Pupil`; the last one to advance moves all of them."""

    def __init__(self, pupils: Pupils, member: int, model: MultiExit) -> None:
        self.pupils, self.member = pupils, member
        self._model = copy.deepcopy(model)

    def at_work(self) -> torch.cuda.StreamContext:
        return torch.cuda.stream(self.pupils.stream)

    @property
    def seen(self) -> Tensor:
        return self.pupils.seen[self.member]

    @property
    def model(self) -> MultiExit:
        """The network with its present weights."""
        state = {name.removeprefix("model."): v for name, v in self.state().items() if name.startswith("model.")}
        self._model.load_state_dict(state)
        return self._model

    def prepare(self, x: Tensor, y: Tensor, room: int) -> None:
        self.pupils.prepare(self.member, x, y, room)

    def advance(self, rate: float) -> None:
        # Seats are advanced in turn, all with the same rate; the work of the others is done with the last one's.
        if self.member == self.pupils.members - 1:
            self.pupils.advance(rate)

    def state(self) -> dict[str, Tensor]:
        return self.pupils.state(self.member)

    def restore(self, state: dict[str, Tensor]) -> None:
        self.pupils.restore(self.member, state)

    def finished(self) -> MultiExit:
        """The network, once all its work is done."""
        if self.pupils.stream:
            torch.cuda.current_stream(self.seen.device).wait_stream(self.pupils.stream)
        return self.model
