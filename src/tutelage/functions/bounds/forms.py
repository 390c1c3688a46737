r"""A network as relu units over everything below them, which the redundancies of Phuong 2021, section 2, leave
unchanged.

.. math:: u_l = z_l E_l, \quad z_l = [1, x, f_1, \dots, f_{l-1}], \quad f_l = \max(0, u_l)

Since max(0, u) = u + max(0, -u), a unit may be turned round if u itself is handed on to everything above; a unit that
is never or always active is affine and is handed on altogether. Every change counts what rounding can do by it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from tutelage.functions.checks import bias
from tutelage.functions.rounding import cancelled, gamma
from tutelage.networks import Network


@dataclass(frozen=True, eq=False)
class Form:
    """One network: E_l [1 + d + n_1 + .. + n_{l-1}, n_l] of the hidden layers and, last, of the outputs.

    sizes: [1 + d], the largest size of the constant and of every input; units: the (layer, unit), counted as in the
    network, that each hidden unit was; moved: [C], by how much outputs can have moved from those of the network; eps:
    the share of its terms up to which a sum counts as cancelled. Where inputs are without bounds sizes are 1, and all
    bounds are times max(1, |x|).
    """

    layers: tuple[Tensor, ...]
    sizes: Tensor
    units: tuple[tuple[tuple[int, int], ...], ...]
    moved: Tensor
    eps: float

    @property
    def depth(self) -> int:
        return len(self.layers)

    def rows(self, layer: int) -> slice:
        """Where the features of a hidden layer (from 0) stand among everything."""
        first = len(self.sizes) + sum(e.shape[1] for e in self.layers[:layer])
        return slice(first, first + self.layers[layer].shape[1])


def form_of(network: Network, sizes: Tensor, eps: float) -> Form:
    """One member, float64, its activation taken for relu: sizes [d] of the inputs."""
    layers, below = [], 1
    for layer, w in enumerate(network.weights):
        e = w.new_zeros(below + w.shape[1], w.shape[2])
        e[0], e[below:] = bias(network, layer)[0], w[0]
        layers.append(e)
        below += w.shape[1]
    units = tuple(tuple((layer, k) for k in range(n)) for layer, n in enumerate(network.widths[1:-1], start=1))
    size = torch.cat([torch.ones(1, dtype=torch.float64), sizes])
    return Form(tuple(layers), size, units, torch.zeros(network.outputs, dtype=torch.float64), eps)


def evaluate(form: Form, points: Tensor) -> Tensor:
    """Outputs at points: [N, d] -> [N, C]."""
    z = torch.cat([torch.ones_like(points[:, :1]), points], dim=1)
    for e in form.layers[:-1]:
        z = torch.cat([z, (z @ e).relu()], dim=1)
    return z @ form.layers[-1]


def reaches(form: Form) -> list[Tensor]:
    """The largest size of everything below each layer: [rows of E_l] each."""
    z = [form.sizes]
    for e in form.layers[:-1]:
        z.append(torch.cat([z[-1], z[-1] @ e.abs()]))
    return z


def gains(form: Form) -> list[Tensor]:
    """How much outputs can move for a move of each unit: [n_l, C] per layer, outputs last."""
    by_layer = [torch.eye(form.layers[-1].shape[1], dtype=torch.float64)]
    for layer in reversed(range(form.depth - 1)):
        rows = form.rows(layer)
        # A unit is read by every layer above it, not by the next alone: its gain is the sum over all of them.
        above = zip(form.layers[layer + 1 :], by_layer, strict=True)
        by_layer.insert(0, sum((e[rows].abs() @ g for e, g in above), torch.zeros(1, dtype=torch.float64)))
    return by_layer


def cost(form: Form, changes: Sequence[Tensor | None], changed: Form | None = None) -> Tensor:
    """By how much outputs move at most when each E_l changes by at most so much: [C].

    Layers are changed one by one from above: below them they are those of the form, above them those of the changed
    one. Where that is not given, both are bounded by the form's sizes plus the changes.
    """
    if changed is None:
        pairs = zip(form.layers, changes, strict=True)
        form = replace(form, layers=tuple(e.abs() if change is None else e.abs() + change for e, change in pairs))
    total = torch.zeros_like(form.moved)
    for change, reach, gain in zip(changes, reaches(form), gains(changed or form), strict=True):
        if change is not None:
            total = total + (reach @ change) @ gain
    return (1 + gamma(4 * sum(len(e) + e.shape[1] for e in form.layers))) * total


def rewritten(form: Form, layer: int, alpha: Tensor, beta: Tensor, sign: Tensor) -> Form:
    """The same function with features f = alpha u + beta max(0, sign u) of one layer (from 0): [n] each.

    The affine parts are handed on; the units of beta = 0 are left without fan-out.
    """
    matrix, rows = form.layers[layer], form.rows(layer)
    layers = [*form.layers[:layer], matrix * sign]
    changes: list[Tensor | None] = [None] * (layer + 1)
    # Nothing is handed on and nothing scaled: the products are copies, and no rounding is counted.
    exact = not alpha.any() and ((beta == 0) | (beta == 1)).all()
    for e in form.layers[layer + 1 :]:
        new, size = e.clone(), e.abs()
        new[rows] = beta.unsqueeze(1) * e[rows]
        new[: len(matrix)] += (matrix * alpha) @ e[rows]
        size[: len(matrix)] += (matrix * alpha).abs() @ e[rows].abs()
        size[rows] = new[rows].abs()
        new, lost = cancelled(new, size, form.eps)
        layers.append(new)
        changes.append(None if exact else gamma(len(alpha)) * size + lost)
    after = replace(form, layers=tuple(layers))
    return replace(after, moved=form.moved + cost(after, changes))


def without(form: Form, layer: int, gone: Tensor) -> Form:
    """The form without some units of a layer (from 0), which nothing above looks at: bool [n]."""
    if not gone.any():
        return form
    rows = form.rows(layer)
    keep = torch.ones(rows.stop, dtype=torch.bool)
    keep[rows] = ~gone
    layers = [*form.layers[:layer], form.layers[layer][:, ~gone]]
    for e in form.layers[layer + 1 :]:
        more = torch.ones(len(e) - rows.stop, dtype=torch.bool)
        layers.append(e[torch.cat([keep, more])])
    units = tuple(u for u, g in zip(form.units[layer], gone.tolist(), strict=True) if not g)
    return replace(form, layers=tuple(layers), units=(*form.units[:layer], units, *form.units[layer + 1 :]))


def without_empty_layers(form: Form) -> Form:
    """Layers without units are left out."""
    layers = tuple(e for e in form.layers[:-1] if e.shape[1])
    return replace(form, layers=(*layers, form.layers[-1]), units=tuple(u for u in form.units if u))


def lowered(form: Form, layer: int) -> tuple[Form, bool]:
    """Units of a layer (from 0) that use nothing of the layer below go there; whether there were any."""
    below, rows = form.rows(layer - 1), form.rows(layer)
    matrix = form.layers[layer]
    down = (matrix[below] == 0).all(0)
    if not down.any():
        return form, False
    moved = rows.start + down.nonzero().flatten()
    order = torch.cat([torch.arange(rows.start), moved, rows.start + (~down).nonzero().flatten()])
    lower = torch.cat([form.layers[layer - 1], matrix[: below.start, down]], dim=1)
    kept = torch.cat([matrix[:, ~down], matrix.new_zeros(int(down.sum()), int((~down).sum()))])
    above = [e[torch.cat([order, torch.arange(rows.stop, len(e))])] for e in form.layers[layer + 1 :]]
    names = [list(form.units[layer - 1]), []]
    for name, goes in zip(form.units[layer], down.tolist(), strict=True):
        names[0 if goes else 1].append(name)
    units = (*form.units[: layer - 1], tuple(names[0]), tuple(names[1]), *form.units[layer + 1 :])
    return replace(form, layers=(*form.layers[: layer - 1], lower, kept, *above), units=units), True


_PAIRS = 1 << 14  # pairs of units compared at a time


def distances(first: Tensor, second: Tensor, most: float) -> Tensor:
    """Distances of pairs of unit vectors that are at most so far apart, infinite for others: [S, n, d] -> [S, n, n].

    Products tell which pairs are worth a look, and are too coarse for more than that.
    """
    cosine = torch.bmm(first, second.mT)
    distance = torch.full_like(cosine, torch.inf)
    # A product tells a cosine to about 1e-16, hence a distance to 1e-8 only: it selects, and the distance itself is
    # worked out for the few that are left.
    for pairs in (cosine >= 1 - most**2 / 2 - 1e-9).nonzero().split(_PAIRS):
        s, i, j = pairs.unbind(1)
        distance[s, i, j] = (first[s, i] - second[s, j]).norm(dim=1)
    return distance
