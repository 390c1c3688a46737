r"""Matrix products held in vector registers: the two routines every step of the fused CPU engine is made of.

``multiply`` computes, for flat arrays and row strides given in elements,

.. math:: \mathrm{out}[r, v] \;(+)\!\!= \sum_k a[r, k]\, t[k, v]

one *tile* at a time: up to eight rows by up to two vectors of ``out`` stay in registers while k runs, so that each
pass of the loop loads one piece of a row of ``t``, broadcasts one number per row of ``a``, and does nothing else but
fused multiply-adds. Forward products, backward products and weight updates are all this one routine, which keeps the
compiled code small. ``transpose`` turns a matrix around, a square block of registers at a time.

The tiles are written as LLVM vector instructions, since no loop is sure to be compiled to them. Entry (r, v) is
summed over k in order whatever tile it falls into, so results do not depend on how a matrix is cut. Nothing assumes
finite numbers: NaN and infinity propagate.

Rows of ``out`` and ``t`` are padded to a multiple of ``block(itemsize)`` elements (half a vector): tiles read and
write the padding, callers ignore it. ``TUTELAGE_VECTOR`` = avx512, avx2, narrow or plain overrides what the processor
offers; any of them runs anywhere, since LLVM splits vectors a processor does not have.
"""

import os
from collections.abc import Callable
from itertools import product

from llvmlite import binding, ir
from numba import njit, types
from numba.extending import intrinsic

from tutelage.compiling import OPTIONS
from tutelage.errors import unknown

VECTORS = {"avx512": (64, 8), "avx2": (32, 6), "narrow": (16, 6), "plain": (0, 0)}
"""Bytes of a vector register, and the rows of the largest tile. With two vectors a row these need 16 of 32 and 12 of
16 registers for sums; higher tiles were not faster with 512 bits, and every height costs time to compile. ``narrow``
is what other processors have (SSE, NEON). ``plain`` is the same arithmetic as loops, slow, to compare with."""


def choose_vector() -> str:
    """The vector setting: what ``TUTELAGE_VECTOR`` says, else the widest the processor and its system support."""
    wanted = os.environ.get("TUTELAGE_VECTOR")
    if wanted:
        if wanted not in VECTORS:
            raise unknown("setting of TUTELAGE_VECTOR", wanted, VECTORS)
        return wanted
    features = binding.get_host_cpu_features()
    if features.get("avx512f") and features.get("avx512vl"):
        return "avx512"
    return "avx2" if features.get("avx2") and features.get("fma") else "narrow"


VECTOR = choose_vector()
VECTOR_BYTES, TILE_ROWS = VECTORS[VECTOR]


def block(itemsize: int) -> int:
    """Elements to whose width_factor rows are padded: half a vector, or 1 for plain loops."""
    return max(1, VECTOR_BYTES // 2 // itemsize)


# ----------------------------------------------------------------------------------------------------------------
# Pieces of LLVM code. Offsets and strides are 64-bit integers that count elements.

_INDEX = ir.IntType(64)
_CONTRACT = ("contract",)


def _data(context, builder, signature, arguments, position: int):
    """The data pointer of the array at ``position`` among the arguments."""
    return context.make_array(signature.args[position])(context, builder, arguments[position]).data


def _address(builder, pointer, offset, vector):
    """Where a vector begins, and the alignment that is certain: that of one element."""
    alignment = 4 if isinstance(vector.element, ir.FloatType) else 8
    return builder.bitcast(builder.gep(pointer, [offset]), vector.as_pointer()), alignment


def _load_vector(builder, pointer, offset, vector):
    address, alignment = _address(builder, pointer, offset, vector)
    return builder.load(address, align=alignment)


def _store_vector(builder, value, pointer, offset):
    address, alignment = _address(builder, pointer, offset, value.type)
    builder.store(value, address, align=alignment)


def _broadcast(builder, number, vector):
    """A vector filled with one number."""
    nothing = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, nothing, zeros)


def _emit_tile(builder, rows: int, vector, a, t, out, depth, add) -> None:
    """One tile: rows of ``out`` in registers, a loop over k = 0 .. depth-1, and the stores.

    a, t and out are (data pointer, offset, row stride[, stride along k]).
    """
    a_data, a_offset, a_row, a_step = a
    t_data, t_offset, t_row = t
    out_data, out_offset, out_row = out
    places = [builder.add(out_offset, builder.mul(out_row, _INDEX(r))) for r in range(rows)]
    zero = ir.Constant(vector, [0.0] * vector.count)
    starts = [builder.select(add, _load_vector(builder, out_data, p, vector), zero) for p in places]

    before, loop, after = builder.block, builder.append_basic_block("loop"), builder.append_basic_block("after")
    builder.branch(loop)
    builder.position_at_end(loop)
    k = builder.phi(_INDEX)
    k.add_incoming(_INDEX(0), before)
    sums = [builder.phi(vector) for _ in range(rows)]
    for total, start in zip(sums, starts, strict=True):
        total.add_incoming(start, before)
    piece = _load_vector(builder, t_data, builder.add(t_offset, builder.mul(k, t_row)), vector)
    column = builder.add(a_offset, builder.mul(k, a_step))
    for r, total in enumerate(sums):
        number = builder.load(builder.gep(a_data, [builder.add(column, builder.mul(a_row, _INDEX(r)))]))
        term = builder.fmul(_broadcast(builder, number, vector), piece, flags=_CONTRACT)
        total.add_incoming(builder.fadd(total, term, flags=_CONTRACT), loop)
    following = builder.add(k, _INDEX(1))
    k.add_incoming(following, loop)
    builder.cbranch(builder.icmp_signed("<", following, depth), loop, after)

    builder.position_at_end(after)
    for total, place in zip(sums, places, strict=True):
        _store_vector(builder, total.incomings[1][0], out_data, place)


@intrinsic
def _tile(typing, a, a_offset, a_row, a_step, t, t_offset, t_row, depth, out, out_offset, out_row, rows, halves, add):
    """A tile of 1 .. TILE_ROWS rows, 1, 2 or 4 half-vectors wide, stored (add = 0) or added (1) to what is there.

    Every shape is code of its own, behind a switch.
    """
    index = types.int64
    signature = types.void(a, index, index, index, t, index, index, index, out, index, index, index, index, index)

    def generate(context, builder, signature, arguments):
        dtype = signature.args[0].dtype
        a_data, t_data, out_data = (_data(context, builder, signature, arguments, i) for i in (0, 4, 8))
        _, a_offset, a_row, a_step, _, t_offset, t_row, depth, _, out_offset, out_row, rows, halves, add = arguments
        a, t, out = (a_data, a_offset, a_row, a_step), (t_data, t_offset, t_row), (out_data, out_offset, out_row)
        add = builder.icmp_signed("!=", add, _INDEX(0))
        done = builder.append_basic_block("done")
        cases = builder.switch(builder.add(builder.mul(rows, _INDEX(8)), halves), done)
        for width, height in product((1, 2, 4), range(1, TILE_ROWS + 1)):
            case = builder.append_basic_block(f"tile_{height}_{width}")
            cases.add_case(_INDEX(8 * height + width), case)
            builder.position_at_end(case)
            vector = ir.VectorType(context.get_data_type(dtype), width * block(dtype.bitwidth // 8))
            _emit_tile(builder, height, vector, a, t, out, depth, add)
            builder.branch(done)
        builder.position_at_end(done)
        return context.get_dummy_value()

    return signature, generate


def _swap_masks(size: int, distance: int):
    """Which elements of rows i and i + distance, joined, make the two rows after their off-diagonal parts swapped."""
    low = [c - distance + size if c & distance else c for c in range(size)]
    high = [c + size if c & distance else c + distance for c in range(size)]
    return (ir.Constant(ir.VectorType(ir.IntType(32), size), mask) for mask in (low, high))


@intrinsic
def _transpose_block(typing, source, source_offset, source_row, target, target_offset, target_row):
    """Transpose one square block of ``block(itemsize)`` rows and columns, in registers.

    The block is cut into four, the two off the diagonal change places, and so on within each of the four.
    """
    index = types.int64
    signature = types.void(source, index, index, target, index, index)

    def generate(context, builder, signature, arguments):
        dtype = signature.args[0].dtype
        size = block(dtype.bitwidth // 8)
        vector = ir.VectorType(context.get_data_type(dtype), size)
        source_data, target_data = (_data(context, builder, signature, arguments, i) for i in (0, 3))
        _, source_offset, source_row, _, target_offset, target_row = arguments
        offsets = [builder.add(source_offset, builder.mul(source_row, _INDEX(i))) for i in range(size)]
        rows = [_load_vector(builder, source_data, offset, vector) for offset in offsets]
        distance = size // 2
        while distance:
            low, high = _swap_masks(size, distance)
            for i in range(size):
                if not i & distance:
                    a, b = rows[i], rows[i + distance]
                    rows[i], rows[i + distance] = builder.shuffle_vector(a, b, low), builder.shuffle_vector(a, b, high)
            distance //= 2
        for i, row in enumerate(rows):
            _store_vector(builder, row, target_data, builder.add(target_offset, builder.mul(target_row, _INDEX(i))))
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def _keep_apart(typing):
    """Keep the calling function out of its callers: five copies of all its tiles would take long to compile."""

    def generate(context, builder, signature, arguments):
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def borrowed(typing, array):
    """The same array without its count of references, so that slices of it cost no atomic operation.

    Nothing keeps it alive: its owner must be in use afterwards (:func:`still_in_use`).
    """

    def generate(context, builder, signature, arguments):
        lent = context.make_array(signature.args[0])(context, builder, arguments[0])
        lent.meminfo = ir.Constant(lent.meminfo.type, None)
        return lent._getvalue()

    return array(array), generate


@intrinsic
def still_in_use(typing, owners):
    """Do nothing with what is given, which is therefore alive up to here."""

    def generate(context, builder, signature, arguments):
        return context.get_dummy_value()

    return types.void(owners), generate


@intrinsic
def fetch_ahead(typing, array, offset):
    """Ask for the cache line of ``array[offset]`` before it is needed; the address may lie anywhere."""
    signature = types.void(array, types.int64)

    def generate(context, builder, signature, arguments):
        data = _data(context, builder, signature, arguments, 0)
        address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        word = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, word, word, word])
        name = "llvm.prefetch.p0"
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        builder.call(function, [address, word(0), word(2), word(1)])  # for reading, into the second-nearest cache, data
        return context.get_dummy_value()

    return signature, generate


# ----------------------------------------------------------------------------------------------------------------
# The two routines, with tiles and as plain loops.


@njit(**OPTIONS)
def _block_of(array):
    """``block`` for the elements of an array; a constant once compiled."""
    return max(1, VECTOR_BYTES // 2 // array.itemsize)


@njit(**OPTIONS)
def _multiply_tiles(a, a_row, a_step, t, t_row, depth, out, out_row, rows, columns, add):
    """out[r*out_row + v] = or += (add = 0 or 1) the sum over k < depth of a[r*a_row + k*a_step] t[k*t_row + v].

    For r < rows and v < columns, all at least 1. Rows are cut into tiles of almost equal height, so that none is too
    low to keep the arithmetic units busy.
    """
    _keep_apart()
    half = _block_of(out)
    row = 0
    for tiles in range((rows + TILE_ROWS - 1) // TILE_ROWS, 0, -1):
        height = (rows - row + tiles - 1) // tiles
        column = 0
        while column < columns:
            left = columns - column
            halves = 4 if left > 3 * half else (2 if left > half else 1)
            place = row * out_row + column
            _tile(a, row * a_row, a_row, a_step, t, column, t_row, depth, out, place, out_row, height, halves, add)
            column += halves * half
        row += height


@njit(**OPTIONS)
def _multiply_loops(a, a_row, a_step, t, t_row, depth, out, out_row, rows, columns, add):
    """The same as plain loops."""
    for r in range(rows):
        line = out[r * out_row : r * out_row + columns]
        for k in range(depth):
            number = a[r * a_row + k * a_step]
            piece = t[k * t_row : k * t_row + columns]
            if k == 0 and not add:
                for v in range(columns):
                    line[v] = number * piece[v]
            else:
                for v in range(columns):
                    line[v] += number * piece[v]


@njit(**OPTIONS)
def _transpose_tiles(source, source_row, target, target_row, rows, columns):
    """target[c*target_row + r] = source[r*source_row + c] for r < rows, c < columns, both padded to whole blocks."""
    size = _block_of(source)
    for r in range(0, rows, size):
        for c in range(0, columns, size):
            _transpose_block(source, r * source_row + c, source_row, target, c * target_row + r, target_row)


@njit(**OPTIONS)
def _transpose_loops(source, source_row, target, target_row, rows, columns):
    """The same as plain loops."""
    for r in range(rows):
        for c in range(columns):
            target[c * target_row + r] = source[r * source_row + c]


multiply: Callable = _multiply_loops if VECTOR == "plain" else _multiply_tiles
transpose: Callable = _transpose_loops if VECTOR == "plain" else _transpose_tiles
