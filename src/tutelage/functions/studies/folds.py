"""Folds of real networks, their layers and the order in which a reader of the folds alone can sort them (Phuong
2021).
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import torch
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from tutelage.functions.identifying.dependency import Graph, dependency_graph
from tutelage.functions.identifying.surfaces import Surface, canonical_surface
from tutelage.functions.pieces.faces import facets, segments
from tutelage.functions.pieces.regions import enumerate_regions
from tutelage.functions.studies.fold_shares import FoldExamples, FoldShares, Source, measures
from tutelage.lab import Result, Results
from tutelage.networks import Network
from tutelage.studies.claims import SHARE, Check, Claim
from tutelage.studies.figures import PALETTE
from tutelage.studies.study import Plan, Scale, study

SEEDS: dict[Scale, int] = {"smoke": 3, "quick": 24, "paper": 128}
RANDOM = ((2, 3, 3, 1), (2, 3, 3, 3, 1), (3, 3, 3, 1))
CONSTRUCTED = ((2, 2, 2, 2, 1), (3, 3, 2, 2, 1))
SHOWN = (2, 3, 3, 3, 1)
DRAWS = 40
"""Networks from which the example of the figure is chosen."""
SOURCES: tuple[Source, ...] = ("transparent", "not transparent", "constructed")
LAYER_COLOURS = (PALETTE[0], PALETTE[1], PALETTE[6])


@study(
    "folds",
    paper="phuong2021",
    figure="2.1-2.4",
    shows="Drawings, without numbers: folds coloured by layer (2.1), a fold-set whose layers cannot be told apart "
    "(2.2), the folds sorted greedily (2.3), and a canonical form with its dependency graph (2.4).",
)
def folds(scale: Scale) -> Plan:
    """Folds of real networks, by layer and by canonical order."""
    claims: list[Claim | Check] = [
        all_are_seen, none_elsewhere, some_are_hidden, order_is_bounded, paths_tell_layers, bends_tell_layers,
        sorted_too_low, all_are_told,
    ]  # fmt: skip
    work: list[tuple[Source, tuple[int, ...]]] = [("transparent", widths) for widths in RANDOM]
    work += [("not transparent", widths) for widths in RANDOM]
    work += [("constructed", widths) for widths in CONSTRUCTED]
    shares = [FoldShares(source=source, widths=widths, seeds=SEEDS[scale]) for source, widths in work]
    return Plan([*shares, FoldExamples(widths=SHOWN, seeds=DRAWS)], draw, claims, table, view=network_folds)


@dataclass(frozen=True)
class NetworkFolds:
    """The numbers of one network under their names, and what kind of network it is."""

    source: str
    widths: tuple[int, ...]
    seed: int
    values: dict[str, float]

    @property
    def label(self) -> str:
        return f"{self.source} {self.widths}"


@dataclass(frozen=True)
class FoldsOfNetworks:
    """The numbers of all networks, and the folds of the network that the figure shows."""

    networks: list[NetworkFolds]
    shown: Surface


def network_folds(results: Results) -> FoldsOfNetworks:
    """Numbers of every network that was found, seed by seed."""
    networks = []
    for result in results.of(FoldShares):
        source, names = result.setting("source"), measures(result.setting("source") == "constructed")
        for member, seed in enumerate(result.setting("seeds")):
            values = {name: result[name][member].item() for name in names}
            if not np.isnan(values["surface_order"]):
                networks.append(NetworkFolds(source, result.setting("widths"), seed, values))
    (examples,) = results.of(FoldExamples)
    return FoldsOfNetworks(networks, examples.experiment.surface(chosen_example(examples)))


def chosen_example(examples: Result[FoldExamples]) -> int:
    """The seed of the network whose shortest piece is the longest, among telling networks where there are some."""
    telling, shortest = examples["telling"], examples["shortest_piece"]
    best = np.where(telling, shortest, -1.0).argmax() if telling.any() else shortest.argmax()
    return examples.setting("seeds")[best]


COLUMNS = {
    "surface_order": "order", "hidden_layers": "layers", "within_layers": "between",
    "within_layers_by_bends": "between_by_bends",
}  # fmt: skip
"""Names in the table of numbers, where they differ."""


def table(folds: FoldsOfNetworks) -> pa.Table:
    rows = [
        {"kind": n.source, "widths": str(list(n.widths)), "seed": n.seed, "told": None}
        | {COLUMNS.get(name, name): value for name, value in n.values.items()}
        for n in folds.networks
    ]
    return pa.Table.from_pylist(rows)


# ----------------------------------------------------------------------------------------------------------------
# The figure


def few_crossings() -> Network:
    """Two layers whose folds do not meet, as in Phuong 2021, Fig. 2.2: those of layer 2 cut off a corner that layer 1
    leaves.

    In each layer one unit is active wherever the other is not, so that the network is transparent.
    """
    weights = [[1.0, -0.5], [0.15, -1.0]], [[-1.0, 1.03], [-0.5, 0.48]], [[1.0], [-0.7]]
    biases = [0.7, 1.1], [2.1, -1.95], [0.1]
    w, b = (tuple(torch.tensor([a], dtype=torch.float64) for a in kind) for kind in (weights, biases))
    return Network(w, b)


def draw(folds: FoldsOfNetworks) -> Figure:
    """Above: folds up to layer 1, 2, 3, and sorted greedily. Below: layers that cannot be told; a dependency graph."""
    figure = Figure(figsize=(10.4, 5.6), layout="constrained")
    axes = figure.subplots(2, 4)
    shown = folds.shown
    for last, panel in zip((1, 2, 3), axes[0], strict=False):
        _lines(panel, shown, shown.regions.layers[facets(shown.regions).unit], last)
        panel.set_title(f"folds up to layer {last}")
    _lines(axes[0, 3], shown, shown.order[shown.facet_piece])
    axes[0, 3].set_title("the same folds by order")
    few = canonical_surface(enumerate_regions(few_crossings(), (-1, 1)))
    _lines(axes[1, 0], few, few.regions.layers[facets(few.regions).unit])
    axes[1, 0].set_title("few crossings, by layer")
    _lines(axes[1, 1], few, few.order[few.facet_piece], colours=("#777777",) * 3)
    axes[1, 1].set_title("the layers cannot be told")
    _lines(axes[1, 2], shown, shown.order[shown.facet_piece])
    _numbers(axes[1, 2], shown)
    axes[1, 2].set_title("canonical form of the folds above")
    _graph(axes[1, 3], shown, dependency_graph(shown))
    axes[1, 3].set_title("its dependency graph")
    handles = [axes[0, 3].plot([], [], color=c)[0] for c in LAYER_COLOURS]
    figure.legend(handles, ["layer or order 1", "2", "3"], loc="outside lower center", ncols=3)
    return figure


def _lines(
    panel: Axes, surface: Surface, group: torch.Tensor, last: int = 3, colours: tuple[str, ...] = LAYER_COLOURS
) -> None:
    lines, _ = segments(surface.regions)
    for k in range(1, last + 1):
        panel.add_collection(LineCollection(list(lines[group == k].numpy()), colors=colours[k - 1], linewidths=1.3))
    panel.set(xlim=(-1, 1), ylim=(-1, 1), aspect="equal", xticks=[], yticks=[])
    panel.grid(visible=False)
    for spine in panel.spines.values():
        spine.set(visible=True, color="#bbbbbb")


def _numbers(panel: Axes, surface: Surface) -> None:
    """The number of each piece at the middle of its longest part."""
    lines, _ = segments(surface.regions)
    length = lines.diff(dim=1)[:, 0].norm(dim=1)
    for p in range(len(surface)):
        facets = (surface.facet_piece == p).nonzero().flatten()
        x, y = lines[facets[length[facets].argmax()]].mean(0).tolist()
        style = {"boxstyle": "circle,pad=0.12", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
        colour = LAYER_COLOURS[int(surface.order[p]) - 1]
        panel.text(x, y, str(p + 1), fontsize=7, color=colour, ha="center", va="center", bbox=style)


def _graph(panel: Axes, surface: Surface, graph: Graph) -> None:
    """Pieces as numbered dots, one column per order; arrows to those that bend at one, dotted where they cross it."""
    place = np.zeros((len(surface), 2))
    for k in range(1, len(surface.levels) + 1):
        pieces = (surface.order == k).nonzero().flatten().numpy()
        place[pieces, 0] = k
        place[pieces, 1] = -(np.arange(len(pieces)) + 0.5) / len(pieces)
    arrow = {"arrowstyle": "-|>", "color": "#999999", "linewidth": 0.6, "mutation_scale": 6, "shrinkA": 5, "shrinkB": 5}
    for (i, j), bends in zip(graph.edges.tolist(), graph.bends.tolist(), strict=True):
        curve = "arc3" if place[j, 0] == place[i, 0] + 1 else "arc3,rad=-0.19"  # between the dots
        line = {"linestyle": "-" if bends else ":", "connectionstyle": curve}
        panel.annotate("", place[j], place[i], arrowprops=arrow | line)
    colours = [LAYER_COLOURS[k - 1] for k in surface.order.tolist()]
    panel.scatter(place[:, 0], place[:, 1], s=110, c=colours, zorder=3)
    for p, (x, y) in enumerate(place):
        panel.text(x, y, str(p + 1), fontsize=7, color="white", ha="center", va="center", zorder=4)
    panel.set(xlim=(0.6, len(surface.levels) + 0.4), ylim=(-1.02, 0.02), xticks=[1, 2, 3], yticks=[], xlabel="order")
    panel.grid(visible=False)
    panel.spines[:].set_visible(False)


# ----------------------------------------------------------------------------------------------------------------
# The claims


def _by_setting(folds: FoldsOfNetworks, name: str, sources: tuple[str, ...] = SOURCES) -> dict[str, np.ndarray]:
    labels = dict.fromkeys(n.label for n in folds.networks if n.source in sources)
    return {label: np.array([n.values[name] for n in folds.networks if n.label == label]) for label in labels}


all_are_seen = Claim(
    "of a general and transparent network every unit's zero set is a fold of the function (Lemma 2.1)",
    statistic="share of the facets on units' boundaries across which the network's gradient jumps",
    expected=">= 1",
    values=lambda folds: _by_setting(folds, "seen", ("transparent", "constructed")),
    reason="the lemma allows no exception",
    about="every",
    possible=SHARE,
    exceptions=0.05,
    kind="share",
    place="Lemma 2.1",
)

none_elsewhere = Claim(
    "no network has folds anywhere else (Lemma A.15)",
    statistic="share of the regions between units' boundaries on which the network is not affine",
    expected="<= 0",
    values=lambda folds: _by_setting(folds, "bent"),
    reason="the lemma allows no exception",
    about="every",
    possible=SHARE,
    exceptions=0.05,
    kind="share",
    place="Lemma A.15",
)

some_are_hidden = Claim(
    "networks that are not transparent hide some folds of units, in the mean over networks (our own: Lemma 2.1 says "
    "nothing of them)",
    statistic="share of the facets on units' boundaries across which the network's gradient does not jump",
    expected="> 0.01",
    values=lambda folds: {k: 1 - v for k, v in _by_setting(folds, "seen", ("not transparent",)).items()},
    reason="'some' is read as one facet in a hundred",
    possible=SHARE,
    kind="share",
    standing="own",
)

order_is_bounded = Claim(
    "the order of the surface of folds is at most the number of hidden layers (Lemma 2.2)",
    statistic="order of the surface minus the number of hidden layers",
    expected="<= 0",
    values=lambda folds: {
        label: order - _by_setting(folds, "hidden_layers")[label]
        for label, order in _by_setting(folds, "surface_order").items()
    },
    reason="the lemma allows no exception",
    about="every",
    exceptions=0.05,
    place="Lemma 2.2",
)

paths_tell_layers = Claim(
    "a canonical piece of order k from which a path of length m starts lies on a unit of layer k .. L - 1 - m "
    "(Lemma 2.3)",
    statistic="share of the canonical pieces for which this is so",
    expected=">= 1",
    values=lambda folds: _by_setting(folds, "within_layers"),
    reason="the lemma allows no exception",
    about="every",
    possible=SHARE,
    exceptions=0.05,
    kind="share",
    place="Lemma 2.3",
)

bends_tell_layers = Claim(
    "the same with paths along bends alone, without edges to pieces that go on straight behind a crossing (not the "
    "paper's: added once its lemma had been seen to fail)",
    statistic="share of the canonical pieces for which this is so",
    expected=">= 1",
    values=lambda folds: _by_setting(folds, "within_layers_by_bends"),
    reason="a lemma would allow no exception",
    about="every",
    possible=SHARE,
    exceptions=0.05,
    kind="share",
    standing="own",
)

sorted_too_low = Check(
    "sorting folds greedily is not guaranteed to give all of them their own layer (Fig. 2.3): there are networks where "
    "it does not",
    statistic="largest share, over networks, of facets whose canonical order is lower than the layer of their unit",
    expected="> 0",
    values=lambda folds: {k: v.max() for k, v in _by_setting(folds, "too_low", ("transparent",)).items()},
    reason="the sentence says that it can happen, which one network shows",
    place="Fig. 2.3",
)

all_are_told = Claim(
    "there are networks in which a path of length L - 1 - l starts at the fold of every unit of each layer l "
    "(Lemma 2.4)",
    statistic="share of the units of constructed networks from which such a path starts",
    expected=">= 1",
    values=lambda folds: _by_setting(folds, "told", ("constructed",)),
    reason="the lemma says every unit",
    about="every",
    possible=SHARE,
    exceptions=0.05,
    kind="share",
    place="Lemma 2.4",
)
