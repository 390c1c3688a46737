"""Channels of convolutional ONNX files that do nothing, taken out: the same function, in a smaller file.

Which channels can go is decided as for torch modules (:mod:`tutelage.functions.pruning.channels`). The file keeps its
operators; the arrays of weights lose the rows and columns of those channels.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tutelage.errors import InternalError, TutelageError
from tutelage.functions.pruning._channel_graph import ChannelGraph, channel_graph
from tutelage.functions.pruning._silent_channels import superfluous
from tutelage.networks.boundary import reader
from tutelage.networks.onnx_model import called, constants, first_line, read_model
from tutelage.printing import printed

_SAMPLES, _UNKNOWN = 16, 32  # inputs that both files are run on, and the size of axes of unknown size
_ROUNDINGS = 1000  # of the largest output, in its precision, by which sums over fewer terms may differ


@printed
@dataclass(frozen=True)
class FileAgreement:
    """How an ONNX file and its pruned version agree on drawn inputs.

    Attributes
    ----------
    program
        What ran both: "onnxruntime" where it is installed, else "onnx.reference".
    inputs
        Number of inputs, each number of them uniform between -1 and 1.
    largest
        The largest difference of any output: rounding, since sums have fewer terms.
    size
        The largest output.
    """

    program: str
    inputs: int
    largest: float
    size: float


@reader
def has_convolutions(path: Path) -> bool:
    """Whether a file is an ONNX model with convolutions."""
    return path.suffix.lower() == ".onnx" and any(n.op_type == "Conv" for n in read_model(path).graph.node)


@reader
def pruned_file(path: Path) -> tuple[Any, dict[str, tuple[int, ...]], tuple[int, int]]:
    """The model of an ONNX file without superfluous channels, which went, and the numbers of weights before and after.

    Arrays that the file keeps in other files are in the model.
    """
    model = read_model(path)
    arrays, quantised = constants(model.graph, path.parent)
    made = channel_graph(model.graph, arrays, _shapes(model))
    cuts: dict[tuple[int, int], list[tuple[int, Tensor]]] = {}
    removed = {}
    for group, gone in superfluous(made.module):
        removed[made.names[group.name]] = tuple(gone.nonzero().flatten().tolist())
        for name, axis in group.axes:
            if name in made.places:
                place = made.places[name]
                cuts.setdefault((place.node, place.input), []).append((place.axes[axis], ~gone))
    before = _weights(model)
    _write(model, made, arrays, quantised, cuts)
    return model, removed, (before, _weights(model))


def _shapes(model: Any) -> dict[str, list[int | None]]:
    """Shapes of the values of a model, as far as they can be inferred."""
    from onnx import shape_inference

    try:
        graph = shape_inference.infer_shapes(model, data_prop=True).graph
    except Exception:  # the inference raises errors of its own, and without shapes less is followed
        graph = model.graph
    values = [*graph.input, *graph.value_info, *graph.output]
    return {
        v.name: [d.dim_value or None for d in v.type.tensor_type.shape.dim]
        for v in values
        if v.type.tensor_type.HasField("shape")
    }


def _weights(model: Any) -> int:
    """Numbers of all arrays of real numbers that a model stores."""
    from onnx import TensorProto

    real = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16)
    return sum(prod(tensor.dims) for tensor in model.graph.initializer if tensor.data_type in real)


def _write(model: Any, made: ChannelGraph, arrays: dict[str, np.ndarray], quantised: set[str], cuts: dict) -> None:
    """Cut the arrays of a model, and tell its operators."""
    from onnx import helper, numpy_helper

    graph, new = model.graph, dict[tuple, str]()
    taken = {*arrays, *(v.name for v in graph.input), *(name for node in graph.node for name in node.output)}
    for (at, number), pieces in cuts.items():
        node = graph.node[at]
        name = node.input[number]
        if name in quantised:
            raise TutelageError(
                f"{called(node)} has quantised weights, whose channels cannot be taken out: prune the model before it "
                "is quantised"
            )
        # Exporters store equal arrays once; each use is cut for itself, and uses that are cut alike share the result.
        key = (name, tuple(sorted((axis, tuple(kept.tolist())) for axis, kept in pieces)))
        if key not in new:
            new[key] = next(n for n in _names(name) if n not in taken)
            taken.add(new[key])
            array = arrays[name]
            for axis, kept in pieces:
                array = _kept(array, axis, kept.numpy())
            graph.initializer.append(numpy_helper.from_array(array, new[key]))
            arrays[new[key]] = array
        node.input[number] = new[key]
        if node.op_type == "Conv" and number == 1:
            for attribute in node.attribute:
                if attribute.name == "group" and attribute.i > 1:
                    attribute.i = len(arrays[new[key]])
    for at in made.flattened if cuts else ():
        # The sizes that a Reshape states are no longer those of what it takes.
        node = graph.node[at]
        flat = helper.make_node("Flatten", node.input[:1], node.output, name=node.name, axis=1)
        node.CopyFrom(flat)
    del graph.value_info[:]
    _tidy(graph)
    for tensor in graph.initializer:
        del tensor.external_data[:]  # which was read, and is in the file now


def _names(name: str) -> Iterator[str]:
    return (f"{name}.kept{number or ''}" for number in range(1 << 20))


def _kept(array: np.ndarray, axis: int, kept: np.ndarray) -> np.ndarray:
    """An array without some channels along an axis, which has a whole number of entries per channel."""
    return np.compress(kept.repeat(array.shape[axis] // len(kept)), array, axis=axis)


def _tidy(graph: Any) -> None:
    """Leave out operators and arrays that nothing uses."""
    used = {output.name for output in graph.output}
    nodes = []
    for node in reversed(graph.node):
        if used & set(node.output):
            nodes.append(node)
            used |= set(node.input)
    nodes.reverse()
    for values, left in (
        (graph.node, nodes),
        (graph.initializer, [t for t in graph.initializer if t.name in used]),
        (graph.input, [v for v in graph.input if v.name not in {t.name for t in graph.initializer}]),
    ):
        left = [type(v).FromString(v.SerializeToString()) for v in left]  # what is deleted takes its parts along
        del values[:]
        values.extend(left)


@reader
def rerun(path: Path, after: Any) -> FileAgreement:
    """Run a file and its pruned model on drawn inputs, in onnxruntime where it is installed.

    A difference beyond rounding contradicts the proof, and is an internal error.
    """
    from onnx import helper

    before = read_model(path)
    constants(before.graph, path.parent)  # reads those of other files into the model
    for tensor in before.graph.initializer:
        del tensor.external_data[:]
    draw = np.random.default_rng(0)
    given = {}
    for value in before.graph.input:
        if value.name not in {t.name for t in before.graph.initializer}:
            kind = value.type.tensor_type
            shape = [d.dim_value or _UNKNOWN for d in kind.shape.dim]
            if kind.shape.dim and not kind.shape.dim[0].dim_value:
                shape[0] = 1
            dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
            given[value.name] = [draw.uniform(-1, 1, shape).astype(dtype) for _ in range(_SAMPLES)]
    runs = [{name: values[k] for name, values in given.items()} for k in range(_SAMPLES)]
    program, first = _outputs(before, runs)
    _, second = _outputs(after, runs)
    largest, size, eps = 0.0, 0.0, 0.0
    for a, b in zip(first, second, strict=True):
        eps = max(eps, float(torch.finfo(torch.from_numpy(a).dtype).eps) if a.dtype.kind == "f" else 0.0)
        wide = a.astype(np.float64), b.astype(np.float64)
        largest = max(largest, float(np.abs(wide[0] - wide[1]).max(initial=0)))
        size = max(size, float(np.abs(wide[0]).max(initial=0)))
    if not largest <= _ROUNDINGS * eps * max(size, 1):
        raise InternalError(
            f"the outputs of the pruned file differ by {largest:.3g} from those of the file, which are at most "
            f"{size:.3g}: its channels were said to do nothing"
        )
    return FileAgreement(program, _SAMPLES, largest, size)


def _outputs(model: Any, runs: list[dict[str, np.ndarray]]) -> tuple[str, list[np.ndarray]]:
    """The name of the program, and all outputs for all inputs."""
    try:
        try:
            import onnxruntime
        except ImportError:
            from onnx.reference import ReferenceEvaluator

            evaluator = ReferenceEvaluator(model)
            return "onnx.reference", [np.asarray(a) for run in runs for a in evaluator.run(None, run)]
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # what it raises is an error here
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return "onnxruntime", [a for run in runs for a in session.run(None, run)]
    except Exception as error:  # runtimes raise errors of their own
        raise TutelageError(
            f"the model cannot be run ({first_line(error)}), so that its pruned version cannot be checked"
        ) from None
