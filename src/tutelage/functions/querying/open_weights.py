"""Weights that a unit's own fold leaves open, and how the units above tell them.

Where the fold of unit k never meets the part of the box in which a direction g of its input moves, the weight p along g
stays open: u_k has one sign there, sigma. Any p that keeps this sign gives the same |u_k| up to a multiple of g, which
the units above carry in what they read of the layer's input. A reader with coefficient alpha_k of |u_k| then has
alpha_k ((s_k + sigma) p - sigma p') g in its linear part, with p' the weight taken in place of p: linear equations in
the signs s and one number per open weight, whatever the number of readers.
"""

from dataclasses import dataclass

import numpy as np

from tutelage.functions.querying.known import Known, open_directions
from tutelage.functions.querying.unit_search import FoundUnits


@dataclass(frozen=True, eq=False)
class OpenWeights:
    """Q open weights: unit int [Q], direction [Q, m] over the features the unit reads, side [Q] of the unit where the
    direction moves (-1 or 1), and the weight taken in place [Q].
    """

    unit: np.ndarray
    direction: np.ndarray
    side: np.ndarray
    taken: np.ndarray

    def __len__(self) -> int:
        return len(self.unit)


def nothing_open(features: int) -> OpenWeights:
    """No open weights of units that read so many features."""
    return OpenWeights(np.zeros(0, int), np.zeros((0, features)), np.zeros(0), np.zeros(0))


def filled(known: Known, units: FoundUnits, phi: np.ndarray) -> tuple[np.ndarray, OpenWeights]:
    """Coefficients theta [K, m] of units whose open weights add no fold at samples phi [N, m], and these weights."""
    theta, rows = units.theta.copy(), []
    for k, basis in enumerate(units.bases):
        if len(basis) == theta.shape[1]:
            continue
        for direction in open_directions(known, basis):
            g = phi @ direction
            moving = np.abs(g) > 1e-9 * np.linalg.norm(phi, axis=1)
            if not moving.any():
                continue
            base = phi[moving] @ theta[k]
            g = g[moving]
            nearest = np.argsort(np.abs(g))[: max(1, len(g) // 10)]
            side = 1.0 if np.sign(base[nearest]).sum() >= 0 else -1.0
            wanting = np.where(side * base < 0, -side * base / g, 0.0)
            taken = 1.2 * side * max(0.0, float((side * wanting).max()))
            theta[k] += taken * direction
            rows.append((k, direction, side, taken))
    if not rows:
        return theta, nothing_open(theta.shape[1])
    return theta, OpenWeights(*(np.array(column) for column in zip(*rows, strict=True)))
