"""The facet that a cut gives both halves of a cell: its corners and its edges.

Its corners are the cell's vertices of sign zero. Two of those are the ends of an edge when no third is tight wherever
both are. This is the combinatorial rule for the edges of any polytope, so it makes no difference whether many units
meet in one vertex. Where every corner has d tight constraints and no more, to have d - 1 of them in common says the
same.
"""

from typing import NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from tutelage.compiling import OPTIONS
from tutelage.functions.pieces._skeleton import Marks, find_edge, list_edge, nothing_yet, room, rows

_FEW = 24  # corners of a facet up to which all pairs are looked at


class Scratch(NamedTuple):
    """Memory for one new facet at a time."""

    facet: np.ndarray  # int32, its corners
    masks: np.ndarray  # uint64 [.., W], their tight constraints
    pairs: np.ndarray  # int32 [.., 2], which corners are joined, later which edges these are
    slots: np.ndarray  # int32, a hash table
    keys: np.ndarray  # uint64, its keys


@intrinsic
def _bits_set(typingctx, word):
    """How many bits of a word are 1."""

    def code(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), code


@njit(**OPTIONS)
def facet_corners(state, r, marks, facet):
    """The vertices of sign zero of a cell, those it had and those on its cut edges; returns how many."""
    count = 0
    for i in range(state.corner_from[r], state.corner_from[r] + state.corner_count[r]):
        if marks.sign[state.corners[i]] == 0:
            facet[count] = state.corners[i]
            count += 1
    for i in range(state.side_from[r], state.side_from[r] + state.side_count[r]):
        if marks.half[state.sides[i]] >= 0:
            facet[count] = state.ends[state.sides[i], 1]
            count += 1
    return count


@njit(**OPTIONS)
def _common(masks, a, b):
    """How many constraints are tight at both of two corners."""
    common = np.uint64(0)
    for i in range(masks.shape[1]):
        common += _bits_set(masks[a, i] & masks[b, i])
    return np.int64(common)


@njit(**OPTIONS)
def _third_between(masks, count, a, b):
    """Whether some third corner is tight wherever a and b both are."""
    for c in range(count):
        inside = c != a and c != b
        for i in range(masks.shape[1]):
            both = masks[a, i] & masks[b, i]
            inside &= both & masks[c, i] == both
        if inside:
            return True
    return False


@njit(**OPTIONS)
def _pairs_by_looking(masks, count, dimension, simple, pairs):
    """Pairs of corners that are the ends of an edge, from all pairs: (pairs, how many)."""
    joined = 0
    for a in range(count):
        for b in range(a):
            if _common(masks, a, b) >= dimension - 1 and (simple or not _third_between(masks, count, a, b)):
                pairs = rows(pairs, joined, 1)
                pairs[joined, 0], pairs[joined, 1] = a, b
                joined += 1
    return pairs, joined


@njit(**OPTIONS)
def _code(number):
    """A fixed random word for each constraint (SplitMix64's finaliser)."""
    z = np.uint64(number + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(**OPTIONS)
def _pairs_by_hashing(masks, count, dimension, pairs, slots, keys):
    """The same where every corner has d tight constraints: those that differ in one of them meet at one key."""
    joined, last = 0, np.uint64(slots.shape[0] - 1)
    for i in range(slots.shape[0]):
        slots[i] = -1
    for a in range(count):
        whole = np.uint64(0)
        for i in range(masks.shape[1]):
            rest = masks[a, i]
            while rest:
                low = rest & (~rest + np.uint64(1))
                whole ^= _code(64 * i + np.int64(_bits_set(low - np.uint64(1))))
                rest ^= low
        for i in range(masks.shape[1]):
            rest = masks[a, i]
            while rest:
                low = rest & (~rest + np.uint64(1))
                rest ^= low
                key = whole ^ _code(64 * i + np.int64(_bits_set(low - np.uint64(1))))
                slot = key & last
                while slots[slot] >= 0:
                    b = slots[slot]
                    if keys[slot] == key and _common(masks, a, b) == dimension - 1:
                        pairs = rows(pairs, joined, 1)
                        pairs[joined, 0], pairs[joined, 1] = a, b
                        joined += 1
                        break
                    slot = (slot + np.uint64(1)) & last
                if slots[slot] < 0:
                    slots[slot], keys[slot] = a, key
    return pairs, joined


@njit(**OPTIONS)
def facet_pairs(tight, facet, count, dimension, scratch):
    """Pairs of corners of a new facet that are the ends of its edges: (scratch, how many; -1 if they do not fit).

    A corner of a polytope of dimension d - 1 has at least d - 1 edges; fewer mean that signs were decided by rounding.
    """
    masks, pairs, slots, keys = rows(scratch.masks, 0, count), scratch.pairs, scratch.slots, scratch.keys
    simple = True
    for a in range(count):
        bits = np.uint64(0)
        for i in range(tight.shape[1]):
            masks[a, i] = tight[facet[a], i]
            bits += _bits_set(masks[a, i])
        # Simple corners have exactly d tight constraints: no three boundaries meet by accident, which is the usual
        # case.
        simple &= np.int64(bits) == dimension
    # Looking at all pairs is quadratic in the corners, and cubic where a third corner has to be excluded; hashing is
    # linear, and has a table to fill first.
    if simple and count > _FEW:
        while slots.shape[0] < 2 * count * dimension:
            slots, keys = np.empty(2 * slots.shape[0], np.int32), np.empty(2 * slots.shape[0], np.uint64)
        pairs, joined = _pairs_by_hashing(masks, count, dimension, pairs, slots, keys)
    else:
        pairs, joined = _pairs_by_looking(masks, count, dimension, simple, pairs)
    degree = nothing_yet(count)
    for i in range(joined):
        degree[pairs[i, 0]] += 1
        degree[pairs[i, 1]] += 1
    fits = count >= dimension
    for a in range(count):
        fits &= degree[a] + 1 >= dimension - 1  # they were counted from -1
    joined = joined if fits else -1
    return Scratch(facet, masks, pairs, slots, keys), joined


@njit(**OPTIONS)
def facet_edges(ends, edges, marks, scratch, joined):
    """The edges between the pairs found, those that exist or new ones: (ends, edges, marks); edges to pairs[:, 0]."""
    ends = rows(ends, edges, joined)
    marks = Marks(marks.sign, marks.half, marks.first, room(marks.following, edges, joined))
    for i in range(joined):
        u, v = scratch.facet[scratch.pairs[i, 0]], scratch.facet[scratch.pairs[i, 1]]
        edge = find_edge(ends, u, v, marks)
        if edge < 0:
            edge = edges
            ends[edge, 0], ends[edge, 1] = u, v
            list_edge(ends, edge, marks)
            edges += 1
        scratch.pairs[i, 0] = edge
    return ends, edges, marks
