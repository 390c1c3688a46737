"""Forward pass of stacked networks with every activation and gate."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks.activations import find, gate, value_and_derivative
from tutelage.networks.black_box import BlackBox
from tutelage.networks.network import Network
from tutelage.printing import printed

ROWS = 16
"""Products of a multiple of so many rows start at whole cache lines, and have no rows left over."""
_NUMBERS = 1 << 22  # weights of all members, one copy per batch, that are held at a time


@printed
@dataclass(frozen=True, eq=False)
class Activity:
    """Activations of S networks on N inputs each.

    Attributes
    ----------
    features
        f_l of layers 0 (the input) to L (the output), each [S, N, n_l].
    activation, slope
        As in :class:`Network`.
    signs
        Signs of the hidden pre-activations, stored for "abs" only; other piecewise linear activations let their gates
        be read off the features.
    derivatives
        sigma'(u) of the hidden layers, stored for activations that are not piecewise linear.
    """

    features: tuple[Tensor, ...]
    activation: str
    slope: float
    signs: tuple[Tensor, ...] = ()
    derivatives: tuple[Tensor, ...] = ()

    @property
    def outputs(self) -> Tensor:
        return self.features[-1]

    @cached_property
    def gates(self) -> tuple[Tensor, ...]:
        """z_l [S, N, n_l] of the hidden layers 1 .. L-1, computed when first needed, of piecewise linear units."""
        return self.signs or tuple(gate(self.activation, f, self.slope) for f in self.features[1:-1])

    @property
    def slopes(self) -> tuple[Tensor, ...]:
        """sigma'(u_l) [S, N, n_l] of the hidden layers 1 .. L-1: the gates of piecewise linear units."""
        return self.derivatives or self.gates

    def samples(self, part: slice) -> "Activity":
        """The activity on some of the samples."""
        return replace(
            self,
            features=tuple(f[:, part] for f in self.features),
            signs=tuple(z[:, part] for z in self.signs),
            derivatives=tuple(z[:, part] for z in self.derivatives),
        )


def forward(network: Network | BlackBox, points: Tensor) -> Activity:
    """Evaluate networks and keep the activations of every layer.

    Parameters
    ----------
    network
        S members.
    points
        Inputs [S, N, d], or [N, d] or [1, N, d] for inputs that all members share.

    Returns
    -------
    Activity
        Features of every layer; ``.outputs`` is [S, N, C].

    Examples
    --------
    >>> net = Network((torch.eye(2)[None], torch.ones(1, 2, 1)))
    >>> forward(net, torch.tensor([[1.0, -3.0]])).outputs
    tensor([[[1.]]])
    """
    if isinstance(network, BlackBox):
        points = stacked_points(network, points)
        return Activity((points, network.at(points)), "linear", 0.0)
    features, signs, derivatives = [stacked_points(network, points)], [], []
    smooth = find(network.activation).gate is None
    for layer in range(network.depth):
        u = linear(network, layer, features[-1])
        if layer < network.depth - 1:
            if smooth:
                u, derivative = value_and_derivative(network.activation, u)
                derivatives.append(derivative)
            else:
                if network.activation == "abs":
                    signs.append(torch.sign(u))
                u = activate(network, u)
        features.append(u)
    return Activity(tuple(features), network.activation, network.slope, tuple(signs), tuple(derivatives))


def outputs(network: Network | BlackBox, points: Tensor) -> Tensor:
    """Evaluate networks without keeping the activations of hidden layers.

    Parameters
    ----------
    network
        S members.
    points
        Inputs [S, N, d], or [N, d] or [1, N, d] for inputs that all members share.

    Returns
    -------
    Tensor
        Outputs [S, N, C].

    Examples
    --------
    >>> network = Network((torch.ones(1, 2, 3), torch.ones(1, 3, 1)))
    >>> outputs(network, torch.tensor([[1.0, 1.0], [-1.0, 0.0]]))
    tensor([[[6.],
             [0.]]])
    """
    f = stacked_points(network, points)
    if isinstance(network, BlackBox):
        return network.at(f)
    for layer in range(network.depth):
        f = linear(network, layer, f)
        if layer < network.depth - 1:
            f = activate(network, f)
    return f


def outputs_of_batches(network: Network | BlackBox, batches: Tensor) -> Tensor:
    """Outputs on T batches of every member, [S, T, B, d] -> [S, T, B, C], each batch by itself.

    Libraries round a product of many rows otherwise than one of few, and some also by where it lies in memory. A batch
    of a multiple of ``ROWS`` samples has the same outputs, to the bit, however many are taken at a time.
    """
    members, count, size, inputs = batches.shape
    if isinstance(network, BlackBox):
        return network.at(batches.reshape(members, count * size, inputs)).view(members, count, size, -1)
    weights = sum(w.numel() for w in network.weights)
    parts = []
    for some in batches.split(max(1, _NUMBERS // weights), dim=1):
        repeated = network.map(lambda a, times=some.shape[1]: a.repeat_interleave(times, 0))
        parts.append(outputs(repeated, some.reshape(-1, size, inputs)).view(*some.shape[:3], -1))
    return torch.cat(parts, 1)


def activate(network: Network, u: Tensor) -> Tensor:
    """sigma(u), in place where that saves memory."""
    match network.activation:
        case "relu":
            return u.relu_()
        case "abs":
            return u.abs_()
        case "leaky":
            return torch.nn.functional.leaky_relu(u, network.slope)
        case "linear":
            return u
        case other:
            return find(other).function(u, network.slope)


def linear(network: Network, layer: int, f: Tensor) -> Tensor:
    """f W + b of one layer (counted from 0): [S, N, in] -> [S, N, out]."""
    w = network.weights[layer]
    if not w[:1].is_contiguous():  # a library may round a product by the layout of its factors
        w = w.contiguous()
    if network.biases is None:
        return torch.bmm(f, w)
    return torch.baddbmm(network.biases[layer].unsqueeze(1), f, w)


def stacked_points(network: Network | BlackBox, points: Tensor) -> Tensor:
    """Points as [S, N, d] for this network; an error when the shapes or precisions do not fit."""
    if points.ndim not in (2, 3) or points.shape[-1] != network.inputs:
        images = points.ndim > 2 and points.shape[1:].numel() == network.inputs
        raise TutelageError(
            f"points must have shape [N, {network.inputs}] or [{network.members}, N, {network.inputs}] for this "
            f"network, got {list(points.shape)}{': use points.flatten(1)' if images else ''}"
        )
    if points.ndim == 2:
        points = points.unsqueeze(0)
    if points.dtype != network.dtype:
        raise TutelageError(
            f"points must be {network.dtype} as the network is, got {points.dtype}: convert one with .to(dtype=...)"
        )
    if points.shape[0] not in (1, network.members):
        raise TutelageError(
            f"points [members, N, d] must have {network.members} members, as the network has, or 1, got "
            f"{points.shape[0]}"
        )
    return points.expand(network.members, -1, -1)
