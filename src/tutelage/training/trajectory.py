"""What training recorded."""

from dataclasses import dataclass

from torch import Tensor

from tutelage.networks import BlackBox, Network
from tutelage.printing import printed
from tutelage.training.inputs import Inputs


@printed
@dataclass(frozen=True)
class Trajectory:
    """Students at the recorded steps of a training, with the teacher and the inputs they learned from.

    Attributes
    ----------
    steps
        Recorded steps in order; step 0 is before the first update.
    recorded
        Students by step, where their weights were kept; the last step always is.
    teacher, inputs
        As given to :func:`train`.
    diverged_at
        int64 [S]: the step after which a member's weights were no longer bounded, or -1. Such a member keeps its last
        bounded weights in everything recorded later.
    engine
        Name of the training engine that was used.
    seconds
        Time taken.
    why
        Why this engine was chosen.
    stopped_at
        int64 [S]: the step after which a stopping rule ended the training of a member, or -1.
    """

    steps: tuple[int, ...]
    recorded: dict[int, Network]
    teacher: Network | BlackBox
    inputs: Inputs
    diverged_at: Tensor
    engine: str
    seconds: float
    why: str = ""
    stopped_at: Tensor | None = None

    def _title(self) -> str:
        lost = int((self.diverged_at >= 0).sum())
        return f"{self.students.members} students after {self.steps[-1]} steps, {lost} diverged"

    @property
    def students(self) -> Network:
        """The students at the end."""
        return self.recorded[self.steps[-1]]
