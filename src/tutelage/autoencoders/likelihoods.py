"""What a decoder's output means: the distribution of x given z, for any torch module, by name."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional

from tutelage.errors import TutelageError, unknown
from tutelage.printing import printed

Kind = Literal["normal", "bernoulli", "categorical", "distribution"]
KINDS: tuple[Kind, ...] = ("normal", "bernoulli", "categorical", "distribution")
_LARGEST = 20.0  # of |log variance|


@printed
@dataclass(frozen=True)
class Likelihood:
    """p(x|z) of one kind from a decoder's output.

    normal: a pair (mean, log-variance), each of the shape of x [B, ...]; bernoulli: logits of the shape of x, which is
    0 or 1; categorical: logits [B, ..., K] for whole numbers x [B, ...] from 0 to K - 1; distribution: an object of
    your own, where x is not decoded entry by entry, with ``log_density(x)`` -> [B], ``sample(draw)`` -> x [B, ...], the
    ``shape`` of both x and draw, and ``discrete``: where it is so draws are uniform, else standard normal and gradients
    flow. It may have ``most``, the most information of x in nats.
    """

    kind: Kind

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise unknown("kind of decoder", self.kind, KINDS)

    def symbols(self, out: Any) -> bool:
        """Whether the decoder speaks of discrete data, through which no gradient flows."""
        return bool(out.discrete) if self.kind == "distribution" else self.kind != "normal"

    def log_density(self, out: Any, x: Tensor) -> Tensor:
        """log p(x|z), summed over all but the first axis: [B]."""
        if self.kind == "distribution":
            if out.shape != x.shape:
                raise _misfit(out.shape, x)
            return out.log_density(x)
        if self.kind == "normal":
            mean, log_variance = pair(out, "decoder")
            self._same(mean, x)
            each = -0.5 * ((x - mean).square() * (-log_variance).exp() + log_variance + math.log(2 * math.pi))
        elif self.kind == "bernoulli":
            self._same(_tensor(out), x)
            each = -functional.binary_cross_entropy_with_logits(
                _tensor(out), x.to(_tensor(out).dtype), reduction="none"
            )
        else:
            self._same(_tensor(out)[..., 0], x)
            each = _tensor(out).log_softmax(-1).gather(-1, x.unsqueeze(-1)).squeeze(-1)
        return each.flatten(1).sum(1)

    def sample(self, out: Any, draw: Tensor) -> Tensor:
        """x from draws of the shape of x: standard normal ones, through which gradients flow, or uniform ones."""
        if self.kind == "distribution":
            return out.sample(draw)
        if self.kind == "normal":
            mean, log_variance = pair(out, "decoder")
            return mean + (0.5 * log_variance).exp() * draw
        with torch.no_grad():
            if self.kind == "bernoulli":
                return (draw < _tensor(out).sigmoid()).to(_tensor(out).dtype)
            # Inversion: the number of cumulative probabilities below the draw. The last one is left out, since rounding
            # may put it below 1.
            return (draw.unsqueeze(-1) > _tensor(out).softmax(-1).cumsum(-1)[..., :-1]).sum(-1)

    def shape(self, out: Any) -> torch.Size:
        """Of x, as the decoder has it."""
        if self.kind == "distribution":
            return torch.Size(out.shape)
        if self.kind == "normal":
            return pair(out, "decoder")[0].shape
        return _tensor(out).shape if self.kind == "bernoulli" else _tensor(out).shape[:-1]

    def most(self, out: Any) -> float | None:
        """The most information that x can have with anything, in nats: the logarithm of how many values it can take.

        None where there is no such limit, or where a distribution of the user's own does not tell it. The entropy of
        the data is
        none: a sample of n has log n nats at most, and the distribution it was drawn from may have more.

        >>> round(Likelihood("categorical").most(torch.zeros(5, 2, 10)), 6)  # two symbols out of ten
        4.60517
        """
        if self.kind == "bernoulli":
            return math.prod(self.shape(out)[1:]) * math.log(2)
        if self.kind == "categorical":
            return math.prod(self.shape(out)[1:]) * math.log(_tensor(out).shape[-1])
        return getattr(out, "most", None) if self.kind == "distribution" else None

    def check(self, x: Tensor) -> None:
        """Reject data that are not of this kind."""
        whole = not x.is_floating_point() or bool((x == x.round()).all())
        if not x.isfinite().all():
            raise TutelageError("some data are not finite: leave them out")
        if self.kind == "normal" and whole:
            raise TutelageError(
                "the data are whole numbers, whose density a normal decoder can make as large as it likes: use "
                "'bernoulli' for 0 and 1, 'categorical' for more values"
            )
        if self.kind == "bernoulli" and not bool(((x == 0) | (x == 1)).all()):
            raise TutelageError("a bernoulli decoder takes data that are 0 or 1: round them, or use 'normal'")
        if self.kind == "categorical" and (x.is_floating_point() or bool((x < 0).any())):
            raise TutelageError("a categorical decoder takes whole numbers from 0 up, as an integer tensor")

    def _same(self, out: Tensor, x: Tensor) -> None:
        if out.shape != x.shape:
            raise _misfit(out.shape, x)


def _misfit(shape: torch.Size, x: Tensor) -> TutelageError:
    return TutelageError(f"the decoder speaks of data of shape {list(shape)} and these have {list(x.shape)}")


def pair(out: Tensor | tuple[Tensor, Tensor], whose: str) -> tuple[Tensor, Tensor]:
    """Mean and log-variance, the latter kept within reach of its exponential."""
    if isinstance(out, tuple | list) and len(out) == 2 and out[0].shape == out[1].shape:
        return out[0], out[1].clamp(-_LARGEST, _LARGEST)
    raise TutelageError(f"the {whose} must return two tensors of one shape, the mean and the log-variance")


def _tensor(out: Tensor | tuple[Tensor, Tensor]) -> Tensor:
    if not isinstance(out, Tensor):
        raise TutelageError("a decoder of symbols must return one tensor of logits, not several")
    return out
