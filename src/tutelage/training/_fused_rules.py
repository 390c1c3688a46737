"""The compiled training loop for what is more than plain SGD: momentum, decay, Adam, frozen layers, smooth units.

The products are those of :mod:`._fused_kernel`. The gradient of a step is formed first and then applied entry by entry,
with factors on the learning rate that may differ between layers, and between weights and biases.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from tutelage.compiling import PART, compiled
from tutelage.training import _fused_kernel, _smooth
from tutelage.training._fused_kernel import _ONE, _STORE, _aligned_zeros, _draw_rows, _fetch_rows, _make_buffers
from tutelage.training._smooth import erf, exp_below, tanh
from tutelage.training._vector_tiles import multiply, transpose

GATED, ERF, TANH = range(3)
_ROOT_HALF, _ROOT_2_PI = math.sqrt(0.5), math.sqrt(2 / math.pi)


class UpdateRule(NamedTuple):
    """The numbers of an optimiser: Adam where ``adam`` is 1, SGD with momentum otherwise."""

    adam: int
    momentum: float
    """mu of SGD, beta_1 of Adam."""
    nesterov: int
    beta_2: float
    epsilon: float
    decay: float
    """Added to the gradient as decay times the weights."""
    decoupled: float
    """Taken off the weights as a share of the learning rate (AdamW)."""
    l1: float


class Factors(NamedTuple):
    """Factors on the learning rate of every entry of the incoming and of the outgoing weights, in their layout."""

    incoming: np.ndarray  # [n * input_row]
    outgoing: np.ndarray  # [(n + bias) * output_row]
    train_incoming: int
    train_outgoing: int


@njit(**PART)
def _activate(hidden, gates, kind, gate, size):
    """sigma(u) in place of u, and sigma'(u) in ``gates``."""
    if kind == GATED:
        above, at, below = gate[0], gate[1], gate[2]
        for i in range(size):
            u = hidden[i]
            z = above if u > 0 else (below if u < 0 else at)
            gates[i] = z
            hidden[i] = u * z
    elif kind == TANH:
        for i in range(size):
            f = tanh(np.float64(hidden[i]))
            hidden[i] = f
            gates[i] = 1 - f * f
    else:
        for i in range(size):
            u = np.float64(hidden[i])
            decayed = exp_below(-0.5 * u * u)
            gates[i] = _ROOT_2_PI * decayed
            hidden[i] = erf(u * _ROOT_HALF, decayed)


@njit(**PART)
def _forward_any(incoming, outgoing, points, first, rows, kind, gate, shape, buffers):
    """As ``_forward``, with any of the activations."""
    for slot in range(shape.batch):
        begin = first + rows[slot] * shape.features
        target = buffers.points[slot * shape.input_row : slot * shape.input_row + shape.features]
        source = points[begin : begin + shape.features]
        for c in range(shape.features):
            target[c] = source[c]
    wide, slots = shape.features + shape.bias, shape.batch_row
    transpose(buffers.points, shape.input_row, buffers.points_across, slots, shape.batch, wide)
    multiply(
        incoming, shape.input_row, _ONE, buffers.points_across, slots, wide,
        buffers.hidden, slots, shape.hidden, shape.batch, _STORE,
    )  # fmt: skip
    _activate(buffers.hidden, buffers.gates, kind, gate, shape.hidden * slots)
    multiply(
        buffers.hidden, _ONE, slots, outgoing, shape.output_row, shape.hidden + shape.bias,
        buffers.errors, shape.output_row, shape.batch, shape.outputs, _STORE,
    )  # fmt: skip


@njit(**PART)
def _gradient(outgoing, labels, first, rows, scale, shape, buffers, to_incoming, to_outgoing, factors):
    """The gradient of the mean loss, from outputs in ``buffers.errors``; scale is 1 / B."""
    for slot in range(shape.batch):
        begin = first + rows[slot] * shape.outputs
        label = labels[begin : begin + shape.outputs]
        error = buffers.errors[slot * shape.output_row : slot * shape.output_row + shape.outputs]
        for c in range(shape.outputs):
            error[c] = (error[c] - label[c]) * scale
    slots = shape.batch_row
    if factors.train_outgoing:
        multiply(
            buffers.hidden, slots, _ONE, buffers.errors, shape.output_row, shape.batch,
            to_outgoing, shape.output_row, shape.hidden + shape.bias, shape.outputs, _STORE,
        )  # fmt: skip
    if factors.train_incoming:
        transpose(buffers.errors, shape.output_row, buffers.errors_across, slots, shape.batch, shape.outputs)
        multiply(
            outgoing, shape.output_row, _ONE, buffers.errors_across, slots, shape.outputs,
            buffers.back, slots, shape.hidden, shape.batch, _STORE,
        )  # fmt: skip
        for i in range(shape.hidden * slots):
            buffers.back[i] *= buffers.gates[i]
        multiply(
            buffers.back, slots, _ONE, buffers.points, shape.input_row, shape.batch,
            to_incoming, shape.input_row, shape.hidden, shape.features + shape.bias, _STORE,
        )  # fmt: skip


@njit(**PART)
def _change(w, g, m, v, factor, rate, rule, numbers):
    """Change entries of weights in place, and what the optimiser remembers of them; arrays of one length.

    Every loop does one thing, without a branch, so that it fills the vectors.
    """
    size = w.shape[0]
    if rule.decay > 0:
        decay = numbers[2]
        for i in range(size):
            g[i] += decay * w[i]
    if rule.l1 > 0:
        l1 = numbers[3]
        for i in range(size):
            g[i] += l1 * np.sign(w[i])
    if rule.decoupled > 0:
        apart, one = rate * numbers[7], numbers[8]
        for i in range(size):
            w[i] *= one - apart * factor[i]
    if rule.adam:
        fresh_1, b2, fresh_2, eps, second, first = (
            numbers[8] - numbers[4], numbers[5], numbers[8] - numbers[5], numbers[6], numbers[1], rate * numbers[0],
        )  # fmt: skip
        for i in range(size):
            h = g[i]
            m[i] += fresh_1 * (h - m[i])
            v[i] = b2 * v[i] + fresh_2 * h * h
            w[i] -= first * factor[i] * m[i] / (np.sqrt(v[i] * second) + eps)
    elif rule.momentum > 0:
        mu = numbers[4]
        for i in range(size):
            m[i] = mu * m[i] + g[i]
        if rule.nesterov:
            for i in range(size):
                w[i] -= rate * factor[i] * (g[i] + mu * m[i])
        else:
            for i in range(size):
                w[i] -= rate * factor[i] * m[i]
    else:
        for i in range(size):
            w[i] -= rate * factor[i] * g[i]


@njit(**PART)
def _corrections(rule, step, out):
    """The numbers of an optimiser at a step, in the precision of the weights: out [9]."""
    out[0] = 1 / (1 - rule.momentum ** (step + 1)) if rule.adam else 1
    out[1] = 1 / (1 - rule.beta_2 ** (step + 1)) if rule.adam else 1
    out[2], out[3], out[4], out[5] = rule.decay, rule.l1, rule.momentum, rule.beta_2
    out[6], out[7], out[8] = rule.epsilon, rule.decoupled, 1


@njit(**PART)
def _train_member_by_rule(w_in, w_out, memory, data, member, rates, start, key, chosen, kind, gate, shape, factors,
                          rule, buffers, to_in, to_out, numbers):  # fmt: skip
    """All steps of one member, in place; see ``_train_member`` of the plain kernel."""
    first_point, first_label = member * data.points_apart, member * data.labels_apart
    steps, batch = rates.shape[0], shape.batch
    rows, following = np.zeros(batch, np.int64), np.zeros(batch, np.int64)
    for t in range(-1, steps):
        if t + 1 < steps:
            if chosen.shape[0] > 0:
                for slot in range(batch):
                    following[slot] = chosen[(t + 1) * batch + slot]
            else:
                _draw_rows(key, start + t + 1, shape.samples, following)
            _fetch_rows(data.points, first_point, shape.features, following)
            _fetch_rows(data.labels, first_label, shape.outputs, following)
        if t >= 0:
            _forward_any(w_in, w_out, data.points, first_point, rows, kind, gate, shape, buffers)
            scale = numbers[9]
            _gradient(w_out, data.labels, first_label, rows, scale, shape, buffers, to_in, to_out, factors)
            _corrections(rule, start + t, numbers)
            size = w_in.shape[0]
            m_in, v_in, m_out, v_out = memory[0][:size], memory[1][:size], memory[0][size:], memory[1][size:]
            if factors.train_incoming:
                _change(w_in, to_in, m_in, v_in, factors.incoming, rates[t], rule, numbers)
            if factors.train_outgoing:
                _change(w_out, to_out, m_out, v_out, factors.outgoing, rates[t], rule, numbers)
        rows, following = following, rows


def _make_train(stamp: int):
    """The compiled entry point; for ``stamp`` see :mod:`tutelage.compiling`."""

    def train_by_rule(first, last, incoming, outgoing, m, v, data, rates, start, keys, chosen, kind, gate, shape,
                      factors, rule):  # fmt: skip
        """Train members first .. last-1 in place over steps start .. start+T-1; returns the stamp.

        As ``train`` of the plain kernel; m and v [S, n * input_row + (n + bias) * output_row] are what the optimiser
        remembers, rates [S, T] the learning rates, and kind one of GATED, ERF and TANH.
        """
        buffers = _make_buffers(shape, incoming)
        to_in = _aligned_zeros(shape.hidden * shape.input_row, incoming)
        to_out = _aligned_zeros((shape.hidden + shape.bias) * shape.output_row, incoming)
        numbers = np.zeros(10, incoming.dtype)
        numbers[9] = 1 / shape.batch
        for member in range(first, last):
            _train_member_by_rule(
                incoming[member], outgoing[member], (m[member], v[member]), data, member, rates[member], start,
                keys[member], chosen[member], kind, gate, shape, factors, rule, buffers, to_in, to_out, numbers,
            )  # fmt: skip
        return stamp

    return compiled(train_by_rule)


train_by_rule = _make_train(_fused_kernel.tiles_stamp(_fused_kernel.__file__, _smooth.__file__, __file__))
