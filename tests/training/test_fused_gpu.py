"""The fused GPU engine: what it refuses and why, its arithmetic of sizes, and, on a GPU, what plain SGD computes.

Every other rule is in test_fused_gpu_rules.py.
"""

import importlib.util
from dataclasses import replace

import pytest
import torch

from tutelage.networks import Network, outputs
from tutelage.networks.activations import slope_of
from tutelage.training import Task, Training
from tutelage.training._gpu_layout import RULES, GpuLayout, size_limit
from tutelage.training.fused_gpu import FusedGpu, pack, unpack
from tutelage.training.schedules import Cosine
from tutelage.training.stacked import Stacked

gpu = pytest.mark.skipif(
    not torch.cuda.is_available() or importlib.util.find_spec("cupy") is None,
    reason="needs a CUDA device and cupy",
)
FLOAT32_GRADE = 3e-6
"""Relative error allowed after some tens of steps against float64; rounding alone gives below 1e-6."""


def network(widths, members=3, bias=True, activation="relu", device="cpu", dtype=torch.float32):
    source = torch.Generator().manual_seed(sum(widths))

    def normal(*shape):
        return torch.randn(*shape, generator=source, dtype=torch.float64).to(device, dtype)

    layers = [(widths[i], widths[i + 1]) for i in range(len(widths) - 1)]
    biases = tuple(0.1 * normal(members, b) for _, b in layers) if bias else None
    return Network(
        tuple(normal(members, a, b) / a**0.5 for a, b in layers), biases, activation, slope_of(activation, 0.1)
    )


def problem(widths, members=3, samples=64, bias=True, activation="relu", device="cpu", shared=False, **training):
    students = network(widths, members, bias, activation, device)
    source = torch.Generator().manual_seed(7)
    points = torch.randn(1 if shared else members, samples, widths[0], generator=source).to(device)
    points = points[0].expand(members, -1, -1) if shared else points
    labels = outputs(network((widths[0], 5, widths[-1]), members, device=device), points)
    training = Training(**{"steps": 200, "learning_rate": 0.02} | training)
    return students, Task(points, labels, training, tuple(range(members)))


def assert_identical(a, b):
    for x, y in zip(a.parameters, b.parameters, strict=True):
        torch.testing.assert_close(x, y, rtol=0, atol=0)


def relative_error(a, b):
    return max(
        ((x.double() - y).flatten(1).norm(dim=1) / y.flatten(1).norm(dim=1)).max().item()
        for x, y in zip(a.parameters, b.parameters, strict=True)
    )


# ------------------------------------------------------------------------------------------------- without a GPU
@pytest.mark.parametrize(
    ("widths", "training", "said"),
    [
        ((4, 5, 2), {"loss": "logistic"}, "it minimises the squared error, not logistic"),
        (
            (4, 5, 2),
            {"batch": "all", "optimiser": {"kind": "gradient-flow"}},
            "it does SGD and Adam, not gradient-flow",
        ),
        (
            (4, 5, 2),
            {"optimiser": {"kind": "adam", "epsilon": 1e-40}},
            "its Adam needs an epsilon of at least 1e-30, not 1e-40",
        ),
        ((4, 5, 5, 2), {}, "it trains two-layer networks, these have 3 layers"),
        ((4, 5, 2), {"batch": 17}, "its batch is at most 16, not 17"),
        ((4, 5, 2), {"batch": "all"}, "its batch is at most 16, not 64"),
        ((4, 5, 2), {}, "the students and their data are not on a GPU"),
    ],
)
def test_refusals_on_the_cpu(widths, training, said):
    assert FusedGpu.unsupported(*problem(widths, **training)) == said


def test_float64_is_refused():
    students, task = problem((4, 5, 2))
    assert FusedGpu.unsupported(students.to(dtype=torch.float64), task) == "it computes in float32"
    assert FusedGpu.unsupported(students, replace(task, points=task.points.double())) == "it computes in float32"


@pytest.mark.parametrize(
    ("sizes", "tiles"),
    [
        ((1, 1, 1, True), (1, 1, 1)),
        ((7, 15, 8, True), (1, 1, 1)),
        ((8, 16, 9, True), (2, 2, 2)),
        ((8, 16, 8, False), (1, 1, 1)),
        ((100, 200, 50, True), (13, 13, 7)),
    ],
)
def test_padding(sizes, tiles):
    inputs, hidden, output_count, bias = sizes
    plan = GpuLayout(inputs, hidden, output_count, bias)
    assert (plan.input_tiles, plan.warps, plan.output_tiles) == tiles


def test_sizes_that_must_fit():
    for hidden in (10, 20, 52, 100, 200, 256):
        for bias in (True, False):
            assert GpuLayout(127, hidden, 64, bias).fits
            assert size_limit(GpuLayout(127, hidden, 64, bias)) is None


def test_shared_memory_of_a_block():
    """x [3][16][104], y [2][16][56], and a warp's partial output [16][56] and W2 [16][56], and g2 [16][56]."""
    assert GpuLayout(100, 52, 50).shared_bytes == 4 * 16 * (3 * 104 + 2 * 56 + 4 * (56 + 56) + 56)
    assert GpuLayout(3, 5, 2, bias=False).shared_bytes == 4 * 16 * (3 * 8 + 2 * 8 + 24 + 8 + 8)
    adam = GpuLayout(100, 52, 50, rule="adam")
    assert adam.shared_bytes == GpuLayout(100, 52, 50).shared_bytes + adam.lent * 4 * 4 * 128


@pytest.mark.parametrize("rule", RULES)
def test_blocks_leave_room_for_registers_and_shared_memory(rule):
    for hidden in range(1, 257, 5):
        plan = GpuLayout(100, hidden, 50, rule=rule)
        assert plan.blocks * (plan.shared_bytes + 1024) <= 228 * 1024
        assert plan.shared_bytes <= plan.shared_limit
        assert plan.blocks == 1 or plan.registers(plan.blocks) > plan.weight_registers + 4 * plan.held


def test_what_an_optimiser_remembers_stays_on_the_chip_where_it_can():
    for hidden in (10, 20, 52, 100):
        plan = GpuLayout(100, hidden, 50, rule="adam")
        assert plan.held + plan.lent == plan.remembered_tiles == 40
    wide = GpuLayout(100, 200, 50, rule="adam")
    assert 0 < wide.held + wide.lent < wide.remembered_tiles
    assert GpuLayout(100, 52, 50, rule="adam", trained=(True, False)).remembered_tiles == 26
    assert GpuLayout(100, 52, 50, rule="momentum", trained=(False, True)).remembered_tiles == 7


def test_the_limit_is_the_limit():
    plan = GpuLayout(100, 1, 50)
    most = plan.most_hidden
    assert replace(plan, hidden=most).fits
    assert not replace(plan, hidden=most + 1).fits
    assert size_limit(replace(plan, hidden=most + 1)) == (
        f"{most + 1} hidden units do not fit on the chip: at most {most} with 100 inputs and 50 outputs"
    )


def test_sizes_beyond_any_hidden_layer():
    assert "at most 504 together" in size_limit(GpuLayout(600, 1, 10))
    assert "bytes of shared memory" in size_limit(GpuLayout(400, 1, 10, shared_limit=48 * 1024))


@pytest.mark.parametrize("bias", [True, False])
def test_pack_and_unpack_are_inverse(bias):
    students = network((11, 37, 6), bias=bias)
    plan = GpuLayout(11, 37, 6, bias)
    first, second = pack(students, plan)
    assert first.shape == (3, 48, 16)
    assert second.shape == (3, 48, 8)
    assert_identical(unpack(students, first, second), students)
    assert first.count_nonzero() + second.count_nonzero() == sum(a.count_nonzero() for a in students.parameters)


# ------------------------------------------------------------------------------------------------------ on a GPU
def exact(students, task, start, stop):
    double = replace(task, points=task.points.double(), labels=task.labels.double())
    return Stacked(double).advance(students.to(dtype=torch.float64), start, stop)


@gpu
@pytest.mark.parametrize(
    "case",
    [
        {},
        {"bias": False},
        {"activation": "leaky"},
        {"activation": "abs"},
        {"activation": "linear"},
        {"shared": True},
        {"batch": 5},
        {"batch": "all", "samples": 9},
        {"sampling": "epochs"},
        {"schedule": Cosine(), "learning_rate": (0.01, 0.02, 0.03)},
    ],
    ids=str,
)
def test_follows_float64(case):
    students, task = problem((19, 21, 10), device="cuda", **case)
    assert FusedGpu.unsupported(students, task) is None
    before = students.map(torch.clone)
    after = FusedGpu(task).advance(students, 0, 40)
    assert relative_error(after, exact(students, task, 0, 40)) < FLOAT32_GRADE
    assert_identical(students, before)


@gpu
@pytest.mark.parametrize("widths", [(1, 1, 1), (8, 16, 8), (7, 15, 8), (33, 40, 17), (100, 200, 50), (127, 256, 64)])
def test_follows_float64_at_many_widths(widths):
    students, task = problem(widths, device="cuda")
    after = FusedGpu(task).advance(students, 0, 20)
    assert relative_error(after, exact(students, task, 0, 20)) < FLOAT32_GRADE


@gpu
def test_splitting_and_neighbours_bit_for_bit():
    students, task = problem((20, 30, 10), members=5, device="cuda")
    engine = FusedGpu(task)
    whole = engine.advance(students, 0, 100)
    assert_identical(engine.advance(engine.advance(students, 0, 33), 33, 100), whole)
    assert_identical(FusedGpu(task[[4, 1]]).advance(students[[4, 1]], 0, 100), whole[[4, 1]])
    assert_identical(engine.advance(students, 7, 7), students)


@gpu
def test_draws_the_rows_of_the_task():
    students, task = problem((20, 30, 10), device="cuda", samples=997)
    for start in (0, 1, 2**40):
        drawn = FusedGpu(task).advance(students, start, start + 60)
        assert_identical(FusedGpu(task, tabulate=True).advance(students, start, start + 60), drawn)


@gpu
def test_a_diverged_member_shows_and_spares_its_neighbours():
    students, task = problem((20, 30, 10), device="cuda")
    whole = FusedGpu(task).advance(students, 0, 50)
    labels = task.labels.clone()
    labels[1] = float("nan")
    spoilt = FusedGpu(replace(task, labels=labels)).advance(students, 0, 50)
    assert not torch.isfinite(spoilt.weights[0][1]).any()
    assert_identical(spoilt[[0, 2]], whole[[0, 2]])


@gpu
def test_too_large_is_refused_with_the_limit():
    students, task = problem((100, 600, 50), device="cuda")
    assert FusedGpu.unsupported(students, task).startswith("600 hidden units do not fit on the chip: at most")
