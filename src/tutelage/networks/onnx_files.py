"""Networks from ONNX files: one chain of affine layers and ReLU or LeakyReLU, convolutions written out as matrices."""

from dataclasses import dataclass, field
from math import isfinite, prod
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks._onnx_images import average, convolution, normalisation, rearranged
from tutelage.networks.network import Network
from tutelage.networks.onnx_model import attributes, called, constants, read_model
from tutelage.settings import one_line

_LAST = ("Softmax", "LogSoftmax", "Sigmoid")  # keep the top class
DENSE = 1 << 24
"""The most weights of a convolution written out as a matrix."""


@dataclass
class _Chain:
    """What was read so far: finished layers (W, b), the affine map since the last activation, the shape of a sample.

    batch: the number of samples where the file fixes it; plain: whether there is no axis for samples; precisions: of
    the weights met.
    """

    shape: tuple[int, ...] | None
    batch: int | None = None
    layers: list[tuple[Tensor, Tensor]] = field(default_factory=list)
    affine: tuple[Tensor, Tensor] | None = None
    kinds: list[tuple[str, float]] = field(default_factory=list)
    precisions: set[str] = field(default_factory=set)
    plain: bool = False

    @property
    def most(self) -> int:
        return DENSE

    def known(self, node: Any) -> tuple[int, ...]:
        if self.shape is None:
            raise TutelageError(
                f"{called(node)} needs the shape of the input: export the model with a fixed input shape"
            )
        return self.shape

    def then(self, w: Tensor, b: Tensor, shape: tuple[int, ...]) -> None:
        """One more affine map, x -> x W + b, on flattened samples."""
        if self.affine is not None:
            lower, offset = self.affine
            if len(lower) * w.shape[1] > max(DENSE, lower.numel(), w.numel()):
                raise TutelageError(_too_large("the product of affine layers", len(lower) * w.shape[1]))
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
            raise TutelageError(_too_large(called(node), size))

    def activated(self, kind: str, slope: float, node: Any) -> None:
        if self.affine is None:
            self.affine = _identity(prod(self.known(node)))
        self.layers.append(self.affine)
        self.affine = None
        self.kinds.append((kind, slope))


def _identity(width: int) -> tuple[Tensor, Tensor]:
    if width**2 > DENSE:
        raise TutelageError(_too_large("an activation without weights before it", width**2))
    return torch.eye(width, dtype=torch.float64), torch.zeros(width, dtype=torch.float64)


def _too_large(what: str, size: int) -> str:
    return (
        f"{what} written out as a matrix has {size:,} weights, and at most {DENSE:,} are allowed: "
        "take a model of smaller images"
    )


def load_onnx(path: str | Path, logits: bool = False) -> Network:
    """Read a network from an ONNX file.

    Parameters
    ----------
    path
        The file; weights stored outside it are read from its folder. Supported operators: Gemm, MatMul and Add with
        constants in either order, Sub, Mul and Div by constants, Relu, LeakyRelu, PRelu of one slope, Abs, Conv (2-D),
        AveragePool, GlobalAveragePool, BatchNormalization, Flatten, Reshape, Transpose, Squeeze, Unsqueeze, Dropout,
        Identity, and DequantizeLinear of constant weights. Affine layers that follow one another are merged.
    logits
        Leave out a Softmax, LogSoftmax or Sigmoid at the end, which do not change the top class.

    Returns
    -------
    Network
        One member, in float64 if the weights are, else in float32.

    Raises
    ------
    TutelageError
        For any other operator, with its name.
    """
    try:
        return _load(Path(path), logits)
    except TutelageError as error:  # names in a file may hold anything
        raise TutelageError(one_line(str(error))) from None


def _load(path: Path, logits: bool) -> Network:
    graph = read_model(path).graph
    arrays = constants(graph, path.parent)
    inputs = [i for i in graph.input if i.name not in arrays]
    if len(inputs) != 1 or len(graph.output) != 1:
        raise TutelageError(f"{path} has {len(inputs)} inputs and {len(graph.output)} outputs: one of each is wanted")
    chain = _begin(inputs[0])
    here = inputs[0].name
    for node in graph.node:
        if node.op_type in ("Constant", "DequantizeLinear"):
            continue
        if node.op_type in _LAST:
            if not logits or node is not graph.node[-1]:
                raise TutelageError(
                    f"{called(node)} is not piecewise linear: leave it out of the export, or where it is the last "
                    "operator read what goes into it, with logits=True or --logits"
                )
            here = graph.output[0].name
            continue
        moving = [name for name in node.input if name and name not in arrays]
        if moving != [here]:
            raise TutelageError(_refused(node, moving, here))
        _read(chain, node, [arrays.get(name) for name in node.input])
        here = node.output[0]
    if here != graph.output[0].name:
        raise TutelageError(
            f"{path} ends in {here} and its output is {graph.output[0].name}: one chain of layers is wanted"
        )
    return _network(chain)


def _begin(value: Any) -> _Chain:
    """The chain before its first operator; the first axis of the input is the sample."""
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
    if len(dims) == 1 and dims[0]:  # one sample without an axis for samples
        return _Chain((dims[0],), plain=True)
    if not all(dims[1:]) or len(dims) < 2:
        if len(dims) > 2:
            raise TutelageError(
                f"the input {value.name} has axes of unknown size: export the model with a fixed input shape"
            )
        return _Chain(None)
    return _Chain(tuple(dims[1:]), dims[0] or None)


def _refused(node: Any, moving: list[str], here: str) -> str:
    if len(moving) > 1:
        return f"{called(node)} joins two branches: only one chain of layers is understood"
    return f"{called(node)} does not go on from the layer before it ({here}): only one chain of layers is understood"


def _read(chain: _Chain, node: Any, given: list[np.ndarray | None]) -> None:
    """Take one operator into the chain."""
    if given[0] is not None and node.op_type not in ("Add", "Sub", "MatMul", "Mul"):
        raise TutelageError(f"{called(node)} is applied to a constant: its first input must be the layer before it")
    how = attributes(node)
    match node.op_type:
        case "Gemm" | "MatMul":
            _matrix(chain, node, _weights(chain, node, given), how)
        case "Add" | "Sub":
            _shift(chain, node, _weights(chain, node, given))
        case "Mul" | "Div":
            _scale(chain, node, _weights(chain, node, given))
        case "Relu":
            chain.activated("relu", 0.01, node)
        case "Abs":
            chain.activated("abs", 0.01, node)
        case "PRelu":
            _prelu(chain, node, _weights(chain, node, given)[1])
        case "AveragePool" | "GlobalAveragePool":
            average(chain, node, how)
        case "Transpose" | "Squeeze" | "Unsqueeze":
            rearranged(chain, node, given, how)
        case "LeakyRelu":
            chain.activated("leaky", float(how.get("alpha", 0.01)), node)
        case "Conv":
            convolution(chain, node, _weights(chain, node, given), how)
        case "BatchNormalization":
            normalisation(chain, node, _weights(chain, node, given), how)
        case "Flatten":
            _flatten(chain, node, how)
        case "Reshape":
            _reshape(chain, node, given[1], how)
        case "Dropout":
            if len(given) > 2 and given[2] is not None and np.any(given[2]):
                raise TutelageError(f"{called(node)} is in training mode: export the model for inference")


def _weights(chain: _Chain, node: Any, given: list[np.ndarray | None]) -> list[Tensor | None]:
    """The constants of an operator in float64; anything but real floating-point numbers is an error."""
    for a in given:
        if a is not None:
            if a.dtype.name not in ("float16", "bfloat16", "float32", "float64"):
                raise TutelageError(
                    f"{called(node)} has weights of type {a.dtype.name}: float16 to float64 are understood"
                )
            chain.precisions.add(a.dtype.name)
            with np.errstate(invalid="ignore"):
                if not np.isfinite(a.astype(np.float64)).all():
                    raise TutelageError(f"{called(node)} has weights that are not finite: the model has diverged")
    return [None if a is None else torch.from_numpy(a.astype(np.float64)) for a in given]


def _matrix(chain: _Chain, node: Any, arrays: list[Tensor | None], how: dict[str, Any]) -> None:
    if arrays[0] is not None:
        _matrix_on_the_left(chain, node, arrays[0])
        return
    w = arrays[1]
    if w is None or w.ndim != 2 or how.get("transA", 0):
        raise TutelageError(f"{called(node)} is not a sample times a constant matrix: only that is understood")
    if chain.shape is not None and len(chain.shape) > 1:
        raise TutelageError(f"{called(node)} multiplies an unflattened sample: put a Flatten before it")
    w = how.get("alpha", 1.0) * (w.T if how.get("transB", 0) else w)
    b = arrays[2] if len(arrays) > 2 and arrays[2] is not None else torch.zeros(w.shape[1], dtype=torch.float64)
    if chain.shape is not None and chain.shape[0] != len(w):
        raise TutelageError(f"{called(node)} takes {len(w)} numbers and is given {chain.shape[0]}")
    chain.then(w, how.get("beta", 1.0) * _broadcast(b, (w.shape[1],), node), (w.shape[1],))


def _matrix_on_the_left(chain: _Chain, node: Any, w: Tensor) -> None:
    """A constant matrix times a sample that is one column: of shape [n] without an axis for samples, or [n, 1]."""
    shape = chain.known(node)
    column = shape[1:] == (1,) or (chain.plain and len(shape) == 1)
    if w.ndim != 2 or not column or shape[0] != w.shape[1]:
        raise TutelageError(
            f"{called(node)} multiplies a matrix of shape {list(w.shape)} by samples of shape {list(shape)}: "
            "only one column of as many numbers is understood"
        )
    chain.then(w.T, torch.zeros(len(w), dtype=torch.float64), (len(w), *shape[1:]))


def _broadcast(b: Tensor, shape: tuple[int, ...], node: Any) -> Tensor:
    """A constant, the same for every sample, as one flat row of a sample's numbers."""
    met = list(b.shape)
    if b.ndim == len(shape) + 1 and len(b) == 1:
        b = b[0]
    sizes = zip(reversed(b.shape), reversed(shape), strict=False)
    if b.ndim > len(shape) or any(own not in (1, wanted) for own, wanted in sizes):
        raise TutelageError(
            f"{called(node)} adds an array of shape {met} to samples of shape {list(shape)}: it does not fit"
        )
    return b.expand(shape).reshape(-1)


def _shift(chain: _Chain, node: Any, arrays: list[Tensor | None]) -> None:
    left, right = arrays
    b = right if left is None else left
    assert b is not None
    turned = node.op_type == "Sub" and right is None  # a constant minus a layer
    flat = _broadcast(b, chain.known(node), node)
    ones = torch.ones_like(flat)
    chain.diagonal(-ones if turned else ones, -flat if node.op_type == "Sub" and not turned else flat, node)


def _scale(chain: _Chain, node: Any, arrays: list[Tensor | None]) -> None:
    left, right = arrays
    by = right if left is None else left
    assert by is not None
    flat = _broadcast(by, chain.known(node), node)
    if node.op_type == "Div":
        if not flat.all():
            raise TutelageError(f"{called(node)} divides by 0")
        flat = 1 / flat
    chain.diagonal(flat, torch.zeros_like(flat), node)


def _prelu(chain: _Chain, node: Any, slope: Tensor | None) -> None:
    if slope is None or len(slope.unique()) != 1 or not 0 <= slope.flatten()[0] < 1:
        raise TutelageError(f"{called(node)} must have one constant slope from 0 to below 1 for all channels")
    chain.activated("leaky", slope.flatten()[0].item(), node)


def _flatten(chain: _Chain, node: Any, how: dict[str, Any]) -> None:
    if how.get("axis", 1) != 1:
        raise TutelageError(
            f"{called(node)} flattens from axis {how['axis']}: only axis 1, one row per sample, is understood"
        )
    chain.shape = (prod(chain.known(node)),)


def _reshape(chain: _Chain, node: Any, wanted: np.ndarray | None, how: dict[str, Any]) -> None:
    """A Reshape to [samples, numbers of a sample], and no other."""
    width = prod(chain.known(node))
    if wanted is not None and wanted.dtype == np.int64 and wanted.shape == (2,):
        rows, columns = (int(n) for n in wanted)
        kept = rows == chain.batch or (rows == 0 and not how.get("allowzero", 0))
        if (columns == width and (kept or rows == -1)) or (columns == -1 and kept):
            chain.shape = (width,)
            return
    raise TutelageError(f"{called(node)} does not make one row per sample: only that is understood")


def _network(chain: _Chain) -> Network:
    if chain.affine is None:  # the top layer of a network has no activation: one that hands on is put above it
        width = prod(chain.shape or ()) if chain.layers else 0
        if not width:
            raise TutelageError("the ONNX file has no layers of weights")
        chain.affine = _identity(width)
    if len(set(chain.kinds)) > 1:
        kinds = ", ".join(sorted(f"{kind} (slope {slope:g})" for kind, slope in set(chain.kinds)))
        raise TutelageError(f"the ONNX file mixes activations ({kinds}): a network here has one throughout")
    if "float64" in chain.precisions and len(chain.precisions) > 1:
        raise TutelageError(
            f"the ONNX file mixes weights of type {', '.join(sorted(chain.precisions))}: use one throughout"
        )
    kind, slope = chain.kinds[0] if chain.kinds else ("linear", 0.01)
    if not isfinite(slope):
        raise TutelageError(f"the slope of LeakyRelu must lie in [0, 1), got {slope}")
    dtype = torch.float64 if "float64" in chain.precisions else torch.float32
    layers = [(w.to(dtype), b.to(dtype)) for w, b in (*chain.layers, chain.affine)]
    if not all(bool(a.isfinite().all()) for layer in layers for a in layer):
        raise TutelageError(
            "the layers of the ONNX file multiply to numbers that are not finite: scale its weights down"
        )
    weights = tuple(w.unsqueeze(0) for w, _ in layers)
    return Network(weights, tuple(b.unsqueeze(0) for _, b in layers), kind, slope)
