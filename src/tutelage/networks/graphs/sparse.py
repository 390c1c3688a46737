"""Networks whose layers are sparse matrices: convolutions that would be too large as dense ones."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks.graphs.axes import times_matrix
from tutelage.networks.graphs.lowering import Lowered, SparseLayer, lowered
from tutelage.networks.graphs.values import Value, bent, in_order, start
from tutelage.networks.network import Network

DENSE = 1 << 24
"""The most weights of a layer of a :class:`Network` that is written out as a matrix."""


@dataclass(frozen=True, eq=False, repr=False)
class SparseNetwork:
    """One piecewise linear network with sparse layers, for bounds and searches.

    Parameters
    ----------
    layers
        From below: weights [out, in] as sparse float64 matrices, biases [out], and by how much quantisation may move a
        pre-activation [out].
    left
        Slope of all hidden units below 0.
    dtype
        Precision of the stored weights.
    graph
        The output value of the graph that it was made from.

    Examples
    --------
    >>> from tutelage.networks.graphs.values import bent, start
    >>> SparseNetwork.of(bent(start((3,)), 0.0), torch.float32).widths
    (3, 3, 3)
    """

    layers: tuple[SparseLayer, ...]
    left: float
    dtype: torch.dtype
    graph: Value

    @classmethod
    def of(cls, graph: Value, dtype: torch.dtype) -> "SparseNetwork":
        """The network of a graph."""
        low: Lowered = lowered(graph)
        if not all(np.isfinite(a).all() for layer in low.layers for a in (layer.w.data, layer.b, layer.slack)):
            raise TutelageError("the layers of the model multiply to numbers that are not finite: scale its weights")
        return cls(low.layers, low.left, dtype, graph)

    @classmethod
    def of_network(cls, network: Network) -> "SparseNetwork":
        """A network of one member with dense layers and relu, leaky, abs or linear units."""
        kinds = {"relu": 0.0, "abs": -1.0, "linear": 1.0, "leaky": network.slope}
        if network.activation not in kinds or network.members != 1:
            raise TutelageError(
                f"a network with {network.activation} units and {network.members} members has no sparse form: "
                "choose one member with relu, leaky, abs or linear units"
            )
        value = start((network.inputs,))
        for layer, w in enumerate(network.weights):
            b = None if network.biases is None else network.biases[layer][0].detach().cpu().double().numpy()
            value = times_matrix(value, w[0].detach().cpu().double().numpy(), b, f"layer {layer + 1}")
            if layer < network.depth - 1:
                value = bent(value, kinds[network.activation], f"layer {layer + 1}")
        return cls.of(value, network.dtype)

    @property
    def activation(self) -> str:
        """Name of the activation of all hidden units."""
        return {0.0: "relu", -1.0: "abs", 1.0: "linear"}.get(self.left, "leaky")

    def __repr__(self) -> str:
        return f"SparseNetwork(widths {'-'.join(map(str, self.widths))}, {self.weights:,} weights)"

    @property
    def widths(self) -> tuple[int, ...]:
        """Input width, hidden widths, output width."""
        return (self.layers[0].w.shape[1], *(layer.w.shape[0] for layer in self.layers))

    @property
    def members(self) -> int:
        """One, as of a stack of one."""
        return 1

    @property
    def inputs(self) -> int:
        return self.widths[0]

    @property
    def outputs(self) -> int:
        return self.widths[-1]

    @property
    def weights(self) -> int:
        """Number of weights that are stored, each of a convolution once per pixel."""
        return sum(layer.w.nnz for layer in self.layers)

    @property
    def quantised(self) -> bool:
        """Whether values are rounded to steps between the layers."""
        return any(value.step is not None for value in in_order(self.graph))

    @property
    def dense(self) -> bool:
        """Whether it can be written as a :class:`Network`."""
        return not self.quantised and all(layer.w.shape[0] * layer.w.shape[1] <= DENSE for layer in self.layers)

    def to_network(self) -> Network:
        """The same network with dense layers, in the precision of its weights."""
        if self.quantised:
            raise TutelageError(
                "the network rounds values to steps between its layers: compare and check bound such networks, "
                "nothing else does"
            )
        if not self.dense:
            size = max(layer.w.shape[0] * layer.w.shape[1] for layer in self.layers)
            raise TutelageError(
                f"a layer of the network written out as a matrix has {size:,} weights, and at most {DENSE:,} are "
                "allowed: take a model of smaller images; compare and check need no such matrices"
            )
        weights = tuple(torch.from_numpy(layer.w.toarray().T.copy()).to(self.dtype)[None] for layer in self.layers)
        biases = tuple(torch.from_numpy(layer.b).to(self.dtype)[None] for layer in self.layers)
        if not all(bool(a.isfinite().all()) for a in (*weights, *biases)):
            raise TutelageError(
                f"the layers of the model multiply to numbers beyond {self.dtype}: scale its weights down"
            )
        kinds = {0.0: "relu", -1.0: "abs", 1.0: "linear"}
        if len(weights) == 1:
            return Network(weights, biases, "linear")
        if self.left in kinds:
            return Network(weights, biases, kinds[self.left])
        return Network(weights, biases, "leaky", self.left)

    def at(self, points: Tensor) -> Tensor:
        """Outputs [N, C] in float64 at points [N, d]; values are rounded to steps where the network does so."""
        values: dict[int, np.ndarray] = {}
        order = in_order(self.graph)
        last = {id(source): number for number, value in enumerate(order) for source, _ in value.terms}
        for number, value in enumerate(order):
            values[id(value)] = _computed(value, values, points)
            for source, _ in value.terms:
                if last[id(source)] == number:
                    values.pop(id(source), None)
        return torch.from_numpy(np.ascontiguousarray(values[id(self.graph)].T))


def _computed(value: Value, values: dict[int, np.ndarray], points: Tensor) -> np.ndarray:
    """A value [size, N] from those it is made of."""
    if not value.terms:
        return np.ascontiguousarray(points.detach().to("cpu", torch.float64).numpy().T)
    result: np.ndarray | None = None
    for source, by in value.terms:
        part = values[id(source)] if by is None else by @ values[id(source)]
        result = part if result is None else result + part
    assert result is not None
    if value.left is not None:
        return np.where(result > 0, result, value.left[:, None] * result)
    if value.shift is not None:
        result = result + value.shift[:, None]
    if value.step is not None:
        step = value.step[:, None]
        result = np.where(step > 0, np.rint(result / np.where(step > 0, step, 1.0)) * step, result)
    return result
