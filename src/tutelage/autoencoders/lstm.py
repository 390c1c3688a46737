r"""LSTMs of many members side by side, with their backward pass written out.

.. math:: c_t = f_t c_{t-1} + i_t g_t, \quad h_t = o_t \tanh c_t, \quad
    (i, f, o, g)_t = (\sigma, \sigma, \sigma, \tanh)(a_t + h_{t-1} W)

What the cell receives from outside comes ready as a_t, so that words are a look-up in a table and what is the same at
every step is computed once. The gradient of W is one product over all steps.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def step(a: Tensor, h: Tensor, c: Tensor, weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """One step of the cell: a [S, B, 4H], h and c [S, B, H], W [S, H, 4H] -> gates [S, B, 4H], h, c."""
    gates = torch.baddbmm(a, h, weight)
    size = h.shape[-1]
    gates[..., : 3 * size].sigmoid_()
    gates[..., 3 * size :].tanh_()
    i, f, o, g = gates.split(size, dim=-1)
    c = (f * c).addcmul_(i, g)
    return gates, c.tanh().mul_(o), c


class _Unrolled(torch.autograd.Function):
    """All steps from h = c = 0: a [T, S, B, 4H], W [S, H, 4H] -> h [T, S, B, H]."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, weight: Tensor) -> Tensor:
        size = weight.shape[1]
        h = c = a.new_zeros(*a.shape[1:3], size)
        gates, cells, states = [], [], []
        for now in a:
            gate, h, c = step(now, h, c, weight)
            gates.append(gate)
            cells.append(c)
            states.append(h)
        ctx.gates, ctx.cells = gates, cells  # not seen from outside, and freed with the graph
        out = torch.stack(states)
        ctx.save_for_backward(weight, out)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        (by_state,) = grads
        weight, states = ctx.saved_tensors
        size, back = weight.shape[1], weight.mT
        by_a = by_state.new_empty(*by_state.shape[:3], 4 * size)
        dh, dc = by_state[-1], torch.zeros_like(by_state[-1])
        for t in reversed(range(len(by_state))):
            i, f, o, g = ctx.gates[t].split(size, dim=-1)
            di, df, do, dg = by_a[t].split(size, dim=-1)
            bent = ctx.cells[t].tanh()
            dc = dc + dh * o * (1 - bent.square())
            torch.mul(dh * bent, o - o.square(), out=do)
            torch.mul(dc * g, i - i.square(), out=di)
            torch.mul(dc * i, 1 - g.square(), out=dg)
            if t:
                torch.mul(dc * ctx.cells[t - 1], f - f.square(), out=df)
                dh, dc = torch.baddbmm(by_state[t - 1], by_a[t], back), dc * f
            else:
                df.zero_()
        before, after = (v.transpose(0, 1).flatten(1, 2) for v in (states[:-1], by_a[1:]))
        return by_a, torch.bmm(before.mT, after)


def unrolled(a: Tensor, weight: Tensor) -> Tensor:
    """States after every step, from h = c = 0: a [T, S, B, 4H], W [S, H, 4H] -> [T, S, B, H]."""
    return _Unrolled.apply(a, weight)
