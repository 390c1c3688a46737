"""Both ways to find the edges of a new facet agree."""

import numpy as np
import pytest
from scipy.spatial import HalfspaceIntersection

from tutelage.functions.pieces import _new_facet


def random_polytope(dimension, constraints, seed):
    """Tight constraints of the corners of a simple polytope, by Qhull: uint64 [V, words]."""
    draw = np.random.default_rng(seed)
    normals = draw.standard_normal((constraints, dimension))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    halves = np.concatenate([normals, -np.ones((constraints, 1))], 1)
    corners = HalfspaceIntersection(halves, np.zeros(dimension)).intersections
    tight = np.abs(corners @ normals.T - 1) < 1e-9
    masks = np.zeros((len(corners), (constraints + 63) // 64), np.uint64)
    for j in range(constraints):
        masks[tight[:, j], j // 64] |= np.uint64(1) << np.uint64(j % 64)
    return masks[tight.sum(1) == dimension]


def as_set(pairs, joined):
    return {tuple(sorted(pair)) for pair in pairs[:joined].tolist()}


@pytest.mark.parametrize(("dimension", "constraints"), [(3, 30), (4, 20), (5, 16), (3, 90)])
def test_hashing_and_looking_find_the_same_edges(dimension, constraints):
    masks = random_polytope(dimension, constraints, seed=constraints)
    count, room = len(masks), np.empty((4, 2), np.int32)
    slots = np.empty(1 << int(2 * count * dimension).bit_length(), np.int32)
    keys = np.empty(len(slots), np.uint64)
    simple = _new_facet._pairs_by_looking(masks, count, dimension, True, room)
    general = _new_facet._pairs_by_looking(masks, count, dimension, False, room)
    hashed = _new_facet._pairs_by_hashing(masks, count, dimension, room, slots, keys)
    assert as_set(*simple) == as_set(*general) == as_set(*hashed)
    assert hashed[1] == simple[1] == count * dimension // 2  # a simple polytope has d edges a corner
