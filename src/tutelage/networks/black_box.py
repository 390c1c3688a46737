"""A teacher of which only the outputs are known: any torch module or function, or labels of a data set."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from tutelage.errors import TutelageError
from tutelage.printing import printed


@printed
@dataclass(frozen=True, eq=False)
class BlackBox:
    """A function from inputs to outputs that all members share; it has no units to compare with.

    Parameters
    ----------
    function
        A torch module or function from inputs [N, d] to outputs [N, C], evaluated without gradients; None for a data
        set, whose labels come with its inputs.
    inputs, outputs
        Numbers of inputs d and of outputs C.
    members
        Number of members.
    dtype, device
        Precision and device of the points it is evaluated on.

    Examples
    --------
    >>> norm = BlackBox(lambda x: x.norm(dim=1, keepdim=True), inputs=2, outputs=1)
    >>> norm.at(torch.tensor([[[3.0, 4.0]]]))
    tensor([[[5.]]])
    """

    function: Callable[[Tensor], Tensor] | None
    inputs: int
    outputs: int
    members: int = 1
    dtype: torch.dtype = torch.float32
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    def _title(self) -> str:
        what = "labels of a data set" if self.function is None else type(self.function).__name__
        return f"{what}, {self.inputs} inputs, {self.outputs} outputs, {self.members} members"

    @property
    def widths(self) -> tuple[int, ...]:
        """Input width and output width: there are no hidden units."""
        return self.inputs, self.outputs

    @property
    def depth(self) -> int:
        """One, as for a network without hidden layers."""
        return 1

    def expand(self, members: int) -> "BlackBox":
        """The same function for another number of members."""
        return replace(self, members=members)

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> "BlackBox":
        """The same function for points on another device or in another precision."""
        return replace(self, device=torch.device(device or self.device), dtype=dtype or self.dtype)

    def __getitem__(self, members: int | slice | Sequence[int] | Tensor) -> "BlackBox":
        return replace(self, members=torch.arange(self.members)[members].numel())

    def at(self, points: Tensor) -> Tensor:
        """Outputs at points: [S, N, d] -> [S, N, C]."""
        if self.function is None:
            raise TutelageError("a data set has labels for its own inputs only: give a teacher for fresh inputs")
        rows = points.reshape(-1, points.shape[-1])
        with torch.no_grad(), _evaluating(self.function):
            got = self.function(rows)
        if not isinstance(got, Tensor) or got.shape != (len(rows), self.outputs):
            shape = list(got.shape) if isinstance(got, Tensor) else type(got).__name__
            raise TutelageError(
                f"the teacher must return outputs [{len(rows)}, {self.outputs}] for inputs "
                f"[{len(rows)}, {self.inputs}], got {shape}"
            )
        return got.to(points.dtype).view(*points.shape[:2], self.outputs)


def black_box(function: Callable[[Tensor], Tensor], points: Tensor) -> BlackBox:
    """A module or function as a teacher for points like these [S, N, d]: it is asked once for its outputs."""
    first = next(function.parameters(), None) if isinstance(function, nn.Module) else None
    if first is not None and (first.dtype, first.device) != (points.dtype, points.device):
        raise TutelageError(
            f"the teacher is {first.dtype} on {first.device} and the inputs are {points.dtype} on {points.device}: "
            "convert one with .to(...)"
        )
    with torch.no_grad(), _evaluating(function):
        try:
            outputs = function(points[0, :1])
        except RuntimeError as error:
            raise TutelageError(
                f"the teacher cannot be evaluated on inputs [1, {points.shape[-1]}] ({str(error).splitlines()[0]})"
            ) from None
    if not isinstance(outputs, Tensor) or outputs.ndim != 2 or len(outputs) != 1:
        shape = list(outputs.shape) if isinstance(outputs, Tensor) else type(outputs).__name__
        raise TutelageError(f"the teacher must return outputs [1, C] for inputs [1, {points.shape[-1]}], got {shape}")
    return BlackBox(function, points.shape[-1], outputs.shape[1], points.shape[0], points.dtype, points.device)


class _evaluating:
    """A module in evaluation mode for a while; functions are left as they are."""

    def __init__(self, function: object) -> None:
        self.module = function if isinstance(function, nn.Module) else None

    def __enter__(self) -> None:
        self.modes = [m.training for m in self.module.modules()] if self.module else []
        if self.module:
            self.module.eval()

    def __exit__(self, *_: object) -> None:
        if self.module:
            for module, mode in zip(self.module.modules(), self.modes, strict=True):
                module.training = mode
