"""One network in training, its steps free of any word between a GPU and its host, so that a CUDA graph can hold them.

A step of a network such as MSDNet is thousands of small kernels, and a GPU waits for most of their launches. Recorded
once and replayed, they follow each other without a gap; several networks, each on a stream of its own, fill the gaps
that are left. On a CPU the same step runs as it stands.
"""

import copy

import torch
from torch import Tensor

from tutelage.exits.multi_exit import MultiExit
from tutelage.exits.objective import teacher_shares, training_goal
from tutelage.exits.tasks import Batches, ExitObjective
from tutelage.training.settings import Training, set_rate

_WARM = 2  # steps before a recording, in which libraries set themselves up
_FEW = 20  # steps that are not worth a recording
_SEARCH = 2000  # steps that are worth a search for the quickest convolutions


class Pupil:
    """A copy of a network in training.

    ``prepare`` the samples of the batches to come, then ``advance`` once per batch. seen [steps, 4]: loss, temperature,
    the teachers' confidence at it and without it, at every step so far.
    """

    def __init__(
        self, model: MultiExit, batches: Batches, settings: Training, objective: ExitObjective, sets: tuple
    ) -> None:
        device = batches.order.device
        self.batches, self.settings = batches, settings
        self.annealing, self.objective = objective.annealing, objective
        self.steps = (settings.epochs or 0) * batches.steps
        self.cuda = device.type == "cuda"
        self.stream = torch.cuda.Stream(device) if self.cuda else None
        if self.stream:
            self.stream.wait_stream(torch.cuda.current_stream(device))
        self.graph: torch.cuda.CUDAGraph | None = None
        with self.at_work():
            self._set_up(model, sets, device)

    def _set_up(self, model: MultiExit, sets: tuple, device: torch.device) -> None:
        settings = self.settings
        self.model = copy.deepcopy(model).train()
        if self.cuda and settings.mixed_precision:
            self.model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        rate = torch.tensor(settings.rate, device=device) if self.cuda else settings.rate
        self.optimiser = settings.optimiser.for_module(self.model.parameters(), rate, fused=self.cuda)
        self.rate = settings.rate
        self.teachers = teacher_shares(sets, next(self.model.parameters())) if any(sets) else None
        self.temperature = torch.tensor(self.annealing.temperature, dtype=torch.float64, device=device)
        self.seen = torch.zeros(self.steps, 4, dtype=torch.float64, device=device)
        self.done, self.place = (torch.zeros(1, dtype=torch.int64, device=device) for _ in range(2))
        self.x_ahead, self.y_ahead = torch.empty(0, device=device), torch.empty(0, device=device)

    def at_work(self) -> torch.cuda.StreamContext:
        """Where this pupil's work goes: its own stream, of a GPU."""
        return torch.cuda.stream(self.stream)

    def finished(self) -> MultiExit:
        """The network, once all its work is done."""
        if self.stream:
            torch.cuda.current_stream(self.seen.device).wait_stream(self.stream)
        return self.model

    def prepare(self, x: Tensor, y: Tensor, room: int) -> None:
        """Samples x [T, B, ...] and labels y [T, B] of the next T steps, at most ``room`` of them at a time."""
        if not len(self.x_ahead):
            self.x_ahead, self.y_ahead = (part.new_empty(room, *part.shape[1:]) for part in (x, y))
        self.x_ahead[: len(x)], self.y_ahead[: len(y)] = x, y
        self.place.zero_()

    def advance(self, rate: float) -> None:
        """One step, on the next batch that was prepared."""
        if rate != self.rate:
            set_rate(rate, self.optimiser)
            self.rate = rate
        if self.cuda and self.graph is None and self.steps >= _FEW:
            self._record()
        if self.graph is None:
            self._step()
        else:
            self.graph.replay()

    def _step(self) -> None:
        x, y = (ahead.index_select(0, self.place)[0] for ahead in (self.x_ahead, self.y_ahead))
        self.place += 1
        if self.cuda and self.settings.mixed_precision and x.ndim == 4:
            x = x.contiguous(memory_format=torch.channels_last)
        with torch.autocast(x.device.type, torch.bfloat16, enabled=self.settings.mixed_precision, cache_enabled=False):
            z = torch.stack(self.model(x))
        z = z.to(x.dtype)
        how = self.objective.power, self.batches.shares, self.objective.reduction
        loss, adjusted, raw = training_goal(z, y, self.teachers, self.temperature, *how)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.optimiser.step()
        # What was seen stays on the device; reading a number would make the host wait for the GPU at every step.
        row = torch.stack([part.detach().double() for part in (loss, self.temperature, adjusted, raw)])
        self.seen.index_copy_(0, self.done, row.unsqueeze(0))
        self.done += 1
        if self.teachers is not None:
            factor = torch.full_like(self.temperature, self.annealing.factor)
            self.temperature *= torch.where(adjusted > self.annealing.limit, factor, 1.0)

    def _record(self) -> None:
        """Record a step, and leave everything as it was."""
        before = {name: value.clone() for name, value in self.state().items()}
        was = torch.backends.cudnn.benchmark
        torch.backends.cudnn.benchmark = was or self.steps >= _SEARCH
        try:
            # Steps before the recording are real steps: everything they change is restored afterwards, and the
            # recording itself runs nothing.
            for _ in range(_WARM):
                self.done.zero_()
                self._step()
                self.place.zero_()
            torch.cuda.synchronize(self.seen.device)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=self.stream, capture_error_mode="thread_local"):
                self._step()
        finally:
            torch.backends.cudnn.benchmark = was
        self.restore(before)
        self.place.zero_()
        self.graph = graph

    def state(self) -> dict[str, Tensor]:
        """All that the steps to come depend on: weights, momenta, temperature, what was seen."""
        weights = {f"model.{name}": value for name, value in self.model.state_dict().items()}
        momenta = {
            f"momentum.{number}": self.optimiser.state[parameter]["momentum_buffer"]
            for number, parameter in enumerate(self._parameters())
            if "momentum_buffer" in self.optimiser.state.get(parameter, {})
        }
        return weights | momenta | {"temperature": self.temperature, "seen": self.seen, "done": self.done}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Go on from a state; the arrays stay where they are, so that a recording stays valid."""
        with torch.no_grad():
            for name, value in self.model.state_dict().items():
                value.copy_(state[f"model.{name}"])
            for number, parameter in enumerate(self._parameters()):
                buffers = self.optimiser.state[parameter]
                momentum = state.get(f"momentum.{number}")
                # In place where there is a buffer already: a recording knows arrays by their addresses.
                if buffers.get("momentum_buffer") is not None:
                    buffers["momentum_buffer"].copy_(0 if momentum is None else momentum)
                elif momentum is not None:
                    buffers["momentum_buffer"] = momentum.to(parameter.device, parameter.dtype).clone()
            for name in ("temperature", "seen", "done"):
                getattr(self, name).copy_(state[name])

    def _parameters(self) -> list[Tensor]:
        return [parameter for group in self.optimiser.param_groups for parameter in group["params"]]
