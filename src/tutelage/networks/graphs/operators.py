"""The tables of operators that are understood, filled where each operator is defined.

An operator of ONNX is a function of the state of the reading, the node and its arguments; one of torch (core ATen) is a
function of what error messages call it and its arguments. Both make values of values. An operator that ONNX and torch
have in common stands in one file with its twin: ``affine_operators``, ``unit_operators``, ``image_operators`` and
``shape_operators``. A new one is one function there and nothing else.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks.graphs.values import Value
from tutelage.networks.onnx_model import called

UNQUANTISED = (
    "quantises activations while the network runs: give quantised_activations=True or --quantised-activations to "
    "bound its rounding, or export the model with quantised weights alone"
)


@dataclass
class Reading:
    """What was read so far of a file.

    Parameters
    ----------
    values
        By name: what depends on the input.
    arrays
        By name: constants.
    plain
        Whether samples come without an axis for samples.
    batch
        The number of samples where the file fixes it.
    noise
        Whether quantised activations are understood, as values rounded to steps.
    precisions
        Types of the weights that were used.
    opset
        Version of the operators.
    exact
        The ids of arrays of quantised weights, which float64 holds and their own type would round.
    """

    values: dict[str, Value]
    arrays: dict[str, np.ndarray]
    plain: bool = False
    batch: int | None = None
    noise: bool = False
    precisions: set[str] = field(default_factory=set)
    opset: int = 13
    exact: frozenset[int] = frozenset()

    @property
    def ahead(self) -> int:
        """Axes before those of a sample."""
        return 0 if self.plain else 1

    def weights(self, array: np.ndarray, node: Any) -> np.ndarray:
        """A constant in float64; anything but finite floating-point numbers is an error."""
        if array.dtype.name not in ("float16", "bfloat16", "float32", "float64"):
            raise TutelageError(
                f"{called(node)} has weights of type {array.dtype.name}: float16 to float64 are understood"
            )
        self.precisions.add("float32" if id(array) in self.exact else array.dtype.name)
        with np.errstate(invalid="ignore"):
            wide = array.astype(np.float64)
        if not np.isfinite(wide).all():
            raise TutelageError(f"{called(node)} has weights that are not finite: the model has diverged")
        return wide

    def axis(self, axis: int, rank: int, node: Any) -> int:
        """An axis of the file as an axis of a sample of so many axes."""
        full = rank + self.ahead
        if not -full <= axis < full:
            raise TutelageError(f"{called(node)} names axis {axis} of samples with {rank} axes: the file is damaged")
        sample_axis = axis % full - self.ahead
        if sample_axis < 0:
            raise TutelageError(f"{called(node)} changes the axis of samples: only axes of a sample may change")
        return sample_axis


Given = list[Value | np.ndarray | None]


def moving(node: Any, given: Given, place: int = 0) -> Value:
    """An argument that depends on the input."""
    value = given[place]
    if not isinstance(value, Value):
        raise TutelageError(f"{called(node)} is applied to a constant: its first input must be the layer before it")
    return value


def constant(state: Reading, node: Any, given: Given, place: int) -> np.ndarray | None:
    """An argument that is an array of weights, or None where it is left out."""
    array = given[place] if len(given) > place else None
    if array is None:
        return None
    if isinstance(array, Value):
        raise TutelageError(f"{called(node)} has weights that depend on the input: only constant ones are understood")
    return state.weights(array, node)


@dataclass(frozen=True)
class OnnxOperator:
    """made: what makes a value of a node; reads: names of the attributes that it knows."""

    made: Callable[[Reading, Any, Given], Value | list[Value]]
    reads: frozenset[str]


ONNX: dict[str, OnnxOperator] = {}
"""Operators of ONNX by their names."""
TORCH: dict[str, Callable[..., Any]] = {}
"""Operators of torch by their names."""
Function = TypeVar("Function", bound=Callable[..., Any])


def onnx_operator(*names: str, reads: str = "") -> Callable[[Function], Function]:
    """Understand operators of ONNX by a function; an attribute that is not among those it reads is an error."""

    def register(function: Function) -> Function:
        ONNX.update(dict.fromkeys(names, OnnxOperator(function, frozenset(reads.split()))))
        return function

    return register


def torch_operator(*names: str) -> Callable[[Function], Function]:
    """Understand operators of torch by a function."""

    def register(function: Function) -> Function:
        TORCH.update(dict.fromkeys(names, function))
        return function

    return register


def array(tensor: Any) -> np.ndarray:
    """A constant of a module in float64; an error where it is not finite."""
    values = np.asarray(tensor.detach().cpu().double().numpy() if isinstance(tensor, Tensor) else tensor, np.float64)
    if not np.isfinite(values).all():
        raise TutelageError("a weight of the module is not finite: the model has diverged")
    return values


def axis_of(axis: int, value: Value, name: str) -> int:
    """An axis of a batch of torch as an axis of a sample; an error for that of the samples."""
    sample_axis = axis % (len(value.shape) + 1) - 1
    if sample_axis < 0:
        raise TutelageError(f"{name} changes the axis of samples: only axes of a sample may change")
    return sample_axis
