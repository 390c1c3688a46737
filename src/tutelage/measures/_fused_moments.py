r"""The compiled pass over the evaluation points behind :mod:`.moments`: whole members, a block of points at a time.

A block is two products (:mod:`tutelage.training._vector_tiles`) from its points to the outputs, one with the teacher's
activations, and two sums over points; a block's activations never leave the core's cache. Points are the rows and
units the columns throughout, so that points are read where they lie.

Activations are kept as e = f - c with c the means over the first block, so that neither sums nor products suffer from
a large mean: with N points, first and second moments of e and products t e with the teacher's centred activations t,

.. math::
    \|f - \bar f\|^2 = \sum e^2 - \frac{(\sum e)^2}{N}, \qquad
    \langle t - \bar t, f - \bar f\rangle = \sum t e - \frac{\sum t \sum e}{N}.

The first block is part of the points, which keeps :math:`|\sum e| / N` below :math:`\sqrt{N / B}` deviations, whatever
the order of the points. Outputs are f W + b = e W + (c W + b). Sums run in the networks' precision within a block and
in float64 over blocks.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from tutelage.compiling import OPTIONS, PART, compiled
from tutelage.training import _fused_kernel
from tutelage.training._fused_kernel import aligned_zeros, tiles_stamp
from tutelage.training._vector_tiles import TILE_ROWS, fetch_ahead, multiply

_TILE = TILE_ROWS or 8  # points looked at between requests for others
_POINTS = 8 * _TILE  # of a block: with all its activations it stays in the nearest caches
_LINE = 64  # bytes of a cache line
_NONE, _ONE, _STORE = np.int64(0), np.int64(1), np.int64(0)  # numba would compile anew for each plain constant
_LARGEST_ROUNDING = 8  # units of rounding; see `correlation._centred`


class MomentShape(NamedTuple):
    """The integers the kernel needs; strides count elements and are padded to whole vector blocks."""

    features: int
    """Columns of the points, d."""
    hidden: int
    outputs: int
    taught: int
    """Hidden units of the teacher, m."""
    samples: int
    hidden_row: int
    """Stride between points' activations: n, padded."""
    output_row: int
    """Stride between points' outputs and labels: C, padded."""
    apart: int
    """Elements that the points of members lie apart: N d, or 0 when all members share them."""


class Students(NamedTuple):
    """Weights and biases of all members as they are in a network, but for the axes after the first, which are one."""

    incoming: np.ndarray  # [S, d * n]
    hidden_bias: np.ndarray  # [S, n], zeros when there are none
    outgoing: np.ndarray  # [S, n * C]
    output_bias: np.ndarray  # [S, C]


class TeacherOnPoints(NamedTuple):
    """What the teacher does on the points; what is not asked for has no columns."""

    labels: np.ndarray  # [S, N * output_row]
    centred: np.ndarray  # [S, N * m], hidden activations without their means
    inverse: np.ndarray  # float64 [S, m], one over their norms
    sums: np.ndarray  # float64 [S, m], what rounding left of their sums


class MomentBuffers(NamedTuple):
    """Working memory of one thread, flat. Constants are repeated for each of the B points of a block."""

    incoming: np.ndarray  # [d][hidden_row], columns beyond n are 0
    outgoing: np.ndarray  # [n][output_row]
    hidden: np.ndarray  # [B][hidden_row], e
    squares: np.ndarray  # [B][hidden_row], e^2
    outputs: np.ndarray  # [B][output_row], e W
    bias: np.ndarray  # [B][hidden_row]
    shift: np.ndarray  # [B][hidden_row], c
    base: np.ndarray  # [B][output_row], c W + b
    products: np.ndarray  # [m][hidden_row], sums of t e over a block
    sums: np.ndarray  # [2][hidden_row], sums of e and of e^2 over a block
    ones: np.ndarray  # [1]
    all_products: np.ndarray  # float64, the same over all blocks
    all_sums: np.ndarray


@njit(**PART)
def _make_buffers(shape, like):
    hidden, outputs = _POINTS * shape.hidden_row, _POINTS * shape.output_row
    return MomentBuffers(
        aligned_zeros(shape.features * shape.hidden_row, like),
        aligned_zeros(shape.hidden * shape.output_row, like),
        aligned_zeros(hidden, like),
        aligned_zeros(hidden, like),
        aligned_zeros(outputs, like),
        aligned_zeros(hidden, like),
        aligned_zeros(hidden, like),
        aligned_zeros(outputs, like),
        aligned_zeros(shape.taught * shape.hidden_row, like),
        aligned_zeros(2 * shape.hidden_row, like),
        np.ones(1, like.dtype),
        np.zeros(shape.taught * shape.hidden_row, np.float64),
        np.zeros(2 * shape.hidden_row, np.float64),
    )


@njit(**PART)
def _pad(source, columns, target, row):
    """Copy rows of ``columns`` numbers to rows ``row`` apart."""
    for r in range(source.shape[0] // columns):
        for c in range(columns):
            target[r * row + c] = source[r * columns + c]


@njit(**PART)
def _repeat(target, row):
    """Copy the first row of a block's constants to all others."""
    for i in range(row, target.shape[0]):
        target[i] = target[i - row]


@njit(**PART)
def _fetch(array, first, width, rows):
    """Ask for the cache lines of some rows from the given one on."""
    for offset in range(first * width, (first + rows) * width, _LINE // array.itemsize):
        fetch_ahead(array, offset)


@njit(**PART)
def _activate(points, labels, centred, begin, rows, below, shape, buffers):
    """e = sigma(x W + b) - c and e^2 of a block's points; sigma(u) is u above 0 and ``below`` u beneath.

    Meanwhile the points of the next block, and what the teacher does on those of this one, come from memory.
    """
    d, row = shape.features, shape.hidden_row
    for r in range(0, rows, _TILE):
        height, place = min(_TILE, rows - r), begin + r
        _fetch(points, place + _POINTS, d, height)
        if labels.shape[0]:
            _fetch(labels, place, shape.output_row, height)
        if centred.shape[0]:
            _fetch(centred, place, shape.taught, height)
        multiply(
            points[place * d :], d, _ONE, buffers.incoming, row, d,
            buffers.hidden[r * row :], row, height, shape.hidden, _STORE,
        )  # fmt: skip
    hidden, squares, bias, shift = buffers.hidden, buffers.squares, buffers.bias, buffers.shift
    for i in range(rows * row):
        u = hidden[i] + bias[i]
        e = (u if u > 0 else u * below) - shift[i]
        hidden[i] = e
        squares[i] = e * e


@njit(**PART)
def _settle(member, students, points, below, shape, buffers):
    """Take up a member's weights, and the means c over the first block of its points; start sums from 0.

    Leaves the first block's activations where they are, without c.
    """
    _pad(students.incoming[member], shape.hidden, buffers.incoming, shape.hidden_row)
    _pad(students.outgoing[member], shape.outputs, buffers.outgoing, shape.output_row)
    _pad(students.hidden_bias[member], shape.hidden, buffers.bias, shape.hidden_row)
    _repeat(buffers.bias, shape.hidden_row)
    buffers.all_products[:] = 0
    buffers.all_sums[:] = 0
    buffers.shift[:] = 0
    rows, nothing = min(_POINTS, shape.samples), points[:0]
    _activate(points, nothing, nothing, _NONE, rows, below, shape, buffers)
    sums, row = buffers.all_sums, shape.hidden_row
    for r in range(rows):
        for v in range(shape.hidden):
            sums[v] += buffers.hidden[r * row + v]
    for v in range(shape.hidden):
        buffers.shift[v] = sums[v] / rows
    sums[:] = 0
    _repeat(buffers.shift, row)


@njit(**PART)
def _offset(member, students, shape, buffers):
    """What the means c add to the outputs: c W + b."""
    for c in range(shape.outputs):
        total = np.float64(students.output_bias[member, c])
        for v in range(shape.hidden):
            total += np.float64(buffers.shift[v]) * buffers.outgoing[v * shape.output_row + c]
        buffers.base[c] = total
    _repeat(buffers.base, shape.output_row)


@njit(**PART)
def _subtract(rows, shape, buffers):
    """e and e^2 of the first block, whose activations :func:`_settle` left without c."""
    hidden, squares, shift = buffers.hidden, buffers.squares, buffers.shift
    for i in range(rows * shape.hidden_row):
        e = hidden[i] - shift[i]
        hidden[i] = e
        squares[i] = e * e


@njit(**{**OPTIONS, "fastmath": {"contract", "reassoc"}})
def _sum_squares(labels, outputs, base):
    """The sum of (label - output)^2 over a block, in float64 and whatever order is fastest."""
    total = 0.0
    for i in range(labels.shape[0]):
        total += np.float64(labels[i] - (outputs[i] + base[i])) ** 2
    return total


@njit(**PART)
def _compare(labels, rows, write, shape, buffers):
    """Half the squared errors of a block, or, to ``write``, none: then its outputs become the labels."""
    multiply(
        buffers.hidden, shape.hidden_row, _ONE, buffers.outgoing, shape.output_row, shape.hidden,
        buffers.outputs, shape.output_row, rows, shape.outputs, _STORE,
    )  # fmt: skip
    if write:
        for i in range(labels.shape[0]):
            labels[i] = buffers.outputs[i] + buffers.base[i]
        return 0.0
    return _sum_squares(labels, buffers.outputs, buffers.base) / 2


@njit(**PART)
def _correlate(centred, rows, shape, buffers):
    """Add a block's sums of e and e^2, and its products with the teacher's activations [rows * m]."""
    row = shape.hidden_row
    multiply(
        centred, _ONE, shape.taught, buffers.hidden, row, rows,
        buffers.products, row, shape.taught, shape.hidden, _STORE,
    )  # fmt: skip
    multiply(buffers.ones, _NONE, _NONE, buffers.hidden, row, rows, buffers.sums, row, _ONE, shape.hidden, _STORE)
    second = buffers.sums[row:]
    multiply(buffers.ones, _NONE, _NONE, buffers.squares, row, rows, second, row, _ONE, shape.hidden, _STORE)
    for i in range(shape.taught * row):
        buffers.all_products[i] += buffers.products[i]
    for i in range(2 * row):
        buffers.all_sums[i] += buffers.sums[i]


@njit(**PART)
def _conclude(inverse, teacher_sums, rounding, shape, buffers, rho):
    """Correlations [m, n] from the sums over all blocks; ``rounding`` is the machine epsilon of the activations."""
    count, row = shape.samples, shape.hidden_row
    sums, scales = buffers.all_sums[:row], buffers.all_sums[row:]  # the second moments make room for the scales
    for v in range(shape.hidden):
        spread = scales[v] - sums[v] * sums[v] / count
        norm = 0.0 if spread < 0 else np.sqrt(spread)
        mean = buffers.shift[v] + sums[v] / count
        constant = norm <= _LARGEST_ROUNDING * rounding * abs(mean) * np.sqrt(count)
        scales[v] = 0.0 if constant else 1 / norm
    for j in range(shape.taught):
        for v in range(shape.hidden):
            product = buffers.all_products[j * row + v] - teacher_sums[j] * sums[v] / count
            value = product * scales[v] * inverse[j]
            rho[j, v] = 1.0 if value > 1 else (-1.0 if value < -1 else value)


def _make_scan(stamp: int):
    """The compiled entry point; for ``stamp`` see :mod:`tutelage.compiling`."""

    def scan(first, last, students, points, teacher, below, rounding, write, shape, losses, rho):
        """Moments of members first .. last-1 on flat points: losses float64 [S] and rho [S, m, n]; returns the stamp.

        With ``write``, the networks' outputs are written to the teacher's labels instead of compared with them.
        """
        buffers = _make_buffers(shape, points)
        d, c, m, count = shape.features, shape.output_row, shape.taught, shape.samples
        for member in range(first, last):
            rows = points[member * shape.apart : member * shape.apart + count * d]
            labels, centred = teacher.labels[member], teacher.centred[member]
            _settle(member, students, rows, below, shape, buffers)
            if labels.shape[0]:
                _offset(member, students, shape, buffers)
            total = 0.0
            for begin in range(0, count, _POINTS):
                stop = min(begin + _POINTS, count)
                if begin == 0:
                    _subtract(stop, shape, buffers)
                else:
                    _activate(rows, labels, centred, begin, stop - begin, below, shape, buffers)
                if labels.shape[0]:
                    total += _compare(labels[begin * c : stop * c], stop - begin, write, shape, buffers)
                if centred.shape[0]:
                    _correlate(centred[begin * m : stop * m], stop - begin, shape, buffers)
            losses[member] = total / count
            if centred.shape[0]:
                _conclude(teacher.inverse[member], teacher.sums[member], rounding, shape, buffers, rho[member])
        return stamp

    return compiled(scan)


scan = _make_scan(tiles_stamp(_fused_kernel.__file__, __file__))
