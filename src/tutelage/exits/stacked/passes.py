"""Forwards and backwards through S networks of one layout, on B images each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tutelage.exits.stacked.layout import Layout, Unit
from tutelage.training.optimisers import Sgd

_LARGE = 2**15  # pixels of all networks from which on tiles are large
_WEIGHTS = 256  # whose gradients one program adds up
_PROGRAMS = 528  # that a product over pixels is spread over, at least: four for each multiprocessor of an H200


@dataclass(frozen=True)
class Grid:
    """How the kernels of a unit are cut up.

    pixels, rows, columns: sizes of blocks of its products; inner: the most channels that are summed over at a time;
    rows_sum, columns_sum: blocks of its weights' gradient; parts, turns: of that; over, tiles: keywords and number of
    programs of a pass over a channel of what it gives.
    """

    unit: Unit
    side: int
    pixels: int
    rows: int
    columns: int
    inner: int
    parts: int
    turns: int
    over: dict[str, int]
    tiles: int

    @property
    def area(self) -> int:
        return self.side**2

    @property
    def rows_sum(self) -> int:
        return block(self.unit.rows, 64)

    @property
    def columns_sum(self) -> int:
        return block(self.unit.columns, 64)


def block(size: int, most: int, least: int = 16) -> int:
    """The power of two that holds a size, within bounds.

    >>> block(24, 64), block(200, 64), block(3, 64)
    (32, 64, 16)
    """
    return max(least, min(most, 1 << (size - 1).bit_length()))


def _over(images: int, side: int) -> tuple[dict[str, int], int]:
    """Keywords and programs of a kernel that passes over the pixels of a channel."""
    count = images * side**2
    pixels = block(count, 1024)
    turns = max(1, count // pixels // 16)
    return {"SIDE": side, "PIXELS": pixels, "TURNS": turns}, -(-count // (pixels * turns))


def grid(plan: Layout, unit: Unit, members: int, images: int) -> Grid:
    """How the kernels of a unit are cut up for so many networks and images."""
    side = plan.maps[unit.into].side
    count = images * side**2
    large = members * count >= _LARGE
    # A weight gradient is a sum over all pixels of all images, in parts of one program each that are added afterwards:
    # enough of them to keep all multiprocessors busy.
    turns_in_all = -(-count // 64)
    blocks = -(-unit.rows // block(unit.rows, 64)) * -(-unit.columns // block(unit.columns, 64))
    parts = max(1, min(-(-_PROGRAMS // (members * blocks)), turns_in_all))
    turns = -(-turns_in_all // parts)
    most = 64 if large else 32
    return Grid(
        unit, side, 128 if large else 32, block(unit.rows, most), block(unit.columns, most), 32 if large else 64,
        -(-turns_in_all // turns), turns, *_over(images, side),
    )  # fmt: skip


class Passes:
    """Weights, gradients and feature maps of S networks on B images each.

    numbers, gradients, momenta: all parameters [S, P]; products: a copy of the numbers in the type in which products
    are computed. maps, active: what the convolutions give, and that after batch norm and ReLU [S, B, C, side^2];
    running: means and variances of the batch norms, [S, C] of each maps.
    """

    def __init__(
        self, plan: Layout, members: int, images: int, optimiser: Sgd, dtype: torch.dtype, device: Any
    ) -> None:
        from tutelage.exits.stacked import convolutions, norms  # where there is Triton

        self.convolutions, self.norms = convolutions, norms
        self.plan, self.members, self.images, self.optimiser = plan, members, images, optimiser
        self.precision = "ieee" if dtype == torch.float32 else "tf32"

        def zeros(*shape: int, kind: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(shape, dtype=kind, device=device)

        def channels() -> list[Tensor]:
            return [zeros(members, maps.channels) for maps in plan.maps]

        self.numbers, self.gradients, self.momenta = (zeros(members, plan.size) for _ in range(3))
        self.products = self.numbers.to(dtype)
        self.rate = zeros(1)
        self.maps = [zeros(members, images, m.channels, m.side**2, kind=dtype) for m in plan.maps]
        self.active = [self.maps[0], *(torch.zeros_like(maps) for maps in self.maps[1:])]
        self.map_gradients = [zeros(0), *(torch.zeros_like(maps) for maps in self.maps[1:])]
        self.scale, self.shift, self.mean, self.rstd = (channels() for _ in range(4))
        self.running = channels(), [1 + part for part in channels()]
        self.grids = [grid(plan, unit, members, images) for unit in plan.units]
        self._make_room(zeros, dtype)

    def _make_room(self, zeros: Callable[..., Tensor], dtype: torch.dtype) -> None:
        """Arrays that all units share, and the columns of each, which are needed again on the way back."""
        each = self.members * self.images

        def most(sizes: list[int]) -> int:
            return max(sizes, default=0)

        self.columns = [
            zeros(each, g.unit.columns, g.area, kind=dtype) if g.unit.kind == "columns" else None for g in self.grids
        ]
        self.taps = zeros(most([each * g.unit.rows * g.area for g in self.grids if g.unit.kind == "taps"]), kind=dtype)
        folded = most([each * g.unit.columns * g.area for g in self.grids if g.unit.kind == "columns"])
        self.folded = zeros(folded, kind=dtype)
        rows = [self.members * g.unit.outputs * max(self._tiles(g), g.tiles) for g in self.grids]
        self.sums, self.squares = (zeros(most(rows)) for _ in range(2))
        self._make_room_for_parts(zeros)

    def _make_room_for_parts(self, zeros: Callable[..., Tensor]) -> None:
        """Room for the parts of all gradients of weights, and the table by which they are added up."""
        self.parts, begin, table = [], 0, []
        sizes = [g.unit.rows * g.unit.stride for g in self.grids]
        room = zeros(sum(self.members * g.parts * size for g, size in zip(self.grids, sizes, strict=True)))
        for g, size in zip(self.grids, sizes, strict=True):
            self.parts.append(room[begin:])
            table += [
                [begin + n, size - n, size, g.parts, g.unit.weight + n] for n in range(0, size, _WEIGHTS)
            ]  # fmt: skip
            begin += self.members * g.parts * size
        self.table = torch.tensor(table, device=room.device)

    def _tiles(self, g: Grid) -> int:
        return -(-self.images * g.area // g.pixels)

    def logits(self, objective: Callable[[Tensor], Tensor]) -> Tensor:
        """Forwards, backwards and a step of the optimiser on the images in maps[0]: -> z [S, M, B, C].

        objective: from z to the sum of all networks' losses.
        """
        plan, top = self.plan, self.plan.top
        # Units in the order of the layout: each reads channels that units before it have written.
        for g, columns in zip(self.grids, self.columns, strict=True):
            self._forward(g, columns)
        pooled = self.active[top].float().mean(-1).view(self.members, self.images, len(plan.heads), plan.features)
        pooled.requires_grad_()
        weights, biases = (part.detach().requires_grad_() for part in plan.linear(self.numbers))
        z = torch.einsum("sbmf,smcf->smbc", pooled, weights) + biases.unsqueeze(2)
        inner, *outer = torch.autograd.grad(objective(z), [pooled, weights, biases])
        for into, value in zip(plan.linear(self.gradients), outer, strict=True):
            into.copy_(value)
        spread = (inner.flatten(2) / self.maps[top].shape[-1]).unsqueeze(-1)
        self.map_gradients[top].copy_(spread.expand_as(self.map_gradients[top]))
        # Invariant: at a unit's turn all units that read its channels have added their part to `map_gradients` there,
        # since they come later in the layout. The first to write overwrites, the others add (`add` in `_backward`).
        for g, columns, parts in reversed(list(zip(self.grids, self.columns, self.parts, strict=True))):
            self._backward(g, columns, parts)
        self.convolutions.add_parts[(len(self.table), self.members)](
            self.parts[0], self.gradients, self.table, self.members, plan.size, PARTS=4, BLOCK=_WEIGHTS
        )
        self._descend()
        return z.detach()

    def _forward(self, g: Grid, columns: Tensor | None) -> None:
        u, S, B, k = g.unit, self.members, self.images, self.convolutions
        h, wide = self._read(self.active, u), self.plan.maps[u.source].channels
        out_wide = self.plan.maps[u.into].channels
        if columns is not None:
            k.unfold[(g.tiles, u.inputs, S)](h, columns, wide, u.inputs, B, **g.over)
            h, wide = columns, u.columns
        taps = u.kind == "taps"
        into = (self.taps, u.rows, 0) if taps else (self.maps[u.into], out_wide, u.first)
        tiles = self._tiles(g)
        k.product[(-(-u.rows // g.rows), tiles, S)](
            h, self.products, into[0], self.sums, self.squares, wide, u.columns, *into[1:], u.rows, B, tiles, u.weight,
            self.plan.size, u.stride, HW=g.area, SUMS=not taps, PIXELS=g.pixels, CO=g.rows,
            CI=block(u.columns, g.inner), PRECISION=self.precision,
        )  # fmt: skip
        if taps:
            tiles = g.tiles
            k.add_taps[(tiles, u.outputs, S)](
                self.taps, self.maps[u.into], self.sums, self.squares, out_wide, u.first, u.outputs, B, tiles, **g.over
            )
        arrays = [part[u.into] for part in (self.scale, self.shift, self.mean, self.rstd, *self.running)]
        self.norms.normalise[(u.outputs, S)](
            self.sums, self.squares, self.numbers, *arrays, out_wide, u.first, u.outputs, tiles, B * g.area, u.gamma,
            u.gamma + u.outputs, self.plan.size, self.plan.eps, self.plan.momentum, TILES=512,
            num_warps=1 if tiles < 128 else 4,
        )  # fmt: skip
        self.norms.activate[(g.tiles, u.outputs, S)](
            self.maps[u.into], self.active[u.into], *arrays[:2], out_wide, u.first, B, **g.over
        )

    def _read(self, maps: list[Tensor], unit: Unit) -> Tensor:
        """The channels of some maps from the first that a unit reads on; a view."""
        return maps[unit.source][:, :, unit.begin :]

    def _backward(self, g: Grid, columns: Tensor | None, parts: Tensor) -> None:
        u, S, B, k = g.unit, self.members, self.images, self.convolutions
        source, out_wide = self.plan.maps[u.source], self.plan.maps[u.into].channels
        self._back_through_norm(g)
        gradient: tuple = self.map_gradients[u.into], out_wide, u.first
        if u.kind == "taps":
            k.spread_taps[(g.tiles, u.outputs, S)](
                gradient[0], self.taps, out_wide, u.first, u.outputs, B, **g.over
            )  # fmt: skip
            gradient = self.taps, u.rows, 0
        h, wide = (self._read(self.active, u), source.channels) if columns is None else (columns, u.columns)
        blocks = -(-u.columns // g.columns_sum) * -(-u.rows // g.rows_sum)
        k.weight_gradient[(blocks, g.parts, S)](
            gradient[0], h, parts, wide, u.columns, *gradient[1:], u.rows, B, g.turns, u.stride, HW=g.area, PIXELS=64,
            CO=g.rows_sum, CI=g.columns_sum, PRECISION=self.precision,
        )  # fmt: skip
        if u.source == 0:
            return  # nobody asks for the gradient of an image
        add = source.shared and source.last is not u  # the last reader comes first here
        below = self._read(self.map_gradients, u)
        into = (below, source.channels, add) if columns is None else (self.folded, wide, False)
        k.input_gradient[(-(-u.columns // g.columns), self._tiles(g), S)](
            gradient[0], self.products, into[0], into[1], u.columns, *gradient[1:], u.rows, B, u.weight, self.plan.size,
            u.stride, HW=g.area, ADD=into[2], PIXELS=g.pixels, CO=block(u.rows, g.inner), CI=g.columns,
            PRECISION=self.precision,
        )  # fmt: skip
        if columns is not None:
            k.fold[(g.tiles, u.inputs, S)](self.folded, below, source.channels, u.inputs, B, ADD=add, **g.over)

    def _back_through_norm(self, g: Grid) -> None:
        """The gradient of what a unit gives becomes that of its convolution, in place."""
        u, number, kernels = g.unit, g.unit.into, self.norms
        programs = g.tiles, u.outputs, self.members
        arrays = [
            part[number] for part in (self.map_gradients, self.maps, self.scale, self.shift, self.mean, self.rstd)
        ]
        sizes = self.plan.maps[number].channels, u.first, u.outputs, self.images, g.tiles
        kernels.gradient_sums[programs](*arrays, self.sums, self.squares, *sizes, **g.over)
        kernels.inner_gradient[programs](
            *arrays, self.sums, self.squares, self.gradients, *sizes, u.gamma, u.gamma + u.outputs, self.plan.size,
            **g.over, TILES=block(g.tiles, 1024),
        )  # fmt: skip

    def _descend(self) -> None:
        size = self.numbers.numel()
        self.norms.descend[(-(-size // 1024),)](
            self.numbers, self.momenta, self.gradients, self.products, self.rate, size, self.optimiser.weight_decay,
            self.optimiser.momentum, BLOCK=1024,
        )  # fmt: skip

    def load(self, member: int, weights: dict[str, Tensor]) -> None:
        """Take over the parameters and running averages of a network, by torch's names."""
        for name, array in self.named(member).items():
            array.copy_(weights[name])
        self.products[member].copy_(self.numbers[member])

    def named(self, member: int) -> dict[str, Tensor]:
        """Parameters and running averages of a network by torch's names; views."""
        out = self.plan.parameters(self.numbers, member)
        for unit, convolution in self.plan.convolutions():
            begin = unit.first + convolution.first
            for name, part in zip(("running_mean", "running_var"), self.running, strict=True):
                out[f"{convolution.norm}.{name}"] = part[unit.into][member, begin : begin + convolution.outputs]
        return out

    def arrays(self) -> Sequence[Tensor]:
        """All arrays that the steps to come depend on."""
        return [self.numbers, self.momenta, self.products, *self.running[0], *self.running[1]]
