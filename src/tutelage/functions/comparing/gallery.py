"""Pairs of networks that are the same function without being related by permutation and scaling, and why.

The redundancies of Phuong 2021, section 2: each is built into a random network, so that none of its units stands out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from tutelage import draws
from tutelage.errors import unknown
from tutelage.functions.domain import Domain, box
from tutelage.functions.layers.joint import as_relu
from tutelage.networks import Network
from tutelage.printing import printed


@printed
@dataclass(frozen=True, eq=False)
class Exhibit:
    """Two networks that are the same function, although their weights are not related.

    Attributes
    ----------
    name
        Of the example.
    first, second
        The networks.
    domain
        Where they are the same; None for all inputs.
    why
        One sentence.
    """

    name: str
    first: Network
    second: Network
    domain: Domain | None
    why: str


Pair = tuple[Network, Network, Domain | None, str]
Maker = Callable[[int], Pair]
_GALLERY: dict[str, Maker] = {}


def _exhibit(maker: Maker) -> Maker:
    _GALLERY[maker.__name__.strip("_").replace("_", "-")] = maker
    return maker


def names() -> tuple[str, ...]:
    """All exhibits.

    >>> len(names())
    10
    """
    return tuple(_GALLERY)


def exhibit(name: str, seed: int = 0) -> Exhibit:
    """A pair of networks that are the same function, with random weights.

    Parameters
    ----------
    name
        Name of the example; an unknown name lists them all.
    seed
        Of the weights.

    Returns
    -------
    Exhibit

    Examples
    --------
    >>> shown = exhibit("sign-flip")
    >>> print(shown.why)
    max(0, u) = u + max(0, -u): units are turned round, and the sum of what they then hand on is a constant
    """
    if name not in _GALLERY:
        raise unknown("exhibit", name, _GALLERY)
    return Exhibit(name, *_GALLERY[name](seed))


def _normals(seed: int, name: str, *shape: int) -> Tensor:
    return draws.normals(draws.keys([seed], f"gallery {name}"), torch.Size(shape).numel()).view(shape)


def _random(seed: int, *widths: int) -> tuple[list[Tensor], list[Tensor]]:
    """Weights of variance 1 over the fan-in, biases of variance 0.1, layer by layer."""
    pairs = list(pairwise(widths))
    weights = [_normals(seed, f"weights {l}", 1, i, o) / i**0.5 for l, (i, o) in enumerate(pairs)]
    return weights, [0.1**0.5 * _normals(seed, f"biases {l}", 1, o) for l, (_, o) in enumerate(pairs)]


def _wider(weights: list[Tensor], biases: list[Tensor], layer: int, w: Tensor, b: Tensor, fan_out: Tensor) -> Network:
    """More units at the end of a hidden layer (from 0): incoming w [1, in, k], b [1, k], fan_out [1, k, out]."""
    weights, biases = list(weights), list(biases)
    weights[layer], biases[layer] = torch.cat([weights[layer], w], 2), torch.cat([biases[layer], b], 1)
    weights[layer + 1] = torch.cat([weights[layer + 1], fan_out], 1)
    return Network(tuple(weights), tuple(biases))


@_exhibit
def _sign_flip(seed: int) -> Pair:
    (w, v), (b, c) = _random(seed, 2, 5, 1)
    v[0, :3, 0] = torch.linalg.svd(w[0, :, :3])[2][-1]  # the sum over units 0, 1, 2 of weights times fan-out is 0
    flip = torch.tensor([-1.0, -1.0, -1.0, 1.0, 1.0], dtype=torch.float64)
    handed = (b[:, :3] * v[:, :3, 0]).sum(1, keepdim=True)
    why = "max(0, u) = u + max(0, -u): units are turned round, and the sum of what they then hand on is a constant"
    return Network((w, v), (b, c)), Network((w * flip, v), (b * flip, c + handed)), None, why


@_exhibit
def _invertible_mixture(seed: int) -> Pair:
    (w1, w2, w3), (_, _, b3) = _random(seed, 2, 2, 3, 1)
    b1 = w1.abs().sum(1) + 0.5  # layer 1 is above 0 on the whole box, and layer 2 has its kinks in the middle of it
    b2 = -torch.bmm(b1.unsqueeze(1), w2).squeeze(1)
    mix = torch.eye(2, dtype=torch.float64) + 0.3 * _normals(seed, "mixture", 2, 2).abs().clamp_max(1)  # stays above 0
    second = Network((w1 @ mix, torch.linalg.inv(mix) @ w2, w3), (b1 @ mix, b2, b3))
    why = "no unit of layer 1 has its kink in the box, so that any invertible mixture of them near the identity serves"
    return Network((w1, w2, w3), (b1, b2, b3)), second, box(-1, 1, dimension=2), why


@_exhibit
def _dead_unit(seed: int) -> Pair:
    weights, biases = _random(seed, 3, 4, 1)
    w = _normals(seed, "dead", 1, 3, 1)
    second = _wider(weights, biases, 0, w, -w.abs().sum(1) - 0.5, _normals(seed, "fan-out", 1, 1, 1))
    why = "a unit below 0 on the whole box does nothing, whatever its weights"
    return Network(tuple(weights), tuple(biases)), second, box(-1, 1, dimension=3), why


@_exhibit
def _dead_layer(seed: int) -> Pair:
    off = -torch.ones(1, 3, dtype=torch.float64)
    (w1, w2, w3), (b1, _, b3) = _random(seed, 2, 4, 3, 1)
    (v1, v2, v3), (c1, _, _) = _random(seed + 1, 2, 4, 3, 1)
    first = Network((w1, -w2.abs(), w3), (b1, off, b3))
    why = "no unit of layer 2 is ever active, so that both are one constant and nothing below matters"
    return first, Network((v1, -v2.abs(), v3), (c1, off, b3)), None, why


@_exhibit
def _duplicate(seed: int) -> Pair:
    (w, v), (b, c) = _random(seed, 3, 4, 2)
    less = v.clone()
    less[:, 0] *= 0.7
    second = _wider([w, less], [b, c], 0, 2 * w[:, :, :1], 2 * b[:, :1], 0.15 * v[:, :1])
    why = "a unit is split into two copies of different size, which share its fan-out"
    return Network((w, v), (b, c)), second, None, why


@_exhibit
def _cancelling_pair(seed: int) -> Pair:
    weights, biases = _random(seed, 3, 4, 2)
    w, b, v = _normals(seed, "pair", 1, 3, 1), _normals(seed, "pair bias", 1, 1), _normals(seed, "pair out", 1, 1, 2)
    pair = torch.cat([w, 4 * w], 2), torch.cat([b, 4 * b], 1), torch.cat([v, -v / 4], 1)
    why = "two more units are copies of one another with opposite fan-out, and cancel"
    return Network(tuple(weights), tuple(biases)), _wider(weights, biases, 0, *pair), None, why


@_exhibit
def _no_fan_out(seed: int) -> Pair:
    weights, biases = _random(seed, 3, 4, 3, 2)
    w, b = _normals(seed, "idle", 1, 4, 1), _normals(seed, "idle bias", 1, 1)
    second = _wider(weights, biases, 1, w, b, torch.zeros(1, 1, 2, dtype=torch.float64))
    why = "a unit without fan-out does nothing, whatever its incoming weights"
    return Network(tuple(weights), tuple(biases)), second, None, why


@_exhibit
def _leaky_as_relu(seed: int) -> Pair:
    weights, biases = _random(seed, 3, 4, 3, 1)
    leaky = Network(tuple(weights), tuple(biases), "leaky", 0.1)
    return leaky, as_relu(leaky), None, "a leaky unit of slope s is max(0, u) - s max(0, -u), which is two relu units"


@_exhibit
def _leaky_sign_flip(seed: int) -> Pair:
    slope = 0.1
    (w, v), (b, c) = _random(seed, 2, 5, 1)
    v[0, :3, 0] = torch.linalg.svd(w[0, :, :3])[2][-1]
    flip = torch.tensor([-1.0, -1.0, -1.0, 1.0, 1.0], dtype=torch.float64)
    handed = (1 + slope) * (b[:, :3] * v[:, :3, 0]).sum(1, keepdim=True)
    first = Network((w, v), (b, c), "leaky", slope)
    why = "for leaky units too, sigma(u) = (1 + s) u + sigma(-u): the factors of the theorem need not be positive"
    return first, Network((w * flip, v), (b * flip, c + handed), "leaky", slope), None, why


@_exhibit
def _identity_layer(seed: int) -> Pair:
    (w, v), (b, c) = _random(seed, 3, 4, 1)
    eye, none = torch.eye(4, dtype=torch.float64)[None], torch.zeros(1, 4, dtype=torch.float64)
    why = "what is never negative passes a relu layer of weights 1 unchanged"
    return Network((w, v), (b, c)), Network((w, eye, v), (b, none, c)), None, why
