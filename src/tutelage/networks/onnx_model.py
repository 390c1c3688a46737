"""The graph of an ONNX file and its constants, checked: what a reader would have to guess at is an error.

Weights outside the file are read from beside it and from nowhere else.
"""

from collections.abc import Iterable
from itertools import chain
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from tutelage.errors import TutelageError, how_to_install

OLDEST = 7
"""The oldest opset: before it, operators broadcast and normalise differently."""
LARGEST = 1 << 31
"""The most bytes of weights."""
MOST_NODES = 10_000
"""The most operators of a file."""
_FOLDED = 1 << 26, 16  # bytes that operators on constants may make: so many, and so many times those that are stored


def read_model(path: Path) -> Any:
    """The model of a file, without its external weights; one definition for every name."""
    try:
        import onnx
    except ImportError:
        raise TutelageError(f"reading ONNX files needs the package onnx: {how_to_install('onnx')}") from None
    if not path.is_file():
        raise TutelageError(f"there is no file {path}")
    try:
        model = onnx.load(str(path), load_external_data=False)
    except Exception as error:  # protobuf's own errors have no common base
        raise TutelageError(f"{path} is not an ONNX file ({type(error).__name__})") from None
    _check_model(model, path)
    _check_names(model.graph)
    return model


def constants(graph: Any, folder: Path) -> tuple[dict[str, np.ndarray], set[str]]:
    """The constant arrays of a graph by name: initialisers, the outputs of Constant nodes and what is made of these.

    Second, the names of quantised weights and what is made of them: float64 numbers that stand for float32 ones.
    """
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    arrays: dict[str, np.ndarray] = {}
    for node in graph.node:
        if node.op_type == "Constant":
            attribute = node.attribute[0]
            if attribute.name == "value":
                tensors[node.output[0]] = attribute.t
            else:
                kind = np.float32 if attribute.name.startswith("value_float") else np.int64
                arrays[node.output[0]] = np.array(attributes(node)[attribute.name], kind)
    if sum(prod(t.dims) for t in tensors.values() if min(t.dims, default=1) > 0) * 4 > LARGEST:
        raise TutelageError(f"the weights of the ONNX file exceed {LARGEST >> 30} GiB: take a smaller model")
    arrays |= {name: _array(name, tensor, folder) for name, tensor in tensors.items()}
    exact: set[str] = set()
    least, times = _FOLDED
    left = min(LARGEST, least + times * sum(a.nbytes for a in arrays.values()))
    for node in graph.node:
        given = [arrays.get(name) for name in node.input if name]
        if not given or any(a is None for a in given):
            continue
        if node.op_type not in ("DequantizeLinear", *_FOLDING):
            continue
        left -= _bytes_of(node, given)  # type: ignore[arg-type]
        if left < 0:
            raise TutelageError(
                f"{called(node)} makes constants far larger than what the file holds: export the model with its "
                "constants folded"
            )
        if node.op_type == "DequantizeLinear":
            arrays[node.output[0]] = _dequantised(node, given)
        else:
            arrays[node.output[0]] = _folded(node, given)
        if node.op_type == "DequantizeLinear" or (node.op_type != "Cast" and exact & set(node.input)):
            exact.add(node.output[0])
    return arrays, exact


_FOLDING = ("Identity", "Cast", "Unsqueeze", "Squeeze", "Concat", "Transpose", "Gather")


def _bytes_of(node: Any, given: list[np.ndarray]) -> int:
    """How large what an operator makes of constants will be at most, in float64."""
    if node.op_type == "Gather" and len(given) == 2 and given[0].ndim:
        axis = attributes(node).get("axis", 0)
        if -given[0].ndim <= axis < given[0].ndim:
            return 8 * given[0].size // given[0].shape[axis] * given[1].size
    return 8 * sum(a.size for a in given)


def _folded(node: Any, given: list[np.ndarray | None]) -> np.ndarray:
    """What an operator makes of constants."""
    from onnx.reference import ReferenceEvaluator

    try:
        return np.asarray(ReferenceEvaluator(node).run(None, dict(zip(node.input, given, strict=True)))[0])
    except Exception as error:  # the evaluator raises whatever numpy does
        raise TutelageError(f"{called(node)} cannot be applied to constants ({first_line(error)})") from None


def _dequantised(node: Any, given: list[np.ndarray | None]) -> np.ndarray:
    """Constant weights (q - zero point) scale, which float64 holds: 29 bits times the 24 of float32."""
    q, scale = given[0], given[1]
    assert q is not None
    assert scale is not None
    axis = attributes(node).get("axis", 1) if q.ndim > 1 else 0
    zero = given[2] if len(given) > 2 and given[2] is not None else np.zeros_like(scale, dtype=q.dtype)
    if scale.size == zero.size == 1:
        scale, zero = scale.reshape(()), zero.reshape(())
    inside = -q.ndim <= axis < q.ndim
    if scale.ndim > 1 or zero.shape != scale.shape or (scale.ndim and (not inside or len(scale) != q.shape[axis])):
        raise TutelageError(f"{called(node)} has scales of shape {list(scale.shape)} for weights {list(q.shape)}")
    if scale.ndim:
        shape = [1] * q.ndim
        shape[axis] = -1
        scale, zero = scale.reshape(shape), zero.reshape(shape)
    whole = q.astype(np.int64) - zero.astype(np.int64)
    if np.abs(whole).max(initial=0) > 1 << 29 or scale.dtype == np.float64:
        raise TutelageError(f"{called(node)} has integers beyond 29 bits or scales in float64, whose products round")
    return whole * scale.astype(np.float64)


def called(node: Any) -> str:
    return f"the operator {node.op_type}" + (f" ({node.name})" if node.name else "")


def attributes(node: Any) -> dict[str, Any]:
    from onnx import helper

    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def not_linear(what: str) -> str:
    """The sentence for what has no linear pieces, with what can be asked instead."""
    return (
        f"{what} is not piecewise linear: distil the model into students with relu units, or give the part of it "
        "before this layer"
    )


def _check_model(model: Any, path: Path) -> None:
    if model.functions:
        raise TutelageError(
            f"{path} defines the local function {model.functions[0].name}: export the model with it inlined"
        )
    versions = [o.version for o in model.opset_import if o.domain in ("", "ai.onnx")]
    if len(model.graph.node) > MOST_NODES:
        raise TutelageError(f"{path} has {len(model.graph.node):,} operators, and at most {MOST_NODES:,} are allowed")
    if len(versions) != 1 or versions[0] < OLDEST:
        met = ", ".join(map(str, versions)) or "none"
        raise TutelageError(f"{path} must use one opset of ONNX, {OLDEST} or later, got {met}: export it again")


def _check_names(graph: Any) -> None:
    """Every name is given once, and before it is used."""
    given = [tensor.name for tensor in graph.initializer]
    for initial in given, [i.name for i in graph.input]:
        _distinct(initial)
    known = {*given, *(i.name for i in graph.input)}
    _distinct(chain(known, (name for node in graph.node for name in node.output if name)))
    known |= {node.output[0] for node in graph.node if node.op_type == "Constant"}
    for node in graph.node:
        for name in node.input:
            if name and name not in known:
                raise TutelageError(
                    f"{called(node)} takes '{name}', which nothing before it gives: the file is damaged"
                )
        known |= set(node.output)


def _distinct(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen or not name:
            raise TutelageError(f"the ONNX file defines the name '{name}' twice or not at all: the file is damaged")
        seen.add(name)


def _array(name: str, tensor: Any, folder: Path) -> np.ndarray:
    from onnx import TensorProto, numpy_helper

    if min(tensor.dims, default=1) < 1:
        raise TutelageError(f"the array {name} of the ONNX file has shape {list(tensor.dims)}: sizes must be positive")
    if tensor.HasField("segment"):
        raise TutelageError(f"the array {name} of the ONNX file is stored in segments: save the model again")
    if tensor.data_location == TensorProto.EXTERNAL:
        tensor.raw_data = _external(name, tensor, folder)
        tensor.data_location = TensorProto.DEFAULT
    try:
        return np.array(numpy_helper.to_array(tensor))
    except (ValueError, TypeError, KeyError, OverflowError, MemoryError) as error:
        raise TutelageError(f"the array {name} of the ONNX file cannot be read ({first_line(error)})") from None


def _external(name: str, tensor: Any, folder: Path) -> bytes:
    """The bytes of a tensor kept in another file of the model's folder; a file outside of it is never read."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    where = Path(location)
    if not location or "\0" in location or where.is_absolute() or ".." in where.parts:
        raise TutelageError(
            f"the array {name} lies in '{location}': external data must lie in the folder of the ONNX file"
        )
    try:
        path = (folder / where).resolve(strict=True)
        inside, size = path.is_relative_to(folder.resolve()), path.stat().st_size
        offset = int(entries.get("offset", "0"))
        length = int(entries.get("length", str(size - offset)))
    except (OSError, RuntimeError):
        raise TutelageError(
            f"the array {name} lies in {folder / where}, which is missing: copy it beside the model"
        ) from None
    except ValueError:
        raise TutelageError(f"the offset or length of the external array {name} is not a whole number") from None
    if not inside or not path.is_file():
        raise TutelageError(
            f"the array {name} lies in {path}: external data must be a file in the folder of the ONNX file"
        )
    if offset < 0 or length < 0 or offset + length > size:
        raise TutelageError(f"the array {name} is {length:,} bytes at {offset:,} of {path}, which has {size:,} bytes")
    if length > LARGEST:
        raise TutelageError(f"the array {name} of the ONNX file exceeds {LARGEST >> 30} GiB: take a smaller model")
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(length)


def first_line(error: Exception) -> str:
    """The first line of an error of another library, short."""
    return str(error).split("\n", 1)[0][:200]
