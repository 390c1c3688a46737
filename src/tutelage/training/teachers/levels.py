"""Teachers whose weights take a few levels: those of Tian 2020 and Tian 2019 (App. F, eq. 10)."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal

import torch
from pydantic import Field, FiniteFloat, PositiveInt, field_validator
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.networks.activations import ActivationName, slope_of
from tutelage.networks.forward import activate, outputs
from tutelage.settings import PerMemberNonNegative, per_member
from tutelage.training.inputs import Distribution
from tutelage.training.teachers.teacher import Teacher

_ATTEMPTS = 400  # redraws of a column that repeats an earlier one
_MEDIAN_POINTS = 4096  # points a median pre-activation is taken over


class Levels(Teacher):
    r"""Entries drawn from a few levels, distinct columns of length 1, strengths that decay as 1/j^p.

    Hidden layers: columns of entries from ``levels``, no two of them parallel, scaled to :math:`\|\tilde w\| = 1`;
    biases ``bias``, or with ``bias="median"`` minus the median pre-activation, so that half the inputs activate a unit.
    Top layer: entries from the same levels, row j divided by :math:`j^p`, so that the strength of unit j is

    .. math:: \|v^*_j\| \sim 1/j^p \qquad (Tian 2020, eq. 10)

    with the polarity p of the member; output bias ``output_bias``. With ``standardised`` the top layer is then moved
    and scaled so that every output has mean 0 and deviation 1 over the inputs.

    >>> teacher = Levels(inputs=4, hidden=3, outputs=2, polarity=1.0).build(seeds=range(5))
    >>> teacher.members, teacher.widths
    (5, (4, 3, 2))
    """

    kind: Literal["levels"] = "levels"
    inputs: PositiveInt
    """Number of inputs d."""
    hidden: tuple[PositiveInt, ...] = Field(min_length=1)
    """Hidden units; one number, or one per hidden layer."""
    outputs: PositiveInt
    """Number of outputs C."""
    polarity: PerMemberNonNegative = 0.0
    """Strength decay p: the strength of unit j is proportional to 1/j^p; one number, or one per member."""
    levels: tuple[FiniteFloat, ...] = (-0.5, -0.25, 0.0, 0.25, 0.5)
    """Values that entries of the weights are drawn from."""
    bias: FiniteFloat | Literal["median"] = -0.1
    """Bias of hidden units, or "median": half the inputs then activate a unit."""
    output_bias: FiniteFloat = -0.1
    """Bias of the outputs."""
    standardised: bool = False
    """Whether outputs are scaled to mean 0 and deviation 1 over the inputs."""
    activation: ActivationName = "relu"
    """Activation of the hidden units."""
    slope: float = Field(default=0.01, ge=0, lt=1)
    """Slope of leaky units for negative inputs."""

    @field_validator("hidden", mode="before")
    @classmethod
    def _one_hidden_layer(cls, hidden: Any) -> Any:
        return (hidden,) if isinstance(hidden, int) and not isinstance(hidden, bool) else hidden

    @field_validator("levels")
    @classmethod
    def _some_level(cls, levels: tuple[float, ...]) -> tuple[float, ...]:
        if not any(levels):
            raise ValueError("at least one level must differ from 0")
        return levels

    def widths(self) -> tuple[int, ...]:
        return (self.inputs, *self.hidden, self.outputs)

    def make(
        self,
        seeds: Sequence[int],
        distribution: Distribution | None = None,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> Network:
        members = len(draws.as_seeds(seeds))
        polarity = torch.tensor(per_member(self.polarity, members, "polarity"), dtype=torch.float64, device=device)
        if (self.bias == "median" or self.standardised) and distribution is None:
            what = "bias 'median'" if self.bias == "median" else "standardised outputs"
            raise TutelageError(
                f"a teacher with {what} needs the distribution of its inputs: build(seeds, distribution)"
            )
        widths, weights = self.widths(), []
        for layer, (fan_in, fan_out) in enumerate(pairwise(widths), start=1):
            last = layer == len(widths) - 1
            if last:  # drawn transposed: a column is what one unit below sends out, its fan-out vector v*_j
                rank = torch.arange(1, fan_in + 1, dtype=torch.float64, device=device)
                columns = _columns(self, seeds, layer, fan_out, fan_in, device, distinct=False)
                weights.append(columns.mT / rank.pow(polarity[:, None]).unsqueeze(-1))
            else:
                columns = _columns(self, seeds, layer, fan_in, fan_out, device, distinct=True)
                weights.append(columns / columns.norm(dim=1, keepdim=True))
        network = Network(tuple(weights), None, self.activation, slope_of(self.activation, self.slope))
        biases = _biases(self, network, seeds, distribution)
        network = Network(network.weights, biases, self.activation, slope_of(self.activation, self.slope))
        if self.standardised and distribution is not None:
            network = _standardised(network, _looked_at(network, seeds, distribution))
        return network.to(dtype=dtype).map(torch.Tensor.contiguous)  # columns are drawn transposed


def _columns(
    recipe: Levels,
    seeds: Sequence[int],
    layer: int,
    rows: int,
    columns: int,
    device: torch.device | str,
    distinct: bool,
) -> Tensor:
    """Columns of levels, none zero and, if asked, no two of one member parallel: float64 [S, rows, columns].

    A column that is not wanted is drawn again from the member's stream of the next attempt.
    """
    levels = torch.tensor(recipe.levels, dtype=torch.float64, device=device)
    out, bad = torch.empty(0), None
    # with biases of 0, or minus a median, opposite columns have one boundary
    either_way = recipe.bias in (0, "median")
    for attempt in range(_ATTEMPTS):
        key = draws.keys(seeds, f"teacher-{layer}-{attempt}", device)
        drawn = levels[draws.indices(key, rows * columns, len(levels)).view(-1, columns, rows)].mT
        out = drawn if bad is None else torch.where(bad.unsqueeze(1), drawn, out)
        bad = _zero(out) | _repeats(out, either_way) if distinct else _zero(out)
        if not bad.any():
            return out
    raise TutelageError(
        f"{columns} distinct columns of {rows} entries cannot be drawn from the levels {list(recipe.levels)}: "
        "give more levels, more inputs or fewer units"
    )


def _zero(columns: Tensor) -> Tensor:
    return columns.abs().sum(1) == 0


def _repeats(columns: Tensor, either_way: bool) -> Tensor:
    """Whether a column is parallel, or opposite where that counts, to an earlier one: -> bool [S, columns]."""
    unit = columns / columns.norm(dim=1, keepdim=True).clamp_min(1e-300)
    cosine = torch.bmm(unit.mT, unit)
    parallel = (cosine.abs() if either_way else cosine) > 1 - 1e-9
    return parallel.tril(-1).any(-1)


def _biases(
    recipe: Levels, network: Network, seeds: Sequence[int], distribution: Distribution | None
) -> tuple[Tensor, ...]:
    """The biases of every layer, found layer by layer from below where they are medians."""
    top = network.weights[-1].new_full((network.members, network.outputs), recipe.output_bias)
    if recipe.bias != "median":
        return (*(w.new_full((network.members, w.shape[2]), recipe.bias) for w in network.weights[:-1]), top)
    assert distribution is not None
    f = _looked_at(network, seeds, distribution)
    biases = []
    for w in network.weights[:-1]:
        u = torch.bmm(f, w)
        biases.append(-u.median(dim=1).values)
        f = activate(network, u + biases[-1].unsqueeze(1))
    return (*biases, top)


def _looked_at(network: Network, seeds: Sequence[int], distribution: Distribution) -> Tensor:
    """The points over which medians, means and deviations are taken: [S, N, d]."""
    key = draws.keys(seeds, "teacher-median", network.device)
    return distribution.points(key, _MEDIAN_POINTS, network.inputs, torch.float64)


def _standardised(network: Network, points: Tensor) -> Network:
    """The network with a top layer that gives every output mean 0 and deviation 1 over these points."""
    assert network.biases is not None
    y = outputs(network, points)
    deviation = y.std(1, correction=0)
    if (deviation == 0).any():
        raise TutelageError("an output of the teacher is constant over the inputs and cannot be standardised: widen it")
    top = network.weights[-1] / deviation.unsqueeze(1), (network.biases[-1] - y.mean(1)) / deviation
    return replace(network, weights=(*network.weights[:-1], top[0]), biases=(*network.biases[:-1], top[1]))
