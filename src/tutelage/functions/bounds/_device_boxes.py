"""The bounds of :mod:`._boxes` in torch, for a GPU: all boxes of a batch share the columns of their zonotopes.

Ranges are not refined here. A generator that some box of the batch needs is a column for all of them, zero where it is
not needed.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tutelage.functions.bounds._zonotopes import LARGEST
from tutelage.functions.layers.pairs import Pair, layers_of
from tutelage.functions.relaxations import lines, mean_slope
from tutelage.functions.rounding import EPS, UNDERFLOW, down, up


@dataclass(frozen=True, eq=False)
class Zonotopes:
    """Zonotopes of B boxes: z [B, n, columns], the centre first, and errors [B, n]."""

    z: Tensor
    error: Tensor

    @property
    def reach(self) -> Tensor:
        """Sum of the sizes of the generators, rounded up: [B, n]."""
        return self.z[:, :, 1:].abs().sum(2) * (1 + (self.z.shape[2] + 16) * EPS)

    @property
    def size(self) -> Tensor:
        return self.reach + self.z[:, :, 0].abs()

    def ends(self) -> tuple[Tensor, Tensor]:
        reach = up(self.reach + self.error)
        return down(self.z[:, :, 0] - reach), up(self.z[:, :, 0] + reach)


class DeviceBounds:
    """Bounds on batches of boxes on a device; the same arguments and outcome as the compiled ones."""

    def __init__(self, pair: Pair, limits: np.ndarray, margin: float, device: str) -> None:
        self.margin, self.device = margin, device
        self.limits = limits
        self.left = [(float(a), float(b)) for a, b in zip(pair.left_f, pair.left_g, strict=True)]
        self.layers = [
            tuple(
                torch.from_numpy(a.copy()).to(device)
                for a in (layer.wf, layer.wg, layer.wd, layer.bf, layer.bd, layer.slack_f, layer.slack_g)
            )
            for layer in layers_of(pair)
        ]

    @torch.no_grad()
    def __call__(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Bounds [B, C] of the differences, what is missing for a proof [B], and scores [B, d] to split by."""
        ends = torch.from_numpy(low).to(self.device), torch.from_numpy(high).to(self.device)
        f, d, shares, overflow = self._forms(*ends)
        least, most = d.ends()
        sizes = torch.maximum(-least, most)
        sizes = torch.where(overflow.unsqueeze(1) | ~sizes.isfinite(), torch.inf, sizes)
        if math.isnan(self.margin):
            limits = torch.from_numpy(self.limits).to(self.device)
            excess = torch.where(limits < torch.inf, sizes - limits, -torch.inf)
            values, worst = excess.max(1)
            rows = d.z[torch.arange(len(worst), device=self.device), worst, 1:].abs()
        else:
            values, rows = self._disagreement(f, d)
            values = torch.where(overflow | values.isnan(), torch.inf, values)
        scores = torch.bmm(rows.unsqueeze(1), shares).squeeze(1)
        scores = torch.where(overflow.unsqueeze(1), ends[1] - ends[0], scores.nan_to_num(0.0))
        return sizes.cpu().numpy(), values.cpu().numpy(), scores.cpu().numpy()

    def _forms(self, low: Tensor, high: Tensor) -> tuple[Zonotopes, Zonotopes, Tensor, Tensor]:
        """Zonotopes of f and f - g at the outputs, the share of every input in every generator, and overflows [B]."""
        centre = 0.5 * low + 0.5 * high
        reach = torch.maximum(high - centre, centre - low)
        radius = torch.where(reach > 0, up(reach), 0.0)
        shares = torch.eye(low.shape[1], dtype=torch.float64, device=self.device).expand(len(low), -1, -1)
        overflow = torch.zeros(len(low), dtype=torch.bool, device=self.device)
        f = d = Zonotopes(centre.unsqueeze(2), centre)
        for number, (wf, wg, wd, bf, bd, slack_f, slack_g) in enumerate(self.layers):
            if number == 0:
                f, d = (_entered(w, b, centre, radius) for w, b in ((wf, bf), (wd, bd)))
            else:
                f, d = _affine(wf, wg, wd, bf, bd, f, d)
            f = Zonotopes(f.z, up(f.error + slack_f))
            d = Zonotopes(d.z, up(d.error + up(slack_f + slack_g)))
            if number < len(self.layers) - 1:
                f, d, shares, bad = _activated(f, d, *self.left[number], shares)
                overflow = overflow | bad
        return f, d, shares, overflow

    def _disagreement(self, f: Zonotopes, d: Zonotopes) -> tuple[Tensor, Tensor]:
        """What is missing for a proof that top classes agree [B], and sizes of the generators that matter."""
        sure = _differences(f, Zonotopes(torch.zeros_like(f.z), torch.zeros_like(f.error)))
        other, apart = _differences(f, d), _differences(d, Zonotopes(torch.zeros_like(d.z), torch.zeros_like(d.error)))
        count = sure.shape[1]
        diagonal = torch.eye(count, dtype=torch.bool, device=self.device)
        best, _ = torch.where(diagonal, torch.inf, sure).min(2)  # [B, c]: what f may be sure of c by
        missing = torch.minimum(other.mT, up(apart - self.margin))  # [B, c, j]: g_j - g_c, and (d_c - d_j) - margin
        missing = torch.where(diagonal, -torch.inf, torch.where(missing <= 0, missing.clamp_max(-UNDERFLOW), missing))
        per_class = torch.where(best < self.margin, best - self.margin, missing.amax(2))
        rows = (f.z.abs() + (f.z - d.z).abs())[:, :, 1:].sum(1)
        return per_class.amax(1), rows


def _differences(f: Zonotopes, d: Zonotopes) -> Tensor:
    """Upper bounds of row i minus row j of f - d: [B, n, n]."""
    z = f.z - d.z
    gap = z.unsqueeze(2) - z.unsqueeze(1)
    total = f.size + d.size
    error = f.error + d.error
    room = error.unsqueeze(2) + error.unsqueeze(1) + (z.shape[2] + 16) * EPS * (total.unsqueeze(2) + total.unsqueeze(1))
    return up(up(gap[..., 0]) + up(gap[..., 1:].abs().sum(3) + room))


def _entered(w: Tensor, b: Tensor, centre: Tensor, radius: Tensor) -> Zonotopes:
    """The first layer on boxes."""
    rounding = (w.shape[1] + 16) * EPS
    z = torch.cat([(centre @ w.T + b).unsqueeze(2), w.unsqueeze(0) * radius.unsqueeze(1)], dim=2)
    size = (centre.abs() + radius) @ w.abs().T + b.abs()
    return Zonotopes(z, rounding * size * (1 + 2 * rounding) + 2 * (w.shape[1] + 16) * UNDERFLOW)


def _affine(
    wf: Tensor, wg: Tensor, wd: Tensor, bf: Tensor, bd: Tensor, f: Zonotopes, d: Zonotopes
) -> tuple[Zonotopes, Zonotopes]:
    """f' = Wf f + bf and d' = Wg d + (Wf - Wg) f + (bf - bg)."""
    n, columns = len(bf), f.z.shape[2]
    both = torch.matmul(torch.cat([wf, wd]), f.z)
    above_f, above_d = both[:, :n].clone(), both[:, n:] + torch.matmul(wg, d.z)
    above_f[:, :, 0] += bf
    above_d[:, :, 0] += bd
    rounding = (2 * wf.shape[1] + 16) * EPS
    inflate, least = 1 + 2 * rounding, (2 * wf.shape[1] + 16) * columns * UNDERFLOW
    spread_f, spread_d = f.error + rounding * f.size, d.error + rounding * d.size
    error_f = (spread_f @ wf.abs().T + rounding * bf.abs()) * inflate + least
    error_d = (spread_f @ wd.abs().T + spread_d @ wg.abs().T + rounding * bd.abs()) * inflate + least
    return Zonotopes(above_f, error_f), Zonotopes(above_d, error_d)


def _activated(
    f: Zonotopes, d: Zonotopes, left_f: float, left_g: float, shares: Tensor
) -> tuple[Zonotopes, Zonotopes, Tensor, Tensor]:
    """sigma(f) and sigma(f) - sigma(g), the shares of inputs with those of new generators, and overflows [B]."""
    (lf, uf), (ld, ud) = f.ends(), d.ends()
    columns = f.z.shape[2]
    g_reach = (f.z - d.z)[:, :, 1:].abs().sum(2)
    g_size = g_reach + f.size + d.size
    reach = up(g_reach + f.error + d.error + (columns + 16) * EPS * g_size)
    middle = f.z[:, :, 0] - d.z[:, :, 0]
    lg, ug = down(middle - reach), up(middle + reach)
    bad = ~((uf - lf < LARGEST) & (ug - lg < LARGEST) & (ud - ld < LARGEST)).all(1)
    # As in `_zonotopes.tightened`, and in the same order: the bounds of both are the same up to rounding.
    uf, lf = torch.minimum(uf, up(ug + ud)), torch.maximum(lf, down(lg + ld))
    ug, lg = torch.minimum(ug, up(uf - ld)), torch.maximum(lg, down(lf - ud))
    ud, ld = torch.minimum(ud, up(uf - lg)), torch.maximum(ld, down(lf - ug))
    (sf, hf, *_), (sg, hg, *_) = lines(lf, uf, left_f), lines(lg, ug, left_g)
    hf, hg = 0.5 * hf, 0.5 * hg  # sigma(u) is s u + h +- h
    on = ((lf >= 0) | (left_f == 1.0)) & ((lg >= 0) | (left_g == 1.0))
    off = (uf <= 0) & (ug <= 0) & (left_f == left_g) & ~on
    direct = (sg.unsqueeze(2) * d.z + (sf - sg).unsqueeze(2) * f.z)[:, :, 1:].abs().sum(2) + hf + hg
    halved, noise = torch.zeros_like(on), torch.zeros_like(hf)
    centre, noise_d = mean_slope(torch.maximum(ud, -ld), left_f)
    if left_f == left_g:
        noise = noise_d
        halved = ~on & ~off & (abs(centre) * d.z[:, :, 1:].abs().sum(2) + noise < direct)
    straight = ~(on | off | halved)
    ones = torch.ones_like(sf)
    p = torch.where(on, ones, torch.where(off, left_f * ones, torch.where(halved, centre * ones, sg)))
    q = torch.where(straight, sf - sg, 0.0)
    own_noise = torch.where(halved, noise, 0.0)
    with_f, with_g = torch.where(straight, hf, 0.0), torch.where(straight, -hg, 0.0)
    size = p.abs() * d.size + q.abs() * f.size
    zd = p.unsqueeze(2) * d.z + q.unsqueeze(2) * f.z
    changed = ~on & ~((p == 0) & (q == 0))
    error_d = (p.abs() * d.error + q.abs() * f.error + 8 * EPS * size) * (1 + 8 * EPS) + columns * UNDERFLOW
    error_d = torch.where(on, d.error, torch.where(changed, error_d, 0.0))
    moved = (with_f != 0) | (with_g != 0)
    extra = up(error_d + 4 * EPS * (zd[:, :, 0].abs() + with_f.abs() + with_g.abs()))
    error_d = torch.where(moved, extra, error_d)
    zd[:, :, 0] += with_f + with_g
    zf = sf.unsqueeze(2) * f.z
    error_f = (sf.abs() * f.error + 4 * EPS * (sf.abs() * f.size + hf)) * (1 + 8 * EPS) + columns * UNDERFLOW
    error_f = torch.where(sf == 1.0, f.error, torch.where(sf == 0.0, 0.0, error_f))
    zf[:, :, 0] += hf
    (zf, zd), units = _widened((zf, zd), ((hf, with_f), (None, own_noise), (None, with_g)))
    shares = torch.cat([shares, _shares(f.z, units, shares)], dim=1)
    return Zonotopes(zf, error_f), Zonotopes(zd, error_d), shares, bad


def _widened(
    forms: tuple[Tensor, Tensor], noises: tuple[tuple[Tensor | None, Tensor], ...]
) -> tuple[tuple[Tensor, Tensor], Tensor]:
    """One more column for every unit with a noise in some box; the units of the new columns."""
    zf, zd = forms
    # A column is paid for by all boxes of the batch if one of them needs it. Boxes of a batch are close to one another,
    # since the most doubtful come first, and mostly bend in the same units.
    chosen = [((a if a is not None else b) != 0).any(0).nonzero().flatten() for a, b in noises]
    units = torch.cat(chosen)
    new_f, new_d = (zf.new_zeros(zf.shape[0], zf.shape[1], len(units)) for _ in range(2))
    start = 0
    for (noise_f, noise_d), rows in zip(noises, chosen, strict=True):
        columns = torch.arange(start, start + len(rows), device=zf.device)
        if noise_f is not None:
            new_f[:, rows, columns] = noise_f[:, rows]
        new_d[:, rows, columns] = noise_d[:, rows]
        start += len(rows)
    return (torch.cat([zf, new_f], dim=2), torch.cat([zd, new_d], dim=2)), units


def _shares(z: Tensor, units: Tensor, shares: Tensor) -> Tensor:
    """How much each input has to do with the noise of units, directly or through others: [B, new, d]."""
    sizes = z[:, units, 1:].abs()
    return torch.bmm(sizes, shares) / (sizes.sum(2, keepdim=True) + UNDERFLOW)
