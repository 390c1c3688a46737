"""A complex of convex cells for the compiled cut: its vertices and edges, and how a unit cuts them.

A complex is held by its skeleton. A vertex knows its *tight* constraints (facets of the domain and units that vanish
there, one bit each), an edge its two ends, a cell its vertices (``corners``) and its edges (``sides``). All cells share
vertices and edges, so that the sign of a unit at a vertex is decided once, for every cell around it.

Cutting by a unit that is affine on every cell: an edge whose ends have opposite signs gets a vertex where the unit
vanishes, tight where both ends are; a cell with corners of both signs becomes two, whose common facet has the cell's
vertices of sign zero as corners (:mod:`._new_facet`).

Arrays are copied and filled by plain loops: numba compiles those many times faster than assignments to slices.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from tutelage.compiling import OPTIONS, PART

DONE, TOO_MANY, TOO_CLOSE = 0, 1, 2
"""How a cut ended: well, beyond its budget, or at a unit too close to vertices to tell on which side they lie."""
UNSURE = 64
"""Values beyond the tolerance by up to this factor are neither zero nor surely not: none may lie there."""
SIDES_A_CELL = 64
"""A budget of n cells and n vertices lets the lists of edges of all cells grow to n times this."""


class Complex(NamedTuple):
    """Vertices, edges and cells: V, E and R of them; K units in all, W words of bits."""

    points: np.ndarray  # [V, d]
    values: np.ndarray  # [V, n], the units of the layer being cut
    tight: np.ndarray  # uint64 [V, W]
    ends: np.ndarray  # int32 [E, 2]
    corners: np.ndarray  # int32, vertices of cell r from corner_from[r] on, corner_count[r] of them
    corner_from: np.ndarray  # int64 [R]
    corner_count: np.ndarray  # int64 [R]
    sides: np.ndarray  # int32, edges of cell r likewise
    side_from: np.ndarray
    side_count: np.ndarray
    signs: np.ndarray  # int8 [R, K], 0 for a unit that vanishes on all of a cell
    roots: np.ndarray  # int32 [R], which cell of the layers below a cell was cut from


class ComplexSize(NamedTuple):
    """How many rows of the arrays of a complex are in use."""

    vertices: int
    edges: int
    cells: int
    corners: int
    sides: int


class Marks(NamedTuple):
    """What a unit does to vertices and edges."""

    sign: np.ndarray  # int8 [V], its sign at each vertex
    half: np.ndarray  # int32 [E before], the negative half of an edge that it cut, else -1
    first: np.ndarray  # int32 [V], the first edge of sign zero whose later end is this vertex, else -1
    following: np.ndarray  # int32 [E], the next edge of that list


@njit(**OPTIONS)
def rows(array, used, needed):
    """The same array with room for ``needed`` more rows after the first ``used``."""
    if used + needed <= array.shape[0]:
        return array
    # Doubled, so that all growth together costs no more than twice the final size.
    larger = np.empty((2 * (used + needed), array.shape[1]), array.dtype)
    for i in range(used):
        for j in range(array.shape[1]):
            larger[i, j] = array[i, j]
    return larger


@njit(**OPTIONS)
def room(array, used, needed):
    """The same for an array with one axis."""
    if used + needed <= array.shape[0]:
        return array
    larger = np.empty(2 * (used + needed), array.dtype)
    for i in range(used):
        larger[i] = array[i]
    return larger


@njit(**OPTIONS)
def nothing_yet(count):
    """An array of -1: int32 [count]."""
    array = np.empty(count, np.int32)
    for i in range(count):
        array[i] = -1
    return array


@njit(**OPTIONS)
def repacked(pool, starts, counts, cells, needed):
    """The lists of all cells one after another, with room for more; lists that no cell owns any longer are dropped."""
    total = 0
    for r in range(cells):
        total += counts[r]
    larger = np.empty(2 * (total + needed), pool.dtype)
    used = 0
    for r in range(cells):
        for i in range(counts[r]):
            larger[used + i] = pool[starts[r] + i]
        starts[r] = used
        used += counts[r]
    return larger, used


@njit(**OPTIONS)
def vertex_signs(values, tight, unit, number, tolerance):
    """Signs of a unit at all vertices, and whether all are sure; where it vanishes the value becomes 0, the bit 1."""
    word, bit = number // 64, np.uint64(1) << np.uint64(number % 64)
    sign, sure = np.empty(values.shape[0], np.int8), True
    for v in range(values.shape[0]):
        value = values[v, unit]
        sign[v] = 1 if value > 0 else -1
        if abs(value) <= tolerance:
            values[v, unit] = 0.0
            tight[v, word] |= bit
            sign[v] = 0
        elif abs(value) <= UNSURE * tolerance:
            sure = False
    return sign, sure


@njit(**OPTIONS)
def _cut_edge(state, edge, new, half, unit, number, sign):
    """Put vertex ``new`` on an edge: the edge keeps its positive half, edge ``half`` becomes the negative one."""
    points, values, tight, ends = state.points, state.values, state.tight, state.ends
    u, v = ends[edge, 0], ends[edge, 1]
    if sign[u] < 0:
        u, v = v, u
    t = values[u, unit] / (values[u, unit] - values[v, unit])
    for i in range(points.shape[1]):
        points[new, i] = points[u, i] + t * (points[v, i] - points[u, i])
    for i in range(values.shape[1]):
        # All later units of the layer are carried along the edge as means of its ends: no product with weights is
        # needed, and the error of a mean is no larger than that of its ends.
        values[new, i] = values[u, i] + t * (values[v, i] - values[u, i])
    for i in range(tight.shape[1]):
        tight[new, i] = tight[u, i] & tight[v, i]
    values[new, unit] = 0.0
    tight[new, number // 64] |= np.uint64(1) << np.uint64(number % 64)
    sign[new] = 0
    ends[edge, 0], ends[edge, 1] = u, new
    ends[half, 0], ends[half, 1] = v, new


@njit(**OPTIONS)
def list_edge(ends, edge, marks):
    """Put an edge of sign zero on the list of its later end."""
    owner = max(ends[edge, 0], ends[edge, 1])
    marks.following[edge] = marks.first[owner]
    marks.first[owner] = edge


@njit(**OPTIONS)
def find_edge(ends, u, v, marks):
    """The edge of sign zero from u to v, or -1."""
    edge = marks.first[max(u, v)]
    while edge >= 0 and min(ends[edge, 0], ends[edge, 1]) != min(u, v):
        edge = marks.following[edge]
    return edge


@njit(**PART)
def cut_edges(state, size, unit, number, sign, crossing):
    """All edges cut by a unit, ``crossing`` of them: (complex, size, marks)."""
    vertices, edges = size.vertices, size.edges
    state = Complex(
        rows(state.points, vertices, crossing), rows(state.values, vertices, crossing),
        rows(state.tight, vertices, crossing), rows(state.ends, edges, crossing),
        state.corners, state.corner_from, state.corner_count, state.sides, state.side_from, state.side_count,
        state.signs, state.roots,
    )  # fmt: skip
    marks = Marks(
        room(sign, vertices, crossing), nothing_yet(edges), nothing_yet(vertices + crossing),
        np.empty(2 * (edges + crossing), np.int32),
    )  # fmt: skip
    for e in range(size.edges):
        s, t = marks.sign[state.ends[e, 0]], marks.sign[state.ends[e, 1]]
        if s * t < 0:
            _cut_edge(state, e, vertices, edges, unit, number, marks.sign)
            marks.half[e] = edges
            vertices += 1
            edges += 1
        elif s == 0 and t == 0:
            list_edge(state.ends, e, marks)
    return state, ComplexSize(vertices, edges, size.cells, size.corners, size.sides), marks
