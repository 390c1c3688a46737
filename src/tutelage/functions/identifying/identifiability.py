"""Does the function of a network determine its weights, up to order and positive scale of units (Phuong 2021, Theorem
2.1)?

What is checked are the conditions under which the proof works. A network that fails them may still be the only one
of its function: they are sufficient, not necessary.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.functions.checks import bias
from tutelage.functions.domain import Domain, Ends, as_domain, polytope
from tutelage.functions.identifying.conditions import Requirement, all_of, below, one_relu_network, undecided
from tutelage.functions.identifying.dependency import dependency_graph
from tutelage.functions.identifying.generality import PATTERNS, generality
from tutelage.functions.identifying.surfaces import canonical_surface
from tutelage.functions.identifying.transparency import transparency
from tutelage.functions.pieces.regions import BUDGET, Regions, enumerate_regions, local_maps
from tutelage.networks import Network
from tutelage.printing import printed

CELLS = 16
"""The most cells of the layers below on which a layer's folds are looked at."""


@dataclass(frozen=True)
class LayerFolds:
    """The folds of the network from one layer on, on the inputs it can get.

    levels: pieces of each order; edges: of the dependency graph, both on the first cell looked at; found: units of the
    layer from which a path of the length leads; whole: whether that cell is all there is, or one of several, in which
    case paths through more than one of them are not seen.
    """

    layer: int
    levels: tuple[int, ...]
    edges: int
    length: int
    found: tuple[int, ...]
    whole: bool

    @property
    def pieces(self) -> int:
        return sum(self.levels)


@printed
@dataclass(frozen=True)
class Identifiability:
    """Conditions of Phuong 2021, Theorem 2.1, checked on one network.

    Attributes
    ----------
    conditions
        Each with its value and worst case.
    layers
        Fold structure of each hidden layer that they were read off.
    """

    conditions: tuple[Requirement, ...]
    layers: tuple[LayerFolds, ...]

    @property
    def holds(self) -> bool | None:
        """Whether weights are determined by the function; False says that the theorem does not apply, no more."""
        return all_of(self.conditions)

    @property
    def unmet(self) -> tuple[str, ...]:
        """Names of the conditions that are not met."""
        return tuple(condition.name for condition in self.conditions if condition.holds is False)

    def __getitem__(self, name: str) -> Requirement:
        """The condition of that name, or the one that starts with it."""
        for condition in self.conditions:
            if condition.name.startswith(name) or f"({name})" in condition.name:
                return condition
        raise KeyError(name)

    def __str__(self) -> str:
        words = {True: "identifiable", False: "not shown to be identifiable", None: "not decided"}
        return "\n".join([words[self.holds], *(f"  {condition}" for condition in self.conditions)])


def identifiability(
    network: Network, domain: Domain | Ends, patterns: int = PATTERNS, budget: int = BUDGET, stop: bool = False
) -> Identifiability:
    """Check whether a relu network is determined by its function on a bounded domain (Phuong 2021, Theorem 2.1).

    The conditions: one output, widths that never grow and are at least 2; general (G1 to G3, over all formal patterns);
    transparent; for every hidden layer l, in the dependency graph of the folds of the network from layer l on, a path
    of L - 1 - l bends from the fold of each of its units; inputs of the last layer that fill its space.

    Parameters
    ----------
    network
        One relu network.
    domain, budget
        As in :func:`enumerate_regions`.
    patterns
        As in :func:`generality`.
    stop
        Whether to leave more expensive conditions undecided once one has failed.

    Returns
    -------
    Identifiability

    Examples
    --------
    >>> from tutelage.functions.identifying.construction import construct
    >>> identifiability(construct((2, 2, 1), (-1, 1)), (-1, 1)).holds
    True
    """
    exact = one_relu_network(network)
    if exact.depth == 1:
        raise TutelageError("the theorem is about hidden units, and the network has none: its weights are its function")
    domain = as_domain(domain, network.inputs)
    conditions = list(_widths(exact.widths))
    transparent = transparency(exact, domain, budget=budget).condition()
    conditions.append(transparent)
    names = [folds_name(layer) for layer in range(1, network.depth)] + [SPAN]
    # From cheap to dear: widths, regions of the network itself, patterns, and the folds of every truncated network.
    failed = stop and all_of(conditions) is False
    if failed or not all(c.holds for c in conditions[:2]):
        why = "not looked at, since another condition fails"
        general = () if failed else generality(network, domain, "formal", patterns, budget)
        return Identifiability((*conditions, *general, *(undecided(name, why) for name in names)), ())
    general = generality(network, domain, "formal", patterns, budget)
    layers, requirements = [], []
    for layer in range(1, network.depth):
        try:
            folds = layer_folds(exact, domain, layer, budget)
        except TutelageError as reason:
            requirements.append(undecided(folds_name(layer), str(reason)))
            continue
        layers.append(folds)
        requirements.append(_enough(folds, exact.widths[layer]))
    return Identifiability((*conditions, *general, *requirements, _spans(exact, domain, budget)), tuple(layers))


SPAN = "inputs of the last layer fill its space"


def folds_name(layer: int) -> str:
    """What the condition on a layer's folds is called."""
    return f"folds of layer {layer} stand out"


def _widths(widths: tuple[int, ...]) -> Iterator[Requirement]:
    inner = widths[:-1]
    grows = [l for l in range(1, len(inner)) if inner[l] > inner[l - 1]]
    text = f"layer {grows[0]} is wider than the one below" if grows else ""
    yield Requirement("layers that are wider than the one below", float(len(grows)), "= 0", not grows, text)
    narrow = min(inner)
    yield Requirement("the smallest width", float(narrow), ">= 2", narrow >= 2, f"layer {inner.index(narrow)}")
    yield Requirement("outputs", float(widths[-1]), "= 1", widths[-1] == 1)


def layer_folds(network: Network, domain: Domain, layer: int, budget: int = BUDGET) -> LayerFolds:
    """The folds of the network from a layer (from 1) on, and which of its units are seen to be of that layer.

    A unit is, where a path of length L - 1 - l starts at its fold: no fold of a higher layer is followed by as many
    that bend (Phuong 2021, Lemma 2.3, with the edges that its proof covers: see :mod:`.dependency`). Folds are looked
    at on cells of the layers below whose images fill the layer's input space; there the layers below are one affine
    map, and folds of the layers above are drawn in the inputs themselves.
    """
    length = network.depth - 1 - layer
    levels: tuple[int, ...] = ()
    edges, identified = 0, set[int]()
    cells, whole = _cells(network, domain, layer, budget)
    # Invariant: `identified` are units of this layer that some cell shows. A path is looked for in one cell at a time:
    # one that runs through several is not seen, which leaves a unit open and never claims one too many.
    for number, (rest, cell) in enumerate(cells):
        surface = canonical_surface(enumerate_regions(rest, cell, budget))
        graph = dependency_graph(surface)
        starts = (graph.longest >= length) & (surface.owner_layer == 1)
        identified |= set(surface.owner[starts].tolist())
        if number == 0:
            levels, edges = surface.levels, len(graph.edges)
        if len(identified) == network.widths[layer]:
            break
    return LayerFolds(layer, levels, edges, length, tuple(sorted(identified)), whole)


def _cells(network: Network, domain: Domain, layer: int, budget: int) -> tuple[Iterator[tuple[Network, Domain]], bool]:
    """Cells of the layers below whose images fill a layer's input space, with the network from it on there.

    Also whether there is at most one, so that the space of inputs that the layer can get is convex.
    """
    if layer == 1:
        return iter([(network, domain)]), True
    regions = enumerate_regions(below(network, layer), domain, budget)
    full = _full(regions)
    return (_from_layer(network, domain, layer, regions.signs[r : r + 1]) for r in full[:CELLS]), len(full) <= 1


def _from_layer(network: Network, domain: Domain, layer: int, signs: Tensor) -> tuple[Network, Domain]:
    """The network with all layers below one replaced by their affine map on a cell, and that cell."""
    slopes, shifts = local_maps(network, signs, layer)
    others = tuple(bias(network, above) for above in range(layer, network.depth))
    return Network((slopes, *network.weights[layer:]), (shifts, *others)), _cell(network, domain, layer, signs)


def _full(regions: Regions) -> list[int]:
    """Regions of a network cut at a layer whose image in that layer's input space is full, the most active first.

    By G2: all units of the last hidden layer are active, and no fewer in any other (Phuong 2021, proof of Theorem A.1).
    """
    widths = regions.network.widths[1:-1]
    active = torch.stack([(part > 0).sum(1) for part in regions.signs.split(widths, dim=1)], 1)
    full = (active >= widths[-1]).all(1).nonzero().flatten()
    return full[active[full].sum(1).argsort(descending=True)].tolist()


def _cell(network: Network, domain: Domain, layer: int, signs: Tensor) -> Domain:
    """The polytope of the domain on which units below a layer have the given signs."""
    normals, offsets, first = [domain.normals], [domain.offsets], 0
    for lower in range(1, layer):
        w, b = (a[0] for a in local_maps(network, signs, lower))
        sign = signs[0, first : first + w.shape[1]].double()
        keep = w.norm(dim=0) > 0
        normals.append(-(w * sign).T[keep])
        offsets.append((b * sign)[keep])
        first += w.shape[1]
    return polytope(torch.cat(normals), torch.cat(offsets))


def _enough(folds: LayerFolds, width: int) -> Requirement:
    missing = [unit for unit in range(width) if unit not in folds.found]
    words = f"{folds.pieces} pieces of orders {folds.levels}, {folds.edges} edges"
    if not folds.levels:
        words = f"no fold, or no inputs that fill the input space of layer {folds.layer}"
    elif missing:
        words = f"no path of length {folds.length} from unit {missing[0]} of layer {folds.layer}; {words}"
    holds = not missing if folds.whole or not missing else None
    data = {"layer": folds.layer, "missing": missing}
    return Requirement(folds_name(folds.layer), float(width - len(missing)), f">= {width}", holds, words, data)


def _spans(network: Network, domain: Domain, budget: int) -> Requirement:
    try:
        full = _full(enumerate_regions(network, domain, budget))
    except TutelageError as reason:
        return undecided(SPAN, str(reason))
    return Requirement(SPAN, float(len(full)), ">= 1", len(full) > 0, "cells with a full image")
