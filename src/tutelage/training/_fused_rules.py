"""The compiled training loop for what is more than plain SGD: momentum, decay, Adam, frozen layers, smooth units.

The products are those of :mod:`._fused_kernel`. The gradient is formed for a few units at a time and applied at once,
while it is in the nearest cache. Factors on the learning rate may differ between layers, and between weights and
biases.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from tutelage.compiling import INLINED, PART, compiled
from tutelage.training import _fused_kernel, _smooth, _update_rule
from tutelage.training._fused_kernel import (
    ONE,
    STORE,
    aligned_zeros,
    apply_gates,
    borrowed_buffers,
    borrowed_data,
    choose_rows,
    fetch_samples,
    hidden_errors,
    make_buffers,
    output_errors,
    pre_activations,
)
from tutelage.training._smooth import erf, exp_below, tanh
from tutelage.training._vector_tiles import borrowed, multiply, still_in_use

GATED, ERF, TANH = range(3)
_ROOT_HALF, _ROOT_2_PI = math.sqrt(0.5), math.sqrt(2 / math.pi)
_UNITS = 8  # units whose gradient is formed at a time


class RuleNumbers(NamedTuple):
    """The numbers of an optimiser at one step, in the precision of the weights.

    A loop that mixed float32 weights with float64 numbers would work in float64 and take twice as long.
    """

    first: float
    """Adam's correction of the first moment, 1 / (1 - beta_1^t); else 1."""
    second: float
    """Adam's correction of the second moment, 1 / (1 - beta_2^t)."""
    decay: float
    """Weight decay that is added to the gradient."""
    l1: float
    moment: float
    """Momentum of SGD; of Adam the share of the new gradient, 1 - beta_1."""
    square: float
    """The share of the new gradient's square, 1 - beta_2."""
    epsilon: float
    decoupled: float
    """Weight decay beside the gradient."""
    one: float
    mean: float
    """-1 / batch, the factor of a mean whose gradient is taken off."""


_ROOM = len(RuleNumbers._fields)


class Factors(NamedTuple):
    """Factors on the learning rate, 0 for frozen layers, in the precision of the weights."""

    weights: np.ndarray  # [2], of both layers
    biases: np.ndarray  # [2]


class MemberArrays(NamedTuple):
    """Weights of one member and what the optimiser remembers of them, flat: incoming first in m and v."""

    incoming: np.ndarray  # [n * input_row]
    outgoing: np.ndarray  # [(n + bias) * output_row]
    m: np.ndarray
    v: np.ndarray


@njit(**PART)
def _activate(kind, gate, shape, buffers):
    """sigma(u) in place of u in ``buffers.hidden``, and sigma'(u) in ``buffers.gates``."""
    hidden, gates = buffers.hidden, buffers.gates
    if kind == GATED:
        apply_gates(gate, shape, buffers)
    elif kind == TANH:
        for i in range(shape.hidden * shape.batch_row):
            f = tanh(np.float64(hidden[i]))
            hidden[i] = f
            gates[i] = 1 - f * f
    else:
        for i in range(shape.hidden * shape.batch_row):
            u = np.float64(hidden[i])
            decayed = exp_below(-0.5 * u * u)
            gates[i] = _ROOT_2_PI * decayed
            hidden[i] = erf(u * _ROOT_HALF, decayed)


@njit(**INLINED | {"fastmath": {"contract", "arcp", "reassoc", "ninf"}})
def _adam_move(m, v, first, second, epsilon):
    """first m / (sqrt(second v) + epsilon); in float32 the division may be an estimate and a step of Newton's rule.

    That halves the time of the division. Where v is infinite the result is not a number, and the member has diverged.
    """
    return first * m / (np.sqrt(v * second) + epsilon)


@njit(**PART)
def _change(w, g, m, v, rate, first, rule, numbers):
    """Change entries of weights in place, and what the optimiser remembers of them; arrays of one length.

    ``first`` is the learning rate over 1 - beta_1^t. Every loop does one thing, without a branch, so that it fills the
    vectors.
    """
    size = w.shape[0]
    if rule.decay > 0:
        decay = numbers.decay
        for i in range(size):
            g[i] += decay * w[i]
    if rule.l1 > 0:
        l1 = numbers.l1
        for i in range(size):
            g[i] += l1 * np.sign(w[i])
    if rule.decoupled > 0:
        kept = numbers.one - rate * numbers.decoupled
        for i in range(size):
            w[i] *= kept
    if rule.adam:
        share_1, share_2 = numbers.moment, numbers.square
        eps, second = numbers.epsilon, numbers.second
        for i in range(size):
            h = g[i]
            m[i] += share_1 * (h - m[i])
            v[i] += share_2 * (h * h - v[i])
            w[i] -= _adam_move(m[i], v[i], first, second, eps)
    elif rule.momentum > 0:
        mu = numbers.moment
        for i in range(size):
            m[i] = mu * m[i] + g[i]
        if rule.nesterov:
            for i in range(size):
                w[i] -= rate * (g[i] + mu * m[i])
        else:
            for i in range(size):
                w[i] -= rate * m[i]
    else:
        for i in range(size):
            w[i] -= rate * g[i]


@njit(**PART)
def _numbers_at(rule, step, batch, room):
    """The numbers of a step: room [10] has the precision of the weights, and what is read from it has, too."""
    room[0] = 1 / (1 - rule.momentum ** (step + 1)) if rule.adam else 1
    room[1] = 1 / (1 - rule.beta_2 ** (step + 1)) if rule.adam else 1
    room[2], room[3] = rule.decay, rule.l1
    room[4] = 1 - rule.momentum if rule.adam else rule.momentum
    room[5] = 1 - rule.beta_2
    room[6], room[7], room[8], room[9] = rule.epsilon, rule.decoupled, 1, -1 / batch
    return RuleNumbers(room[0], room[1], room[2], room[3], room[4], room[5], room[6], room[7], room[8], room[9])


@njit(**PART)
def _change_layer(layer, trained, rate, shape, factors, rule, numbers, buffers, scratch):
    """Change one layer by its gradient, some units at a time: layer 0 is the incoming weights.

    Where weights and biases have factors of their own, every unit is cut into the two.
    """
    slots = shape.batch_row
    if layer == 0:
        weights, left, right = trained.incoming, buffers.back, buffers.points
        row, columns, units, split, before = (
            shape.input_row,
            shape.features + shape.bias,
            shape.hidden,
            shape.features,
            0,
        )
    else:
        weights, left, right = trained.outgoing, buffers.hidden, buffers.errors
        row, columns, units, split = shape.output_row, shape.outputs, shape.hidden + shape.bias, shape.output_row
        before = trained.incoming.shape[0]
    on_weights, on_biases = factors.weights[layer], factors.biases[layer]
    cut = on_weights != on_biases
    for unit in range(0, units, _UNITS):
        count = min(_UNITS, units - unit)
        multiply(left[unit * slots :], slots, ONE, right, row, shape.batch, scratch, row, count, columns, STORE)
        pieces = 2 * count if cut else 1
        for piece in range(pieces):
            begin, end, factor = 0, count * row, on_weights
            if cut:
                begin = piece // 2 * row + piece % 2 * split
                end = piece // 2 * row + (row if piece % 2 else split)
                if piece % 2 or unit + piece // 2 >= shape.hidden:
                    factor = on_biases
            here, there = unit * row + begin, unit * row + end
            _change(
                weights[here:there], scratch[begin:end], trained.m[before + here : before + there],
                trained.v[before + here : before + there], rate * factor, rate * factor * numbers.first, rule, numbers,
            )  # fmt: skip


@njit(**PART)
def _train_member_by_rule(trained, data, member, rates, start, key, chosen, kind, gate, shape, factors, rule, buffers,
                          scratch, room):  # fmt: skip
    """All steps of one member, in place; see ``_train_member`` of the plain kernel."""
    first_point, first_label = member * data.points_apart, member * data.labels_apart
    steps = rates.shape[0]
    rows, label_rows = np.zeros((2, shape.batch), np.int64), np.zeros((2, shape.batch), np.int64)
    # The invariant of the plain kernel: at the head of iteration t the rows of step t are in row t & 1.
    for t in range(-1, steps):
        now, following = t & 1, (t + 1) & 1
        if t + 1 < steps:
            choose_rows(t + 1, data, start, key, chosen, shape, rows[following], label_rows[following])
            fetch_samples(data, first_point, first_label, shape, rows[following], label_rows[following])
        if t >= 0:
            numbers = _numbers_at(rule, start + t, shape.batch, room)
            pre_activations(trained.incoming, data.points, first_point, rows[now], shape, buffers)
            _activate(kind, gate, shape, buffers)
            output_errors(trained.outgoing, data.labels, first_label, label_rows[now], numbers.mean, shape, buffers)
            # Before the outgoing weights change: what is sent back goes through those of the forward pass.
            if factors.weights[0] > 0:
                hidden_errors(trained.outgoing, shape, buffers)
            for layer in range(2):
                if factors.weights[layer] > 0:
                    _change_layer(layer, trained, rates[t], shape, factors, rule, numbers, buffers, scratch)


def _make_train(stamp: int):
    """The compiled entry point; for ``stamp`` see :mod:`tutelage.compiling`."""

    def train_by_rule(first, last, incoming, outgoing, m, v, data, rates, start, keys, chosen, kind, gate, shape,
                      factors, rule):  # fmt: skip
        """Train members first .. last-1 in place over steps start .. start+T-1; returns the stamp.

        As ``train`` of the plain kernel; m and v [S, n * input_row + (n + bias) * output_row] are what the optimiser
        remembers, rates [S, T] the learning rates, and kind one of GATED, ERF and TANH.
        """
        owned = make_buffers(shape, incoming)
        gradient = aligned_zeros(_UNITS * max(shape.input_row, shape.output_row), incoming)
        buffers, samples, scratch = borrowed_buffers(owned), borrowed_data(data), borrowed(gradient)
        room = np.zeros(_ROOM, incoming.dtype)
        for member in range(first, last):
            trained = MemberArrays(
                borrowed(incoming[member]), borrowed(outgoing[member]), borrowed(m[member]), borrowed(v[member])
            )
            _train_member_by_rule(
                trained, samples, member, rates[member], start, keys[member], chosen[member], kind, gate, shape,
                factors, rule, buffers, scratch, room,
            )  # fmt: skip
        still_in_use((owned, gradient, data, incoming, outgoing, m, v))
        return stamp

    return compiled(train_by_rule)


train_by_rule = _make_train(
    _fused_kernel.tiles_stamp(_fused_kernel.__file__, _smooth.__file__, _update_rule.__file__, __file__)
)
