r"""Two layers made one, where the upper one only puts together what the lower one took apart.

A unit of the upper layer that takes c > 0 of one unit v below, and nothing else, gives max(0, c v). One that takes two
units whose pre-activations satisfy :math:`c_1 v_1 = c_2 v_2` with :math:`c_1` and :math:`c_2` of opposite signs gives
:math:`c_1 \max(0, v_1) + c_2 \max(0, v_2) + b = c_1 v_1 + b` before its own activation, since
:math:`\max(0, v) - \max(0, -v) = v`. Where every unit of a layer is one of these, the layer below can do its work.
Such pairs of layers are what tools write that split units for other tools (ReluSplitter).

Only products that float64 holds exactly are joined, so that two forms of one unit compare equal and the layer that is
made is the same function but for the rounding of one bias, which is in its slack. One pass over the layers.
"""

from typing import Any, NamedTuple

import numpy as np

from tutelage.functions.rounding import EPS


class Layer(NamedTuple):
    """Weights [out, in], dense or sparse, biases [out], the slope of the activation below 0 (1 for none), and by how
    much a pre-activation may be off [out]."""

    w: Any
    b: np.ndarray
    left: float
    slack: np.ndarray


def collapsed(layers: list[Layer]) -> list[Layer]:
    """The same function with as many pairs of layers made one as can be; what rounding does is in the slack.

    >>> eye, nothing = np.eye(2), np.zeros(2)
    >>> split = [Layer(np.array([[3.0], [-3.0]]), np.array([1.0, -1.0]), 0.0, nothing),
    ...          Layer(np.array([[1.0, -1.0]]), np.array([0.5]), 0.0, nothing[:1]),
    ...          Layer(np.array([[1.0]]), np.array([0.0]), 0.0, nothing[:1])]
    >>> [layer.w.tolist() for layer in collapsed(split)], collapsed(split)[0].b.tolist()
    ([[[3.0]], [[1.0]]], [1.5])
    """
    # Invariant: no pair below `at` can be joined; a join may make the next one possible, so `at` stays.
    at = 0
    while at + 2 < len(layers):
        joined = _one(layers[at], layers[at + 1])
        if joined is None:
            at += 1
        else:
            layers = [*layers[:at], joined, *layers[at + 2 :]]
    return layers


def _one(lower: Layer, upper: Layer) -> Layer | None:
    """Both layers as one, or None where that cannot be."""
    if lower.left != 0.0 or upper.left != 0.0 or lower.slack.any() or upper.slack.any():
        return None
    taken = _taken_apart(upper.w)
    if taken is None:
        return None
    first, second, c, d = taken
    alone, pair = first == second, first != second
    if not (alone <= ((c > 0) & (upper.b == 0))).all() or not (pair <= (np.sign(c) * np.sign(d) < 0)).all():
        return None
    wc, wd = _exact_rows(c, lower.w[first]), _exact_rows(d, lower.w[second])
    bc, bd = _exact(c, lower.b[first]), _exact(d, lower.b[second])
    if wc is None or wd is None or bc is None or bd is None:
        return None
    if not (_equal_rows(wc[pair], wd[pair]) and (bc == bd)[pair].all()):
        return None
    b = bc + upper.b
    slack = np.where(upper.b != 0, EPS * (np.abs(bc) + np.abs(upper.b)), 0.0)
    return Layer(wc, b, 0.0, slack)


def _taken_apart(w: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
    """The first and the last unit that every row reads, and both weights; None where a row reads none or more than two.

    A unit above that uses anything else uses more than was taken apart.
    """
    if isinstance(w, np.ndarray):
        used = w != 0
        counts = used.sum(1)
        if not np.isin(counts, (1, 2)).all():
            return None
        first, second = used.argmax(1), w.shape[1] - 1 - used[:, ::-1].argmax(1)
        rows = np.arange(len(w))
        return first, second, w[rows, first], w[rows, second]
    w = w.copy()
    w.sum_duplicates()
    w.eliminate_zeros()
    if not np.isin(np.diff(w.indptr), (1, 2)).all():
        return None
    begin, end = w.indptr[:-1], w.indptr[1:] - 1
    return w.indices[begin], w.indices[end], w.data[begin], w.data[end]


def _exact_rows(c: np.ndarray, rows: Any) -> Any:
    """c times rows, dense or sparse, or None where a product may be rounded."""
    if isinstance(rows, np.ndarray):
        product = _exact(c, rows)
        return None if product is None else np.ascontiguousarray(product)
    data = _exact(np.repeat(c, np.diff(rows.indptr)), rows.data)
    return None if data is None else type(rows)((data, rows.indices, rows.indptr), shape=rows.shape)


def _equal_rows(a: Any, b: Any) -> bool:
    return bool((a == b).all()) if isinstance(a, np.ndarray) else (a != b).nnz == 0


def _exact(c: np.ndarray, values: np.ndarray) -> np.ndarray | None:
    """c times (rows of) values, or None where a product may be rounded: exact for the 24 bits of float32 numbers."""
    c = c.reshape(-1, *[1] * (values.ndim - 1))
    # 24 bits times 24 bits fit into the 53 of float64: the product is exact, and equal forms compare equal. Weights in
    # float64 are left as they are, since a tolerance here would have to be counted in every later bound.
    if (c.astype(np.float32) != c).any() or (values.astype(np.float32) != values).any():
        return None
    product = c * values
    small = (np.abs(product) < 1e-280) & (c != 0) & (values != 0)
    return None if small.any() else product
