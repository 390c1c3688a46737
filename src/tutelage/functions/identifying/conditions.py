"""A condition of a theorem about one network, looked at: its value, what is needed, and a witness."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

from tutelage.errors import TutelageError
from tutelage.functions.checks import in_double, only_networks
from tutelage.networks import Network

EXACT = 1e-10
"""A relative size up to which a number that is meant to differ from 0 counts as 0 in float64."""


@dataclass(frozen=True)
class Requirement:
    """What was looked at, its value, what is needed of it, whether it is met, and the case that decided, in words.

    holds: None where the value decides nothing, because it comes from samples or lies within rounding; data: the
    witness for machines.
    """

    name: str
    value: float | None
    needed: str
    holds: bool | None
    witness: str = ""
    data: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        mark = {True: "yes", False: "no ", None: "?  "}[self.holds]
        if self.value is None:
            return f"{mark} {self.name}: {self.witness}"
        text = f"{mark} {self.name}: {self.value:.4g} (needed {self.needed})"
        return f"{text}, {self.witness}" if self.witness else text


def undecided(name: str, why: str) -> Requirement:
    """A condition that was not evaluated, and why.

    >>> print(undecided("transparent", "there are too many regions"))
    ?   transparent: there are too many regions
    """
    return Requirement(name, None, "", None, why)


def all_of(conditions: Iterable[Requirement]) -> bool | None:
    """Whether all hold: False where one fails, None where none fails and one is not decided."""
    met = [condition.holds for condition in conditions]
    return False if False in met else None if None in met else True


def tolerance(network: Network) -> float:
    """The relative size below which a number may be rounding of the precision the weights are stored in."""
    only_networks(network)
    return max(EXACT, 64 * torch.finfo(network.dtype).eps)


def one_relu_network(network: Network) -> Network:
    """A single relu network in float64; all others raise an error."""
    only_networks(network)
    if network.members != 1:
        raise TutelageError(
            f"these conditions are of one network, and this is a stack of {network.members}: take network[s]"
        )
    if network.activation != "relu":
        raise TutelageError(
            f"these conditions are those of relu networks (Phuong 2021, section 2.2), not of {network.activation}"
        )
    return in_double(network)


def below(network: Network, layer: int) -> Network:
    """The network cut after the pre-activations of a layer (from 1), which become its outputs (Phuong 2021, eq.
    1.4).
    """
    biases = None if network.biases is None else network.biases[:layer]
    return Network(network.weights[:layer], biases, network.activation, network.slope)
