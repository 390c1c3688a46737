"""What a network is: stacked weights and an architecture, nothing else."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, SupportsIndex

import numpy as np
import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks.activations import ACTIVATIONS, SLOPE, check_slope, named
from tutelage.networks.gelus import GELUS
from tutelage.printing import printed

PRECISIONS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
"""Types of the arrays of a network."""


@printed
@dataclass(frozen=True, eq=False)
class Network:
    r"""S fully connected networks of one architecture, stacked.

    The first axis of every array is the member. Layer l maps :math:`f_{l-1}` to :math:`f_l = \sigma(f_{l-1} W_l +
    b_l)`; the top layer has no activation (Tian 2020, section 3). Layers are numbered from 1 as in the papers, so layer
    l uses ``weights[l - 1]``; units are numbered from 0.

    Parameters
    ----------
    weights
        One array [S, in, out] per layer, of torch or NumPy.
    biases
        One array [S, out] per layer, or None for networks without biases.
    activation
        Name of an activation (``tutelage.networks.ACTIVATIONS``: "relu", "leaky", "abs", "linear", "erf", "tanh", ...),
        or a function of a tensor, which is registered under its name.
    slope
        Slope of "leaky" below 0; another value than the default is an error beside other activations.

    Examples
    --------
    >>> net = Network((torch.ones(3, 2, 4), torch.ones(3, 4, 1)))
    >>> net.members, net.widths
    (3, (2, 4, 1))
    """

    weights: tuple[Tensor, ...]
    biases: tuple[Tensor, ...] | None = None
    activation: str = "relu"
    slope: float = SLOPE

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", tuple(map(_tensor, self.weights)))
        if self.biases is not None:
            object.__setattr__(self, "biases", tuple(map(_tensor, self.biases)))
        object.__setattr__(self, "activation", named(self.activation))
        _check(self)

    def _title(self) -> str:
        kind = f"leaky (slope {self.slope:g})" if self.activation == "leaky" else self.activation
        precision = str(self.dtype).removeprefix("torch.")
        count = f"{self.members} member{'s' if self.members != 1 else ''}"
        return f"{count}, widths {'-'.join(map(str, self.widths))}, {kind}, {precision} on {self.device}"

    @property
    def members(self) -> int:
        return self.weights[0].shape[0]

    @property
    def depth(self) -> int:
        """Number of weight layers L; a two-layer network has one hidden layer."""
        return len(self.weights)

    @property
    def widths(self) -> tuple[int, ...]:
        """Input width, hidden widths, output width: (n_0, ..., n_L)."""
        return (self.weights[0].shape[1], *(w.shape[2] for w in self.weights))

    @property
    def inputs(self) -> int:
        return self.widths[0]

    @property
    def outputs(self) -> int:
        return self.widths[-1]

    @property
    def dtype(self) -> torch.dtype:
        return self.weights[0].dtype

    @property
    def device(self) -> torch.device:
        return self.weights[0].device

    @property
    def parameters(self) -> tuple[Tensor, ...]:
        """All arrays: weights, then biases."""
        return self.weights + (self.biases or ())

    def map(self, function) -> "Network":
        """The network whose every array is ``function`` of this one's, taken in the order of ``parameters``."""
        weights = tuple(function(w) for w in self.weights)
        biases = None if self.biases is None else tuple(function(b) for b in self.biases)
        return replace(self, weights=weights, biases=biases)

    def to(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> "Network":
        """The same networks on another device or in another precision."""
        return self.map(lambda a: a.to(device=device, dtype=dtype))

    def expand(self, members: int) -> "Network":
        """A single network as ``members`` members that share its weights."""
        if self.members not in (1, members):
            raise ValueError(f"a network of {self.members} members cannot be expanded to {members}")
        return self.map(lambda a: a.expand(members, *a.shape[1:]))

    def __getitem__(self, members: int | slice | Sequence[int] | Tensor) -> "Network":
        """The chosen members, as a stack: ``net[3]``, ``net[:8]``, ``net[[0, 5]]``."""
        if isinstance(members, SupportsIndex) and getattr(members, "ndim", 0) == 0:
            member = operator.index(members)
            if not -self.members <= member < self.members:
                raise IndexError(f"member {member} of a network with {self.members} members")
            members = [member]
        return self.map(lambda a: a[members])


def concatenate(networks: Sequence[Network]) -> Network:
    """Join stacks of one architecture along the member axis.

    Parameters
    ----------
    networks
        At least one stack; all with the same widths, activation, precision and use of biases.

    Returns
    -------
    Network
        All members in the given order.

    Examples
    --------
    >>> one, two = (Network((torch.ones(s, 3, 4), torch.ones(s, 4, 1))) for s in (1, 2))
    >>> concatenate([one, two]).members
    3
    """
    if not networks:
        raise TutelageError("there is nothing to concatenate: give at least one network")
    first = networks[0]
    for other in networks[1:]:
        if _architecture(other) != _architecture(first):
            kinds = f"{_architecture(first)} and {_architecture(other)}"
            raise TutelageError(f"networks of different architecture cannot be stacked: {kinds}")
    weights = tuple(torch.cat(layers) for layers in zip(*(n.weights for n in networks), strict=True))
    biases = None
    if first.biases is not None:
        biases = tuple(torch.cat(layers) for layers in zip(*(n.biases or () for n in networks), strict=True))
    return replace(first, weights=weights, biases=biases)


def _tensor(array: Any) -> Tensor:
    """An array of NumPy as a tensor with a memory of its own, anything else as it is."""
    return torch.tensor(array) if isinstance(array, np.ndarray) else array


def _architecture(network: Network) -> tuple:
    """What two networks must share to be stacked."""
    biases = "without biases" if network.biases is None else "with biases"
    return network.widths, network.activation, network.slope, biases, str(network.dtype)


def _check(network: Network) -> None:
    """Reject arrays that do not fit together, naming the layer, what was met and what was wanted."""
    if network.activation not in (*ACTIVATIONS, *GELUS):
        raise TutelageError(f"unknown activation '{network.activation}': choose one of {', '.join(ACTIVATIONS)}")
    if not 0 <= network.slope < 1:
        raise TutelageError(f"slope must be at least 0 and below 1, got {network.slope}")
    check_slope(network.activation, network.slope)
    if not network.weights:
        raise TutelageError("a network needs at least one layer of weights")
    if network.weights[0].ndim != 3:
        shape = list(network.weights[0].shape)
        raise TutelageError(f"the weights of layer 1 must have shape [members, in, out], got {shape}")
    members, width = network.weights[0].shape[:2]
    for layer, w in enumerate(network.weights, start=1):
        if w.ndim != 3 or w.shape[0] != members or w.shape[1] != width:
            raise TutelageError(
                f"the weights of layer {layer} must have shape [{members}, {width}, out], got {list(w.shape)}"
            )
        width = w.shape[2]
    if len({(a.dtype, a.device) for a in network.parameters}) > 1:
        met = ", ".join(sorted({f"{a.dtype} on {a.device}" for a in network.parameters}))
        raise TutelageError(
            f"the arrays of a network must have one precision on one device, got {met}: convert them with .to(...)"
        )
    if network.dtype not in PRECISIONS:
        kinds = ", ".join(str(kind).removeprefix("torch.") for kind in PRECISIONS)
        raise TutelageError(
            f"the arrays of a network must be of type {kinds}, got {str(network.dtype).removeprefix('torch.')}"
        )
    if network.biases is None:
        return
    if len(network.biases) != len(network.weights):
        raise TutelageError(
            f"biases must have one array for each of {len(network.weights)} layers, got {len(network.biases)}"
        )
    for layer, (w, b) in enumerate(zip(network.weights, network.biases, strict=True), start=1):
        if b.shape != (members, w.shape[2]):
            raise TutelageError(
                f"the bias of layer {layer} must have shape [{members}, {w.shape[2]}], got {list(b.shape)}"
            )
