"""Draws for a model that is trained alone: one after the other, each name from its own stream."""

from collections.abc import Callable

import torch
from torch import Tensor

from tutelage import draws

_AHEAD = 1 << 15  # draws made at a time


class NamedDraws:
    """Draws one after the other, each name from its own counter-based stream, made many at a time.

    >>> a, b = NamedDraws(3, torch.device("cpu")), NamedDraws(3, torch.device("cpu"))
    >>> parts = torch.cat([a.normal("code", torch.Size((2,))) for _ in range(3)])
    >>> torch.equal(parts, b.normal("code", torch.Size((6,))))
    True
    """

    def __init__(self, seed: int, device: torch.device, prefix: str = "") -> None:
        self._seed, self._device, self._prefix = seed, device, prefix
        self._made: dict[str, Tensor] = {}
        self._at: dict[str, int] = {}

    def normal(self, name: str, shape: torch.Size) -> Tensor:
        """The next draws from N(0, 1)."""
        return self._next(name, shape.numel(), draws.normals).to(torch.get_default_dtype()).view(shape)

    def uniform(self, name: str, shape: torch.Size) -> Tensor:
        """The next draws from (0, 1)."""
        return self._next(name, shape.numel(), draws.uniforms).to(torch.get_default_dtype()).view(shape)

    def rows(self, count: int, bound: int) -> Tensor:
        """The next row numbers below ``bound``."""
        return self._next("rows", count, lambda key, many, start: draws.indices(key, many, bound, start))

    def _next(self, name: str, count: int, draw: Callable[[Tensor, int, int], Tensor]) -> Tensor:
        left = self._made.get(name)
        if left is None or len(left) < count:
            at, many = self._at.get(name, 0), max(count, _AHEAD)
            key = draws.keys([self._seed], f"mutual-autoencoder-{self._prefix}{name}", self._device)
            more = draw(key, many, at)[0]
            left, self._at[name] = more if left is None else torch.cat([left, more]), at + many
        self._made[name] = left[count:]
        return left[:count]
