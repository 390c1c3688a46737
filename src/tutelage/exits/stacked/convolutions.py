"""Kernels of convolutions: products of weights with maps [S, B, C, side * side] of S networks, and what turns 3 x 3
convolutions into them.

Names: ``wide`` is how many channels the maps that are read have in memory, ``inputs`` how many of them are read;
``out_wide``, ``first`` and ``outputs`` say the same of the maps that are written; ``row`` is how far the numbers of two
networks lie apart. Sizes of blocks are written in capitals; they are powers of two.
"""

import triton
import triton.language as tl


@triton.jit
def places(tile, PIXELS: tl.constexpr, HW: tl.constexpr):
    """Image and pixel of each place of a tile: a number and a vector where the tile lies in one image, else vectors."""
    if HW >= PIXELS:
        return tile // (HW // PIXELS), (tile % (HW // PIXELS)) * PIXELS + tl.arange(0, PIXELS)
    else:
        n = tile * PIXELS + tl.arange(0, PIXELS)
        return n // HW, n % HW


@triton.jit(do_not_specialize=["wide", "inputs", "out_wide", "first", "outputs", "images", "tiles", "weight", "row"])
def product(
    h, weights, out, sums, squares, wide, inputs, out_wide, first, outputs, images, tiles, weight, row,
    HW: tl.constexpr, SUMS: tl.constexpr, PIXELS: tl.constexpr, CO: tl.constexpr, CI: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """out[first : first + outputs] = weights @ h[: inputs]; with SUMS also its sums and those of squares, by tile."""
    tile, s = tl.program_id(0), tl.program_id(2)
    co = tl.program_id(1) * CO + tl.arange(0, CO)
    b, p = places(tile, PIXELS, HW)
    known = (b < images) & (p < HW)
    acc = tl.zeros((CO, PIXELS), tl.float32)
    base = (s * images + b) * wide * HW + p
    for start in range(0, inputs, CI):
        ci = start + tl.arange(0, CI)
        v = tl.load(h + base[None, :] + ci[:, None] * HW, mask=(ci < inputs)[:, None] & known[None, :], other=0.0)
        w = tl.load(
            weights + s * row + weight + co[:, None] * inputs + ci[None, :],
            mask=(co < outputs)[:, None] & (ci < inputs)[None, :], other=0.0,
        )  # fmt: skip
        acc = tl.dot(w, v, acc, input_precision=PRECISION)
    y = acc.to(out.dtype.element_ty)
    keep = (co < outputs)[:, None] & known[None, :]
    place = (s * images + b) * out_wide * HW + p
    tl.store(out + place[None, :] + (first + co)[:, None] * HW, y, mask=keep)
    if SUMS:
        y = tl.where(keep, y.to(tl.float32), 0.0)
        at = (s * outputs + co) * tiles + tile
        tl.store(sums + at, tl.sum(y, 1), mask=co < outputs)
        tl.store(squares + at, tl.sum(y * y, 1), mask=co < outputs)


@triton.jit(do_not_specialize=["wide", "inputs", "out_wide", "first", "outputs", "images", "weight", "row"])
def input_gradient(
    grad, weights, into, wide, inputs, out_wide, first, outputs, images, weight, row,
    HW: tl.constexpr, ADD: tl.constexpr, PIXELS: tl.constexpr, CO: tl.constexpr, CI: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """into[: inputs] = (or +=) weights.T @ grad[first : first + outputs]."""
    s = tl.program_id(2)
    ci = tl.program_id(1) * CI + tl.arange(0, CI)
    b, p = places(tl.program_id(0), PIXELS, HW)
    known = (b < images) & (p < HW)
    acc = tl.zeros((CI, PIXELS), tl.float32)
    base = ((s * images + b) * out_wide + first) * HW + p
    for start in range(0, outputs, CO):
        co = start + tl.arange(0, CO)
        g = tl.load(grad + base[None, :] + co[:, None] * HW, mask=(co < outputs)[:, None] & known[None, :], other=0.0)
        w = tl.load(
            weights + s * row + weight + co[None, :] * inputs + ci[:, None],
            mask=(co < outputs)[None, :] & (ci < inputs)[:, None], other=0.0,
        )  # fmt: skip
        acc = tl.dot(w, g, acc, input_precision=PRECISION)
    place = into + ((s * images + b) * wide * HW + p)[None, :] + ci[:, None] * HW
    keep = (ci < inputs)[:, None] & known[None, :]
    if ADD:
        acc += tl.load(place, mask=keep, other=0.0).to(tl.float32)
    tl.store(place, acc.to(into.dtype.element_ty), mask=keep)


@triton.jit(do_not_specialize=["wide", "inputs", "out_wide", "first", "outputs", "images", "turns"])
def weight_gradient(
    grad, h, out, wide, inputs, out_wide, first, outputs, images, turns,
    HW: tl.constexpr, PIXELS: tl.constexpr, CO: tl.constexpr, CI: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """out [parts, S, outputs, inputs]: grad[first : first + outputs] @ h[: inputs].T over a part of all pixels."""
    part = tl.program_id(0)
    ci = tl.program_id(1) * CI + tl.arange(0, CI)
    blocks = tl.cdiv(outputs, CO)
    s = tl.program_id(2) // blocks
    co = (tl.program_id(2) % blocks) * CO + tl.arange(0, CO)
    acc = tl.zeros((CO, CI), tl.float32)
    for turn in range(turns):
        b, p = places(part * turns + turn, PIXELS, HW)
        known = (b < images) & (p < HW)
        place = ((s * images + b) * out_wide + first) * HW + p
        g = tl.load(grad + place[None, :] + co[:, None] * HW, mask=(co < outputs)[:, None] & known[None, :], other=0.0)
        place = (s * images + b) * wide * HW + p
        v = tl.load(h + place[None, :] + ci[:, None] * HW, mask=(ci < inputs)[:, None] & known[None, :], other=0.0)
        acc = tl.dot(g, tl.trans(v), acc, input_precision=PRECISION)
    at = ((part * (tl.num_programs(2) // blocks) + s) * outputs + co[:, None]) * inputs + ci[None, :]
    tl.store(out + at, acc, mask=(co < outputs)[:, None] & (ci < inputs)[None, :])


@triton.jit(do_not_specialize=["size", "parts", "members", "weight", "row"])
def add_parts(out, gradients, size, parts, members, weight, row, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    """The gradient of some weights: the sum of all parts."""
    n, s = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.program_id(1)
    total = tl.zeros((PARTS, BLOCK), tl.float32)
    for start in range(0, parts, PARTS):
        part = start + tl.arange(0, PARTS)
        known = (part < parts)[:, None] & (n < size)[None, :]
        total += tl.load(out + (part[:, None] * members + s) * size + n[None, :], mask=known, other=0.0)
    tl.store(gradients + s * row + weight + n, tl.sum(total, 0), mask=n < size)


@triton.jit(do_not_specialize=["out_wide", "first", "outputs", "images", "tiles"])
def add_taps(
    taps, out, sums, squares, out_wide, first, outputs, images, tiles,
    SIDE: tl.constexpr, PIXELS: tl.constexpr, TURNS: tl.constexpr,
):  # fmt: skip
    """out[p] = the sum over the 9 taps of a 3 x 3 convolution of taps[tap, p + shift of the tap]; its sums by tile."""
    HW: tl.constexpr = SIDE * SIDE
    tile, c, s = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    total = tl.zeros((PIXELS,), tl.float32)
    square = tl.zeros((PIXELS,), tl.float32)
    for turn in range(TURNS):
        b, p = places(tile * TURNS + turn, PIXELS, HW)
        known = (b < images) & (p < HW)
        y, x = p // SIDE, p % SIDE
        acc = tl.zeros((PIXELS,), tl.float32)
        for tap in tl.static_range(9):
            iy, ix = y + (tap // 3 - 1), x + (tap % 3 - 1)
            there = known & (iy >= 0) & (iy < SIDE) & (ix >= 0) & (ix < SIDE)
            at = ((s * images + b) * 9 * outputs + tap * outputs + c) * HW + p + ((tap // 3 - 1) * SIDE + tap % 3 - 1)
            acc += tl.load(taps + at, mask=there, other=0.0).to(tl.float32)
        v = acc.to(out.dtype.element_ty)
        tl.store(out + ((s * images + b) * out_wide + first + c) * HW + p, v, mask=known)
        v = tl.where(known, v.to(tl.float32), 0.0)
        total += v
        square += v * v
    at = (s * outputs + c) * tiles + tile
    tl.store(sums + at, tl.sum(total))
    tl.store(squares + at, tl.sum(square))


@triton.jit(do_not_specialize=["wide", "first", "outputs", "images"])
def spread_taps(
    grad, taps, wide, first, outputs, images, SIDE: tl.constexpr, PIXELS: tl.constexpr, TURNS: tl.constexpr
):  # fmt: skip
    """taps[tap, p] = grad[p - shift of the tap], 0 outside: the gradient of what add_taps adds up."""
    HW: tl.constexpr = SIDE * SIDE
    tile, c, s = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    for turn in range(TURNS):
        b, p = places(tile * TURNS + turn, PIXELS, HW)
        known = (b < images) & (p < HW)
        y, x = p // SIDE, p % SIDE
        base = ((s * images + b) * wide + first + c) * HW + p
        for tap in tl.static_range(9):
            iy, ix = y - (tap // 3 - 1), x - (tap % 3 - 1)
            there = known & (iy >= 0) & (iy < SIDE) & (ix >= 0) & (ix < SIDE)
            v = tl.load(grad + base - ((tap // 3 - 1) * SIDE + tap % 3 - 1), mask=there, other=0.0)
            tl.store(taps + ((s * images + b) * 9 * outputs + tap * outputs + c) * HW + p, v, mask=known)


@triton.jit(do_not_specialize=["wide", "inputs", "images"])
def unfold(
    h, columns, wide, inputs, images, SIDE: tl.constexpr, PIXELS: tl.constexpr, TURNS: tl.constexpr
):  # fmt: skip
    """columns[tap, p] = h[2 p + shift of the tap], 0 outside: what a 3 x 3 convolution of stride 2 reads."""
    HALF: tl.constexpr = SIDE // 2
    OUT: tl.constexpr = HALF * HALF
    tile, c, s = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    for turn in range(TURNS):
        b, p = places(tile * TURNS + turn, PIXELS, OUT)
        known = (b < images) & (p < OUT)
        y, x = 2 * (p // HALF), 2 * (p % HALF)
        base = ((s * images + b) * wide + c) * SIDE * SIDE
        for tap in tl.static_range(9):
            iy, ix = y + (tap // 3 - 1), x + (tap % 3 - 1)
            there = known & (iy >= 0) & (ix >= 0)  # nothing is beyond the other end
            v = tl.load(h + base + iy * SIDE + ix, mask=there, other=0.0)
            tl.store(columns + ((s * images + b) * 9 * inputs + tap * inputs + c) * OUT + p, v, mask=known)


@triton.jit(do_not_specialize=["wide", "inputs", "images"])
def fold(
    columns, into, wide, inputs, images,
    SIDE: tl.constexpr, ADD: tl.constexpr, PIXELS: tl.constexpr, TURNS: tl.constexpr,
):  # fmt: skip
    """into (or added to it): the gradient of what unfold reads from that of its columns."""
    HALF: tl.constexpr = SIDE // 2
    OUT: tl.constexpr = HALF * HALF
    HW: tl.constexpr = SIDE * SIDE
    tile, c, s = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    for turn in range(TURNS):
        b, p = places(tile * TURNS + turn, PIXELS, HW)
        known = (b < images) & (p < HW)
        y, x = p // SIDE, p % SIDE
        acc = tl.zeros((PIXELS,), tl.float32)
        for tap in tl.static_range(9):
            ty, tx = y - (tap // 3 - 1), x - (tap % 3 - 1)
            there = known & (ty >= 0) & (ty < SIDE) & (tx >= 0) & (tx < SIDE) & (ty % 2 == 0) & (tx % 2 == 0)
            at = ((s * images + b) * 9 * inputs + tap * inputs + c) * OUT + (ty // 2) * HALF + tx // 2
            acc += tl.load(columns + at, mask=there, other=0.0).to(tl.float32)
        place = into + ((s * images + b) * wide + c) * HW + p
        if ADD:
            acc += tl.load(place, mask=known, other=0.0).to(tl.float32)
        tl.store(place, acc.to(into.dtype.element_ty), mask=known)
