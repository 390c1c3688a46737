"""Compiled passes over the regions of a network: their facets, their outlines in the plane, their volumes."""

import numpy as np
from numba import njit

from tutelage.compiling import OPTIONS, compiled


@njit(**OPTIONS)
def _has(tight, vertex, number):
    return (tight[vertex, number // 64] >> np.uint64(number % 64)) & np.uint64(1) != np.uint64(0)


@njit(**OPTIONS)
def _code(number):
    """A fixed random word for each vertex (SplitMix64's finaliser)."""
    z = np.uint64(number + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(**OPTIONS)
def _constraints(corners, tight, out):
    """Numbers of all constraints that are tight at some corner; returns how many."""
    count = 0
    for word in range(tight.shape[1]):
        union = np.uint64(0)
        for v in corners:
            union |= tight[v, word]
        for i in range(64):
            if (union >> np.uint64(i)) & np.uint64(1):
                out[count] = 64 * word + i
                count += 1
    return count


@njit(**OPTIONS)
def _sizes(corners, tight, numbers, count):
    """At how many corners each constraint is tight."""
    sizes = np.empty(count, np.int64)
    for j in range(count):
        sizes[j] = 0
        for v in corners:
            sizes[j] += _has(tight, v, numbers[j])
    return sizes


@njit(**OPTIONS)
def _is_facet(corners, tight, numbers, sizes, count, j):
    """Whether constraint j holds with equality on a facet that no other describes, or no other of smaller number.

    Facets are the largest proper faces: corners on j must not all lie on some other proper face with more corners.
    """
    for k in range(count):
        # Of two constraints that are tight at the same corners the one of smaller number stands for the facet.
        larger = sizes[k] > sizes[j] or (sizes[k] == sizes[j] and k < j)
        if k != j and larger and sizes[k] < corners.shape[0]:
            inside = True
            for v in corners:
                if _has(tight, v, numbers[j]) and not _has(tight, v, numbers[k]):
                    inside = False
                    break
            if inside:
                return False
    return True


def _facets(corners, corner_from, tight, dimension):
    """Facets of all regions: region int32 [F], constraint int32 [F], key uint64 [F], first two corners int32 [F, 2].

    The key is a sum of random words over the facet's corners, the same from both sides.
    """
    owner, constraint = np.empty(64, np.int32), np.empty(64, np.int32)
    key, pair = np.empty(64, np.uint64), np.empty((64, 2), np.int32)
    numbers = np.empty(64 * tight.shape[1], np.int64)
    total = 0
    for r in range(corner_from.shape[0] - 1):
        region_corners = corners[corner_from[r] : corner_from[r + 1]]
        count = _constraints(region_corners, tight, numbers)
        sizes = _sizes(region_corners, tight, numbers, count)
        for j in range(count):
            proper = dimension <= sizes[j] < region_corners.shape[0]
            if not (proper and _is_facet(region_corners, tight, numbers, sizes, count, j)):
                continue
            if total == owner.shape[0]:
                owner, constraint = np.concatenate((owner, owner)), np.concatenate((constraint, constraint))
                key, pair = np.concatenate((key, key)), np.concatenate((pair, pair))
            owner[total], constraint[total], key[total], on_facet = r, numbers[j], 0, 0
            pair[total] = -1
            for v in region_corners:
                if _has(tight, v, numbers[j]):
                    key[total] += _code(v)
                    if on_facet < 2:
                        pair[total, on_facet] = v
                    on_facet += 1
            total += 1
    return owner[:total], constraint[:total], key[:total], pair[:total]


def _outlines(sides, side_from, ends):
    """Corners of plane regions in the order in which one meets them along the edges: int32, as many as sides."""
    order = np.empty(sides.shape[0], np.int32)
    for r in range(side_from.shape[0] - 1):
        region_sides = sides[side_from[r] : side_from[r + 1]]
        edge, at = region_sides[0], ends[region_sides[0], 0]
        for i in range(region_sides.shape[0]):
            order[side_from[r] + i] = at
            at = ends[edge, 0] + ends[edge, 1] - at
            for other in region_sides:
                if other != edge and (ends[other, 0] == at or ends[other, 1] == at):
                    edge = other
                    break
    return order


@njit(**OPTIONS)
def _simplex_volume(points, simplex, edges):
    """|det| / d! of the edges from the first corner of a simplex, by elimination in ``edges`` [d, d]."""
    d = points.shape[1]
    for i in range(d):
        for j in range(d):
            edges[i, j] = points[simplex[i + 1], j] - points[simplex[0], j]
    volume = 1.0
    for i in range(d):
        # Partial pivoting: thin simplices would lose all digits without it.
        pivot = i
        for j in range(i + 1, d):
            if abs(edges[j, i]) > abs(edges[pivot, i]):
                pivot = j
        volume *= abs(edges[pivot, i]) / (i + 1)
        if volume == 0:
            return 0.0
        for k in range(i, d):
            edges[i, k], edges[pivot, k] = edges[pivot, k], edges[i, k]
        for j in range(i + 1, d):
            factor = edges[j, i] / edges[i, i]
            for k in range(i + 1, d):
                edges[j, k] -= factor * edges[i, k]
    return volume


@njit(**OPTIONS)
def _cone_volume(points, tight, corners, dimension, simplex, edges):
    """Volume of the cones over a face of some dimension (its ``corners``), from the corners chosen so far.

    The face is cut into cones from its first corner over those of its own facets on which that corner does not lie.
    """
    at = points.shape[1] - dimension
    simplex[at] = corners[0]
    if dimension == 1:
        simplex[at + 1] = corners[1]
        return _simplex_volume(points, simplex, edges)
    numbers = np.empty(64 * tight.shape[1], np.int64)
    count = _constraints(corners, tight, numbers)
    sizes = _sizes(corners, tight, numbers, count)
    volume = 0.0
    for j in range(count):
        proper = dimension <= sizes[j] < corners.shape[0] and not _has(tight, corners[0], numbers[j])
        if proper and _is_facet(corners, tight, numbers, sizes, count, j):
            face, n = np.empty(sizes[j], corners.dtype), 0
            for v in corners:
                if _has(tight, v, numbers[j]):
                    face[n] = v
                    n += 1
            volume += _cone_volume(points, tight, face, dimension - 1, simplex, edges)
    return volume


def _volumes(points, tight, corners, corner_from):
    """Volumes of all regions [R]."""
    dimension = points.shape[1]
    volumes = np.empty(corner_from.shape[0] - 1)
    simplex, edges = np.empty(dimension + 1, np.int64), np.empty((dimension, dimension))
    for r in range(volumes.shape[0]):
        region_corners = corners[corner_from[r] : corner_from[r + 1]]
        volumes[r] = _cone_volume(points, tight, region_corners, dimension, simplex, edges)
    return volumes


facets, outlines, volumes = compiled(_facets), compiled(_outlines), compiled(_volumes)
