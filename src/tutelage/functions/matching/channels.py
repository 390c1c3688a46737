"""Channels of two convolutional networks of one architecture, matched through the graph of the module.

Channels that are added to one another, as on both sides of a skip connection, must move together: the traced graph says
which axes of which parameters these are. Such a group is put into the order of the first network's by solving one
assignment after another, until nothing changes (weights; Ainsworth et al. 2023), or once, by the correlation of
activations (Li et al. 2015). The second network moved in this way is the same function as before.
"""

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor, fx, nn

from tutelage.errors import TutelageError
from tutelage.functions.matching._channel_groups import ChannelGroup, channel_groups
from tutelage.measures.correlation import correlations
from tutelage.printing import printed

By = Literal["weights", "activations"]
_SWEEPS = 100


@printed
@dataclass(frozen=True, eq=False)
class ChannelMatching:
    """Channels of a second module put into the order of a first one's.

    Attributes
    ----------
    module
        The second module with its channels in the new order: the same function.
    orders
        For every group of channels that move together, by the layer it starts at: the channel of the second module
        that comes to each place.
    by
        What they were matched by.
    """

    module: nn.Module
    orders: Mapping[str, Tensor]
    by: By


def match_channels(
    first: nn.Module, second: nn.Module, points: Tensor | Iterable[Tensor] | None = None, *, by: By = "weights"
) -> ChannelMatching:
    """Put the channels of a module into the order of another one's.

    Parameters
    ----------
    first, second
        Modules of one architecture: convolutions, linear layers, batch norms, pools, elementwise functions and skip
        connections, traced with torch.fx. Both are left as they are.
    points
        Inputs [N, ...], or batches of them, to see activations on; needed for ``by="activations"``.
    by
        "weights" or "activations".

    Returns
    -------
    ChannelMatching

    Examples
    --------
    >>> one = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 2))
    >>> other = copy.deepcopy(one)
    >>> with torch.no_grad():
    ...     _ = other[0].weight.copy_(one[0].weight.flip(0)), other[0].bias.copy_(one[0].bias.flip(0))
    >>> match_channels(one, other).orders["0"]
    tensor([3, 2, 1, 0])
    """
    groups = channel_groups(first)
    if [g.axes for g in groups] != [g.axes for g in channel_groups(second)] or _shapes(first) != _shapes(second):
        raise TutelageError(
            "the modules must have one architecture: the same layers of the same sizes in the same order"
        )
    if by == "weights":
        orders = _by_weights(first, second, groups)
    elif by == "activations":
        if points is None:
            raise TutelageError("matching by activations needs points to see them on: give points, or by='weights'")
        orders = _by_activations(first, second, groups, [points] if isinstance(points, Tensor) else list(points))
    else:
        raise TutelageError(f"by must be 'weights' or 'activations', got '{by}'")
    module = copy.deepcopy(second)
    module.load_state_dict(reordered(second.state_dict(), groups, orders))
    return ChannelMatching(module, {g.name: orders[i] for i, g in enumerate(groups)}, by)


def reordered(state: Mapping[str, Tensor], groups: list[ChannelGroup], orders: list[Tensor]) -> dict[str, Tensor]:
    """The state of a module with the channels of every group in another order."""
    moved = dict(state)
    for group, order in zip(groups, orders, strict=True):
        for name, axis in group.axes:
            moved[name] = _taken(moved[name], axis, order)
    return moved


def _taken(array: Tensor, axis: int, order: Tensor) -> Tensor:
    """An array with its channels along an axis in another order; each has a whole number of entries there."""
    blocks = array.movedim(axis, 0)
    chosen = blocks.reshape(len(order), -1, *blocks.shape[1:])[order.to(array.device)]
    return chosen.reshape(blocks.shape).movedim(0, axis).contiguous()


def _shapes(module: nn.Module) -> list[tuple[str, torch.Size]]:
    return [(name, array.shape) for name, array in module.state_dict().items()]


def _by_weights(first: nn.Module, second: nn.Module, groups: list[ChannelGroup]) -> list[Tensor]:
    """Orders of all groups by turns, each the best for the others' orders, from random sweeps of a fixed stream."""
    trained = {name for name, _ in first.named_parameters()}
    first_state, second_state = (
        {k: v.detach().double().cpu() for k, v in m.state_dict().items()} for m in (first, second)
    )
    orders = [torch.arange(g.size) for g in groups]
    draw = np.random.default_rng(0)
    for _ in range(_SWEEPS):
        moved = False
        # In random order, as Ainsworth et al. 2023. Invariant: an assignment is the best for its group, the others
        # held, so that the sum of products never falls.
        for i in draw.permutation(len(groups)):
            there = reordered(second_state, groups, [*orders[:i], torch.arange(groups[i].size), *orders[i + 1 :]])
            alike = sum(
                _rows(first_state[name], axis, groups[i].size) @ _rows(there[name], axis, groups[i].size).T
                for name, axis in groups[i].axes
                if name in trained
            )
            order = _assigned(alike)  # type: ignore[arg-type]
            moved |= not torch.equal(order, orders[i])
            orders[i] = order
        if not moved:
            break
    return orders


def _rows(array: Tensor, axis: int, size: int) -> Tensor:
    return array.movedim(axis, 0).reshape(size, -1)


def _assigned(alike: Tensor) -> Tensor:
    """The channel of the second for each of the first's that makes the sum of likenesses largest."""
    return torch.from_numpy(linear_sum_assignment(alike.numpy(), maximize=True)[1])


def _by_activations(first, second, groups: list[ChannelGroup], batches: list[Tensor]) -> list[Tensor]:
    """Orders by the correlation of activations, summed over the places of a group where they can be seen."""
    alike = [torch.zeros(g.size, g.size, dtype=torch.float64) for g in groups]
    activations = [_seen(module, groups, batches) for module in (first, second)]
    for i, group in enumerate(groups):
        for node in group.nodes:
            alike[i] += correlations(activations[0][node][None], activations[1][node][None])[0]
    return [_assigned(a) for a in alike]


def _seen(module: nn.Module, groups: list[ChannelGroup], batches: list[Tensor]) -> dict[str, Tensor]:
    """Activations of every watched node, [samples and places, channels], in float64."""
    watched = {node: group.size for group in groups for node in group.nodes}
    activations: dict[str, list[Tensor]] = {node: [] for node in watched}

    class Watching(fx.Interpreter):
        def run_node(self, n: fx.Node) -> Any:
            value = super().run_node(n)
            if n.name in watched and isinstance(value, Tensor):
                activations[n.name].append(value.detach().double().movedim(1, -1).reshape(-1, watched[n.name]).cpu())
            return value

    traced = fx.symbolic_trace(copy.deepcopy(module).eval())
    with torch.no_grad():
        for batch in batches:
            Watching(traced).run(batch.to(next(module.parameters())))
    return {node: torch.cat(pieces) for node, pieces in activations.items()}
