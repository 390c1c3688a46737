"""Kernels of convolutions: products of weights with maps [S, B, C, side * side] of S networks, and what turns 3 x 3
convolutions into them.

Blocks of channels are the first number of a program, so that those that read the same pixels run at the same time.

Names: ``wide`` is how many channels the maps that are read have in memory, ``inputs`` how many of them are read;
``out_wide``, ``first`` and ``outputs`` say the same of the maps that are written; ``row`` is how far the numbers of two
networks lie apart, ``stride`` how far two rows of weights. Those, and where the weights begin, are multiples of 16.
Beyond the inputs of a row, weights are multiplied with zeros. Sizes of blocks are written in capitals; they are powers
of two, and so are the sides of maps.
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


@triton.jit
def spots(tile, PIXELS: tl.constexpr, HW: tl.constexpr):
    """Images [I, 1] and pixels [1, P] of a tile: part of one image, or several images."""
    if HW >= PIXELS:
        b = tl.zeros((1, 1), tl.int32) + tile // (HW // PIXELS)
        return b, ((tile % (HW // PIXELS)) * PIXELS + tl.arange(0, PIXELS))[None, :]
    else:
        return (tile * (PIXELS // HW) + tl.arange(0, PIXELS // HW))[:, None], tl.arange(0, HW)[None, :]


@triton.jit
def nothing(PIXELS: tl.constexpr, HW: tl.constexpr):
    """Zeros of the shape of a tile [I, P]."""
    if HW >= PIXELS:
        return tl.zeros((1, PIXELS), tl.float32)
    else:
        return tl.zeros((PIXELS // HW, HW), tl.float32)


@triton.jit
def put(place, value, known, ADD: tl.constexpr):
    """Write values, or add them to what is there."""
    if ADD:
        value += tl.load(place, mask=known, other=0.0).to(tl.float32)
    tl.store(place, value.to(place.dtype.element_ty), mask=known)


@triton.jit(do_not_specialize=["wide", "inputs", "out_wide", "first", "outputs", "images", "tiles"])
def product(
    h, weights, out, sums, squares, wide, inputs, out_wide, first, outputs, images, tiles, weight, row, stride,
    HW: tl.constexpr, SUMS: tl.constexpr, PIXELS: tl.constexpr, CO: tl.constexpr, CI: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """out[first : first + outputs] = weights @ h[: inputs]; with SUMS also its sums and those of squares, by tile."""
    tile, s = tl.program_id(1), tl.program_id(2)
    co = tl.program_id(0) * CO + tl.arange(0, CO)
    b, p = places(tile, PIXELS, HW)
    known = (b < images) & (p < HW)
    # Sums are formed in float32 whatever the maps are stored in.
    acc = tl.zeros((CO, PIXELS), tl.float32)
    base_w = s * row + weight
    base = (s * images + b) * wide * HW + p
    for start in range(0, inputs, CI):
        ci = start + tl.arange(0, CI)
        v = tl.load(h + base[None, :] + ci[:, None] * HW, mask=(ci < inputs)[:, None] & known[None, :], other=0.0)
        w = tl.load(weights + base_w + co[:, None] * stride + ci[None, :], mask=(co < outputs)[:, None], other=0.0)
        acc = tl.dot(w, v, acc, input_precision=PRECISION)
    y = acc.to(out.dtype.element_ty)
    keep = (co < outputs)[:, None] & known[None, :]
    place = (s * images + b) * out_wide * HW + p
    tl.store(out + place[None, :] + (first + co)[:, None] * HW, y, mask=keep)
    if SUMS:
        # Batch norm needs the mean and variance of what was stored, after its rounding, and per tile, so that no two
        # programs add to one number and the result does not depend on their order.
        y = tl.where(keep, y.to(tl.float32), 0.0)
        at = (s * outputs + co) * tiles + tile
        tl.store(sums + at, tl.sum(y, 1), mask=co < outputs)
        tl.store(squares + at, tl.sum(y * y, 1), mask=co < outputs)


@triton.jit(do_not_specialize=["wide", "inputs", "out_wide", "first", "outputs", "images"])
def input_gradient(
    grad, weights, into, wide, inputs, out_wide, first, outputs, images, weight, row, stride,
    HW: tl.constexpr, ADD: tl.constexpr, PIXELS: tl.constexpr, CO: tl.constexpr, CI: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """into[: inputs] = (or +=) weights.T @ grad[first : first + outputs]."""
    s = tl.program_id(2)
    ci = tl.program_id(0) * CI + tl.arange(0, CI)
    b, p = places(tl.program_id(1), PIXELS, HW)
    known = (b < images) & (p < HW)
    acc = tl.zeros((CI, PIXELS), tl.float32)
    base_w = s * row + weight
    base = ((s * images + b) * out_wide + first) * HW + p
    for start in range(0, outputs, CO):
        co = start + tl.arange(0, CO)
        g = tl.load(grad + base[None, :] + co[:, None] * HW, mask=(co < outputs)[:, None] & known[None, :], other=0.0)
        w = tl.load(weights + base_w + co[None, :] * stride + ci[:, None], mask=(co < outputs)[None, :], other=0.0)
        acc = tl.dot(w, g, acc, input_precision=PRECISION)
    place = into + ((s * images + b) * wide * HW + p)[None, :] + ci[:, None] * HW
    put(place, acc, (ci < inputs)[:, None] & known[None, :], ADD)


@triton.jit(do_not_specialize=["wide", "inputs", "out_wide", "first", "outputs", "images", "turns"])
def weight_gradient(
    grad, h, out, wide, inputs, out_wide, first, outputs, images, turns, stride,
    HW: tl.constexpr, PIXELS: tl.constexpr, CO: tl.constexpr, CI: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """out [parts, S, outputs, stride]: grad[first : first + outputs] @ h[: inputs].T over a part of all pixels."""
    part, s = tl.program_id(1), tl.program_id(2)
    blocks = tl.cdiv(inputs, CI)
    ci = (tl.program_id(0) % blocks) * CI + tl.arange(0, CI)
    co = (tl.program_id(0) // blocks) * CO + tl.arange(0, CO)
    acc = tl.zeros((CO, CI), tl.float32)
    for turn in range(turns):
        b, p = places(part * turns + turn, PIXELS, HW)
        known = (b < images) & (p < HW)
        place = ((s * images + b) * out_wide + first) * HW + p
        g = tl.load(grad + place[None, :] + co[:, None] * HW, mask=(co < outputs)[:, None] & known[None, :], other=0.0)
        place = (s * images + b) * wide * HW + p
        v = tl.load(h + place[None, :] + ci[:, None] * HW, mask=(ci < inputs)[:, None] & known[None, :], other=0.0)
        acc = tl.dot(g, tl.trans(v), acc, input_precision=PRECISION)
    at = ((part * tl.num_programs(2) + s) * outputs + co[:, None]) * stride + ci[None, :]
    tl.store(out + at, acc, mask=(co < outputs)[:, None] & (ci < stride)[None, :])


@triton.jit(do_not_specialize=["members", "row"])
def add_parts(out, gradients, table, members, row, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    """The gradients of all weights: sums of all parts.

    table: of each block of weights, where its first part begins, how many weights are left and in all, the number of
    parts, and where its gradient belongs.
    """
    entry, s = table + 5 * tl.program_id(0), tl.program_id(1)
    source, left, size = tl.load(entry), tl.load(entry + 1), tl.load(entry + 2)
    parts, place = tl.load(entry + 3), tl.load(entry + 4)
    n = tl.arange(0, BLOCK)
    # In a fixed order, without atomic additions: the same bits on every run.
    total = tl.zeros((PARTS, BLOCK), tl.float32)
    for start in range(0, parts, PARTS):
        part = start + tl.arange(0, PARTS)
        known = (part < parts)[:, None] & (n < left)[None, :]
        total += tl.load(out + source + (part[:, None] * members + s) * size + n[None, :], mask=known, other=0.0)
    tl.store(gradients + s * row + place + n, tl.sum(total, 0), mask=n < left)


@triton.jit
def inside(known, y, x, shift: tl.constexpr, SIDE: tl.constexpr):
    """Whether pixels (y, x + shift) lie in an image; x is not looked at without a shift, so that reads stay wide."""
    there = known & (y >= 0) & (y < SIDE)
    if shift < 0:
        return there & (x + shift >= 0)
    elif shift > 0:
        return there & (x + shift < SIDE)
    else:
        return there


@triton.jit(do_not_specialize=["out_wide", "first", "outputs", "images", "tiles"])
def add_taps(
    taps, out, sums, squares, out_wide, first, outputs, images, tiles,
    SIDE: tl.constexpr, PIXELS: tl.constexpr, TURNS: tl.constexpr,
):  # fmt: skip
    """out[p] = the sum over the 9 taps of a 3 x 3 convolution of taps[tap, p + shift of the tap]; its sums by tile."""
    HW: tl.constexpr = SIDE * SIDE
    tile, c, s = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    total = nothing(PIXELS, HW)
    square = nothing(PIXELS, HW)
    for turn in range(TURNS):
        b, p = spots(tile * TURNS + turn, PIXELS, HW)
        known = b < images
        y, x = p // SIDE, p % SIDE
        acc = nothing(PIXELS, HW)
        for tap in tl.static_range(9):
            there = inside(known, y + (tap // 3 - 1), x, tap % 3 - 1, SIDE)
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
        b, p = spots(tile * TURNS + turn, PIXELS, HW)
        known = b < images
        y, x = p // SIDE, p % SIDE
        base = ((s * images + b) * wide + first + c) * HW + p
        for tap in tl.static_range(9):
            there = inside(known, y - (tap // 3 - 1), x, 1 - tap % 3, SIDE)
            v = tl.load(grad + base - ((tap // 3 - 1) * SIDE + tap % 3 - 1), mask=there, other=0.0)
            tl.store(taps + ((s * images + b) * 9 * outputs + tap * outputs + c) * HW + p, v, mask=known)


@triton.jit(do_not_specialize=["wide", "inputs", "images"])
def unfold(
    h, columns, wide, inputs, images, SIDE: tl.constexpr, PIXELS: tl.constexpr, TURNS: tl.constexpr
):  # fmt: skip
    """columns[tap, p] = h[2 p + shift of the tap], 0 outside: what a 3 x 3 convolution of stride 2 reads.

    SIDE: of the maps that it gives. Rows of h are read whole, and their even and odd pixels parted.
    """
    HW: tl.constexpr = SIDE * SIDE
    tile, c, s = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    for turn in range(TURNS):
        b, p = spots(tile * TURNS + turn, PIXELS, HW)
        known = b < images
        left = ((s * images + b) * wide + c) * 4 * HW + 4 * SIDE * (p // SIDE) + 2 * (p % SIDE) - 1
        put = columns + ((s * images + b) * 9 * inputs + c) * HW + p
        b2, q = spots(tile * TURNS + turn, 2 * PIXELS, 2 * HW)
        known2 = b2 < images
        pair = ((s * images + b2) * wide + c) * 4 * HW + 4 * SIDE * (q // (2 * SIDE)) + q % (2 * SIDE)
        for ky in tl.static_range(3):
            above = known & ((p >= SIDE) | (ky > 0))  # nothing is beyond the other end
            above2 = known2 & ((q >= 2 * SIDE) | (ky > 0))
            before = tl.load(h + left + (ky - 1) * 2 * SIDE, mask=above & (p % SIDE > 0), other=0.0)
            both = tl.load(h + pair + (ky - 1) * 2 * SIDE, mask=above2, other=0.0)
            even, odd = tl.split(tl.reshape(both, (both.shape[0], both.shape[1] // 2, 2)))
            tl.store(put + (3 * ky) * inputs * HW, before, mask=known)
            tl.store(put + (3 * ky + 1) * inputs * HW, even, mask=known)
            tl.store(put + (3 * ky + 2) * inputs * HW, odd, mask=known)


@triton.jit
def taken(columns, ky: tl.constexpr, kx: tl.constexpr, p, known, step, SIDE: tl.constexpr):
    """The gradient that pixel (2 y + ky % 2, 2 x + kx % 2) gets through tap (ky, kx) of a convolution of stride 2."""
    down: tl.constexpr = 1 if ky == 0 else 0
    right: tl.constexpr = 1 if kx == 0 else 0
    there = inside(known, p // SIDE + down, p % SIDE, right, SIDE)
    return tl.load(columns + (3 * ky + kx) * step + p + down * SIDE + right, mask=there, other=0.0).to(tl.float32)


@triton.jit(do_not_specialize=["wide", "inputs", "images"])
def fold(
    columns, into, wide, inputs, images,
    SIDE: tl.constexpr, ADD: tl.constexpr, PIXELS: tl.constexpr, TURNS: tl.constexpr,
):  # fmt: skip
    """into (or added to it): the gradient of what unfold reads from that of its columns, two rows at a time."""
    HW: tl.constexpr = SIDE * SIDE
    tile, c, s = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    step = inputs * HW
    for turn in range(TURNS):
        b, p = spots(tile * TURNS + turn, PIXELS, HW)
        known = b < images
        base = columns + ((s * images + b) * 9 * inputs + c) * HW
        b2, q = spots(tile * TURNS + turn, 2 * PIXELS, 2 * HW)
        known2 = b2 < images
        place = into + ((s * images + b2) * wide + c) * 4 * HW + 4 * SIDE * (q // (2 * SIDE)) + q % (2 * SIDE)
        # A pixel (2y, 2x) was read by one tap, (2y, 2x + 1) and (2y + 1, 2x) by two, (2y + 1, 2x + 1) by four: its
        # gradient is the sum over these taps.
        even = taken(base, 1, 1, p, known, step, SIDE)
        odd = taken(base, 1, 0, p, known, step, SIDE) + taken(base, 1, 2, p, known, step, SIDE)
        put(place, tl.interleave(even, odd), known2, ADD)
        even = taken(base, 0, 1, p, known, step, SIDE) + taken(base, 2, 1, p, known, step, SIDE)
        odd = taken(base, 0, 0, p, known, step, SIDE) + taken(base, 0, 2, p, known, step, SIDE)
        odd += taken(base, 2, 0, p, known, step, SIDE) + taken(base, 2, 2, p, known, step, SIDE)
        put(place + 2 * SIDE, tl.interleave(even, odd), known2, ADD)
