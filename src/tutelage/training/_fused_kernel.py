"""The compiled training loop of the fused CPU engine: whole members, one after the other, many steps each.

A step of SGD on J = 1/2 E|f* - f|^2 (Tian 2020, eq. 2) is five products (:mod:`._vector_tiles`) and three passes over
activations. Hidden activations are kept with the batch as the fast axis, [unit][slot], so that any hidden width fills
the vectors; errors are kept both ways. A member's weights, some tens of kilobytes, stay in the core's cache from the
first step of a span to the last; the rows of the next batch are fetched from memory while the present one is worked on.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from tutelage import _draw_loops
from tutelage._draw_loops import bits
from tutelage.compiling import PART, compiled, stamp_of
from tutelage.training import _vector_tiles
from tutelage.training._vector_tiles import borrowed, fetch_ahead, multiply, still_in_use, transpose

ONE, STORE, ADD = np.int64(1), np.int64(0), np.int64(1)  # numba would compile anew for each plain constant
_LINE = 64  # bytes of a cache line


class StepShape(NamedTuple):
    """The integers the kernel needs; strides count elements and are padded to whole vector blocks."""

    features: int
    """Columns of the points, d."""
    bias: int
    """1 when there are biases (a constant column after the points, a constant unit after the hidden ones), else 0."""
    hidden: int
    outputs: int
    samples: int
    batch: int
    input_row: int
    """Stride between the hidden units' incoming weights: d + bias, padded."""
    output_row: int
    """Stride between the hidden units' outgoing weights: C, padded."""
    batch_row: int
    """Stride between hidden units' activations: B, padded."""


class Data(NamedTuple):
    """Flat arrays and how far apart members lie in them (0 when all members share one set)."""

    points: np.ndarray
    points_apart: int
    labels: np.ndarray
    labels_apart: int
    points_in_order: int
    """1 when slot i of step t of a span sees point B t + i, 0 when it sees the point of its row."""
    labels_in_order: int


class StepBuffers(NamedTuple):
    """Working memory of one thread, flat; [rows][stride] in the comments, B padded to whole blocks."""

    points: np.ndarray  # [B][input_row], the batch and a column of ones
    points_across: np.ndarray  # [input_row][batch_row]
    hidden: np.ndarray  # [n + bias][batch_row], the last row is ones when there are biases
    gates: np.ndarray  # [n][batch_row]
    errors: np.ndarray  # [B][output_row]
    errors_across: np.ndarray  # [output_row][batch_row]
    back: np.ndarray  # [n][batch_row], errors at the hidden units


@njit(**PART)
def _draw_rows(key, step, samples, out):
    """Rows of one step, as :meth:`tutelage.training.task.Task.rows` draws them with replacement: out int64 [B]."""
    for slot in range(out.shape[0]):
        counter = np.uint64(step * out.shape[0] + slot)
        out[slot] = np.int64(((bits(key, counter) >> np.uint64(32)) * np.uint64(samples)) >> np.uint64(32))


@njit(**PART)
def _fetch_rows(array, first, width, rows):
    """Ask for all cache lines of the given rows of a flat [N][width] array that begins at ``first``."""
    per_line = _LINE // array.itemsize
    for slot in range(rows.shape[0]):
        begin = first + rows[slot] * width
        for offset in range(begin - begin % per_line, begin + width, per_line):
            fetch_ahead(array, offset)


@njit(**PART)
def aligned_zeros(size, like):
    """A flat array of zeros that begins at a cache line, so that no padded row straddles more lines than it must."""
    per_line = _LINE // like.itemsize
    array = np.zeros(size + per_line, like.dtype)
    skip = (-array.ctypes.data % _LINE) // like.itemsize
    return array[skip : skip + size]


@njit(**PART)
def make_buffers(shape, like):
    """Buffers of zeros, with the constant column and the constant unit when there are biases."""
    slots = shape.batch_row
    buffers = StepBuffers(
        aligned_zeros(slots * shape.input_row, like),
        aligned_zeros(shape.input_row * slots, like),
        aligned_zeros((shape.hidden + shape.bias) * slots, like),
        aligned_zeros(shape.hidden * slots, like),
        aligned_zeros(slots * shape.output_row, like),
        aligned_zeros(shape.output_row * slots, like),
        aligned_zeros(shape.hidden * slots, like),
    )
    if shape.bias:
        for slot in range(shape.batch):
            buffers.points[slot * shape.input_row + shape.features] = 1
        for slot in range(slots):
            buffers.hidden[shape.hidden * slots + slot] = 1
    return buffers


@njit(**PART)
def borrowed_buffers(b):
    """The same buffers without counts of references."""
    return StepBuffers(
        borrowed(b.points), borrowed(b.points_across), borrowed(b.hidden), borrowed(b.gates), borrowed(b.errors),
        borrowed(b.errors_across), borrowed(b.back),
    )  # fmt: skip


@njit(**PART)
def borrowed_data(data):
    """The same data without counts of references."""
    points, labels = borrowed(data.points), borrowed(data.labels)
    return Data(
        points, data.points_apart, labels, data.labels_apart, data.points_in_order, data.labels_in_order
    )  # fmt: skip


@njit(**PART)
def pre_activations(incoming, points, first, rows, shape, buffers):
    """Fill the buffers from the batch's points to the pre-activations, which are left in ``buffers.hidden``.

    Rows are copied through slices because only indices that start from 0 are known not to be negative, and a loop
    whose indices may be (numba then counts from the end) is not vectorised.
    """
    for slot in range(shape.batch):
        begin = first + rows[slot] * shape.features
        target = buffers.points[slot * shape.input_row : slot * shape.input_row + shape.features]
        source = points[begin : begin + shape.features]
        for c in range(shape.features):
            target[c] = source[c]
    wide, slots = shape.features + shape.bias, shape.batch_row
    transpose(buffers.points, shape.input_row, buffers.points_across, slots, shape.batch, wide)
    multiply(
        incoming, shape.input_row, ONE, buffers.points_across, slots, wide,
        buffers.hidden, slots, shape.hidden, shape.batch, STORE,
    )  # fmt: skip


@njit(**PART)
def apply_gates(gate, shape, buffers):
    """Piecewise linear activation, in place, with the gates it goes through: gate [3] is above, at and below 0."""
    above, at, below = gate[0], gate[1], gate[2]
    for i in range(shape.hidden * shape.batch_row):
        u = buffers.hidden[i]
        z = above if u > 0 else (below if u < 0 else at)
        buffers.gates[i] = z
        buffers.hidden[i] = u * z


@njit(**PART)
def output_errors(outgoing, labels, first, rows, factor, shape, buffers):
    """The labels minus the outputs, times a factor, in ``buffers.errors``."""
    multiply(
        buffers.hidden, ONE, shape.batch_row, outgoing, shape.output_row, shape.hidden + shape.bias,
        buffers.errors, shape.output_row, shape.batch, shape.outputs, STORE,
    )  # fmt: skip
    for slot in range(shape.batch):
        begin = first + rows[slot] * shape.outputs
        label = labels[begin : begin + shape.outputs]
        error = buffers.errors[slot * shape.output_row : slot * shape.output_row + shape.outputs]
        for c in range(shape.outputs):
            error[c] = (label[c] - error[c]) * factor


@njit(**PART)
def hidden_errors(outgoing, shape, buffers):
    """The errors sent back through the outgoing weights and the gates, in ``buffers.back``."""
    slots = shape.batch_row
    transpose(buffers.errors, shape.output_row, buffers.errors_across, slots, shape.batch, shape.outputs)
    multiply(
        outgoing, shape.output_row, ONE, buffers.errors_across, slots, shape.outputs,
        buffers.back, slots, shape.hidden, shape.batch, STORE,
    )  # fmt: skip
    for i in range(shape.hidden * slots):
        buffers.back[i] *= buffers.gates[i]


@njit(**PART)
def choose_rows(t, data, start, key, chosen, shape, rows, label_rows):
    """Rows of the points and of the labels of a step: int64 [B] each.

    ``chosen`` holds the rows of all steps, int64 [T * B], or nothing when they are to be drawn.
    """
    if chosen.shape[0] > 0:
        for slot in range(shape.batch):
            rows[slot] = chosen[t * shape.batch + slot]
    elif not data.points_in_order:
        _draw_rows(key, start + t, shape.samples, rows)
    for slot in range(shape.batch):
        following = t * shape.batch + slot
        label_rows[slot] = following if data.labels_in_order else rows[slot]
        if data.points_in_order:
            rows[slot] = following


@njit(**PART)
def fetch_samples(data, first_point, first_label, shape, rows, label_rows):
    """Ask for the points and labels of these rows before they are needed."""
    _fetch_rows(data.points, first_point, shape.features, rows)
    _fetch_rows(data.labels, first_label, shape.outputs, label_rows)


@njit(**PART)
def _train_member(incoming, outgoing, data, member, rates, start, key, chosen, gate, shape, buffers):
    """All steps of one member, in place: incoming [n * input_row], outgoing [(n + bias) * output_row], rates [T]."""
    first_point, first_label = member * data.points_apart, member * data.labels_apart
    steps, slots = rates.shape[0], shape.batch_row
    rows, label_rows = np.zeros((2, shape.batch), np.int64), np.zeros((2, shape.batch), np.int64)
    # Invariant: at the head of iteration t the rows of step t are in row t & 1 of the arrays, and their points are on
    # the way into the cache. So the loop begins at -1, where there is nothing to train on and the first rows are drawn.
    for t in range(-1, steps):
        now, following = t & 1, (t + 1) & 1
        if t + 1 < steps:
            choose_rows(t + 1, data, start, key, chosen, shape, rows[following], label_rows[following])
            fetch_samples(data, first_point, first_label, shape, rows[following], label_rows[following])
        if t >= 0:
            # Both errors are formed before either layer changes: the gradient is that of the weights of one moment.
            pre_activations(incoming, data.points, first_point, rows[now], shape, buffers)
            apply_gates(gate, shape, buffers)
            output_errors(outgoing, data.labels, first_label, label_rows[now], rates[t], shape, buffers)
            hidden_errors(outgoing, shape, buffers)
            multiply(
                buffers.hidden, slots, ONE, buffers.errors, shape.output_row, shape.batch,
                outgoing, shape.output_row, shape.hidden + shape.bias, shape.outputs, ADD,
            )  # fmt: skip
            multiply(
                buffers.back, slots, ONE, buffers.points, shape.input_row, shape.batch,
                incoming, shape.input_row, shape.hidden, shape.features + shape.bias, ADD,
            )  # fmt: skip


def tiles_stamp(*files: str) -> int:
    """The stamp of modules that are built on the tiles: their text, that of the tiles, and the vector setting."""
    return stamp_of(_draw_loops.__file__, _vector_tiles.__file__, *files, setting=_vector_tiles.VECTOR)


def _make_train(stamp: int):
    """The compiled entry point; for ``stamp`` see :mod:`tutelage.compiling`."""

    def train(first, last, incoming, outgoing, data, rates, start, keys, chosen, gate, shape):
        """Train members first .. last-1 in place over steps start .. start+T-1; returns the stamp.

        incoming [S, n * input_row], outgoing [S, (n + bias) * output_row], rates [S, T] (learning rate over B),
        keys uint64 [S], chosen int64 [S, T * B] or [S, 0], gate [3] (above, at and below 0).
        """
        owned = make_buffers(shape, incoming)
        buffers, samples = borrowed_buffers(owned), borrowed_data(data)
        for member in range(first, last):
            _train_member(
                incoming[member], outgoing[member], samples, member, rates[member], start, keys[member],
                chosen[member], gate, shape, buffers,
            )  # fmt: skip
        still_in_use(owned)
        still_in_use(data)
        return stamp

    return compiled(train)


train = _make_train(tiles_stamp(__file__))
