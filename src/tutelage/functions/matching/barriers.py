"""How much worse networks are between two trained ones, before and after their units are matched.

Units of the second network are put into the order of the first's and scaled to their size, which leaves its function
as it is; then both are joined by a straight line. What the line loses against the mean of its ends is the barrier.
On the line activations shrink, since the features of two networks are averaged; repaired, every hidden unit gets back
the mean and deviation that are the average of those at the ends (Jordan et al. 2023, REPAIR).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor, nn

from tutelage.errors import TutelageError
from tutelage.functions.checks import as_network, bias, in_double, points_for
from tutelage.functions.matching.aligning import aligned
from tutelage.functions.matching.judging import judged, labels_for
from tutelage.functions.matching.matching import By
from tutelage.functions.matching.module_lines import between_modules
from tutelage.functions.matching.paths import same_architecture, straight
from tutelage.networks import Network, forward
from tutelage.networks.forward import activate
from tutelage.printing import printed

Criterion = Literal["squares", "cross-entropy"]


@printed
@dataclass(frozen=True, eq=False)
class Barrier:
    """Loss along the straight line between two networks.

    Attributes
    ----------
    places
        [T]: from 0, the first network, to 1, the second.
    loss
        [T, S]: on the line as it is.
    matched
        [T, S]: on the line to the second network with its units matched.
    repaired
        [T, S]: the same with the statistics of hidden units repaired; None unless asked for.
    accuracy, matched_accuracy, repaired_accuracy
        [T, S]: shares of points with the right class; None for a squared error.
    second
        The second network, or module, with its units in the order and size of the first's: the same function as before.
    how
        What the units of each member were matched by.
    """

    places: Tensor
    loss: Tensor
    matched: Tensor
    repaired: Tensor | None
    accuracy: Tensor | None
    matched_accuracy: Tensor | None
    repaired_accuracy: Tensor | None
    second: Network | nn.Module
    how: tuple[str, ...]

    def height(self, which: Literal["loss", "matched", "repaired"] = "matched") -> Tensor:
        """The largest excess of the loss over the straight line between the losses at its ends: [S], at least 0."""
        loss = getattr(self, which)
        if loss is None:
            raise TutelageError("the statistics were not repaired: ask for repair=True")
        between = (1 - self.places)[:, None] * loss[0] + self.places[:, None] * loss[-1]
        return (loss - between).amax(0).clamp_min(0)

    def _title(self) -> str:
        words = [f"{float(self.height(which).mean()):.3g} {name}" for which, name in _NAMES if self._has(which)]
        return f"barrier {', '.join(words)}"

    def _has(self, which: str) -> bool:
        return getattr(self, which) is not None


_NAMES: tuple[tuple[Literal["loss", "matched", "repaired"], str], ...] = (
    ("loss", "as they are"), ("matched", "matched"), ("repaired", "matched and repaired"),
)  # fmt: skip


def barrier(
    first: Network | nn.Module,
    second: Network | nn.Module,
    points: Tensor,
    labels: Tensor,
    *,
    by: By | Literal["best"] = "best",
    repair: bool = False,
    steps: int = 20,
) -> Barrier:
    """Loss along the straight line between two networks of one architecture, before and after matching.

    Parameters
    ----------
    first, second
        Networks of any depth with S members each; modules and files are read as by ``compare``. With points that are
        images, modules of one architecture with convolutions, batch norms and skip connections, whose channels are
        matched (:func:`match_channels`).
    points
        Inputs [N, d] or [S, N, d]; images [N, C, H, W] for modules.
    labels
        Numbers [N, C] or [S, N, C] for half the squared error, or classes [N] or [S, N] for the cross-entropy.
    by
        What units are matched by: "weights" (of a layer and of the one above it, in turns), "activations" on the
        points, "both"; or "best": the weights where they leave no loss above the ends half-way in any member, else for
        each member the one of these with the least loss half-way.
    repair
        Whether to compute the line with repaired statistics too: in modules those of the batch norms, measured again
        on the points.
    steps
        Number of places on the line less one.

    Returns
    -------
    Barrier

    Examples
    --------
    >>> from tutelage.networks import outputs
    >>> torch.manual_seed(0) and None
    >>> one = Network((torch.randn(1, 3, 4), torch.randn(1, 4, 2)))
    >>> other = Network((one.weights[0].flip(2) * 2, one.weights[1].flip(1) / 2))  # the same function
    >>> x = torch.randn(50, 3)
    >>> found = barrier(one, other, x, outputs(one, x[None].float())[0])
    >>> bool(found.height("loss") > 0.1), bool(found.height("matched") < 1e-9)
    (True, True)
    """
    if steps < 2:
        raise TutelageError(f"a line needs at least 2 steps, got {steps}")
    images = isinstance(points, Tensor) and points.ndim == 4
    if images and isinstance(first, nn.Module) and isinstance(second, nn.Module):
        return Barrier(*between_modules(first, second, points, labels, by, repair, steps))
    first, second = in_double(as_network(first, "first"), "first"), in_double(as_network(second, "second"), "second")
    same_architecture(first, second)
    x = points_for(first, points)
    wanted = labels_for(labels, x, first.outputs)
    moved, how = aligned(first, second, x, wanted, by)
    places = torch.linspace(0, 1, steps + 1, dtype=torch.float64)
    lines = [straight(first, second), straight(first, moved)]
    plain, matched = ([line.at(t) for t in places.tolist()] for line in lines)
    pairs = zip(matched, places.tolist(), strict=True)
    restored = [repaired(net, [(1 - t, first), (t, moved)], x) for net, t in pairs if repair]
    again = judged(restored, x, wanted) if repair else (None, None)
    (loss, right), (loss_matched, right_matched) = (judged(nets, x, wanted) for nets in (plain, matched))
    return Barrier(places, loss, loss_matched, again[0], right, right_matched, again[1], moved, how)


def repaired(network: Network, ends: Sequence[tuple[float, Network]], x: Tensor) -> Network:
    """The network with every hidden pre-activation shifted and scaled to the mean statistics of others, by shares."""
    statistics = [[(share, *_statistics(u)) for u in inner(end, x)] for share, end in ends]
    weights, biases = list(network.weights), [bias(network, layer) for layer in range(network.depth)]
    feature = x
    for layer, layer_statistics in enumerate(zip(*statistics, strict=True)):
        # Layer by layer from below: the statistics of a layer are those of the network that is already repaired below
        # it.
        mean, deviation = _statistics(torch.baddbmm(biases[layer].unsqueeze(1), feature, weights[layer]))
        goal_mean = torch.stack([share * of_end for share, of_end, _ in layer_statistics]).sum(0)
        goal = torch.stack([share * of_end for share, _, of_end in layer_statistics]).sum(0)
        # A unit that is constant on the line has no deviation to scale; it keeps its weights and gets the mean alone.
        factor = torch.where(deviation > 0, goal / deviation.clamp_min(torch.finfo(deviation.dtype).tiny), 1.0)
        weights[layer] = weights[layer] * factor.unsqueeze(1)
        biases[layer] = (biases[layer] - mean) * factor + goal_mean
        feature = activate(network, torch.baddbmm(biases[layer].unsqueeze(1), feature, weights[layer]))
    return replace(network, weights=tuple(weights), biases=tuple(biases))


def inner(network: Network, x: Tensor) -> list[Tensor]:
    """Pre-activations of the hidden layers: [S, N, n] each."""
    features = forward(network, x).features
    return [
        torch.baddbmm(bias(network, layer).unsqueeze(1), features[layer], network.weights[layer])
        for layer in range(network.depth - 1)
    ]


def _statistics(u: Tensor) -> tuple[Tensor, Tensor]:
    return u.mean(1), u.std(1, correction=0)
