r"""Bounds on two networks of which one has units that bend everywhere (tanh, GELU and others), on batches of boxes.

Zonotopes of f and of d = f - g with common generators, as in :mod:`._zonotopes`, in the arithmetic of
:mod:`.enclosures`, which has the rounding of every step. A unit is within a line and a noise of its own,
:math:`s u + m \pm h`, from the table of :mod:`..relaxations`; where both networks have units of one kind, sigma(f) -
sigma(g) is z d with z in the range of the derivative, which keeps d small; units that are close, as GELU and its
forms in files, add by how much they differ. Boxes are cut by :mod:`.branch_inputs`.
"""

import numpy as np
import torch

from tutelage import verifying
from tutelage.deadline import NEVER, Deadline
from tutelage.functions.answers import Question
from tutelage.functions.bounds.branch_inputs import MOST_INPUTS
from tutelage.functions.bounds.enclosures import Enclosure, disagreement, joined
from tutelage.functions.checks import bias
from tutelage.functions.relaxations import CURVED, curved_apart, lines
from tutelage.functions.rounding import EPS
from tutelage.networks import Network
from tutelage.networks.activations import find
from tutelage.verifying import StoredLayer

_BATCH = 32  # boxes at a time: a column per unit and network


class BentUnit:
    """A line around a unit, and the range of its derivative: of any activation that bounds are known of."""

    def __init__(self, network: Network) -> None:
        self.name, self.left = network.activation, np.nan
        self.curved = CURVED.get(network.activation)
        gate = find(network.activation).gate
        if gate is not None:
            self.left = float(gate(torch.tensor(-1.0, dtype=torch.float64), network.slope))

    def line(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self.curved is not None:
            return self.curved.line(low, high)
        s, offset, _, _ = lines(low, high, self.left)
        return s, 0.5 * offset, 0.5 * offset

    def slopes(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.curved is not None:
            return self.curved.slopes(low, high)
        return np.where(low >= 0, 1.0, self.left), np.where(high <= 0, self.left, 1.0)

    def apart(self, other: "BentUnit") -> float:
        """By how much both units differ at most, at any number; infinite where they are of different kinds."""
        if self.curved is not None and other.curved is not None:
            return curved_apart(self.name, other.name)
        return 0.0 if self.name == other.name and self.left == other.left else np.inf


class CurvedBounds:
    """Bounds on batches of boxes, as :class:`.branch_inputs.Bounder` gives them."""

    def __init__(self, pair: tuple[Network, Network], question: Question, free: int) -> None:
        self.pair = joined(*side_by_side(pair))
        self.units = BentUnit(pair[0]), BentUnit(pair[1])
        self.outputs, self.threads, self.split = pair[0].outputs, 1, free <= MOST_INPUTS
        self.question = question

    def on(self, low: np.ndarray, high: np.ndarray) -> Enclosure:
        """The outputs of f and of f - g on boxes [B, d]."""
        centre = 0.5 * low + 0.5 * high
        radius = np.maximum(high - centre, centre - low) * (1 + 4 * EPS)
        z = np.eye(low.shape[1])[:, radius.any(0)] * radius[..., None]
        x = Enclosure(centre, z, verifying.TINY * (radius > 0))
        for layer in self.pair[:-1]:
            x = _bent(x.into(layer), *self.units)
        return x.into(self.pair[-1])

    def __call__(
        self, low: np.ndarray, high: np.ndarray, deadline: Deadline = NEVER
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Bounds [B, C], what is missing for a proof [B], scores [B, d]; boxes that a deadline leaves out have infinite
        bounds."""
        sizes = np.full((len(low), self.outputs), np.inf)
        values, scores = np.full(len(low), np.inf), high - low
        for start in range(0, len(low), _BATCH):
            if start and deadline.passed:
                break
            part = slice(start, start + _BATCH)
            with np.errstate(all="ignore"):
                x = self.on(low[part], high[part])
                ends = x.ends()
                sizes[part] = np.maximum(-ends[0], ends[1])[:, self.outputs :]
                if self.question.margin is None:
                    asked = (self.question.limits < torch.inf).numpy()
                    missing = (sizes[part] - self.question.limits.numpy())[:, asked].max(1)
                else:
                    missing = disagreement(x, self.question.margin)
            sizes[part] = np.where(np.isnan(sizes[part]), np.inf, sizes[part])
            values[part] = np.where(np.isnan(missing), np.inf, missing)
            free = (high[part] > low[part]).any(0)
            scores[part, free] = np.abs(x.z[:, :, : int(free.sum())]).sum(1)
        return sizes, values, np.where(np.isfinite(scores), scores, 0.0)


def side_by_side(pair: tuple[Network, Network]) -> list[list[StoredLayer]]:
    """The layers of both networks, hidden units filled up with ones without weights."""
    stored = [
        [
            StoredLayer(a, 0 * a)
            for a in (torch.cat([w[0], bias(n, k)], 0).T.double().numpy() for k, w in enumerate(n.weights))
        ]
        for n in pair
    ]
    widths = [max(p, q) for p, q in zip(*(n.widths[1:-1] for n in pair), strict=True)]
    made = []
    for layers, net in zip(stored, pair, strict=True):
        own = net.widths[1:-1]
        units = [[k if k < count else -1 for k in range(n)] for n, count in zip(widths, own, strict=True)]
        how = {"made_one": [], "units": units, "factors": [[1.0] * n for n in widths]}
        made.append(verifying.rewritten(layers, how))
    return made


def _bent(x: Enclosure, unit_f: BentUnit, unit_g: BentUnit) -> Enclosure:
    """sigma(f), and sigma(f) - sigma(g) from both lines or as a mean slope times d with a noise of its own."""
    n = x.c.shape[1] // 2
    f, d = (Enclosure(*(v[:, rows] for v in x)) for rows in (slice(n), slice(n, None)))
    room = 4 * EPS * (f.size() + d.size())
    g = Enclosure(f.c - d.c, f.z - d.z, (f.error + d.error) * (1 + 4 * EPS) + room)
    (low, high), (low_g, high_g), (low_d, high_d) = f.ends(), g.ends(), d.ends()
    low, high = np.maximum(low, low_g + low_d - room), np.minimum(high, high_g + high_d + room)
    low_g, high_g = np.maximum(low_g, low - high_d - room), np.minimum(high_g, high - low_d + room)
    (s, m, h), (t, n_, k) = unit_f.line(low, high), unit_g.line(low_g, high_g)
    both = t[..., None] * d.z + (s - t)[..., None] * f.z
    by_lines = np.abs(both).sum(2) + h + k
    middle, half = np.zeros_like(s), np.full_like(s, np.inf)
    if np.isfinite(apart := unit_f.apart(unit_g)):
        flat, steep = unit_f.slopes(np.minimum(low, low_g), np.maximum(high, high_g))
        middle = 0.5 * (flat + steep)
        half = np.maximum(high_d, -low_d) * ((0.5 * (steep - flat)) * (1 + 8 * EPS) + 2 * EPS * np.abs(middle)) + apart
    direct = by_lines <= np.abs(middle) * np.abs(d.z).sum(2) + half
    half = np.where(direct, 0.0, half)
    p, q, shared, own = (np.where(direct, *v) for v in ((t, middle), (s - t, 0.0), (h, 0.0), (k, half)))
    z = np.concatenate([s[..., None] * f.z, np.where(direct[..., None], both, middle[..., None] * d.z)], 1)
    c = np.concatenate([s * f.c + m, p * d.c + q * f.c + np.where(direct, m - n_, 0.0)], 1)
    size_f, size_d = f.size(), d.size()
    offsets = np.where(direct, np.abs(m) + np.abs(n_) + h + k, 0.0)
    met = np.concatenate(
        [np.abs(s) * size_f + np.abs(m) + h, np.abs(p) * size_d + np.abs(q) * size_f + offsets + own], 1
    )
    errors = np.abs(s) * f.error, np.abs(p) * d.error + np.abs(q) * f.error
    error = np.concatenate(errors, 1) * (1 + 8 * EPS) + 8 * EPS * met + verifying.TINY * (met > 0)
    noise = [np.concatenate(v, 1)[..., None] for v in ((h, shared), (0 * h, own))]
    more = [np.tile(np.eye(n)[:, np.any(v.reshape(-1, 2, n), (0, 1))], (2, 1)) * v for v in noise]
    return Enclosure(c, np.concatenate([z, *more], 2), error)
