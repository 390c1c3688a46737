"""Where a unit touches zero without crossing it: local optima of value 0 (Phuong 2021, condition G1, Lemma A.12).

On every cell of the layers below a unit is affine. It has a local optimum of value 0 where it vanishes on a face and
has one sign on all cells around that face. A point at which it vanishes without doing so at a vertex lies inside a
face along which it changes sign, so that only vertices of value 0 have to be looked into.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.functions.domain import Domain, Ends
from tutelage.functions.identifying.conditions import Requirement, below
from tutelage.functions.pieces.regions import BUDGET, Regions, enumerate_regions
from tutelage.functions.rounding import ROUNDING
from tutelage.networks import Network

FACES = 4096
"""The most faces on which one unit vanishes that are looked into."""


def touches_zero(network: Network, domain: Domain | Ends, name: str, budget: int = BUDGET) -> Requirement:
    """The first place at which zero is a local optimum of a unit of some layer, the outputs among them."""
    for layer in range(1, network.depth + 1):
        cells = enumerate_regions(below(network, layer), domain, budget)
        values = vertex_values(cells)
        for unit in (values == 0).any(0).nonzero().flatten().tolist():
            met = _optimum(cells, values[:, unit])
            if met is not None:
                point = [round(x, 6) for x in met.tolist()]
                text = f"unit {unit} of layer {layer} at {point}"
                return Requirement(name, 1.0, "= 0", False, text, {"layer": layer, "unit": unit, "point": point})
    return Requirement(name, 0.0, "= 0", True)


def vertex_values(regions: Regions) -> Tensor:
    """The network's outputs at all vertices, 0 where rounding could have made them so: [V, C]."""
    network, f = regions.network, regions.vertices
    error = ROUNDING * f.abs().amax(0)
    for layer, w in enumerate(network.weights):
        b = torch.zeros_like(w[0, 0]) if network.biases is None else network.biases[layer][0]
        u = f @ w[0] + b
        error = error @ w[0].abs() + ROUNDING * (f.abs().amax(0) @ w[0].abs() + b.abs())
        f = u.relu()
    return torch.where(u.abs() <= error, 0, u)


def _optimum(cells: Regions, values: Tensor) -> Tensor | None:
    """A point where a unit, affine on every cell, has a local optimum 0; None where there is none."""
    high, low = (torch.segment_reduce(values[cells.corners], how, offsets=cells.corner_from) for how in ("max", "min"))
    flat = (high == 0) & (low == 0)
    if flat.any():
        return cells.interior[int(flat.int().argmax())]
    sign = torch.where(low >= 0, 1, torch.where(high <= 0, -1, 0))
    around = _cells_around(cells)
    # A local optimum lies on a face where the unit vanishes for every cell around it: such faces are intersections of
    # the faces of single cells.
    for face in _closed(_zero_faces(cells, values, sign)):
        star = set.intersection(*(around[v] for v in face))
        signs = {int(sign[c]) for c in star}
        if len(signs) == 1 and 0 not in signs and not _on_the_edge(cells, face):
            return cells.vertices[list(face)].mean(0)
    return None


def _zero_faces(cells: Regions, values: Tensor, sign: Tensor) -> Iterator[frozenset[int]]:
    """The face of each cell of one sign on which the unit vanishes, as vertices."""
    zero = values == 0
    touching = torch.segment_reduce(zero[cells.corners].double(), "max", offsets=cells.corner_from) > 0
    for c in (touching & (sign != 0)).nonzero().flatten().tolist():
        corners = cells.corners[cells.corner_from[c] : cells.corner_from[c + 1]].long()
        yield frozenset(corners[zero[corners]].tolist())


def _closed(faces: Iterator[frozenset[int]]) -> set[frozenset[int]]:
    """All intersections of these faces, but for the empty one."""
    closed: set[frozenset[int]] = set()
    for face in faces:
        if face not in closed:
            closed |= {face & other for other in closed if face & other} | {face}
        if len(closed) > FACES:
            raise TutelageError(
                f"a unit vanishes on more than {FACES:,} faces of the regions below: move the domain a little"
            )
    return closed


def _cells_around(cells: Regions) -> list[set[int]]:
    around: list[set[int]] = [set() for _ in range(len(cells.vertices))]
    owner = torch.repeat_interleave(torch.arange(len(cells)), cells.corner_from.diff())
    for vertex, cell in zip(cells.corners.tolist(), owner.tolist(), strict=True):
        around[vertex].add(cell)
    return around


def _on_the_edge(cells: Regions, face: frozenset[int]) -> bool:
    """Whether a face lies in the boundary of the domain, which is open and has no points there."""
    common = np.bitwise_and.reduce(cells.tight[list(face)], axis=0)
    bits = int.from_bytes(common.astype("<u8").tobytes(), "little")
    return bits & ((1 << cells.domain.facets) - 1) != 0
