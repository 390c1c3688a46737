"""Kernels of batch norm, ReLU and the optimiser for S networks at once; the names are those of ``convolutions``."""

import triton
import triton.language as tl

from tutelage.exits.stacked.convolutions import nothing, spots


@triton.jit(do_not_specialize=["out_wide", "first", "outputs", "tiles", "count", "gamma", "beta", "row"])
def normalise(
    sums, squares, parameters, scale, shift, mean, rstd, running, running_var,
    out_wide, first, outputs, tiles, count, gamma, beta, row, eps, momentum,
    TILES: tl.constexpr,
):  # fmt: skip
    """Scale and shift of a batch norm from the sums of all tiles; its running averages."""
    c, s = tl.program_id(0), tl.program_id(1)
    total, square = 0.0, 0.0
    for start in range(0, tiles, TILES):
        t = start + tl.arange(0, TILES)
        at = (s * outputs + c) * tiles + t
        total += tl.sum(tl.load(sums + at, mask=t < tiles, other=0.0))
        square += tl.sum(tl.load(squares + at, mask=t < tiles, other=0.0))
    m = total / count
    # E x^2 - (E x)^2 from sums in float32: one pass over the maps instead of two, at the price of digits where the mean
    # is large against the deviation; rounding may make it negative, hence the 0.
    var = tl.maximum(square / count - m * m, 0.0)
    r = 1.0 / tl.sqrt(var + eps)
    a = tl.load(parameters + s * row + gamma + c) * r
    place = s * out_wide + first + c
    tl.store(scale + place, a)
    tl.store(shift + place, tl.load(parameters + s * row + beta + c) - m * a)
    tl.store(mean + place, m)
    tl.store(rstd + place, r)
    tl.store(running + place, (1 - momentum) * tl.load(running + place) + momentum * m)
    # As torch: the running average is of the unbiased variance, normalisation by the biased one.
    unbiased = var * (count / (count - 1.0))
    tl.store(running_var + place, (1 - momentum) * tl.load(running_var + place) + momentum * unbiased)


@triton.jit(do_not_specialize=["wide", "first", "images"])
def activate(
    x, h, scale, shift, wide, first, images, SIDE: tl.constexpr, PIXELS: tl.constexpr, TURNS: tl.constexpr
):  # fmt: skip
    """h = relu(scale * x + shift) of some channels."""
    HW: tl.constexpr = SIDE * SIDE
    tile, c, s = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    a, d = tl.load(scale + s * wide + first + c), tl.load(shift + s * wide + first + c)
    for turn in range(TURNS):
        b, p = spots(tile * TURNS + turn, PIXELS, HW)
        where = ((s * images + b) * wide + first + c) * HW + p
        known = b < images
        v = tl.load(x + where, mask=known, other=0.0)
        tl.store(h + where, tl.maximum(v.to(tl.float32) * a + d, 0.0).to(v.dtype), mask=known)


@triton.jit(do_not_specialize=["wide", "first", "outputs", "images", "tiles"])
def gradient_sums(
    grad, x, scale, shift, mean, rstd, sums, products,
    wide, first, outputs, images, tiles,
    SIDE: tl.constexpr, PIXELS: tl.constexpr, TURNS: tl.constexpr,
):  # fmt: skip
    """Sums by tile of the gradient before the ReLU, and of its products with the normalised x."""
    HW: tl.constexpr = SIDE * SIDE
    tile, c, s = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    place = s * wide + first + c
    a, d = tl.load(scale + place), tl.load(shift + place)
    m, r = tl.load(mean + place), tl.load(rstd + place)
    total = nothing(PIXELS, HW)
    product = nothing(PIXELS, HW)
    for turn in range(TURNS):
        b, p = spots(tile * TURNS + turn, PIXELS, HW)
        known = b < images
        where = ((s * images + b) * wide + first + c) * HW + p
        v = tl.load(x + where, mask=known, other=0.0).to(tl.float32)
        g = tl.load(grad + where, mask=known, other=0.0).to(tl.float32)
        g = tl.where(v * a + d > 0, g, 0.0)
        total += g
        product += g * (v - m) * r
    at = (s * outputs + c) * tiles + tile
    tl.store(sums + at, tl.sum(total))
    tl.store(products + at, tl.sum(product))


@triton.jit(do_not_specialize=["wide", "first", "outputs", "images", "tiles", "gamma", "beta", "row"])
def inner_gradient(
    grad, x, scale, shift, mean, rstd, sums, products, gradients,
    wide, first, outputs, images, tiles, gamma, beta, row,
    SIDE: tl.constexpr, PIXELS: tl.constexpr, TURNS: tl.constexpr, TILES: tl.constexpr,
):  # fmt: skip
    """The gradient of an activation becomes that of x, in place; those of the norm's weight and bias from all tiles.

    It is scale * (g - total / count - normalised x * product / count) with g the gradient before the ReLU.
    """
    HW: tl.constexpr = SIDE * SIDE
    tile, c, s = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    t = tl.arange(0, TILES)
    at = (s * outputs + c) * tiles + t
    total = tl.sum(tl.load(sums + at, mask=t < tiles, other=0.0))
    product = tl.sum(tl.load(products + at, mask=t < tiles, other=0.0))
    if tile == 0:
        tl.store(gradients + s * row + gamma + c, product)
        tl.store(gradients + s * row + beta + c, total)
    place = s * wide + first + c
    a, d, m, k = tl.load(scale + place), tl.load(shift + place), tl.load(mean + place), tl.load(rstd + place)
    count = images * HW
    constant, slope = a * (m * k * product - total) / count, -a * k * product / count
    for turn in range(TURNS):
        b, p = spots(tile * TURNS + turn, PIXELS, HW)
        where = ((s * images + b) * wide + first + c) * HW + p
        known = b < images
        v = tl.load(x + where, mask=known, other=0.0).to(tl.float32)
        g = tl.load(grad + where, mask=known, other=0.0).to(tl.float32)
        g = tl.where(v * a + d > 0, a * g, 0.0) + constant + slope * v
        tl.store(grad + where, g.to(grad.dtype.element_ty), mask=known)


@triton.jit
def descend(parameters, momenta, gradients, half, rate, size, decay, momentum, BLOCK: tl.constexpr):
    """One step of SGD with Nesterov's momentum and weight decay, and the weights in the type of the products."""
    n = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    known = n < size
    w = tl.load(parameters + n, mask=known, other=0.0)
    g = tl.load(gradients + n, mask=known, other=0.0) + decay * w
    m = momentum * tl.load(momenta + n, mask=known, other=0.0) + g
    w -= tl.load(rate) * (g + momentum * m)
    tl.store(momenta + n, m, mask=known)
    tl.store(parameters + n, w, mask=known)
    tl.store(half + n, w.to(half.dtype.element_ty), mask=known)
