"""Noise on labels and inputs: drawn once per sample, or afresh whenever a sample is seen."""

from abc import abstractmethod
from typing import Any, Literal

import torch
from pydantic import Field
from scipy.special import stdtrit
from torch import Tensor

from tutelage import draws
from tutelage.settings import PerMember, PerMemberNonNegative, Recipe, per_member
from tutelage.training.inputs.distributions import normals


class Noise(Recipe):
    """Base class of noise on labels or inputs.

    Parameters
    ----------
    kind
        Name of the noise in YAML.
    fresh
        Whether noise is drawn anew at every step. By default every sample of a fixed set has one value for ever.
    """

    fresh: bool = False
    """Whether noise is drawn anew at every step; samples drawn online always have noise of their own."""

    @classmethod
    def parse(cls, values: Any) -> Any:
        """The noise that a table with a kind names; a number, or one per member, is a standard deviation."""
        numbers = values if isinstance(values, list | tuple) else (values,)
        if numbers and all(isinstance(number, int | float) and not isinstance(number, bool) for number in numbers):
            return GaussianNoise(std=values)
        return super().parse(values)

    @abstractmethod
    def added(self, key: Tensor, count: int, width: int) -> Tensor | None:
        """What is added to ``count`` rows of ``width`` numbers, float64 [S, count, width]; None for nothing."""

    def on_values(self, values: Tensor, key: Tensor) -> Tensor:
        """The teacher's outputs, or inputs, with noise: [S, N, C], keys [S] -> [S, N, C]."""
        more = self.added(key, *values.shape[1:])
        return values if more is None else values + more.to(values.dtype)

    def on_labels(self, labels: Tensor, key: Tensor, loss: str) -> Tensor:
        """The labels made of the noisy outputs with noise of their own: [S, N, C], keys [S] -> [S, N, C]."""
        return labels


def _of_keys(size: PerMember, key: Tensor, name: str) -> Tensor | float:
    """A size for each key, [keys, 1, 1]: those of a member, one per step, stand together."""
    if not isinstance(size, tuple):
        return size
    if len(key) % len(size):
        per_member(size, len(key), name)  # raises an error that names the number of members
    each = torch.tensor(size, dtype=torch.float64, device=key.device)
    return each.repeat_interleave(len(key) // len(size)).view(-1, 1, 1)


class GaussianNoise(Noise):
    """Independent noise from N(0, std^2), added to the teacher's outputs or to the inputs."""

    kind: Literal["gaussian"] = "gaussian"
    std: PerMemberNonNegative
    """Standard deviation; one number, or one per member."""

    def added(self, key: Tensor, count: int, width: int) -> Tensor | None:
        return normals(key, count, width, torch.float64).mul_(_of_keys(self.std, key, "std"))


class StudentTNoise(Noise):
    """Independent noise with Student's t distribution times ``scale``, added to outputs or inputs: heavy tails."""

    kind: Literal["student-t"] = "student-t"
    scale: PerMemberNonNegative
    """Factor on the noise; one number, or one per member."""
    freedom: float = Field(default=3.0, ge=1)
    """Degrees of freedom; smaller values give heavier tails."""

    def added(self, key: Tensor, count: int, width: int) -> Tensor | None:
        unit = draws.uniforms(key, count * width).view(-1, count, width)
        drawn = torch.from_numpy(stdtrit(self.freedom, unit.cpu().numpy())).to(key.device)
        return _of_keys(self.scale, key, "scale") * drawn


class Flips(Noise):
    """Wrong labels: a share of the samples has another class (drawn uniformly), or the opposite sign."""

    kind: Literal["flips"] = "flips"
    share: float = Field(ge=0, le=1)
    """Share of the samples whose label is changed."""

    def added(self, key: Tensor, count: int, width: int) -> Tensor | None:
        return None

    def on_labels(self, labels: Tensor, key: Tensor, loss: str) -> Tensor:
        samples, outputs = labels.shape[1:]
        unit = draws.uniforms(key, 2 * samples).view(-1, samples, 2)
        wrong = (unit[..., :1] < self.share).to(labels.device)
        if loss in ("cross-entropy", "soft-cross-entropy"):
            turn = 1 + (unit[..., 1:] * (outputs - 1)).long()
            columns = (torch.arange(outputs, device=labels.device) - turn) % outputs
            return torch.where(wrong, labels.gather(-1, columns), labels)
        return torch.where(wrong, 1 - labels if loss == "binary-cross-entropy" else -labels, labels)
