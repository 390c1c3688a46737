r"""Gradient flow and descent of deep linear students under soft labels: every layer, or the product alone.

Layers move by :math:`\dot W_l = -\partial\ell / \partial W_l` (Phuong 2021, eq. 5.3). From a balanced start the product
w obeys an equation of its own (Phuong 2021, eq. D.22, after Arora et al. 2018),

.. math:: \dot w = -|w|^{2(L-1)/L} \bigl(g + (L-1) P_w g\bigr), \qquad g = \nabla\ell^1(w)

which lives in the data's span and one direction beside it: min(n, d) + 1 numbers, whatever the widths.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.arrays import doubles
from tutelage.distillation.cross_entropy import slope
from tutelage.distillation.deep import end_to_end, limit
from tutelage.distillation.transfer import TransferSet
from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.population.integrate import integrate
from tutelage.printing import printed
from tutelage.whole import recorded_steps


@printed
@dataclass(frozen=True, eq=False)
class StudentFlow:
    """Linear students at the recorded times of a gradient flow.

    Attributes
    ----------
    transfer
        Transfer sets.
    times
        T times.
    w
        Product of the layers, [T, S, d].
    layers
        Number of layers.
    weights
        Every layer [T, S, in, out], or None where only the product was followed.
    """

    transfer: TransferSet
    times: tuple[float, ...]
    w: Tensor
    layers: int
    weights: tuple[Tensor, ...] | None = None

    def network(self, place: int) -> Network:
        """The students at one record."""
        if self.weights is None:
            raise TutelageError("this course followed the product alone and has no layers: use flow or descent")
        return Network(tuple(w[place] for w in self.weights), activation="linear")

    def loss(self) -> Tensor:
        """l1 at every record: [T, S]."""
        return self.transfer.loss(self.w)


def flow(
    transfer: TransferSet, start: Network, times: Sequence[float], relative: float = 1e-10, absolute: float = 1e-12
) -> StudentFlow:
    """Gradient flow of all layers of a linear student, balanced or not.

    Parameters
    ----------
    transfer
        Transfer sets.
    start
        Linear networks with S members.
    times
        Times to record.
    relative, absolute
        Tolerances of the integrator.

    Returns
    -------
    StudentFlow

    Examples
    --------
    >>> from tutelage.distillation import Polynomial
    >>> transfer = Polynomial(dimension=5).transfer([0], 3)
    >>> layers = 0.1 * torch.ones(1, 5, 2).double(), 0.1 * torch.ones(1, 2, 1).double()
    >>> course = flow(transfer, Network(layers, activation="linear"), [0.0, 10.0])
    >>> course.w.shape  # [time, member, dimension]
    torch.Size([2, 1, 5])
    """
    _check(transfer, start)
    shapes = [w.shape[1:] for w in start.weights]
    sizes = [a * b for a, b in shapes]

    def layers_of(state: Tensor) -> list[Tensor]:
        parts = state.split(sizes, dim=-1)
        return [p.reshape(*p.shape[:-1], *s) for p, s in zip(parts, shapes, strict=True)]

    def velocity(_: Tensor, state: Tensor, who: Tensor) -> Tensor:
        slopes = _layer_slopes(transfer.x[who], transfer.logits[who], layers_of(state))
        return -torch.cat([s.flatten(1) for s in slopes], 1)

    flat = torch.cat([w.flatten(1) for w in start.weights], 1)
    weights = tuple(layers_of(integrate(velocity, flat, times, relative=relative, absolute=absolute)))
    return StudentFlow(transfer, tuple(times), _products(weights), start.depth, weights)


def descent(
    transfer: TransferSet, start: Network, records: Sequence[int], rate: float | Tensor | None = None
) -> StudentFlow:
    """Gradient descent of all layers of a linear student.

    Parameters
    ----------
    transfer
        Transfer sets.
    start
        Linear networks with S members.
    records
        Numbers of steps after which to record.
    rate
        One learning rate or [S]; default: a quarter of ``transfer.safe_step``.

    Returns
    -------
    StudentFlow
        Times are steps times the mean rate.
    """
    _check(transfer, start)
    steps = recorded_steps(records)
    if not steps or list(steps) != sorted(set(steps)) or steps[0] < 0:
        raise TutelageError("steps to record at must grow from 0 on: give at least one")
    pace = transfer.safe_step / 4 if rate is None else doubles(rate, "rate")
    if pace.ndim > 1 or pace.numel() not in (1, start.members):
        raise TutelageError(f"rate has {pace.numel()} values for {start.members} members: give one, or one per member")
    pace = pace.expand(start.members)
    if not bool((pace > 0).all()):
        raise TutelageError("the learning rate must be positive")
    layers, out, done = [w.clone() for w in start.weights], [], 0
    for target in steps:
        for _ in range(target - done):
            slopes = _layer_slopes(transfer.x, transfer.logits, layers)
            layers = [w - pace[:, None, None] * s for w, s in zip(layers, slopes, strict=True)]
        done = target
        if not all(bool(w.isfinite().all()) for w in layers):
            raise TutelageError(
                f"descent diverged before step {target}: take a rate below {float(transfer.safe_step.min()):.3g}"
            )
        out.append(layers)
    weights = tuple(torch.stack(each) for each in zip(*out, strict=True))
    times = tuple(r * float(pace.mean()) for r in steps)
    return StudentFlow(transfer, times, _products(weights), start.depth, weights)


def induced_flow(
    transfer: TransferSet,
    start: Tensor,
    layers: int,
    times: Sequence[float],
    relative: float = 1e-10,
    absolute: float = 1e-12,
) -> StudentFlow:
    """Flow of the product of the layers from a balanced start (Phuong 2021, Lemma D.2).

    Parameters
    ----------
    transfer
        Transfer sets.
    start
        w(0) [S, d]; with one layer it may be 0.
    layers
        Number of layers.
    times, relative, absolute
        As in :func:`flow`.

    Returns
    -------
    StudentFlow
    """
    state, rebuild, velocity = _reduced(transfer, start, layers)
    out = rebuild(integrate(velocity, state, times, relative=relative, absolute=absolute))
    return StudentFlow(transfer, tuple(times), out, layers)


def settle(
    transfer: TransferSet,
    start: Tensor,
    layers: int,
    tolerance: float = 1e-8,
    longest: float = 1e6,
    relative: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Follow the product of the layers until it is near its exact limit.

    Parameters
    ----------
    transfer, start, layers
        As in :func:`induced_flow`.
    tolerance
        Distance from the limit at which to stop.
    longest
        Largest time; a member that is farther away then raises an error.
    relative
        Tolerance of the integrator; default: 1e-10 or a hundredth of the tolerance.

    Returns
    -------
    w, time
        [S, d] and [S]; times are powers of two.
    """
    goal = limit(transfer, start, layers)
    state, rebuild, velocity = _reduced(transfer, start, layers)
    fine = min(1e-10, tolerance / 100) if relative is None else relative
    # Invariant: every set has been followed for the time `took`, and those in `left` are farther from their limit than
    # the tolerance. Each round doubles the time, so a slow set costs at most twice what it needs.
    took = torch.zeros(transfer.members, dtype=torch.float64)
    left, span = torch.arange(transfer.members), 1.0
    while len(left):
        if float(took[left].max()) >= longest:
            raise TutelageError(
                f"set {int(left[0])} is not within {tolerance:g} of its limit at time {longest:g}: it is slow"
            )
        part = left

        def on_its_way(t: Tensor, y: Tensor, who: Tensor, part: Tensor = part) -> Tensor:
            return velocity(t, y, part[who])

        state[part] = integrate(on_its_way, state[part], [span], relative=fine, absolute=fine / 100)[0]
        took[part] += span
        off = (rebuild(state) - goal).norm(dim=1)
        left, span = (off > tolerance).nonzero().flatten(), float(took[part][0])
    return rebuild(state), took


def _reduced(transfer: TransferSet, start: Tensor, layers: int):
    """State [S, k + 1] of the product (span coordinates, length across it), the way back, and its velocity."""
    if start.shape != (transfer.members, transfer.dimension):
        raise TutelageError(f"wanted a start w(0) {[transfer.members, transfer.dimension]}, not {list(start.shape)}")
    if layers < 1:
        raise TutelageError(f"layers must be at least 1, got {layers}")
    if layers > 1 and bool((start == 0).all(1).any()):
        raise TutelageError("a deep linear student that starts at 0 stays there: start it elsewhere")
    start, basis = start.to(torch.float64), transfer.basis
    # The part of w across the data gets no gradient of its own; it is only scaled, as a whole, by the layers' growth.
    # One number for its length is all that has to be followed.
    rest = transfer.across(start)
    length = rest.norm(dim=1, keepdim=True)
    aside = rest / torch.where(length > 0, length, 1.0)
    rows = transfer.x @ basis

    def rebuild(state: Tensor) -> Tensor:
        inside = (basis @ state[..., :-1].unsqueeze(-1)).squeeze(-1)
        return inside + state[..., -1:] * aside

    def velocity(_: Tensor, state: Tensor, who: Tensor) -> Tensor:
        c = state[:, :-1]
        u = (rows[who] @ c.unsqueeze(2)).squeeze(2)
        g = (slope(u, transfer.logits[who]).unsqueeze(1) @ rows[who]).squeeze(1) / transfer.count
        g = torch.nn.functional.pad(g, (0, 1))
        if layers == 1:
            return -g
        square = state.square().sum(1, keepdim=True).clamp_min(1e-300)
        along = (layers - 1) * (state * g).sum(1, keepdim=True) / square
        return -(square ** ((layers - 1) / layers)) * (g + along * state)

    return torch.cat([(basis.mT @ start.unsqueeze(2)).squeeze(2), length], 1), rebuild, velocity


def _layer_slopes(x: Tensor, logits: Tensor, layers: Sequence[Tensor]) -> list[Tensor]:
    """dl/dW_l = (W_1..W_{l-1})^T g (W_{l+1}..W_L)^T of every layer, g the gradient of l1 [S, d]."""
    # Products from the top down once, then one pass from below: the gradients of all layers for a few products per
    # layer.
    above = [torch.ones(len(x), 1, 1, dtype=x.dtype)]
    for weight in reversed(layers[1:]):
        above.insert(0, weight @ above[0])
    w = layers[0] @ above[0]
    g = x.mT @ slope((x @ w).squeeze(2), logits).unsqueeze(2) / x.shape[1]
    out = []
    for weight, top in zip(layers, above, strict=True):
        out.append(g @ top.mT)
        g = weight.mT @ g
    return out


def _products(weights: Sequence[Tensor]) -> Tensor:
    product = weights[-1]
    for weight in reversed(weights[:-1]):
        product = weight @ product
    return product.squeeze(-1)


def _check(transfer: TransferSet, start: Network) -> None:
    end_to_end(start)
    if start.members != transfer.members or start.inputs != transfer.dimension:
        raise TutelageError(
            f"{start.members} students of {start.inputs} inputs do not fit {transfer.members} sets in "
            f"{transfer.dimension} dimensions: build one student per set"
        )
    if start.dtype != torch.float64:
        raise TutelageError("flows are followed in float64: pass start.to(dtype=torch.float64)")
