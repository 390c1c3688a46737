"""Networks whose layers are sparse matrices: convolutions that would be too large as dense ones."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks.activations import SLOPE, gate, piecewise_linear
from tutelage.networks.graphs.axes import times_matrix
from tutelage.networks.graphs.lowering import Lowered, SparseLayer, lowered
from tutelage.networks.graphs.merging import merging_error
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
    exact
        Whether its layers are those of the graph without rounding.

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
    exact: bool

    @classmethod
    def of(cls, graph: Value, dtype: torch.dtype) -> "SparseNetwork":
        """The network of a graph."""
        low: Lowered = lowered(graph)
        if not all(np.isfinite(a).all() for layer in low.layers for a in (layer.w.data, layer.b, layer.slack)):
            raise TutelageError("the layers of the model multiply to numbers that are not finite: scale its weights")
        return cls(low.layers, low.left, dtype, graph, low.exact)

    @classmethod
    def of_network(cls, network: Network) -> "SparseNetwork":
        """A network of one member with dense layers and piecewise linear units."""
        if isinstance(network, MergedNetwork) and network.source is not None:
            return network.source
        if network.activation not in piecewise_linear() or network.members != 1:
            raise TutelageError(
                f"a network with {network.activation} units and {network.members} members has no sparse form: "
                f"choose one member with units of one of {', '.join(piecewise_linear())}"
            )
        left = gate(network.activation, torch.tensor(-1.0, dtype=torch.float64), network.slope).item()
        value = start((network.inputs,))
        for layer, w in enumerate(network.weights):
            b = None if network.biases is None else network.biases[layer][0].detach().cpu().double().numpy()
            value = times_matrix(value, w[0].detach().cpu().double().numpy(), b, f"layer {layer + 1}")
            if layer < network.depth - 1:
                value = bent(value, left, f"layer {layer + 1}")
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
        sizes = [layer.w.shape[0] * layer.w.shape[1] for layer in self.layers]
        return not self.quantised and max(sizes) <= DENSE and sum(sizes) <= 8 * DENSE

    def error(self, low: Tensor, high: Tensor) -> Tensor:
        """How far merging its layers may have moved each output [C] anywhere on a box with ends [d]."""
        if self.exact:
            return torch.zeros(self.outputs, dtype=torch.float64)
        return torch.from_numpy(merging_error(self.graph, low.double().numpy(), high.double().numpy()))

    def to_network(self) -> Network:
        """The same network with dense layers, in the precision of its weights where that holds them, else in float64.

        Layers that were merged in float64 may be rounded: what proves something about the network counts that.
        """
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
        weights = tuple(torch.from_numpy(layer.w.toarray().T.copy())[None] for layer in self.layers)
        biases = tuple(torch.from_numpy(layer.b)[None] for layer in self.layers)
        if not all(bool(a.to(self.dtype).isfinite().all()) for a in (*weights, *biases)):
            raise TutelageError(
                f"the layers of the model multiply to numbers beyond {self.dtype}: scale its weights down"
            )
        kinds = {0.0: "relu", -1.0: "abs", 1.0: "linear"}
        kind = "linear" if len(weights) == 1 else kinds.get(self.left, "leaky")
        slope = self.left if kind == "leaky" else SLOPE
        if self.exact and all(torch.equal(a.to(self.dtype).double(), a) for a in (*weights, *biases)):
            stored = Network(weights, biases, kind, slope)
            return stored.to(dtype=self.dtype)
        return MergedNetwork(weights, biases, kind, slope, self, (*weights, *biases))

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


@dataclass(frozen=True, eq=False, repr=False)
class MergedNetwork(Network):
    """A network whose layers are those of a graph merged in float64: it may be off by their rounding.

    Parameters
    ----------
    weights, biases, activation, slope
        As of any network.
    merged
        The network with sparse layers that it was made from.
    of
        The arrays that were made from it; a network with other arrays is an exact function of its own numbers.
    """

    merged: SparseNetwork | None = field(default=None, repr=False)
    of: tuple[Tensor, ...] = field(default=(), repr=False)

    def __getitem__(self, members: int | slice | Sequence[int] | Tensor) -> Network:
        chosen = super().__getitem__(members)
        return self if chosen.members == 1 else chosen  # its only member

    @property
    def source(self) -> SparseNetwork | None:
        """The network that it stands for, as long as its arrays are those that were made from it."""
        same = len(self.of) == len(self.parameters) and all(
            a is b for a, b in zip(self.parameters, self.of, strict=True)
        )
        return self.merged if same else None


def stored_precision(network: Network) -> torch.dtype:
    """The precision of the weights as they are stored, which those of merged layers are not."""
    source = network.source if isinstance(network, MergedNetwork) else None
    return network.dtype if source is None else source.dtype


def reading_error(network: object, low: Tensor, high: Tensor) -> Tensor:
    """How far a network may be from the one it was read from, for each output [C] anywhere on a box with ends [d]."""
    if isinstance(network, MergedNetwork) and network.source is not None:
        network = network.source
    if isinstance(network, SparseNetwork):
        return network.error(low, high)
    assert isinstance(network, Network)
    return torch.zeros(network.outputs, dtype=torch.float64)


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
