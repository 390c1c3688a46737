"""The layers known so far: their features, and the affine forms these have around points, in both directions.

The fold of a unit of the next layer is where F(x) = theta . features(x) vanishes. While the signs s of the top layer
are unknown, relu(s u) = (|u| + s u) / 2 makes F linear in the features |u|, the layer's own input z and 1; once they
are known, in the activations and 1. Around a point every feature is affine, and crossing the fold of a known unit j
with pre-activation u_j changes F by (theta . kappa_j) u_j: one number per crossing.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

Layer = tuple[np.ndarray, np.ndarray]
"""W [in, out] and b [out]."""


@dataclass(frozen=True, eq=False)
class Known:
    """Layers found so far: ``below`` with their orientation, ``top`` up to the signs of its units (None: oriented)."""

    below: tuple[Layer, ...] = ()
    top: Layer | None = None
    open: Any = None
    """The open weights of the top layer (OpenWeights), where there are any."""

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        return self.below if self.top is None else (*self.below, self.top)

    @cached_property
    def layer_of(self) -> np.ndarray:
        """Layer of each known unit, counted from 0: int [K]."""
        return np.repeat(np.arange(len(self.layers)), [len(b) for _, b in self.layers]).astype(int)

    @cached_property
    def first(self) -> np.ndarray:
        """Index of the first unit of each layer among all known units: int [layers + 1]."""
        return np.r_[0, np.cumsum([len(b) for _, b in self.layers], dtype=int)].astype(int)

    def count(self, inputs: int) -> int:
        """Number of features m over so many inputs."""
        z = len(self.below[-1][1]) if self.below else inputs
        return z + 1 + (0 if self.top is None else len(self.top[1]))

    def oriented(self, signs: np.ndarray) -> "Known":
        """The same with the signs [n] of the top layer known."""
        assert self.top is not None
        w, b = self.top
        return Known((*self.below, (w * signs, b * signs)))


@dataclass(frozen=True, eq=False)
class Region:
    """Pre-activations u [N, K] of all known units at N points, and the factor of each unit's slope there (0 or 1; -1
    or 1 in an unsigned top layer) [N, K].
    """

    units: np.ndarray
    gates: np.ndarray


def features(known: Known, points: np.ndarray) -> np.ndarray:
    """Features at points: [N, d] -> [N, m]."""
    z = points
    for w, b in known.below:
        z = np.maximum(z @ w + b, 0)
    ones = np.ones((len(z), 1))
    if known.top is None:
        return np.concatenate([z, ones], axis=1)
    return np.concatenate([np.abs(z @ known.top[0] + known.top[1]), z, ones], axis=1)


def region(known: Known, points: np.ndarray) -> Region:
    """Where points [N, d] lie with respect to the folds of the known units."""
    z, units, gates = points, [np.zeros((len(points), 0))], [np.zeros((len(points), 0))]
    for w, b in known.below:
        u = z @ w + b
        units.append(u)
        gates.append((u > 0).astype(float))
        z = u * gates[-1]
    if known.top is not None:
        units.append(z @ known.top[0] + known.top[1])
        gates.append(np.sign(units[-1]))
    return Region(np.concatenate(units, axis=1), np.concatenate(gates, axis=1))


def pushed(known: Known, at: Region, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rates of all known units [N, T, K] and of the features [N, T, m] along directions [N, T, d]."""
    dz, rates = directions, [np.zeros((*directions.shape[:2], 0))]
    for k, (w, _) in enumerate(known.below):
        rates.append(dz @ w)
        dz = rates[-1] * at.gates[:, None, known.first[k] : known.first[k + 1]]
    parts = [dz, np.zeros((*directions.shape[:2], 1))]
    if known.top is not None:
        rates.append(dz @ known.top[0])
        parts = [rates[-1] * at.gates[:, None, known.first[-2] :], *parts]
    return np.concatenate(rates, axis=2), np.concatenate(parts, axis=2)


def kappas(known: Known, at: Region, inputs: int) -> np.ndarray:
    """What the slopes of the features gain, in multiples of a unit's slope, where the unit switches on: [N, K, m]."""
    n, m = len(at.units), known.count(inputs)
    out = np.zeros((n, int(known.first[-1]), m))
    for layer, (_, b) in enumerate(known.layers):
        rows = slice(known.first[layer], known.first[layer + 1])
        if known.top is not None and layer == len(known.below):
            out[:, rows, : len(b)] = 2 * np.eye(len(b))
            continue
        dz = np.broadcast_to(np.eye(len(b)), (n, len(b), len(b)))
        for k in range(layer + 1, len(known.below)):
            dz = (dz @ known.below[k][0]) * at.gates[:, None, known.first[k] : known.first[k + 1]]
        parts = [dz, np.zeros((n, len(b), 1))]
        if known.top is not None:
            parts = [(dz @ known.top[0]) * at.gates[:, None, known.first[-2] :], *parts]
        out[:, rows] = np.concatenate(parts, axis=2)
    return out


def unit_slopes(known: Known, at: Region, unit: np.ndarray) -> np.ndarray:
    """Gradients [N, d] of one known unit per point, unit: int [N]."""
    back = np.zeros((len(unit), 0))
    for k in reversed(range(len(known.layers))):
        w = known.layers[k][0]
        here = known.layer_of[unit] == k
        local = np.where(here, unit - known.first[k], 0)
        begin = np.where(here[:, None], w.T[local], 0.0)
        if back.shape[1]:
            begin = begin + (back * at.gates[:, known.first[k] : known.first[k + 1]]) @ w.T
        back = begin
    return back


def slopes(known: Known, theta: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Gradients [N, d] of F with coefficients theta [m] at points [N, d]."""
    at = region(known, points)
    if known.top is not None:
        n = len(known.top[1])
        back = (theta[:n] * at.gates[:, known.first[-2] :]) @ known.top[0].T + theta[n:-1]
    else:
        back = np.broadcast_to(theta[:-1], (len(points), len(theta) - 1))
    for k in reversed(range(len(known.below))):
        back = (back * at.gates[:, known.first[k] : known.first[k + 1]]) @ known.below[k][0].T
    return back


def open_directions(known: Known, basis: np.ndarray) -> np.ndarray:
    """Directions [q, m] of coefficients outside what is determined, rows of a basis [r, m].

    A single feature, or what a unit of an unsigned top layer adds beyond its fold, |u| - u or |u| + u, is taken where
    it is open as a whole; other directions are orthonormal.
    """
    m = basis.shape[1]
    trials = np.eye(m)
    if known.top is not None:
        w, b = known.top
        both = [np.concatenate([np.eye(len(b)), side * w.T, side * b[:, None]], axis=1) for side in (-1.0, 1.0)]
        trials = np.concatenate([*both, trials])
    trials = trials / np.linalg.norm(trials, axis=1, keepdims=True)
    # A single feature that is open as a whole is the usual case (a unit that the fold never meets), and one weight is
    # easier to find than a mixture: it is taken before orthonormal directions.
    trials = trials[np.linalg.norm(trials @ basis.T, axis=1) < 1e-6]
    outside = np.eye(m) - basis.T @ basis
    if len(trials):
        _, s, v = np.linalg.svd(trials, full_matrices=False)
        span = v[s > 1e-6]
        outside = outside - span.T @ span
    _, s, v = np.linalg.svd(outside)
    return np.concatenate([trials, v[s > 0.5]])
