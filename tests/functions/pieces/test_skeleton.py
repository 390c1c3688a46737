"""Both ways to find the edges of a new facet agree, and lists survive being packed anew."""

import numpy as np
import pytest
from scipy.spatial import HalfspaceIntersection

from tutelage.functions.pieces import _skeleton


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
    simple = _skeleton._pairs_by_looking(masks, count, dimension, True, room)
    general = _skeleton._pairs_by_looking(masks, count, dimension, False, room)
    hashed = _skeleton._pairs_by_hashing(masks, count, dimension, room, slots, keys)
    assert as_set(*simple) == as_set(*general) == as_set(*hashed)
    assert hashed[1] == simple[1] == count * dimension // 2  # a simple polytope has d edges a corner


def test_lists_are_packed_without_what_nobody_owns():
    pool = np.arange(20, dtype=np.int32)
    starts, counts = np.array([12, 3]), np.array([4, 2])
    packed, used = _skeleton.repacked(pool, starts, counts, 2, 10)
    assert packed[:used].tolist() == [12, 13, 14, 15, 3, 4]
    assert starts.tolist() == [0, 4]
    assert len(packed) >= used + 10


def test_growing_keeps_what_is_there():
    rows = np.arange(6.0).reshape(3, 2)
    assert _skeleton.rows(rows, 2, 1).shape == (3, 2)
    larger = _skeleton.rows(rows, 2, 5)
    assert len(larger) >= 7
    assert (larger[:2] == rows[:2]).all()
    assert (_skeleton.room(np.arange(4), 4, 1)[:4] == np.arange(4)).all()
