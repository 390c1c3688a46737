"""A network of two inputs as its folds: the lines where a unit switches, and the regions between them (Phuong 2021)."""

import hashlib
import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import torch
from pydantic import Field, NonNegativeInt
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.functions import canonical, enumerate_regions, orbit_size, polygons, segments
from tutelage.functions.bounds.normal import WORDS, normal_form
from tutelage.functions.domain import box
from tutelage.networks import Network, outputs
from tutelage.settings import Settings
from tutelage.studio.scenes.scene import Look, Preset, StudioScene, scene

TICKS = 60
GRID = 64
REACH = 3.0
_LARGEST = 100.0  # of a weight
KINDS = tuple(WORDS)


class FoldSettings(Settings):
    """Settings of the scene Folds."""

    units: int = Field(5, ge=1, le=12, json_schema_extra={"group": "Network", "label": "units, layer 1"})
    """Units of the first hidden layer: their folds are lines."""
    second: int = Field(0, ge=0, le=8, json_schema_extra={"group": "Network", "label": "units, layer 2"})
    """Units of the second hidden layer: their folds bend at the first ones; 0: no such layer."""
    seed: NonNegativeInt = Field(17, le=10**9, json_schema_extra={"group": "Network"})
    """Seed of the weights."""

    def network(self) -> Network:
        """The network at the start, weights to three digits."""
        widths = (2, self.units, *([self.second] if self.second else []), 1)
        weights, biases = [], []
        for layer in range(1, len(widths)):
            key, (i, o) = draws.keys([self.seed], f"folds {layer}"), widths[layer - 1 : layer + 1]
            drawn = draws.normals(key, (i + 1) * o).view(1, i + 1, o)
            weights.append((drawn[:, :-1] / i**0.5 * 1000).round() / 1000)
            biases.append((drawn[:, -1] * (0.9 if layer == 1 else 0.4) * 1000).round() / 1000)
        return Network(tuple(weights), tuple(biases))


@dataclass(frozen=True, eq=False)
class FoldState:
    """The network at the start of the path, and that at its end: the same function with its units in another order."""

    network: Network
    end: Network

    def at(self, tick: int) -> Network:
        """The network on the straight path between both."""
        share = tick / TICKS
        if share in (0, 1):
            return self.end if share else self.network
        mixed = [(1 - share) * a + share * b for a, b in zip(self.network.parameters, self.end.parameters, strict=True)]
        depth = self.network.depth
        return replace(self.network, weights=tuple(mixed[:depth]), biases=tuple(mixed[depth:]))


def _permuted(network: Network) -> Network:
    """Units of every hidden layer one place on."""
    weights, biases = list(network.weights), list(network.biases or ())
    for layer in range(network.depth - 1):
        order = torch.arange(network.widths[layer + 1]).roll(1)
        weights[layer], biases[layer] = weights[layer][:, :, order], biases[layer][:, order]
        weights[layer + 1] = weights[layer + 1][:, order]
    return replace(network, weights=tuple(weights), biases=tuple(biases))


@scene
class Folds(StudioScene[FoldSettings, FoldState]):
    """The regions of a network of two inputs, along a path to the same network in another order."""

    name: ClassVar[str] = "folds"
    title: ClassVar[str] = "Folds"
    about: ClassVar[str] = (
        "A network of two inputs is one affine map per region. Drag a fold; permute and rescale units."
    )
    clock: ClassVar[str] = "path"
    order: ClassVar[int] = 5
    pace: ClassVar[float] = 12.0
    unit: ClassVar[str] = "%"
    settings: ClassVar[type[Settings]] = FoldSettings
    presets: ClassVar[tuple[Preset, ...]] = (
        Preset(
            "lines",
            "Lines of one layer",
            "Drag a line, or with shift turn it. Permute or rescale the units: colours change, no region does, and the "
            "fingerprint stays.",
            "Phuong 2021, section 2.1",
        ),
        Preset(
            "bent",
            "Folds of two layers",
            "Folds of the second layer (dashed) bend where they meet a line of the first: the bends tell which units "
            "are connected.",
            "Phuong 2021, Fig. 2.1",
            {"units": 4, "second": 3, "seed": 31},
        ),
        Preset(
            "path",
            "From order to order",
            "Press play: the straight path to the same network with its units in another order leaves the function "
            "and comes back to it.",
            "Phuong 2021, section 2.1",
            {"units": 6, "seed": 7},
        ),
    )

    def ticks(self, settings: FoldSettings) -> int:
        return TICKS

    def time(self, settings: FoldSettings, tick: int) -> float:
        return round(100 * tick / TICKS, 1)

    def start(self, settings: FoldSettings) -> FoldState:
        network = settings.network()
        return FoldState(network, _permuted(network))

    def advance(self, settings: FoldSettings, state: FoldState, tick: int) -> FoldState:
        return state

    def change(
        self, settings: FoldSettings, state: FoldState, tick: int, event: dict[str, Any]
    ) -> tuple[FoldSettings, FoldState]:
        network = changed(state.at(tick), event)
        return settings, FoldState(network, _permuted(network))

    def mark(self, settings: FoldSettings, state: FoldState, tick: int) -> dict[str, np.ndarray]:
        here, start = (_values(network) for network in (state.at(tick), state.network))
        return {"distance": np.array([float((here - start).abs().max())])}

    def frame(
        self, settings: FoldSettings, state: FoldState, tick: int, look: Look
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        network = state.at(tick)
        regions = enumerate_regions(network, (-REACH, REACH))
        outlines = polygons(regions)
        ends, unit = segments(regions)
        kinds, sentences = redundant(network)
        bends = torch.tensor([0, *(len(outline) for outline in outlines)]).cumsum(0)
        arrays = {
            "outline": torch.cat(outlines).numpy(),
            "outline_from": bends.numpy(),
            "steepness": regions.maps()[0].flatten(1).norm(dim=1).numpy(),
            "segments": ends.flatten(1).numpy().reshape(-1, 4),
            "segment_unit": unit.numpy(),
            "value": _values(network).view(GRID, GRID).numpy(),
            "distance": np.array([float((_values(network) - _values(state.network)).abs().max())]),
            "units": torch.cat([network.weights[0][0].T, network.biases[0][0, :, None]], 1).numpy(),  # type: ignore[index]
            "fan_out": network.weights[1][0].norm(dim=1).numpy(),
            "redundant": np.array(kinds),
            "reach": np.array([REACH]),
        }
        orbit = orbit_size(network)
        words = {
            "note": "",
            "regions": len(regions),
            "fingerprint": fingerprint(network),
            "redundant": sentences,
            "permutations": orbit.permutations,
            "scalings": orbit.scalings,
            "second": settings.second,
        }
        return arrays, words


def changed(network: Network, event: dict[str, Any]) -> Network:
    """The network after the user changed a unit of its first layer, or the order or scale of all hidden units."""
    w, b, v = network.weights[0].clone(), network.biases[0].clone(), network.weights[1].clone()  # type: ignore[index]
    if "permute" in event:
        return _permuted(network)
    if "scale" in event:
        factors = torch.tensor([2.0 ** (1 - 2 * (k % 2)) for k in range(w.shape[2])], dtype=torch.float64)
        w, b, v = w * factors, b * factors, v / factors[:, None]
    elif "copy" in event:
        k = _unit(event["copy"], w.shape[2])
        into = (k + 1) % w.shape[2]
        w[0, :, into], b[0, into] = 2 * w[0, :, k], 2 * b[0, k]
    elif "unit" in event:
        k = _unit(event["unit"], w.shape[2])
        numbers = [_number(x) for x in event.get("to", [])]
        if len(numbers) != 3:
            raise TutelageError(f"a unit has two weights and a bias, got {len(numbers)} numbers")
        w[0, :, k], b[0, k] = torch.tensor(numbers[:2], dtype=torch.float64), numbers[2]
    else:
        raise TutelageError(
            f"a change of this scene has a unit, copy, permute or scale, got {', '.join(event) or 'none'}"
        )
    biases = (b, *(network.biases or ())[1:])
    return replace(network, weights=(w, v, *network.weights[2:]), biases=biases)


def _unit(k: Any, count: int) -> int:
    if not isinstance(k, int) or not 0 <= k < count:
        raise TutelageError(f"unit must be from 0 to {count - 1}, got {k}")
    return k


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:
        raise TutelageError(f"a weight must be a number from -{_LARGEST:g} to {_LARGEST:g}, got {str(value)[:30]}")
    return float(value)


@lru_cache(maxsize=1)
def _grid() -> Tensor:
    side = torch.linspace(-REACH, REACH, GRID, dtype=torch.float64)
    return torch.stack(torch.meshgrid(side, side, indexing="xy"), dim=-1).view(1, -1, 2)


def _values(network: Network) -> Tensor:
    """Outputs on the grid, [GRID^2]."""
    with torch.no_grad():
        return outputs(network, _grid())[0, :, 0]


def redundant(network: Network) -> tuple[list[int], list[str]]:
    """For every hidden unit its kind of redundancy on the window, -1 for none, and sentences."""
    square = box(-REACH, REACH, dimension=2).stacked()
    _, redundancies = normal_form(network, square, 2.0**-52)
    first = [0, *np.cumsum(network.widths[1:-1]).tolist()]
    kinds = [-1] * first[-1]
    for r in redundancies:
        kinds[first[r.layer - 1] + r.unit] = KINDS.index(r.kind)
    return kinds, [str(r) for r in redundancies]


def fingerprint(network: Network) -> str:
    """Eight letters that stay the same under permutation and positive scaling, up to rounding."""
    text = "".join(
        str([math.copysign(abs(round(v, 6)), 1 if round(v, 6) == 0 else v) for v in a.flatten().tolist()])
        for a in canonical(network).parameters
    )
    return hashlib.sha256(text.encode()).hexdigest()[:8]
