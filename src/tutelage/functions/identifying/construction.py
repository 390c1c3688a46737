"""Networks that their function determines, made layer by layer (Phuong 2021, Lemma 2.4 and A.17).

A draw may come out too thin for rounding, or fail the conditions: it is then drawn anew, and the result is checked by
:func:`.identifiability` unless the caller says otherwise. Only widths that never grow can be had (Theorem 2.1).
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.optimize import nnls
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.functions.domain import Domain, Ends, as_domain
from tutelage.functions.identifying.identifiability import identifiability
from tutelage.functions.pieces.regions import BUDGET, enumerate_regions, local_maps
from tutelage.functions.pieces.subdivision import skeleton
from tutelage.networks import Network

TRIES = 16
"""How often a network is drawn anew when rounding or a narrow cell has spoilt one."""
_MARGIN = 0.3  # of its extent, by which unit 2 overlaps unit 1
_DEEP = 0.9  # how far points are drawn towards the ends of a cell


class _Spoilt(Exception):
    """A draw that came out too thin to go on with."""


@dataclass(frozen=True, eq=False)
class _State:
    """Inputs on which all units so far are active, as corners [V, d_0]; their images [V, d]; images of all inputs'
    vertices [U, d]; points x_i [n, d_0] on the folds of the last layer and their images."""

    corners: Tensor
    images: Tensor
    everything: Tensor
    points: Tensor
    point_images: Tensor


def construct(widths: tuple[int, ...], domain: Domain | Ends, seed: int = 0, check: bool = True) -> Network:
    """Draw a relu network that its function identifies on a domain (Phuong 2021, Theorem 2.1).

    In every layer some unit is active at each input: unit 1 wherever unit 0 is not. Every unit has a point on its fold
    at which all others are active, and unit 0 of the next layer folds at all of these points.

    Parameters
    ----------
    widths
        Inputs, hidden widths and outputs; they never grow, and hidden widths are at least 2.
    domain
        From :func:`box` or :func:`polytope`, or the ends (low, high) of a box.
    seed
        Of the draw.
    check
        Whether to verify the result (:func:`identifiability`) and draw again if it fails.

    Returns
    -------
    Network
        One member.

    Examples
    --------
    >>> construct((3, 2, 2, 1), (-1, 1)).widths
    (3, 2, 2, 1)
    """
    inner = tuple(widths[:-1])
    if len(widths) < 3 or widths[-1] != 1 or min(inner) < 2 or list(inner) != sorted(inner, reverse=True):
        raise TutelageError(
            f"widths {tuple(widths)} cannot be used: give inputs, hidden widths that never grow, none below 2, and "
            "one output, such as (3, 3, 2, 1)"
        )
    space = as_domain(domain, widths[0])
    for attempt in range(TRIES):
        try:
            network = _attempt(widths, space, _Draw(seed, attempt))
        except (_Spoilt, TutelageError):
            continue
        if not check or identifiability(network, space).holds:
            return network
    raise TutelageError(
        f"no identifiable network of widths {tuple(widths)} was found in {TRIES} draws: try another seed"
    )


class _Draw:
    """Normal numbers of one attempt, never the same twice."""

    def __init__(self, seed: int, attempt: int) -> None:
        self.key, self.used = draws.keys([seed], f"identifiable {attempt}"), 0

    def normals(self, count: int) -> Tensor:
        self.used += count
        return draws.normals(self.key, count, self.used - count)[0]

    def mixture(self, count: int) -> Tensor:
        """Random positive weights that add up to 1."""
        weights = self.normals(count).square()
        return weights / weights.sum()


def _attempt(widths: tuple[int, ...], domain: Domain, draw: _Draw) -> Network:
    corners = torch.from_numpy(skeleton(domain, 0, BUDGET).points)
    state = _State(corners, corners, corners, corners[:0], corners[:0])
    weights: list[Tensor] = []
    biases: list[Tensor] = []
    # Invariant: on the cell of `state` all units so far are active, so that the network is affine there and the next
    # layer can be placed in its image (the induction of Lemma 2.4).
    for width in widths[1:-1]:
        w, b, points = _layer(width, state, draw)
        weights.append(w.unsqueeze(0))
        biases.append(b.unsqueeze(0))
        state = _after(Network(tuple(weights), tuple(biases)), domain, points)
    last = draw.normals(widths[-2] + 1)
    return Network((*weights, last[:-1].view(1, -1, 1)), (*biases, last[-1:].view(1, 1)))


def _after(network: Network, domain: Domain, points: Tensor) -> _State:
    """The state once a layer is there: the cell on which all units are active, and the images of all vertices."""
    eye = torch.eye(network.outputs, dtype=torch.float64)[None]
    biases = (*(network.biases or ()), eye[:, 0] * 0)
    regions = enumerate_regions(replace(network, weights=(*network.weights, eye), biases=biases), domain)
    on = (regions.signs > 0).all(1).nonzero().flatten()
    if not len(on):
        raise _Spoilt("no input has all units active")
    corners = regions.corners_of(int(on[0]))
    slopes, shifts = (a[0] for a in local_maps(regions.network, regions.signs[on[:1]]))
    f = regions.vertices
    for w, b in zip(network.weights, network.biases or (), strict=True):
        f = (f @ w[0] + b[0]).relu()
    images = (points @ slopes + shifts).clamp_min(0)
    return _State(corners, corners @ slopes + shifts, f, points, images)


def _layer(width: int, state: _State, draw: _Draw) -> tuple[Tensor, Tensor, Tensor]:
    """Weights [in, width], biases [width] of a layer, and a point on each unit's fold where all others are active."""
    first = _first_unit(state, draw)
    second = _second_unit(state, first, draw)
    rows = [first, second]
    points = [_on_fold(state, unit, draw) for unit in rows]
    while len(rows) < width:
        unit, point = _next_unit(state, rows, points, draw)
        rows.append(unit)
        points.append(point)
    forms = torch.stack(rows, 1)
    fold_points = torch.stack([p for p, _ in points])
    values = torch.stack([z for _, z in points]) @ forms[:-1] + forms[-1]
    off = ~torch.eye(width, dtype=torch.bool)
    if not (values[off] > 1e-6).all() or not (values.diagonal().abs() < 1e-9).all():
        raise _Spoilt("a point on a fold at which another unit is not active")
    return forms[:-1], forms[-1], fold_points


def _value(form: Tensor, images: Tensor) -> Tensor:
    return images @ form[:-1] + form[-1]


def _inner(state: _State, draw: _Draw) -> tuple[Tensor, Tensor]:
    """A point inside the cell of active units, with its image."""
    mixture = (draw.mixture(len(state.corners)) + 1 / len(state.corners)) / 2
    return mixture @ state.corners, mixture @ state.images


def _first_unit(state: _State, draw: _Draw) -> Tensor:
    """A hyperplane through the cell, or through the images of the points on the last layer's folds (Phuong 2021,
    A.53).
    """
    d = state.images.shape[1]
    if not len(state.points):
        w = draw.normals(d)
        through = state.images.mean(0) + 0.3 * (_inner(state, draw)[1] - state.images.mean(0))
    else:
        z = state.point_images
        through = z.mean(0)
        values, vectors = torch.linalg.svd(z[1:] - z[0])[1:]
        if values[d - 2] < 1e-6 * values[0]:
            raise _Spoilt("the points on the folds do not span a hyperplane")
        w = vectors[-1]
    w = w / w.norm()
    form = torch.cat([w, -(w @ through)[None]])
    value = _value(form, state.images)
    return form if value.max() >= -value.min() else -form


def _second_unit(state: _State, first: Tensor, draw: _Draw) -> Tensor:
    """A hyperplane nearly the first turned round, so that one of both is active at every input (Phuong 2021, A.44)."""
    overlap = _MARGIN * _value(first, state.images).max()
    tilt = draw.normals(len(first) - 1)
    tilt = tilt * (overlap / 2) / (state.everything @ tilt).abs().max()
    return torch.cat([tilt - first[:-1], (overlap - first[-1])[None]])


def _on_fold(state: _State, form: Tensor, draw: _Draw) -> tuple[Tensor, Tensor]:
    """A point inside the cell where a unit vanishes, and its image."""
    value, (x, z) = _value(form, state.images), _inner(state, draw)
    (x0, z0), (x1, z1) = (
        (_DEEP * state.corners[at] + (1 - _DEEP) * x, _DEEP * state.images[at] + (1 - _DEEP) * z)
        for at in (int(value.argmin()), int(value.argmax()))
    )
    low, high = _value(form, z0), _value(form, z1)
    if not low < 0 < high:
        raise _Spoilt("a unit that does not cut its cell")
    t = -low / (high - low)
    return x0 + t * (x1 - x0), z0 + t * (z1 - z0)


def _next_unit(
    state: _State, forms: list[Tensor], points: list[tuple[Tensor, Tensor]], draw: _Draw
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """A hyperplane between the points so far and one more of the cell, on which all units so far are active."""
    xs, zs = (torch.stack(kind) for kind in zip(*points, strict=True))
    base, inner = (xs.mean(0), zs.mean(0)), _inner(state, draw)
    reach = 1.0
    for form in forms:
        here, there = _value(form, base[1]), _value(form, inner[1])
        if there < 0:
            reach = min(reach, 0.7 * (here / (here - there)).item())
    x, z = (a + reach * (b - a) for a, b in zip(base, inner, strict=True))
    weights = _nearest(zs, z)
    q, way = weights @ zs, weights @ zs - z
    if way.norm() < 1e-6:
        raise _Spoilt("a point too close to the others")
    w = way / way.norm()
    middle = (q + z) / 2
    return torch.cat([w, -(w @ middle)[None]]), ((weights @ xs + x) / 2, middle)


def _nearest(points: Tensor, z: Tensor) -> Tensor:
    """Weights of the point of the hull of points [n, d] that is nearest to z: positive, with sum 1."""
    # A row that says that the weights add up to 1, heavy enough that least squares keeps to it.
    heavy = 1e4 * max(1.0, points.abs().max().item())
    rows = np.vstack([points.numpy().T, np.full((1, len(points)), heavy)])
    weights = torch.from_numpy(nnls(rows, np.append(z.numpy(), heavy))[0])
    return weights / weights.sum()
