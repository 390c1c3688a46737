"""Which pieces of a surface bend at which: the dependency graph of its canonical form (Phuong 2021, section 2.4).

The paper draws an edge wherever the closure of one piece meets another of lower order, and concludes that it comes from
a higher layer (Lemma 2.3, A.18). That does not follow where the first merely crosses the second: a fold of order 2 is
cut in two by any fold of order 1 that it crosses, also one of its own layer, and both halves lie in one hyperplane,
which the proof takes to be excluded. Where a piece ends on another without going on behind it, in a general network,
the conclusion is right. Both kinds of edge are told apart here, and paths are counted along bends alone.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.functions.identifying.surfaces import NEAR, Surface, vertex_sides
from tutelage.printing import printed


@printed
@dataclass(frozen=True, eq=False)
class Graph:
    """Dependency graph of the pieces of a surface (Phuong 2021, Definition A.5).

    Attributes
    ----------
    edges
        int64 [E, 2]: from a piece to one of higher order whose closure meets it.
    bends
        bool [E]: whether the second piece ends there, rather than going on straight behind the first.
    longest
        int64 [P]: length of the longest path from each piece along bends.
    longest_of_all
        The same along all edges, as the thesis counts.
    """

    edges: Tensor
    bends: Tensor
    longest: Tensor
    longest_of_all: Tensor


def dependency_graph(surface: Surface) -> Graph:
    """Dependency graph of the pieces of a surface (Phuong 2021, section 2.4).

    There is an edge from piece i to piece j if i has the lower order and the closure of j meets i. The cell of j lies
    inside that of i, or they do not meet; the closure of j lies on one side of the hyperplane of i, and what it has on
    it is a face, whose middle decides.

    Parameters
    ----------
    surface
        From :func:`canonical_surface`.

    Returns
    -------
    Graph

    Examples
    --------
    >>> from tutelage.functions.pieces.regions import enumerate_regions
    >>> from tutelage.functions.identifying.surfaces import canonical_surface
    >>> from tutelage.networks import Network
    >>> bent = Network((torch.eye(2)[None], torch.ones(1, 2, 1), torch.ones(1, 1, 1)), (torch.zeros(1, 2),
    ...                torch.tensor([[-0.5]]), torch.zeros(1, 1)))
    >>> graph = dependency_graph(canonical_surface(enumerate_regions(bent, (-1, 1))))
    >>> len(graph.edges), graph.longest.tolist()
    (4, [1, 1, 0, 0, 0])
    """
    on = (vertex_sides(surface.regions, surface.normal, surface.offset) == 0).T
    closure = _in_cells(surface) & on[surface.plane]
    region = surface.inside.int().argmax(1)  # a region of each cell
    edges, bends = [torch.zeros(0, 2, dtype=torch.int64)], [torch.zeros(0, dtype=torch.bool)]
    for i in range(len(surface)):
        j = (surface.inside[i, region] & (surface.order > surface.order[i])).nonzero().flatten()
        shared = closure[j] & on[surface.plane[i]]
        count = shared.sum(1)
        middle = (shared.double() @ surface.regions.vertices) / count.clamp_min(1).unsqueeze(1)
        met = (count > 0) & _inside(surface, i, middle)
        j, middle = j[met], middle[met]
        edges.append(torch.stack([torch.full_like(j, i), j], 1))
        bends.append(~_goes_on(surface, j, middle, surface.side[region[j], surface.plane[i]]))
    every, bent = torch.cat(edges), torch.cat(bends)
    return Graph(every, bent, _longest(every[bent], surface.order), _longest(every, surface.order))


def _goes_on(surface: Surface, pieces: Tensor, points: Tensor, side: Tensor) -> Tensor:
    """Which pieces [n], with points [n, d] at which they end on another, go on in one of them on its other side."""
    # A piece that is crossed has another half in the same hyperplane on the other side; one that bends has none there.
    plane = surface.plane[pieces]
    a, b = ((plane.unsqueeze(1) == plane) & (side.unsqueeze(1) == -side)).nonzero(as_tuple=True)
    value = (points[a] @ surface.normal.T + surface.offset) * surface.walls[pieces[b]]
    straight = torch.zeros(len(pieces), dtype=torch.bool)
    straight[a[(value >= -_margin(surface)).all(1)]] = True
    return straight


def _in_cells(surface: Surface) -> Tensor:
    """The vertices of each piece's cell: bool [P, V]."""
    regions = surface.regions
    owner = torch.repeat_interleave(torch.arange(len(regions)), regions.corner_from.diff())
    inside = torch.zeros(len(surface), len(regions.vertices), dtype=torch.bool)
    for i in range(len(surface)):
        inside[i, regions.corners[surface.inside[i, owner]].long()] = True
    return inside


def _inside(surface: Surface, piece: int, points: Tensor) -> Tensor:
    """Which points lie in the open cell of a piece: [n, d] -> bool [n]."""
    domain, walls = surface.regions.domain, surface.walls[piece]
    around = walls.nonzero().flatten()
    value = (points @ surface.normal[around].T + surface.offset[around]) * walls[around]
    room = domain.offsets - points @ domain.normals.T
    return (value > _margin(surface)).all(1) & (room > _margin(surface)).all(1)


def _margin(surface: Surface) -> float:
    domain = surface.regions.domain
    return NEAR * (1 + torch.maximum(domain.low.abs(), domain.high.abs()).max().item())


def _longest(edges: Tensor, order: Tensor) -> Tensor:
    """The length of the longest path from each piece, those of the highest order first."""
    longest = torch.zeros(len(order), dtype=torch.int64)
    # Edges go to higher orders only, so that lengths are known from the highest order down in one pass.
    for level in range(int(order.max()) if len(order) else 0, 0, -1):
        outgoing = edges[order[edges[:, 0]] == level]
        longest = longest.scatter_reduce(0, outgoing[:, 0], longest[outgoing[:, 1]] + 1, "amax")
    return longest
