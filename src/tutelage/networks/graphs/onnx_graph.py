"""ONNX files as graphs of values."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from tutelage.errors import TutelageError
from tutelage.networks.graphs.values import Value, allow, reshaped, start
from tutelage.networks.onnx_model import attributes, called, constants, read_model

MONOTONE = ("Softmax", "LogSoftmax", "Sigmoid")
"""Operators at the end that keep the top class."""
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


Operator = Callable[[Reading, Any, Given], Value | list[Value]]


@dataclass(frozen=True, eq=False)
class OnnxGraph:
    """The output value of a file, and whether its weights are in float64."""

    output: Value
    double: bool


def read_onnx(path: Path, logits: bool = False, noise: bool = False) -> OnnxGraph:
    """Read an ONNX file as a graph.

    Parameters
    ----------
    path
        The file.
    logits
        Leave out a Softmax, LogSoftmax or Sigmoid at the end.
    noise
        Understand quantised activations, as values rounded to steps.
    """
    from tutelage.networks.graphs._onnx_operators import OPERATORS

    model = read_model(path)
    graph = model.graph
    arrays, exact = constants(graph, path.parent)
    allow(sum(array.size for array in arrays.values()))
    inputs = [i for i in graph.input if i.name not in arrays]
    if len(inputs) != 1 or len(graph.output) != 1:
        raise TutelageError(f"{path} must have one input and one output, got {len(inputs)} and {len(graph.output)}")
    state = _begin(inputs[0], graph, arrays, noise)
    state.opset = next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
    state.exact = frozenset(id(arrays[name]) for name in exact)
    ended: str | None = None
    for node in graph.node:
        if all(name in arrays for name in node.output if name):
            continue
        if ended is not None and node.op_type not in ("Identity", "Flatten", "Squeeze", "Reshape"):
            raise TutelageError(_not_linear(ended))
        given = [state.values.get(name, arrays.get(name)) for name in node.input]
        missing = [name for name, a in zip(node.input, given, strict=True) if name and a is None]
        if missing:
            raise TutelageError(_unshaped(node))
        if node.op_type in MONOTONE:
            ended = _monotone(state, node, given, logits)
            continue
        made = OPERATORS[node.op_type](state, node, given)
        for name, value in zip(node.output, made if isinstance(made, list) else [made], strict=False):
            state.values[name] = value
    end = graph.output[0].name
    if end not in state.values:
        raise TutelageError(f"the output {end} of {path} is nothing that its operators compute from the input")
    output = state.values[end]
    if not state.precisions:
        raise TutelageError("the ONNX file has no layers of weights")
    if "float64" in state.precisions and len(state.precisions) > 1:
        kinds = ", ".join(sorted(state.precisions))
        raise TutelageError(f"the ONNX file mixes weights of type {kinds}: use one throughout")
    return OnnxGraph(reshaped(output, (output.size,)), "float64" in state.precisions)


def _not_linear(what: str) -> str:
    return (
        f"{what} is not piecewise linear: leave it out of the export, or where it is the last operator compare what "
        "goes into it with tutelage compare --logits; for other commands, save(load_onnx(path, logits=True), new_path) "
        "of tutelage.networks stores that"
    )


def _monotone(state: Reading, node: Any, given: list, logits: bool) -> str:
    """A Softmax or Sigmoid at the end, left out where asked: its name."""
    value = given[0]
    if not logits or not isinstance(value, Value):
        raise TutelageError(_not_linear(called(node)))
    if node.op_type != "Sigmoid":
        axis = state.axis(attributes(node).get("axis", -1 if state.opset >= 13 else 1), len(value.shape), node)
        over = value.shape[axis] if state.opset >= 13 else prod(value.shape[axis:])  # all axes from it on, before
        if over != value.size:
            raise TutelageError(
                f"{called(node)} is about one axis of samples of shape {list(value.shape)}: flatten them"
            )
    state.values[node.output[0]] = value
    return called(node)


def _unshaped(node: Any) -> str:
    return f"{called(node)} needs the shape of the input: export the model with a fixed input shape"


def _begin(value: Any, graph: Any, arrays: dict[str, np.ndarray], noise: bool) -> Reading:
    """The state before the first operator; the first axis of the input is the sample."""
    from onnx import TensorProto

    kind = value.type.tensor_type
    if kind.elem_type not in (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16):
        raise TutelageError(
            f"the input {value.name} is not an array of real numbers: export the model with a float input"
        )
    dims = [d.dim_value for d in kind.shape.dim]
    if kind.HasField("shape") and not dims:
        raise TutelageError(f"the input {value.name} is a single number: it must be an array")
    if min(dims, default=0) < 0:
        raise TutelageError(f"the input {value.name} has shape {dims}: sizes must be positive")
    if prod(dims) > 1 << 24:
        raise TutelageError(f"the input {value.name} has shape {dims}: at most {1 << 24:,} numbers are allowed")
    if len(dims) == 1 and dims[0]:  # one sample without an axis for samples
        return Reading({value.name: start(dims)}, arrays, plain=True, noise=noise)
    if not all(dims[1:]) or len(dims) < 2:
        if len(dims) > 2:
            raise TutelageError(
                f"the input {value.name} has axes of unknown size: export the model with a fixed input shape"
            )
        width = _taken_by_first(value.name, graph, arrays)
        return Reading({} if width is None else {value.name: start((width,))}, arrays, noise=noise)
    return Reading({value.name: start(dims[1:])}, arrays, batch=dims[0] or None, noise=noise)


def _taken_by_first(name: str, graph: Any, arrays: dict[str, np.ndarray]) -> int | None:
    """How many numbers the matrix that is applied to the input takes, where the file does not state its shape."""
    for node in graph.node:
        if node.op_type in ("Gemm", "MatMul") and node.input[0] == name and node.input[1] in arrays:
            w = arrays[node.input[1]]
            if w.ndim == 2:
                return w.shape[1] if attributes(node).get("transB", 0) else w.shape[0]
    return None
