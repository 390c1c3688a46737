"""The compiled cut: all cells of a complex cut by one layer's units, one unit after the other."""

import numpy as np
from numba import njit

from tutelage.compiling import OPTIONS, PART, compiled, stamp_of
from tutelage.functions.pieces import _new_facet, _skeleton
from tutelage.functions.pieces._new_facet import Scratch, facet_corners, facet_edges, facet_pairs
from tutelage.functions.pieces._skeleton import (
    DONE,
    SIDES_A_CELL,
    TOO_CLOSE,
    TOO_MANY,
    Complex,
    ComplexSize,
    cut_edges,
    repacked,
    room,
    rows,
    vertex_signs,
)


@njit(**OPTIONS)
def _zeros_are_a_face(cell_corners, tight, number, sign):
    """Whether the corners of sign zero of a cell that is not cut make up one of its faces.

    They do when every corner that is tight wherever all of them are is one of them, for the constraints before this.
    """
    word, bit = number // 64, np.uint64(1) << np.uint64(number % 64)
    inside = np.ones(cell_corners.shape[0], np.bool_)
    for i in range(tight.shape[1]):
        common = ~np.uint64(0)
        for v in cell_corners:
            if sign[v] == 0:
                common &= tight[v, i]
        if i == word:
            common &= ~bit
        for j in range(cell_corners.shape[0]):
            inside[j] &= tight[cell_corners[j], i] & common == common
    fits = True
    for j in range(cell_corners.shape[0]):
        fits &= not inside[j] or sign[cell_corners[j]] == 0
    return fits


@njit(**PART)
def _cell_signs(corners, corner_from, corner_count, cells, sign, tight, number, signs, column):
    """Write the sign of a unit on the cells where it has one: (the other cells, to be cut; whether zeros fit)."""
    to_cut, count, fits = np.empty(cells, np.int32), 0, True
    for r in range(cells):
        above, below, zero = False, False, False
        cell_corners = corners[corner_from[r] : corner_from[r] + corner_count[r]]
        for v in cell_corners:
            above |= sign[v] > 0
            below |= sign[v] < 0
            zero |= sign[v] == 0
            if above and below:
                to_cut[count] = r
                count += 1
                break
        if zero and above != below:
            fits &= _zeros_are_a_face(cell_corners, tight, number, sign)
        signs[r, column] = np.int8(above) - np.int8(below)
    return to_cut[:count], fits


@njit(**OPTIONS)
def _room_for_halves(state, size, r, count, joined):
    """Room for one more cell, and in the pools for both halves of cell r: (complex, size)."""
    corners, corners_used, sides, sides_used = state.corners, size.corners, state.sides, size.sides
    more = 2 * (state.corner_count[r] + count)
    if corners_used + more > corners.shape[0]:
        corners, corners_used = repacked(corners, state.corner_from, state.corner_count, size.cells, more)
    more = 2 * (state.side_count[r] + joined)
    if sides_used + more > sides.shape[0]:
        sides, sides_used = repacked(sides, state.side_from, state.side_count, size.cells, more)
    state = Complex(
        state.points, state.values, state.tight, state.ends,
        corners, room(state.corner_from, size.cells, 1), room(state.corner_count, size.cells, 1),
        sides, room(state.side_from, size.cells, 1), room(state.side_count, size.cells, 1),
        rows(state.signs, size.cells, 1), room(state.roots, size.cells, 1),
    )  # fmt: skip
    return state, ComplexSize(size.vertices, size.edges, size.cells, corners_used, sides_used)


@njit(**OPTIONS)
def _write_half(state, size, old, child, wanted, marks, scratch, count, joined):
    """Write the half of a cell on the ``wanted`` side (1 or -1) as cell ``child``; returns the size after that.

    old: first corner, number of corners, first side, number of sides of the cell.
    """
    corners, sides, ends, sign = state.corners, state.sides, state.ends, marks.sign
    corner_at, side_at = size.corners, size.sides
    for i in range(old[0], old[0] + old[1]):
        if sign[corners[i]] == wanted:
            corners[corner_at] = corners[i]
            corner_at += 1
    for i in range(count):
        corners[corner_at] = scratch.facet[i]
        corner_at += 1
    for i in range(old[2], old[2] + old[3]):
        edge = sides[i]
        if marks.half[edge] >= 0:
            sides[side_at] = edge if wanted > 0 else marks.half[edge]
            side_at += 1
        elif sign[ends[edge, 0]] == wanted or sign[ends[edge, 1]] == wanted:
            sides[side_at] = edge
            side_at += 1
    for i in range(joined):
        sides[side_at] = scratch.pairs[i, 0]
        side_at += 1
    state.corner_from[child], state.corner_count[child] = size.corners, corner_at - size.corners
    state.side_from[child], state.side_count[child] = size.sides, side_at - size.sides
    return ComplexSize(size.vertices, size.edges, max(size.cells, child + 1), corner_at, side_at)


@njit(**PART)
def _cut_cell(state, size, r, column, marks, scratch, keep_positive):
    """Cell r becomes its positive half, a new cell the other: (complex, size, marks, scratch, whether it fits)."""
    facet = room(scratch.facet, 0, state.corner_count[r] + state.side_count[r])
    count = facet_corners(state, r, marks, facet)
    scratch, joined = facet_pairs(state.tight, facet, count, state.points.shape[1], scratch)
    if joined < 0:
        return state, size, marks, scratch, False
    ends, edges, marks = facet_edges(state.ends, size.edges, marks, scratch, joined)
    state = Complex(
        state.points, state.values, state.tight, ends, state.corners, state.corner_from, state.corner_count,
        state.sides, state.side_from, state.side_count, state.signs, state.roots,
    )  # fmt: skip
    size = ComplexSize(size.vertices, edges, size.cells, size.corners, size.sides)
    state, size = _room_for_halves(state, size, r, count, joined)
    old = (state.corner_from[r], state.corner_count[r], state.side_from[r], state.side_count[r])
    if not keep_positive:
        child = size.cells
        size = _write_half(state, size, old, child, -1, marks, scratch, count, joined)
        for i in range(state.signs.shape[1]):
            state.signs[child, i] = state.signs[r, i]
        state.signs[child, column] = -1
        state.roots[child] = state.roots[r]
    size = _write_half(state, size, old, r, 1, marks, scratch, count, joined)
    state.signs[r, column] = 1
    return state, size, marks, scratch, True


@njit(**PART)
def _trimmed(state, size):
    """A complex without spare room."""
    corners, corners_used = repacked(state.corners, state.corner_from, state.corner_count, size.cells, 0)
    sides, sides_used = repacked(state.sides, state.side_from, state.side_count, size.cells, 0)
    vertices, edges, cells = size.vertices, size.edges, size.cells
    return Complex(
        state.points[:vertices], state.values[:vertices], state.tight[:vertices], state.ends[:edges],
        corners[:corners_used], state.corner_from[:cells], state.corner_count[:cells],
        sides[:sides_used], state.side_from[:cells], state.side_count[:cells], state.signs[:cells], state.roots[:cells],
    )  # fmt: skip


def _make_cut(stamp: int):
    """The compiled entry point; for ``stamp`` see :mod:`tutelage.compiling`."""

    def cut(state, offset, facets, tolerances, budget, keep_positive):
        """Cut all cells by every unit of ``state.values``: (complex, pieces bool [R before, n], end, unit, stamp).

        The units are numbers offset, offset + 1, ... of all units, after ``facets`` constraints of the domain. With
        ``keep_positive`` cells keep their positive halves alone: that makes a polytope out of a larger one.
        """
        cells_before = state.corner_from.shape[0]
        size = ComplexSize(
            state.points.shape[0], state.ends.shape[0], cells_before, state.corners.shape[0], state.sides.shape[0]
        )
        pieces = np.zeros((cells_before, state.values.shape[1]), np.bool_)
        scratch = Scratch(
            np.empty(16, np.int32), np.empty((16, state.tight.shape[1]), np.uint64), np.empty((16, 2), np.int32),
            np.empty(64, np.int32), np.empty(64, np.uint64),
        )  # fmt: skip
        ended, at_unit = DONE, -1
        # Invariant: before a unit the complex is the domain cut by all units before it; cells meet in faces, and every
        # vertex has its sign by every one of these units decided once, for all cells around it.
        for unit in range(state.values.shape[1]):
            number = facets + offset + unit
            sign, sure = vertex_signs(state.values[: size.vertices], state.tight, unit, number, tolerances[unit])
            if not sure:
                ended, at_unit = TOO_CLOSE, unit
                break
            crossing = 0
            for e in range(size.edges):
                crossing += sign[state.ends[e, 0]] * sign[state.ends[e, 1]] < 0
            # Known before anything is cut: a unit adds one vertex per edge it crosses.
            if max(size.vertices + crossing, size.cells) > budget or size.sides > SIDES_A_CELL * budget:
                ended, at_unit = TOO_MANY, unit
                break
            state, size, marks = cut_edges(state, size, unit, number, sign, crossing)
            to_cut, fits = _cell_signs(
                state.corners, state.corner_from, state.corner_count, size.cells, marks.sign, state.tight, number,
                state.signs, offset + unit,
            )  # fmt: skip
            if not fits:
                ended, at_unit = TOO_CLOSE, unit
                break
            for r in to_cut:
                pieces[state.roots[r], unit] = True
                state, size, marks, scratch, fits = _cut_cell(
                    state, size, r, offset + unit, marks, scratch, keep_positive
                )
                if not fits:
                    ended, at_unit = TOO_CLOSE, unit
                    break
            if ended != DONE:
                break
        return _trimmed(state, size), pieces, ended, at_unit, stamp

    return compiled(cut)


cut_layer = _make_cut(stamp_of(_skeleton.__file__, _new_facet.__file__, __file__))
