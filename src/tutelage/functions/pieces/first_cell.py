"""A domain as a complex of one cell, which units then cut."""

import numpy as np

from tutelage.errors import TutelageError
from tutelage.functions.domain import Domain
from tutelage.functions.pieces._cutting import cut_layer
from tutelage.functions.pieces._skeleton import DONE, Complex
from tutelage.functions.rounding import ROUNDING


def skeleton(domain: Domain, units: int, budget: int) -> Complex:
    """The domain as a complex of one cell, with room for the bits and signs of all units."""
    words = (domain.facets + units + 63) // 64
    if domain.is_flat:
        raise TutelageError(
            "a box with a side of length 0 has no pieces: take a slice (slice_network) without that side"
        )
    if domain.is_box:
        return _cube(domain, words, units, budget)
    return _cut_out(domain, words, units, budget)


def _cube(domain: Domain, words: int, units: int, budget: int) -> Complex:
    """A box: vertex v is high in coordinate i where bit i of v is 1; edges change one bit."""
    d = domain.dimension
    if 2**d > budget:
        raise TutelageError(
            f"a box in {d} dimensions has 2^{d} corners, and pieces are found from corners: take a slice "
            f"(slice_network) of fewer dimensions, or a budget of more than {budget:,} vertices"
        )
    number = np.arange(1 << d)
    up = (number[:, None] >> np.arange(d)) & 1
    points = np.where(up, domain.high.numpy(), domain.low.numpy())
    tight = np.zeros((len(number), words), np.uint64)
    for i in range(d):
        for constraint, chosen in ((i, up[:, i] == 0), (d + i, up[:, i] == 1)):
            tight[chosen, constraint // 64] |= np.uint64(1) << np.uint64(constraint % 64)
    ends = [np.stack([number[up[:, i] == 0], number[up[:, i] == 0] | (1 << i)], 1) for i in range(d)]
    return _one_cell(points, tight, np.concatenate(ends), units)


def _one_cell(points: np.ndarray, tight: np.ndarray, ends: np.ndarray, units: int) -> Complex:
    def number(n: int) -> np.ndarray:
        return np.array([n], np.int64)

    return Complex(
        points=np.ascontiguousarray(points, np.float64),
        values=np.empty((len(points), 0)),
        tight=tight,
        ends=ends.astype(np.int32),
        corners=np.arange(len(points), dtype=np.int32),
        corner_from=number(0),
        corner_count=number(len(points)),
        sides=np.arange(len(ends), dtype=np.int32),
        side_from=number(0),
        side_count=number(len(ends)),
        signs=np.zeros((1, units), np.int8),
        roots=np.zeros(1, np.int32),
    )


def _cut_out(domain: Domain, words: int, units: int, budget: int) -> Complex:
    """A polytope, cut out of a simplex around it; the bits of the simplex are taken away again at the end."""
    d, m = domain.dimension, domain.facets
    low, high = domain.low.numpy(), domain.high.numpy()
    margin = (high - low).max()
    reach = (high - low).sum() + (d + 1) * margin
    points = np.concatenate([np.zeros((1, d)), reach * np.eye(d)]) + (low - margin)
    everything = sum(1 << (m + i) for i in range(d + 1))  # vertex i lies on all facets of the simplex but one
    tight = np.zeros((d + 1, (m + d + 1 + 63) // 64), np.uint64)
    for v in range(d + 1):
        mask = everything & ~(1 << (m + v))
        tight[v] = [(mask >> (64 * w)) & (2**64 - 1) for w in range(tight.shape[1])]
    start = _one_cell(points, tight, np.stack(np.triu_indices(d + 1, 1), 1), m)
    normals, offsets = domain.normals.numpy(), domain.offsets.numpy()
    scale = (np.abs(points).max(0) @ np.abs(normals).T) + np.abs(offsets)
    values = np.ascontiguousarray(offsets - points @ normals.T)
    cell, _, ended, _, _ = cut_layer(start._replace(values=values), 0, 0, ROUNDING * scale, budget, True)
    if ended != DONE or (cell.signs < 0).any():
        raise TutelageError(
            f"the corners of a polytope of {m} constraints in {d} dimensions are too many, or too close together to "
            "be told apart: drop constraints that matter little, or take a box"
        )
    return _without_the_rest(cell, m, words, units)


def _without_the_rest(cell: Complex, facets: int, words: int, units: int) -> Complex:
    """One cell alone: vertices and edges numbered anew, the bits of its own constraints in as many words as asked."""
    place = np.full(len(cell.points), -1)
    place[cell.corners] = np.arange(len(cell.corners))
    kept = np.zeros((len(cell.corners), words), np.uint64)
    common = min(words, cell.tight.shape[1])
    kept[:, :common] = cell.tight[cell.corners, :common]
    if facets % 64 and facets // 64 < words:
        kept[:, facets // 64] &= np.uint64((1 << (facets % 64)) - 1)
    kept[:, (facets + 63) // 64 :] = 0
    return _one_cell(cell.points[cell.corners], kept, place[cell.ends[cell.sides]], units)
