"""What is left of a network once everything that does nothing is gone, and whether two networks are the same by that.

Units that are never or always active, constants, units without fan-out, copies and mirror images are taken out of a
:class:`.forms.Form`; what remains of two networks is compared up to permutation, scale and turning units round. For
networks with one hidden layer, over all inputs, this finds every pair of equal functions; for deeper ones many.

Guaranteed is the bound: every change of a form counts by how much outputs can have moved, so that two forms that are
equal prove a difference of no more than the sum of both. Not found are networks that are equal for other reasons, and
forms never show that two networks differ. It costs a few products of all layers with one another, since every unit may
read everything below it: beyond 300,000 weights other bounds come first, or instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import scipy
import torch
from torch import Tensor

from tutelage.deadline import Deadline
from tutelage.functions.bounds.forms import (
    Form,
    cost,
    distances,
    form_of,
    gains,
    lowered,
    reaches,
    rewritten,
    without,
    without_empty_layers,
)
from tutelage.functions.bounds.ranges import bounds, underflow
from tutelage.functions.checks import in_double, slopes
from tutelage.functions.domain import Domain
from tutelage.functions.relaxations import Interval
from tutelage.functions.rounding import cancelled, gamma
from tutelage.networks import Network

Kind = Literal["dead", "linear", "constant", "idle", "duplicate", "mirror", "turned"]
WORDS: dict[Kind, str] = {
    "dead": "never active",
    "linear": "on one side of the kink throughout, so only a linear map",
    "constant": "constant for want of incoming weights",
    "idle": "without fan-out",
    "duplicate": "a positive multiple of another unit",
    "mirror": "a negative multiple of another unit, from which it differs by a linear map",
    "turned": "turned round against the other network, by linear maps that cancel",
}
_FAR = 1e300  # the distance of units whose lengths float64 cannot hold
_ROUNDINGS = 16  # roundings of its weights by which a unit may differ from another and be the same


@dataclass(frozen=True)
class Redundancy:
    """A unit that a network can do without, or that can be turned round.

    Attributes
    ----------
    layer, unit
        Layers from 1, units from 0.
    kind
        "dead", "linear", "constant", "idle", "duplicate", "mirror" or "turned".
    other
        The unit that it duplicates or mirrors.
    """

    layer: int
    unit: int
    kind: Kind
    other: int | None = None

    def __str__(self) -> str:
        other = "" if self.other is None else f" (unit {self.other})"
        return f"unit {self.unit} of layer {self.layer} is {WORDS[self.kind]}{other}"


def normal_form(
    network: Network,
    box: Domain,
    eps: float,
    known: Sequence[Interval] | None = None,
    deadline: Deadline | None = None,
) -> tuple[Form, tuple[Redundancy, ...]]:
    """One member without what does nothing on the box, and what that was.

    eps: of the precision it was stored in; known: bounds of the pre-activations, if there are any;
    deadline: when to tighten them no more.
    """
    network = in_double(network)
    known = bounds(network, box, solve=True, deadline=deadline) if known is None else known
    size = torch.maximum(box.low.abs(), box.high.abs())[0] if box.bounded else torch.ones_like(box.low[0])
    form = form_of(network, size, _ROUNDINGS * eps)
    redundant: list[Redundancy] = []
    for layer in reversed(range(network.depth - 1)):
        low, high = (end[0] for end in known[layer])
        form, more = _as_relu(form, layer, network, low >= 0, high <= 0)
        redundant += more
    # Invariant: `form` is the same function as the network on the box, up to `form.moved`. Every round removes a unit
    # or moves one to a lower layer, and there are finitely many of both, so that it ends.
    changed = True
    while changed:
        form, more = _simpler(form)
        redundant += more
        form, changed = _lower(without_empty_layers(form))
        changed |= bool(more)
    first = {(r.layer, r.unit): r for r in reversed(redundant)}
    return form, tuple(r for r in redundant if first[r.layer, r.unit] is r)


def _as_relu(form: Form, layer: int, network: Network, on: Tensor, off: Tensor) -> tuple[Form, list[Redundancy]]:
    """A layer's activation as a linear part and relu; units on one side of their kink are the linear part alone."""
    left, right = slopes(network)
    alpha = torch.full_like(form.layers[layer][0], left)
    beta = torch.full_like(alpha, right - left)
    alpha = torch.where(on, right, torch.where(off, left, alpha))
    beta = torch.where(on | off, 0, beta)
    kinds: list[tuple[Tensor, Kind]] = [((beta == 0) & (alpha != 0), "linear"), ((beta == 0) & (alpha == 0), "dead")]
    redundant = [r for mask, kind in kinds for r in _named(form, layer, mask, kind)]
    return without(rewritten(form, layer, alpha, beta, torch.ones_like(alpha)), layer, beta == 0), redundant


def _simpler(form: Form) -> tuple[Form, list[Redundancy]]:
    redundant: list[Redundancy] = []
    for layer in range(form.depth - 1):
        # Cheap steps first; mirrors before duplicates, since a unit that is turned round becomes the duplicate that is
        # merged then.
        for step in (_constant, _idle, _one_sided, _mirrors, _duplicates):
            form, more = step(form, layer)
            redundant += more
    return form, redundant


def _lower(form: Form) -> tuple[Form, bool]:
    any_moved = False
    for layer in range(1, form.depth - 1):
        form, moved = lowered(form, layer)
        any_moved |= moved
    return without_empty_layers(form), any_moved


def _named(form: Form, layer: int, gone: Tensor, kind: Kind, other: Tensor | None = None) -> list[Redundancy]:
    names = form.units[layer]
    return [
        Redundancy(names[k][0], names[k][1], kind, None if other is None else names[int(other[k])][1])
        for k in gone.nonzero().flatten().tolist()
    ]


def _constant(form: Form, layer: int) -> tuple[Form, list[Redundancy]]:
    """Units without incoming weights become part of the constants above."""
    matrix, rows = form.layers[layer], form.rows(layer)
    gone = (matrix[1:] == 0).all(0)
    if not gone.any():
        return form, []
    value = torch.where(gone, matrix[0].clamp_min(0), 0)
    layers: list[Tensor] = list(form.layers)
    changes: list[Tensor | None] = [None] * form.depth
    for m in range(layer + 1, form.depth):
        e = form.layers[m].clone()
        change = torch.zeros_like(e)
        change[0] = gamma(len(value)) * (e[0].abs() + value @ e[rows].abs())
        e[0] += value @ e[rows]
        e[rows] = torch.where(gone.unsqueeze(1), 0, e[rows])
        layers[m], changes[m] = e, change
    after = replace(form, layers=tuple(layers))
    redundant = _named(form, layer, gone, "constant")
    return without(replace(after, moved=form.moved + cost(after, changes)), layer, gone), redundant


def _one_sided(form: Form, layer: int) -> tuple[Form, list[Redundancy]]:
    """Units that take features alone, all with weights of one sign: features are at least 0, and so the unit is."""
    matrix, inputs = form.layers[layer], len(form.sizes)
    bare = (matrix[1:inputs] == 0).all(0) & (matrix[1:] != 0).any(0)
    values = torch.cat([matrix[:1], matrix[inputs:]])
    on, off = bare & (values >= 0).all(0), bare & (values <= 0).all(0)
    if not (on | off).any():
        return form, []
    redundant = [r for mask, kind in ((on, "linear"), (off, "dead")) for r in _named(form, layer, mask, kind)]  # type: ignore[arg-type]
    beta = torch.where(on | off, 0.0, torch.ones_like(matrix[0]))
    after = rewritten(form, layer, on.to(matrix), beta, torch.ones_like(beta))
    return without(after, layer, on | off), redundant


def _idle(form: Form, layer: int) -> tuple[Form, list[Redundancy]]:
    rows = form.rows(layer)
    gone = torch.stack([(e[rows] == 0).all(1) for e in form.layers[layer + 1 :]]).all(0)
    return without(form, layer, gone), _named(form, layer, gone, "idle")


def _close(form: Form, layer: int, sign: int) -> Tensor:
    """The first unit each unit is the same as, up to positive scale and the sign, or the unit itself: int64 [n]."""
    vectors = form.layers[layer].T
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    far = distances(unit[None], sign * unit[None], form.eps)[0]
    index = torch.arange(len(unit))
    near = (far <= form.eps) | torch.eye(len(unit), dtype=torch.bool)
    first = near.int().argmax(1)
    return torch.where(first[first] == first, first, index)


def _mirrors(form: Form, layer: int) -> tuple[Form, list[Redundancy]]:
    """Units that are negative multiples of an earlier one are turned round, after which they are duplicates."""
    if not form.layers[layer].shape[1]:
        return form, []
    first = _close(form, layer, -1)
    turn = first != torch.arange(len(first))
    if not turn.any():
        return form, []
    return _turn(form, layer, turn), _named(form, layer, turn, "mirror", first)


def _turn(form: Form, layer: int, turn: Tensor) -> Form:
    """Some units the other way round: max(0, u) = u + max(0, -u)."""
    ones = torch.ones(len(turn), dtype=torch.float64)
    return rewritten(form, layer, torch.where(turn, ones, 0), ones, torch.where(turn, -ones, ones))


def _duplicates(form: Form, layer: int) -> tuple[Form, list[Redundancy]]:
    """Positive multiples of an earlier unit give it their fan-out and go."""
    matrix, rows = form.layers[layer], form.rows(layer)
    if not matrix.shape[1]:
        return form, []
    first = _close(form, layer, +1)
    gone = first != torch.arange(len(first))
    if not gone.any():
        return form, []
    length = matrix.norm(dim=0)
    scale = torch.where(gone, length / length[first], 0)
    multiple = scale * matrix[:, first]
    gap = (matrix - multiple).abs() + gamma(0) * (matrix.abs() + multiple.abs())
    apart = reaches(form)[layer] @ torch.where(gone, gap, 0)
    moved = form.moved + (apart * (1 + gamma(len(matrix)))) @ gains(form)[layer]
    layers: list[Tensor] = list(form.layers)
    changes: list[Tensor | None] = [None] * form.depth
    for m in range(layer + 1, form.depth):
        e = form.layers[m].clone()
        fan = scale.unsqueeze(1) * e[rows]
        terms = e[rows].abs().index_add(0, first, fan.abs())
        summed, lost = cancelled(e[rows].index_add(0, first, fan), terms, form.eps)
        e[rows] = torch.where(gone.unsqueeze(1), 0, summed)
        change = torch.zeros_like(e)
        change[rows] = gamma(len(scale)) * terms + lost
        layers[m], changes[m] = e, change
    after = replace(form, layers=tuple(layers))
    redundant = _named(form, layer, gone, "duplicate", first)
    return without(replace(after, moved=moved + cost(after, changes)), layer, gone), redundant


def normal_apart(
    pair: tuple[Network, Network], box: Domain, eps: tuple[float, float], deadline: Deadline | None = None
) -> tuple[Tensor, tuple[Redundancy, ...], tuple[Redundancy, ...]]:
    """By how much two networks in float64 can differ at most on a box [C], and what their normal forms do without.

    Infinite where the forms are unlike. eps: of the precision each was stored in; units of the second network that are
    turned round against the first are among what it does without.
    """
    (a, in_a), (b, in_b) = (normal_form(n, box, e, deadline=deadline) for n, e in zip(pair, eps, strict=True))
    compared = forms_apart(a, b)
    if compared is None:
        return torch.full((pair[0].outputs,), torch.inf, dtype=torch.float64), in_a, in_b
    return compared[0] + underflow(pair[0], box) + underflow(pair[1], box), in_a, in_b + compared[1]


def forms_apart(first: Form, second: Form) -> tuple[Tensor, tuple[Redundancy, ...]] | None:
    """By how much two forms can differ at most [C], and units of the second that are turned round; None if unlike."""
    if [e.shape for e in first.layers] != [e.shape for e in second.layers]:
        return None
    turned: list[Redundancy] = []
    for layer in range(first.depth - 1):
        # Invariant: below `layer` the units of the second form stand in the order and scale of the first, so that
        # incoming weights can be compared entry by entry.
        w_first, w_second = first.layers[layer], second.layers[layer]
        lengths = w_first.norm(dim=0), w_second.norm(dim=0)
        a, b = (w_first / lengths[0]).T, (w_second / lengths[1]).T
        # Differences are taken directly: the usual |a|^2 + |b|^2 - 2 ab loses half of the digits, and units that are
        # equal up to rounding would not be recognised.
        far, opposite = (torch.cdist(a, s * b, compute_mode="donot_use_mm_for_euclid_dist") for s in (1, -1))
        order = torch.from_numpy(
            scipy.optimize.linear_sum_assignment(torch.minimum(far, opposite).nan_to_num(_FAR, _FAR).numpy())[1]
        )
        turn = torch.zeros_like(order, dtype=torch.bool)
        turn[order] = (opposite < far).gather(1, order.unsqueeze(1)).squeeze(1)
        turned += _named(second, layer, turn, "turned")
        second = _turn(second, layer, turn) if turn.any() else second
        second = _ordered(second, layer, order, lengths[0] / lengths[1][order])
    change = [(e - g).abs() for e, g in zip(first.layers, second.layers, strict=True)]
    apart = cost(first, change, second) + first.moved + second.moved
    return apart.nan_to_num(torch.inf, torch.inf), tuple(turned)


def _ordered(form: Form, layer: int, order: Tensor, scale: Tensor) -> Form:
    """Unit order[k] of a layer in place k, times scale[k]."""
    rows = form.rows(layer)
    layers = [*form.layers[:layer], form.layers[layer][:, order] * scale]
    changes: list[Tensor | None] = [None] * layer + [gamma(1) * layers[-1].abs()]
    for e in form.layers[layer + 1 :]:
        new, change = e.clone(), torch.zeros_like(e)
        new[rows] = e[rows][order] / scale.unsqueeze(1)
        change[rows] = gamma(1) * new[rows].abs()
        layers.append(new)
        changes.append(change)
    units = tuple(form.units[layer][k] for k in order.tolist())
    after = replace(form, layers=tuple(layers), units=(*form.units[:layer], units, *form.units[layer + 1 :]))
    return replace(after, moved=form.moved + cost(after, changes))
