r"""Students rewritten as other weights of the same function: what must not change a method's answer.

All of them act on every hidden layer. With :math:`f_l = \sigma(f_{l-1} W_l + b_l)` and any positive c,
:math:`\sigma(cu)/c = \sigma(u)` for units that are linear on both sides of 0, and :math:`-\sigma(-u) = \sigma(u)` for
odd ones. A relu or leaky unit is also a sum of five others:

.. math:: \sigma(u) = \sigma(-u) + \sigma(p) - \sigma(-p) + \sigma(q) - \sigma(-q), \qquad p + q = u

since :math:`\sigma(v) - \sigma(-v)` is linear in v. Units with the same input weights may share their output weights in
any proportion; units whose output weights cancel, or that are never active, may be added.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.networks import Network

SCALED = ("relu", "leaky", "abs", "linear")
ODD = ("tanh", "erf")
FIVEFOLD = ("relu", "leaky")

Change = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]
"""From weights [S, i, n], biases [S, n], output weights [S, n, o] and keys [S] of a layer to its new ones."""


def permuted(students: Network, seeds: Sequence[int]) -> Network:
    """Units in another order."""

    def change(w: Tensor, b: Tensor, v: Tensor, key: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        order = draws.permutations(key, b.shape[1], 0)
        return (
            w.gather(2, order[:, None].expand_as(w)),
            b.gather(1, order),
            v.gather(1, order[..., None].expand_as(v)),
        )

    return _rewritten(students, seeds, "permuted", change)


def scaled(students: Network, seeds: Sequence[int]) -> Network:
    """Units with larger or smaller input weights, and output weights that undo it; signs for odd activations."""
    if students.activation not in SCALED + ODD:
        raise TutelageError(f"units of the activation '{students.activation}' cannot be scaled: use {_among(SCALED)}")

    def change(w: Tensor, b: Tensor, v: Tensor, key: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        drawn = draws.uniforms(key, b.shape[1]).to(w.dtype)
        c = 4 ** (2 * drawn - 1) if students.activation in SCALED else torch.where(drawn < 0.5, -1.0, 1.0).to(w.dtype)
        return w * c[:, None], b * c, v / c[..., None]

    return _rewritten(students, seeds, "scaled", change)


def split(students: Network, seeds: Sequence[int]) -> Network:
    """Every unit as two that share its output weights in unequal parts."""

    def change(w: Tensor, b: Tensor, v: Tensor, key: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        share = (0.2 + 0.6 * draws.uniforms(key, b.shape[1]).to(w.dtype))[..., None]
        return torch.cat([w, w], 2), torch.cat([b, b], 1), torch.cat([share * v, (1 - share) * v], 1)

    return _rewritten(students, seeds, "split", change)


def superposed(students: Network, seeds: Sequence[int]) -> Network:
    """Every unit as the sum of five others, none of which is it."""
    if students.activation not in FIVEFOLD:
        raise TutelageError(
            f"units of the activation '{students.activation}' are no sums of others: use {_among(FIVEFOLD)}"
        )

    def change(w: Tensor, b: Tensor, v: Tensor, key: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        drawn = draws.normals(key, w[0].numel(), dtype=w.dtype).view_as(w)
        aside = drawn / drawn.norm(dim=1, keepdim=True) * w.norm(dim=1, keepdim=True)
        p, q, half = w / 2 + aside, w / 2 - aside, b / 2
        return (
            torch.cat([-w, p, -p, q, -q], 2),
            torch.cat([-b, half, -half, half, -half], 1),
            torch.cat([v, v, -v, v, -v], 1),
        )

    return _rewritten(students, seeds, "superposed", change)


def with_dead_units(students: Network, seeds: Sequence[int]) -> Network:
    """Half as many units again that are 0 on every input, with output weights as large as those of the others."""
    if students.activation != "relu":
        raise TutelageError(f"units of the activation '{students.activation}' are never dead: use relu")

    def change(w: Tensor, b: Tensor, v: Tensor, key: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        extra, count = v[:, : -(-v.shape[1] // 2)], -(-v.shape[1] // 2)
        outgoing = draws.normals(key, extra[0].numel(), dtype=v.dtype).view_as(extra) * v.std((1, 2), keepdim=True)
        still = w.new_zeros(w.shape[0], w.shape[1], count)
        return (
            torch.cat([w, still], 2),
            torch.cat([b, b.new_full((len(b), count), -1.0)], 1),
            torch.cat([v, outgoing], 1),
        )

    return _rewritten(students, seeds, "dead", change)


def with_decoys(students: Network, seeds: Sequence[int]) -> Network:
    """Half as many units again that are active, in pairs whose output weights cancel."""

    def change(w: Tensor, b: Tensor, v: Tensor, key: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        pairs = -(-w.shape[2] // 4)
        size = w.norm(dim=1).mean(1)[:, None, None]
        drawn = draws.normals(key, w.shape[1] * pairs, dtype=w.dtype).view(len(w), w.shape[1], pairs)
        incoming = drawn / drawn.norm(dim=1, keepdim=True) * size
        far = draws.normals(draws.mix(key + 1), pairs * v.shape[2], dtype=v.dtype).view(len(v), pairs, v.shape[2])
        outgoing = far * v.std((1, 2), keepdim=True)
        silent = b.new_zeros(len(b), 2 * pairs)
        return (
            torch.cat([w, incoming, incoming], 2),
            torch.cat([b, silent], 1),
            torch.cat([v, outgoing, -outgoing], 1),
        )

    return _rewritten(students, seeds, "decoys", change)


def with_duplicates(students: Network, seeds: Sequence[int], difference: float = 0.02) -> Network:
    """Every unit as two that share its output weights equally and differ a little: not quite the same function."""

    def change(w: Tensor, b: Tensor, v: Tensor, key: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        drawn = draws.normals(key, w[0].numel(), dtype=w.dtype).view_as(w)
        aside = difference * drawn / drawn.norm(dim=1, keepdim=True) * w.norm(dim=1, keepdim=True)
        return torch.cat([w + aside, w - aside], 2), torch.cat([b, b], 1), torch.cat([v / 2, v / 2], 1)

    return _rewritten(students, seeds, "duplicates", change)


def _rewritten(students: Network, seeds: Sequence[int], stream: str, change: Change) -> Network:
    """Students whose hidden layers are changed one after the other, from below."""
    weights = list(students.weights)
    biases = list(students.biases or (w.new_zeros(w.shape[0], w.shape[2]) for w in weights))
    for layer in range(students.depth - 1):
        key = draws.keys(seeds, f"planted-{stream}-{layer}", students.device)
        weights[layer], biases[layer], weights[layer + 1] = change(
            weights[layer], biases[layer], weights[layer + 1], key
        )
    return replace(students, weights=tuple(w.contiguous() for w in weights), biases=tuple(biases))


def _among(names: Sequence[str]) -> str:
    return f"one of {', '.join(names)}"
