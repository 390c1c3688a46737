"""How students of the fused GPU engine lie on a multiprocessor: registers, shared memory, and what the kernel is."""

from dataclasses import dataclass, replace
from functools import cached_property

BATCH = 16  # rows of the matrix products: smaller batches are padded, larger ones rejected
ACTIVATIONS = ("relu", "leaky", "abs", "linear", "erf", "tanh")  # numbered as in the kernel
RULES = ("plain", "sgd", "momentum", "nesterov", "adam")
_TEMPORARIES = 84  # registers a thread wants besides its weights


@dataclass(frozen=True)
class GpuLayout:
    """How students of one shape lie on a multiprocessor; the arithmetic of `fused_gpu.cu`.

    A warp owns 16 units. With biases the inputs have a column of ones and the hidden layer a unit fixed at 1. What an
    optimiser remembers of the weights is kept in tiles of four numbers per thread: in registers as far as they reach,
    then in shared memory, then in global memory.

    >>> plan = GpuLayout(inputs=100, hidden=52, outputs=50)
    >>> plan.warps, plan.input_tiles, plan.output_tiles, plan.blocks, plan.fits
    (4, 13, 7, 3, True)
    >>> plan = replace(plan, rule="adam")
    >>> plan.blocks, plan.remembered_tiles, plan.held, plan.lent
    (2, 40, 22, 18)
    """

    inputs: int
    hidden: int
    outputs: int
    bias: bool = True
    batch: int = BATCH
    activation: str = "relu"
    rule: str = "plain"
    trained: tuple[bool, bool] = (True, True)
    """Whether the first and the second layer are trained."""
    terms: frozenset[str] = frozenset()
    """Which of "decay", "l1", "decoupled" and "factors" (on the learning rate) there are."""
    fresh: frozenset[str] = frozenset()
    """Which of "points" and "labels" are made for every step, in the order in which they are used."""
    shared_limit: int = 227 * 1024
    """Bytes of shared memory a block may have."""

    @property
    def warps(self) -> int:
        return -(-(self.hidden + self.bias) // 16)

    @property
    def input_tiles(self) -> int:
        return -(-(self.inputs + self.bias) // 8)

    @property
    def output_tiles(self) -> int:
        return -(-self.outputs // 8)

    @property
    def weight_registers(self) -> int:
        """Registers a thread needs for the weights it owns."""
        return 4 * (self.input_tiles + self.output_tiles)

    @property
    def slots(self) -> int:
        """Numbers remembered per weight."""
        return {"momentum": 1, "nesterov": 1, "adam": 2}.get(self.rule, 0)

    @property
    def remembered_tiles(self) -> int:
        """Tiles of four numbers that the optimiser remembers, per thread."""
        first, second = self.trained
        return self.slots * (first * self.input_tiles + second * self.output_tiles)

    @property
    def working_bytes(self) -> int:
        """Shared memory of a step: rows x [3], labels y [2], a partial output and W2 per warp, and the errors g2."""
        x, c = 128 * (self.input_tiles | 1), 128 * (self.output_tiles | 1)
        return 4 * (3 * x + 2 * c + self.warps * (max(c, 16 * 24) + c) + c)

    @property
    def tile_bytes(self) -> int:
        """Shared memory of one remembered tile of all threads of a block."""
        return 16 * 32 * self.warps

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block."""
        return self.working_bytes + self.lent * self.tile_bytes

    def registers(self, blocks: int) -> int:
        """Registers a thread gets with so many blocks on a multiprocessor, each quarter of which has 16,384."""
        return min(255, 512 // -(-blocks * self.warps // 4) // 8 * 8)

    def held_of(self, blocks: int) -> int:
        """Remembered tiles that stay in registers with so many blocks on a multiprocessor."""
        free = self.registers(blocks) - self.weight_registers - _TEMPORARIES
        return min(self.remembered_tiles, max(0, free // 4))

    def lent_of(self, blocks: int) -> int:
        """Remembered tiles that stay in shared memory with so many blocks on a multiprocessor."""
        limit = (self.shared_limit + 1024) // blocks - 1024
        room = max(0, min(self.shared_limit, limit) - self.working_bytes) // self.tile_bytes
        return min(self.remembered_tiles - self.held_of(blocks), room)

    @cached_property
    def blocks(self) -> int:
        """Blocks on a multiprocessor: as many as it holds without weights, or their memory, leaving the chip.

        A number that gives the four quarters equally many warps is preferred: a quarter with a warp more than the
        others takes registers from all and holds the barriers up.
        """
        most = min(16, self.shared_limit // (self.working_bytes + 1024))
        wanted = self.weight_registers + _TEMPORARIES
        able = [blocks for blocks in range(2, most + 1) if self.registers(blocks) >= wanted]
        away = {b: self.remembered_tiles - self.held_of(b) - self.lent_of(b) for b in (1, *able)}
        fewest = [b for b in away if away[b] == min(away.values())]
        level = [b for b in fewest if b > 1 and b * self.warps % 4 == 0]
        return max(level or fewest)

    @property
    def held(self) -> int:
        """Remembered tiles in registers, per thread."""
        return self.held_of(self.blocks)

    @property
    def lent(self) -> int:
        """Remembered tiles in shared memory, per thread."""
        return self.lent_of(self.blocks)

    @property
    def fits(self) -> bool:
        enough = self.weight_registers <= self.registers(1) and self.working_bytes <= self.shared_limit
        return self.warps <= 32 and enough

    @property
    def most_hidden(self) -> int:
        """The largest hidden layer that fits with these inputs and outputs; 0 when none does."""
        widest = (16 * warps - self.bias for warps in range(32, 0, -1))
        return next((hidden for hidden in widest if replace(self, hidden=hidden).fits), 0)

    @property
    def options(self) -> tuple[str, ...]:
        """What the kernel is compiled for; sizes that do not change its code are arguments instead."""
        definitions = {
            "WARPS": self.warps,
            "INPUT_TILES": self.input_tiles,
            "OUTPUT_TILES": self.output_tiles,
            "BATCH": self.batch,
            "BIAS": int(self.bias),
            "ACTIVATION": ACTIVATIONS.index(self.activation),
            "X_WIDTH": _copy_width(self.inputs),
            "Y_WIDTH": _copy_width(self.outputs),
            "BLOCKS": self.blocks,
            "RULE": RULES.index(self.rule),
            "TRAIN_FIRST": int(self.trained[0]),
            "TRAIN_SECOND": int(self.trained[1]),
            "SLOTS": self.slots,
            "HELD": self.held,
            "LENT": self.lent,
        } | {term.upper(): int(term in self.terms) for term in ("decay", "l1", "decoupled", "factors")}
        definitions |= {f"FRESH_{name.upper()}": int(name in self.fresh) for name in ("points", "labels")}
        return ("--std=c++17", *(f"-D{name}={value}" for name, value in definitions.items()))


def size_limit(shape: GpuLayout) -> str | None:
    """Which size does not fit on the chip and what the limit is, or None.

    >>> size_limit(GpuLayout(inputs=100, hidden=500, outputs=50))
    '500 hidden units do not fit on the chip: at most 383 with 100 inputs and 50 outputs'
    """
    if shape.fits:
        return None
    if shape.most_hidden:
        limit = f"at most {shape.most_hidden} with {shape.inputs} inputs and {shape.outputs} outputs"
        return f"{shape.hidden} hidden units do not fit on the chip: {limit}"
    sizes = f"{shape.inputs} inputs and {shape.outputs} outputs do not fit on the chip"
    if shape.weight_registers > 255:
        return f"{sizes}: at most 504 together, each rounded up to a multiple of 8"
    return f"{sizes}: they need {shape.working_bytes} bytes of shared memory, there are {shape.shared_limit}"


def _copy_width(columns: int) -> int:
    """Floats moved by one copy of a row of so many columns: every row must begin at a multiple of it."""
    return 4 if columns % 4 == 0 else 2 if columns % 2 == 0 else 1
