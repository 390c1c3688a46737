"""What training recorded."""

from dataclasses import dataclass

from torch import Tensor

from tutelage.networks import Network
from tutelage.printing import printed
from tutelage.training.inputs import Inputs


@printed
@dataclass(frozen=True)
class Trajectory:
    """Students at the recorded steps, beside the teacher and the inputs they learned from.

    steps: the recorded steps, in order (0 is before the first); recorded: the students at those steps, where they
    were kept (the last one always is); diverged_at int64 [S]: the step after which a member's weights were no longer
    bounded (see ``bounded`` in train.py), or -1. A diverged member keeps its last bounded weights in
    everything recorded after that step.
    """

    steps: tuple[int, ...]
    recorded: dict[int, Network]
    teacher: Network
    inputs: Inputs
    diverged_at: Tensor
    engine: str
    seconds: float

    def _title(self) -> str:
        lost = int((self.diverged_at >= 0).sum())
        return f"{self.students.members} students after {self.steps[-1]} steps, {lost} diverged"

    @property
    def students(self) -> Network:
        """The students at the end."""
        return self.recorded[self.steps[-1]]
