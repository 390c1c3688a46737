"""Two networks on a plane through a witness: the pieces of each, and how far they are apart."""

from typing import Any

import numpy as np
import torch
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.functions.domain import Domain, box, polytope
from tutelage.functions.layers.joint import as_relu
from tutelage.functions.pieces.faces import polygons, segments
from tutelage.functions.pieces.regions import enumerate_regions
from tutelage.functions.pieces.slices import slice_network
from tutelage.networks import Network, outputs
from tutelage.studies.figures.style import PALETTE

_FEW, _MANY = 150, 1000  # pieces up to which lines are of full width, and drawn over the difference
_GRID = 400  # points along each side of the picture of the difference


def draw_comparison(first: Network, second: Network, domain: Domain | None, witness: Tensor | None) -> Figure:
    """Three panels: pieces of both networks, and |a - b|, the largest of all outputs, with the boundaries of both.

    Of networks of two inputs the whole domain is shown, of others the plane through its centre and the witness, with
    a direction in which the difference grows or, without a witness, a coordinate.
    """
    if first.inputs < 2:
        raise TutelageError("a plane needs at least two inputs, and these networks have one: there is nothing to slice")
    first, second = as_relu(first), as_relu(second)
    centre, axes = _plane(first, second, domain, witness)
    window = _window(centre, axes, domain, witness)
    flat = [slice_network(network, centre, axes) for network in (first, second)]
    regions = [enumerate_regions(network, window) for network in flat]
    ends = torch.stack([window.low, window.high], dim=1).tolist()
    tall = (ends[1][1] - ends[1][0]) / (ends[0][1] - ends[0][0])
    figure = Figure(figsize=(10.2, 3.0 * min(max(tall, 0.4), 1.3) + 1.0), layout="constrained")
    panels = figure.subplots(1, 3, sharex=True, sharey=True)
    names = "first network", "second network"
    for panel, pieces, name, colour in zip(panels, regions, names, (PALETTE[0], PALETTE[3]), strict=False):
        _cells(panel, pieces)
        _boundaries(panel, pieces, colour, 1.2 * min(1.0, (_FEW / len(pieces)) ** 0.5))
        panel.set_title(f"{name}: {len(pieces)} pieces")
    _difference(figure, panels[2], flat, window)
    few = max(map(len, regions)) <= _MANY  # of more pieces the boundaries would hide the difference
    for pieces, colour in zip(regions if few else [], (PALETTE[0], PALETTE[3]), strict=False):
        _boundaries(panels[2], pieces, colour, 0.6)
    panels[2].set_title("|first - second|" + (" and both boundaries" if few else ""))
    labels = ("x1", "x2") if first.inputs == 2 else ("towards the witness", "across")
    for panel in panels:
        if witness is not None:
            at = torch.linalg.lstsq(axes.T, (witness - centre)[:, None]).solution[:, 0]
            panel.plot(*at.tolist(), "*", color="black", markersize=9, clip_on=False, zorder=5)
        panel.set(xlabel=labels[0], aspect="equal")
        panel.set(xlim=ends[0], ylim=ends[1])
        panel.grid(False)
    panels[0].set_ylabel(labels[1])
    return figure


def _plane(first: Network, second: Network, domain: Domain | None, witness: Tensor | None) -> tuple[Tensor, Tensor]:
    """A point [d] and two directions [2, d] of length 1."""
    d = first.inputs
    centre = torch.zeros(d, dtype=torch.float64) if domain is None else domain.centre
    eye = torch.eye(d, dtype=torch.float64)
    if d == 2:
        return torch.zeros(2, dtype=torch.float64), eye
    wanted = [eye[0], eye[1]]
    if witness is not None:
        at = witness.detach().clone().requires_grad_()
        gap = (outputs(first, at[None]) - outputs(second, at[None]))[0, 0]
        (slope,) = torch.autograd.grad(gap[gap.abs().argmax()], at)
        wanted = [witness - centre, slope, *wanted]
    basis: list[Tensor] = []
    for direction in wanted:
        rest = direction - sum((b * (b @ direction) for b in basis), torch.zeros_like(direction))
        if rest.norm() > 1e-6 * max(1.0, direction.norm().item()) and len(basis) < 2:
            basis.append(rest / rest.norm())
    return centre, torch.stack(basis)


def _window(centre: Tensor, axes: Tensor, domain: Domain | None, witness: Tensor | None) -> Domain:
    """The part of the plane that is drawn: the domain, or around the origin and the witness."""
    if domain is None:
        reach = 1.5 * max(1.0, 0.0 if witness is None else (witness - centre).norm().item())
        return box(-reach, reach, dimension=2)
    if domain.is_box and len(centre) == 2:
        return domain
    return polytope(*_needed(domain.normals @ axes.T, domain.offsets - domain.normals @ centre))


def _needed(normals: Tensor, offsets: Tensor) -> tuple[Tensor, Tensor]:
    """Constraints that the plane meets at all."""
    length = normals.norm(dim=1)
    met = length > 1e-9 * length.max()
    return normals[met], offsets[met]


def _cells(panel: Any, pieces: Any) -> None:
    """Every piece in a shade by its steepness."""
    steepness = pieces.maps()[0].flatten(1).norm(dim=1).numpy()
    cells = PolyCollection([outline.numpy() for outline in polygons(pieces)], array=steepness, cmap="Greys")
    most = max(steepness.max(), np.finfo(float).tiny)
    cells.set_clim(-0.6 * most, 2.5 * most)  # the flattest are still told from the background
    panel.add_collection(cells)


def _boundaries(panel: Any, pieces: Any, colour: str, width: float) -> None:
    panel.add_collection(LineCollection(list(segments(pieces)[0].numpy()), color=colour, linewidth=width))


def _difference(figure: Figure, panel: Any, flat: list[Network], window: Domain) -> None:
    """|a - b| in colour, where the domain is."""
    x, y = (torch.linspace(window.low[i].item(), window.high[i].item(), _GRID, dtype=torch.float64) for i in (0, 1))
    points = torch.stack(torch.meshgrid(x, y, indexing="xy"), dim=-1).view(-1, 2)
    gap = (outputs(flat[0], points) - outputs(flat[1], points))[0].abs().amax(1)
    inside = (points @ window.normals.T <= window.offsets + 1e-9 * window.offsets.abs().max()).all(1)
    shown = torch.where(inside, gap, torch.nan).view(_GRID, _GRID).numpy()
    image = panel.pcolormesh(x.numpy(), y.numpy(), shown, cmap="YlGnBu", shading="nearest", rasterized=True, vmin=0)
    figure.colorbar(image, ax=panel, label="|a - b|")
