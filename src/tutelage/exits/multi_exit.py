"""Networks with exits: a backbone cut into stages, and a head that classifies what each stage gives (Phuong 2021,
chapter 6).

Exits are numbered from 1, the cheapest, to M. These are ordinary torch modules, one network each.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from math import prod
from typing import Any

import torch
from torch import Tensor, nn

from tutelage import draws
from tutelage.errors import TutelageError


class MultiExit(nn.Module):
    """A network with several exits: stages in sequence, and a head after each.

    Parameters
    ----------
    stages
        Modules; what one hands to the next may be a tensor or several scales.
    heads
        One per stage; head m classifies the output of stage m.

    Examples
    --------
    >>> net = multi_exit_mlp(8, (5, 5), classes=3)
    >>> [logits.shape[1] for logits in net(torch.zeros(2, 8))], net.at(torch.zeros(2, 8), 1).shape
    ([3, 3], torch.Size([2, 3]))
    """

    def __init__(self, stages: Iterable[nn.Module], heads: Iterable[nn.Module]) -> None:
        super().__init__()
        self.stages, self.heads = nn.ModuleList(stages), nn.ModuleList(heads)
        if not self.stages or len(self.stages) != len(self.heads):
            raise TutelageError(
                f"there must be one head per stage, got {len(self.heads)} heads for {len(self.stages)} stages"
            )

    @property
    def exits(self) -> int:
        """How many exits there are, M."""
        return len(self.stages)

    def states(self, x: Any) -> Iterator[Any]:
        """What each stage gives, computed only when it is asked for."""
        for stage in self.stages:
            x = stage(x)
            yield x

    def anytime(self, x: Tensor) -> Iterator[Tensor]:
        """Logits of exit 1, 2, ... in turn: [B, C] each; no stage runs before its exit is asked for."""
        for head, state in zip(self.heads, self.states(x), strict=True):
            yield head(state)

    def forward(self, x: Tensor) -> list[Tensor]:
        """Logits of all exits: M of [B, C]."""
        return list(self.anytime(x))

    def at(self, x: Tensor, exit_number: int) -> Tensor:
        """Logits of one exit [B, C]: stages up to it and its own head run, and nothing else."""
        stages, heads = (self._modules[name]._modules for name in ("stages", "heads"))  # type: ignore[union-attr]
        if not 1 <= exit_number <= len(stages):  # plain dictionaries: a small network runs in microseconds
            self.checked(exit_number)
        state: Any = x
        for stage in islice(stages.values(), exit_number):
            state = stage(state)
        return heads[str(exit_number - 1)](state)  # type: ignore[misc]

    def cut(self, exit_number: int) -> nn.Sequential:
        """The network that ends at one exit, as a module of its own which shares the weights."""
        self.checked(exit_number)
        return nn.Sequential(*self.stages[:exit_number], self.heads[exit_number - 1])

    def checked(self, exit_number: int) -> int:
        """The number of an exit, an error unless there is one."""
        if not 1 <= exit_number <= self.exits:
            raise TutelageError(f"exit must be from 1 to {self.exits}, got {exit_number}")
        return exit_number


def multi_exit_mlp(inputs: int, widths: Sequence[int], classes: int, seed: int = 0) -> MultiExit:
    """Fully connected network with an exit after every layer.

    Parameters
    ----------
    inputs
        Entries of a sample; samples of any shape are flattened.
    widths
        Of the hidden layers.
    classes
        Number of classes.
    seed
        Of the weights.

    Returns
    -------
    MultiExit

    Examples
    --------
    >>> model = multi_exit_mlp(4, [8, 8], 3)
    >>> [tuple(logits.shape) for logits in model(torch.zeros(2, 4))]
    [(2, 3), (2, 3)]
    """
    _positive(inputs, *widths, classes)
    below = [inputs, *widths]
    stages = [
        nn.Sequential(*([nn.Flatten()] if not m else []), nn.Linear(below[m], width), nn.ReLU())
        for m, width in enumerate(widths)
    ]
    return initialised(MultiExit(stages, [nn.Linear(width, classes) for width in widths]), seed)


def multi_exit_conv(
    channels: int, classes: int, *, blocks: int = 4, width: int = 16, halve: Sequence[int] = (), seed: int = 0
) -> MultiExit:
    """Small convolutional network with an exit after every block.

    Parameters
    ----------
    channels, classes
        Of the images, and of the labels.
    blocks, width
        Blocks of 3 x 3 convolution, batch norm and ReLU, all with ``width`` channels; heads pool to 2 x 2.
    halve
        Blocks, counted from 1, whose convolution has stride 2.
    seed
        Of the weights.

    Returns
    -------
    MultiExit

    Examples
    --------
    >>> model = multi_exit_conv(channels=1, classes=10, blocks=3)
    >>> [tuple(logits.shape) for logits in model(torch.zeros(2, 1, 28, 28))]
    [(2, 10), (2, 10), (2, 10)]
    """
    _positive(channels, classes, blocks, width)
    if not set(halve) <= set(range(1, blocks + 1)):
        raise TutelageError(f"halve must name blocks from 1 to {blocks}, got {list(halve)}")
    stages = [
        nn.Sequential(
            nn.Conv2d(width if m else channels, width, 3, 2 if m + 1 in halve else 1, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
        )
        for m in range(blocks)
    ]
    return initialised(MultiExit(stages, [pooled_head((width,), classes, image=True) for _ in stages]), seed)


def pooled_head(shape: Sequence[int], classes: int, *, image: bool = False) -> nn.Sequential:
    """Standard head for the features of one sample.

    Parameters
    ----------
    shape
        (C, H, W) is pooled to 2 x 2, (T, C) averaged over T, (C,) taken as it is.
    classes
        Number of classes.
    image
        Whether a shape of two numbers is an image without channels.

    Returns
    -------
    torch.nn.Sequential
    """
    if image or len(shape) == 3:
        return nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4 * shape[0], classes))
    if len(shape) == 2:
        return nn.Sequential(_OverTokens(), nn.Linear(shape[1], classes))
    if len(shape) == 1:
        return nn.Sequential(nn.Linear(shape[0], classes))
    raise TutelageError(f"there is no standard head for features of shape {list(shape)}: give heads of your own")


class _OverTokens(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.mean(1)


def initialised(module: nn.Module, seed: int, stream: str = "exits") -> Any:
    """Draw all convolutions and linear layers of a module anew, in place.

    Convolutions: N(0, 2 / (k^2 out)) (He et al. 2015, backward); linear layers and biases: uniform in +-1/sqrt(fan in);
    batch norms: weight 1, bias 0.

    Parameters
    ----------
    module
        Any module.
    seed, stream
        Decide the draws.

    Returns
    -------
    Module
        The same module.

    Examples
    --------
    >>> first, again = (initialised(nn.Linear(3, 2), seed=1) for _ in range(2))
    >>> torch.equal(first.weight, again.weight)
    True
    """
    with torch.no_grad():
        for name, part in module.named_modules():
            if isinstance(part, nn.Conv2d):
                spread = (2 / (prod(part.kernel_size) * part.out_channels)) ** 0.5
                part.weight.copy_(spread * _normals(part.weight, seed, f"{stream}-{name}"))
                if part.bias is not None:
                    part.bias.zero_()
            elif isinstance(part, nn.Linear):
                for kind, p in part.named_parameters():
                    key = draws.keys([seed], f"{stream}-{name}-{kind}")
                    p.copy_((2 * draws.uniforms(key, p.numel()) - 1).view_as(p) / part.in_features**0.5)
            elif isinstance(part, nn.BatchNorm1d | nn.BatchNorm2d):
                part.reset_parameters()
    return module


def _normals(like: Tensor, seed: int, stream: str) -> Tensor:
    return draws.normals(draws.keys([seed], stream), like.numel()).view_as(like)


def _positive(*sizes: int) -> None:
    if min(sizes) < 1:
        raise TutelageError(f"every size of the network must be at least 1, got {min(sizes)}")
