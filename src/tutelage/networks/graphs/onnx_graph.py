"""ONNX files as graphs of values."""

from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from tutelage.errors import TutelageError
from tutelage.networks.graphs import affine_operators, image_operators, shape_operators, unit_operators  # noqa: F401
from tutelage.networks.graphs.operators import ONNX, Reading
from tutelage.networks.graphs.values import Value, allow, reshaped, start
from tutelage.networks.onnx_model import attributes, called, constants, first_line, not_linear, read_model

MONOTONE = ("Softmax", "LogSoftmax", "Sigmoid")
"""Operators at the end that keep the top class."""
_DYNAMIC = ("DynamicQuantizeLinear",)
_SMOOTH = (
    "LSTM", "GRU", "RNN", "Attention", "MultiHeadAttention", "Tanh", "Gelu", "Erf", "Exp", "Log", "Softplus",
    "Softsign", "Elu", "Selu", "Celu", "Mish", "Swish", "HardSwish", "LayerNormalization", "GroupNormalization",
    "InstanceNormalization", "RMSNormalization", "Pow", "Sqrt", "Sin", "Cos", "Reciprocal",
)  # fmt: skip
_READS = {
    **{name: operator.reads for name, operator in ONNX.items()},
    **dict.fromkeys(MONOTONE, frozenset({"axis"})),
    "Constant": frozenset({"value", "value_float", "value_floats", "value_int", "value_ints"}),
}


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
    model = checked_model(path)
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
        made = ONNX[node.op_type].made(state, node, given)
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


def checked_model(path: Path) -> Any:
    """The model of a file whose operators are understood, and are as ONNX defines them."""
    model = read_model(path)
    from onnx import checker  # after the sentence for those who do not have it

    context = checker.C.CheckerContext()
    context.ir_version, context.opset_imports = model.ir_version, {o.domain: o.version for o in model.opset_import}
    for node in model.graph.node:
        _check_node(node, context)
    return model


def external_files(path: Path) -> list[Path]:
    """The files beside an ONNX file that hold arrays of it, in the order of their names."""
    from onnx import TensorProto

    graph = checked_model(path).graph
    tensors = [*graph.initializer, *(node.attribute[0].t for node in graph.node if node.op_type == "Constant")]
    held = [tensor for tensor in tensors if tensor.data_location == TensorProto.EXTERNAL]
    return sorted({path.parent / entry.value for t in held for entry in t.external_data if entry.key == "location"})


def _check_node(node: Any, context: Any) -> None:
    from onnx import checker

    if node.domain not in ("", "ai.onnx"):
        raise TutelageError(
            f"{called(node)} is of the domain '{node.domain}': only operators of ONNX itself are understood"
        )
    if node.op_type in _DYNAMIC:
        raise TutelageError(
            f"{called(node)} chooses its scale from every input, which is no piecewise linear function: quantise the "
            "model statically, with QuantizeLinear and DequantizeLinear"
        )
    if node.op_type in _SMOOTH:
        raise TutelageError(not_linear(called(node)))
    if node.op_type not in _READS:
        raise TutelageError(
            f"{called(node)} is not understood: export the part of the model before it, or write it with affine, "
            "relu-like, pooling and shape operators"
        )
    try:
        checker.check_node(node, context)
    except Exception as error:  # the checker's own error, and those of protobuf for text that is none
        raise TutelageError(
            f"{called(node)} is not as ONNX defines it ({first_line(error)}): export it again"
        ) from None
    for a in node.attribute:
        if a.name not in _READS[node.op_type] or a.ref_attr_name:
            raise TutelageError(f"{called(node)} has the attribute {a.name}, which is not understood")
