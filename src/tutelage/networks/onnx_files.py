"""Networks from ONNX files: one chain of affine layers and ReLU or LeakyReLU, convolutions written out as matrices."""

from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import conv2d, pad

from tutelage.errors import Refusal
from tutelage.networks.network import Network

DENSE = 1 << 24
"""The most weights of a convolution written out as a matrix."""
KNOWN = (
    "Gemm", "MatMul", "Add", "Sub", "Relu", "LeakyRelu", "Conv", "BatchNormalization", "Flatten", "Reshape",
    "Identity", "Dropout", "Constant",
)  # fmt: skip
"""Operators that are understood."""


@dataclass
class _Chain:
    """What was read so far: finished layers (W, b), the affine map since the last activation, the shape of a sample."""

    shape: tuple[int, ...] | None
    layers: list[tuple[Tensor, Tensor]] = field(default_factory=list)
    affine: tuple[Tensor, Tensor] | None = None
    kinds: list[tuple[str, float]] = field(default_factory=list)

    def known(self, node: Any) -> tuple[int, ...]:
        if self.shape is None:
            raise Refusal(f"{_called(node)} needs the shape of the input: export the model with a fixed input shape")
        return self.shape

    def then(self, w: Tensor, b: Tensor, shape: tuple[int, ...]) -> None:
        """One more affine map, x -> x W + b, on flattened samples."""
        if self.affine is not None:
            lower, offset = self.affine
            w, b = lower @ w, offset @ w + b
        self.affine, self.shape = (w, b), shape

    def diagonal(self, scale: Tensor, shift: Tensor, node: Any) -> None:
        """A scale and a shift of every number of a sample."""
        shape = self.known(node)
        if self.affine is None:
            self.fits(prod(shape) ** 2, node)
            self.affine = torch.diag(scale), shift
        else:
            self.affine = self.affine[0] * scale, self.affine[1] * scale + shift

    def fits(self, size: int, node: Any) -> None:
        if size > DENSE:
            raise Refusal(
                f"{_called(node)} written out as a matrix has {size:,} weights, and at most {DENSE:,} are allowed: "
                "take a model of smaller images"
            )

    def activated(self, kind: str, slope: float, node: Any) -> None:
        if self.affine is None:
            shape = self.known(node)
            self.fits(prod(shape) ** 2, node)
            self.affine = torch.eye(prod(shape), dtype=torch.float64), torch.zeros(prod(shape), dtype=torch.float64)
        self.layers.append(self.affine)
        self.affine = None
        self.kinds.append((kind, slope))


def load_onnx(path: str | Path) -> Network:
    """The network of an ONNX file, one member, in the precision of its weights.

    Understood: Gemm, MatMul and Add with constants, Relu or LeakyRelu, Conv (2-D), BatchNormalization, Flatten; affine
    layers that follow one another become one. Anything else is refused by name.
    """
    model = _model(Path(path))
    graph = model.graph
    constants = _constants(graph)
    inputs = [i for i in graph.input if i.name not in constants]
    if len(inputs) != 1 or len(graph.output) != 1:
        raise Refusal(f"{path} has {len(inputs)} inputs and {len(graph.output)} outputs: one of each is wanted")
    sizes = [d.dim_value for d in inputs[0].type.tensor_type.shape.dim][1:]
    chain = _Chain(tuple(sizes) if sizes and all(s > 0 for s in sizes) else None)
    here = inputs[0].name
    for node in graph.node:
        if node.op_type == "Constant":
            continue
        moving = [name for name in node.input if name and name not in constants]
        if node.op_type not in KNOWN or moving != [here]:
            raise Refusal(_refused(node, moving, here))
        _read(chain, node, [constants.get(name) for name in node.input])
        here = node.output[0]
    if here != graph.output[0].name:
        raise Refusal(f"{path} ends in {here} and its output is {graph.output[0].name}: one chain of layers is wanted")
    return _network(chain, {a.dtype for a in constants.values() if a.dtype.kind == "f"})


def _model(path: Path) -> Any:
    try:
        import onnx
    except ImportError:
        raise Refusal("reading ONNX files needs the package onnx: pip install 'tutelage[onnx]'") from None
    if not path.is_file():
        raise Refusal(f"there is no file {path}")
    try:
        return onnx.load(str(path), load_external_data=False)
    except Exception as error:  # protobuf's own errors have no common base
        raise Refusal(f"{path} is not an ONNX file ({type(error).__name__})") from None


def _constants(graph: Any) -> dict[str, np.ndarray]:
    from onnx import numpy_helper

    tensors = {t.name: t for t in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
            tensors[node.output[0]] = node.attribute[0].t
    try:
        return {name: np.array(numpy_helper.to_array(t)) for name, t in tensors.items()}
    except (ValueError, TypeError) as error:
        raise Refusal(f"the weights of the ONNX file cannot be read ({error}): save them inside the file") from None


def _refused(node: Any, moving: list[str], here: str) -> str:
    if node.op_type not in KNOWN:
        return f"{_called(node)} is not understood: only {', '.join(KNOWN)} are"
    if len(moving) > 1:
        return f"{_called(node)} joins two branches: only one chain of layers is understood"
    return f"{_called(node)} does not go on from the layer before it ({here}): only one chain of layers is understood"


def _called(node: Any) -> str:
    return f"the operator {node.op_type}" + (f" ({node.name})" if node.name else "")


def _attributes(node: Any) -> dict[str, Any]:
    from onnx import helper

    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def _read(chain: _Chain, node: Any, given: list[np.ndarray | None]) -> None:
    """Take one operator into the chain."""
    arrays = [None if a is None else torch.from_numpy(a.astype(np.float64)) for a in given]
    how = _attributes(node)
    match node.op_type:
        case "Gemm" | "MatMul":
            _matrix(chain, node, arrays, how)
        case "Add" | "Sub":
            _shift(chain, node, arrays)
        case "Relu":
            chain.activated("relu", 0.01, node)
        case "LeakyRelu":
            chain.activated("leaky", float(how.get("alpha", 0.01)), node)
        case "Conv":
            _convolution(chain, node, arrays, how)
        case "BatchNormalization":
            _normalisation(chain, node, arrays, how)
        case "Flatten" | "Reshape":
            _flatten(chain, node, arrays, how)


def _matrix(chain: _Chain, node: Any, arrays: list[Tensor | None], how: dict[str, Any]) -> None:
    w = arrays[1]
    if arrays[0] is not None or w is None or w.ndim != 2 or how.get("transA", 0):
        raise Refusal(f"{_called(node)} is not a sample times a constant matrix: only that is understood")
    if chain.shape is not None and len(chain.shape) > 1:
        raise Refusal(f"{_called(node)} multiplies an unflattened sample: put a Flatten before it")
    w = how.get("alpha", 1.0) * (w.T if how.get("transB", 0) else w)
    b = arrays[2] if len(arrays) > 2 and arrays[2] is not None else torch.zeros(w.shape[1], dtype=torch.float64)
    if chain.shape is not None and chain.shape[0] != len(w):
        raise Refusal(f"{_called(node)} takes {len(w)} numbers and is given {chain.shape[0]}")
    chain.then(w, how.get("beta", 1.0) * b.reshape(-1).expand(w.shape[1]), (w.shape[1],))


def _shift(chain: _Chain, node: Any, arrays: list[Tensor | None]) -> None:
    left, right = arrays
    if node.op_type == "Sub" and right is None:
        raise Refusal(f"{_called(node)} subtracts a layer from a constant: only the other way round is understood")
    b = right if left is None else left
    assert b is not None
    shape = chain.known(node)
    if b.ndim > len(shape):
        b = b.reshape(b.shape[b.ndim - len(shape) :])
    sign = -1.0 if node.op_type == "Sub" else 1.0
    flat = sign * b.expand(shape).reshape(-1)
    chain.diagonal(torch.ones_like(flat), flat, node)


def _convolution(chain: _Chain, node: Any, arrays: list[Tensor | None], how: dict[str, Any]) -> None:
    shape, w = chain.known(node), arrays[1]
    if w is None or w.ndim != 4 or len(shape) != 3 or how.get("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID"):
        raise Refusal(f"{_called(node)} is not a 2-D convolution with stated pads: only these are understood")
    top, left, bottom, right = how.get("pads", [0, 0, 0, 0])
    stride, dilation = how.get("strides", [1, 1]), how.get("dilations", [1, 1])
    room = [shape[1] + top + bottom, shape[2] + left + right]
    out = [(r - d * (k - 1) - 1) // s + 1 for r, d, k, s in zip(room, dilation, w.shape[2:], stride, strict=True)]
    chain.fits(prod(shape) * w.shape[0] * prod(out), node)
    pixels = torch.eye(prod(shape), dtype=torch.float64).view(-1, *shape)
    each = conv2d(pad(pixels, (left, right, top, bottom)), w, None, stride, 0, dilation, how.get("group", 1))
    b = arrays[2] if len(arrays) > 2 and arrays[2] is not None else torch.zeros(len(w), dtype=torch.float64)
    after = (int(each.shape[1]), int(each.shape[2]), int(each.shape[3]))
    chain.then(each.flatten(1), b.view(-1, 1, 1).expand(after).reshape(-1), after)


def _normalisation(chain: _Chain, node: Any, arrays: list[Tensor | None], how: dict[str, Any]) -> None:
    shape = chain.known(node)
    gamma, beta, mean, var = (a for a in arrays[1:5] if a is not None)
    scale = gamma * torch.rsqrt(var + how.get("epsilon", 1e-5))
    across = [1] * (len(shape) - 1)
    wide = [a.view(-1, *across).expand(shape).reshape(-1) for a in (scale, beta - mean * scale)]
    chain.diagonal(wide[0], wide[1], node)


def _flatten(chain: _Chain, node: Any, arrays: list[Tensor | None], how: dict[str, Any]) -> None:
    shape = chain.known(node)
    if node.op_type == "Flatten" and how.get("axis", 1) != 1:
        raise Refusal(f"{_called(node)} flattens from axis {how['axis']}: only axis 1, a row a sample, is understood")
    if node.op_type == "Reshape":
        wanted = [] if arrays[1] is None else [int(n) for n in arrays[1].flatten()]
        if len(wanted) != 2 or wanted[1] not in (-1, prod(shape)):
            raise Refusal(f"{_called(node)} does not make one row a sample: only that is understood")
    chain.shape = (prod(shape),)


def _network(chain: _Chain, precisions: set[np.dtype]) -> Network:
    if chain.affine is None:  # the top layer of a network has no activation: one that hands on is put above it
        width = prod(chain.shape or ()) if chain.layers else 0
        if not width:
            raise Refusal("the ONNX file has no layers of weights")
        chain.affine = torch.eye(width, dtype=torch.float64), torch.zeros(width, dtype=torch.float64)
    if len(set(chain.kinds)) > 1:
        kinds = ", ".join(sorted(f"{kind} (slope {slope:g})" for kind, slope in set(chain.kinds)))
        raise Refusal(f"the ONNX file mixes activations ({kinds}): a network here has one throughout")
    kind, slope = chain.kinds[0] if chain.kinds else ("linear", 0.01)
    dtype = torch.float64 if np.dtype(np.float64) in precisions else torch.float32
    layers = [*chain.layers, chain.affine]
    weights = tuple(w.to(dtype).unsqueeze(0) for w, _ in layers)
    return Network(weights, tuple(b.to(dtype).unsqueeze(0) for _, b in layers), kind, slope)
