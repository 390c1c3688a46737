"""The fused CPU engine, held to the stacked one at every remainder of its tiles, and to the contract bit for bit."""

import json
import logging
import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage import TutelageError, compiling
from tutelage.networks import Network, outputs
from tutelage.networks.activations import slope_of
from tutelage.training import Task, Training
from tutelage.training.fused_cpu import FusedCpu
from tutelage.training.schedules import Cosine, Drops
from tutelage.training.stacked import Stacked

EXACT = 1e-12
"""Relative error allowed in float64: both engines round to 1e-16 and differ only in the order of their sums."""
ROUNDED = 1e-4
"""Relative error allowed in float32 after 100 steps. Sums of up to a few hundred terms in another order differ by some
1e-6, and training is stable here, so errors add up but do not grow; a unit at the edge of its gate for one sample
may open in one engine and not in the other, which moves its weights by a rate's share, hence the room above 1e-5."""


def network(widths, members, bias=True, activation="relu", dtype=torch.float64, slope=0.1):
    source = torch.Generator().manual_seed(sum(widths))

    def normal(*shape):
        return torch.randn(*shape, generator=source, dtype=torch.float64).to(dtype)

    layers = list(pairwise(widths))
    biases = tuple(0.1 * normal(members, b) for _, b in layers) if bias else None
    return Network(
        tuple(normal(members, a, b) / a**0.5 for a, b in layers), biases, activation, slope_of(activation, slope)
    )


def problem(widths, members=3, samples=64, bias=True, activation="relu", dtype=torch.float64, shared=False, **training):
    """Students and their task: every member has its own teacher, points (unless shared), seed and rows."""
    students = network(widths, members, bias, activation, dtype)
    source = torch.Generator().manual_seed(7)
    points = torch.randn(1 if shared else members, samples, widths[0], generator=source, dtype=torch.float64).to(dtype)
    points = points.expand(members, -1, -1)
    labels = outputs(network((widths[0], 5, widths[-1]), members, dtype=dtype), points)
    settings = Training(**{"steps": 1000, "learning_rate": 0.02} | training)
    return students, Task(points, labels, settings, tuple(range(10, 10 + members)))


def relative_error(a, b):
    return max(((x - y).abs().max() / y.abs().max()).item() for x, y in zip(a.parameters, b.parameters, strict=True))


def error_against_stacked(students, task, steps, start=0):
    fused = FusedCpu(task).advance(students, start, start + steps)
    assert fused.weights[0].dtype == students.dtype
    return relative_error(fused, Stacked(task).advance(students, start, start + steps))


def assert_identical(a, b):
    for x, y in zip(a.parameters, b.parameters, strict=True):
        torch.testing.assert_close(x, y, rtol=0, atol=0, equal_nan=True)


# ------------------------------------------------------------------------------------------------ the same numbers
def test_a_thousand_steps_in_float64():
    assert error_against_stacked(*problem((20, 13, 7), members=4), steps=1000) < EXACT


def test_a_hundred_steps_in_float32():
    assert error_against_stacked(*problem((20, 13, 7), members=4, dtype=torch.float32), steps=100) < ROUNDED


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("activation", ["relu", "leaky", "abs", "linear"])
def test_activations_and_biases(activation, bias):
    assert error_against_stacked(*problem((9, 11, 5), bias=bias, activation=activation), steps=50) < EXACT


@pytest.mark.parametrize("slope", [0.0, 0.01, 0.9])
def test_leaky_slopes(slope):
    students, task = problem((9, 11, 5), activation="leaky")
    assert error_against_stacked(replace(students, slope=slope), task, steps=50) < EXACT


@pytest.mark.parametrize("activation", ["relu", "leaky", "abs"])
def test_the_gate_at_zero(activation):
    """Units without any weight have pre-activation 0 exactly, where the gate is a convention of its own."""
    students, task = problem((6, 5, 3), bias=False, activation=activation)
    students.weights[0][:, :, 2] = 0
    assert error_against_stacked(students, task, steps=3) < EXACT


# --------------------------------------------------------------------- every remainder against vectors and tiles
@pytest.mark.parametrize("hidden", range(1, 41))
def test_every_hidden_width(hidden):
    assert error_against_stacked(*problem((7, hidden, 5), members=2, batch=11), steps=4) < EXACT


@pytest.mark.parametrize("inputs", range(1, 41))
def test_every_input_width(inputs):
    assert error_against_stacked(*problem((inputs, 9, 5), members=2, batch=11), steps=4) < EXACT


@pytest.mark.parametrize("outs", range(1, 21))
def test_every_output_width(outs):
    assert error_against_stacked(*problem((7, 9, outs), members=2, batch=11), steps=4) < EXACT


@pytest.mark.parametrize("batch", [1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33])
def test_every_batch(batch, dtype):
    error = error_against_stacked(*problem((7, 9, 5), members=2, batch=batch, dtype=dtype), steps=4)
    assert error < (EXACT if dtype == torch.float64 else 1e-5)


@given(
    widths=st.tuples(st.integers(1, 70), st.integers(1, 70), st.integers(1, 40)),
    batch=st.integers(1, 70),
    bias=st.booleans(),
    wide=st.booleans(),
)
def test_any_sizes(widths, batch, bias, wide):
    students, task = problem(
        widths, members=2, bias=bias, batch=batch, samples=40, dtype=torch.float64 if wide else torch.float32
    )
    assert error_against_stacked(students, task, steps=3, start=5) < (EXACT if wide else 1e-5)


@pytest.mark.parametrize("vector", ["avx512", "avx2", "narrow", "plain"])
def test_every_vector_setting(vector):
    """In a process of its own, since the setting is read when the kernel is loaded."""
    code = """
import json, sys
from test_fused_cpu import error_against_stacked, problem
sizes = [(widths, batch) for widths in ((20, 13, 7), (1, 1, 1), (37, 31, 19), (8, 16, 4)) for batch in (1, 5, 16, 33)]
errors = [error_against_stacked(*problem(w, members=2, batch=b), steps=20) for w, b in sizes]
from tutelage.training._vector_tiles import VECTOR
json.dump([VECTOR, max(errors)], sys.stdout)
"""
    setting, error = json.loads(in_a_process(code, TUTELAGE_VECTOR=vector).stdout)
    assert setting == vector
    assert error < EXACT


def in_a_process(code, **environment):
    paths = [os.path.dirname(__file__), *sys.path]
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "OMP_NUM_THREADS": "1",
        **environment,
    }
    return subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True)


# --------------------------------------------------------------------------------------------- rates, rows, points
def test_every_member_has_its_own_learning_rate():
    students, task = problem((6, 7, 3), learning_rate=(0.0, 0.01, 0.05))
    trained = FusedCpu(task).advance(students, 0, 40)
    assert torch.equal(trained.weights[0][0], students.weights[0][0])
    assert error_against_stacked(students, task, steps=40) < EXACT


@pytest.mark.parametrize("schedule", [Drops(at=(10, 25), factor=0.1), Cosine()])
def test_schedules(schedule):
    students, task = problem((6, 7, 3), schedule=schedule, steps=40)
    assert error_against_stacked(students, task, steps=20, start=10) < EXACT


@pytest.mark.parametrize("batch", [1, 7, 16, 64])
def test_sampling_without_replacement(batch):
    """Over several epochs, from the middle of one to the middle of another."""
    students, task = problem((6, 7, 3), sampling="epochs", batch=batch)
    assert error_against_stacked(students, task, steps=30, start=3) < EXACT


@pytest.mark.parametrize("seed", [0, 2**63 - 1, 2**64 - 1])
def test_rows_are_drawn_as_the_task_draws_them(seed):
    """One step of batch 1 at a late step moves the weights only along the one point the task names."""
    students, task = problem((5, 4, 2), members=1, bias=False, samples=1000, batch=1, activation="linear")
    task = replace(task, seeds=(seed,))
    late = 10**12
    moved = FusedCpu(task).advance(students, late, late + 1).weights[0] - students.weights[0]
    point = task.points[0, task.rows(late, late + 1)[0, 0, 0]]
    along = moved[0].T @ point / point.norm()
    assert along.norm() > 0
    torch.testing.assert_close(along.norm(), moved[0].norm(), rtol=1e-9, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_shared_points_train_as_copied_points(dtype):
    students, task = problem((6, 7, 3), shared=True, dtype=dtype)
    assert task.points.stride(0) == 0
    copied = replace(task, points=task.points.contiguous())
    assert_identical(FusedCpu(task).advance(students, 0, 60), FusedCpu(copied).advance(students, 0, 60))


def test_some_members_of_a_task_with_shared_points():
    students, task = problem((6, 7, 3), members=5, shared=True)
    some = FusedCpu(task[[1, 3]]).advance(students[[1, 3]], 0, 60)
    assert_identical(some, FusedCpu(task).advance(students, 0, 60)[[1, 3]])


def test_data_in_any_memory_order():
    students, task = problem((6, 7, 3))
    turned = replace(task, points=task.points.mT.contiguous().mT, labels=task.labels.mT.contiguous().mT)
    assert_identical(FusedCpu(turned).advance(students, 0, 60), FusedCpu(task).advance(students, 0, 60))


# ------------------------------------------------------------------------------------------ the contract, bit for bit
@pytest.mark.parametrize("sampling", ["replacement", "epochs"])
def test_parts_equal_the_whole_and_students_are_left_alone(dtype, sampling):
    students, task = problem((12, 13, 7), dtype=dtype, sampling=sampling)
    before = students.map(torch.clone)
    engine = FusedCpu(task)
    whole = engine.advance(students, 0, 120)
    assert_identical(engine.advance(engine.advance(students, 0, 50), 50, 120), whole)
    assert_identical(students, before)
    unmoved = engine.advance(students, 50, 50)
    assert_identical(unmoved, before)
    assert all(a.data_ptr() != b.data_ptr() for a, b in zip(unmoved.parameters, students.parameters, strict=True))


def test_a_student_alone_and_among_others(dtype):
    students, task = problem((12, 13, 7), members=65, dtype=dtype)
    everyone = FusedCpu(task).advance(students, 0, 40)
    for member in (0, 37, 64):
        assert_identical(FusedCpu(task[[member]]).advance(students[member], 0, 40), everyone[member])


def test_a_neighbour_that_diverges_leaves_no_trace(dtype):
    rates = (1e30, 0.02, 0.02)
    students, task = problem((12, 13, 7), dtype=dtype, learning_rate=rates)
    together = FusedCpu(task).advance(students, 0, 60)
    assert not torch.isfinite(together.weights[0][0]).all()
    assert_identical(FusedCpu(task[[1, 2]]).advance(students[[1, 2]], 0, 60), together[[1, 2]])


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_the_number_of_threads_does_not_matter(threads):
    students, task = problem((12, 13, 7), members=11)
    wanted = FusedCpu(task).advance(students, 0, 40)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        assert_identical(FusedCpu(task).advance(students, 0, 40), wanted)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("activation", ["relu", "leaky", "abs", "linear"])
def test_divergence_shows_in_the_weights(activation, dtype):
    students, task = problem((12, 13, 7), dtype=dtype, activation=activation, learning_rate=1e6)
    trained = FusedCpu(task).advance(students, 0, 200)
    assert all(not torch.isfinite(w).flatten(1).all(-1).any() for w in trained.weights)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_finite_spreads_as_in_the_stacked_engine(value):
    students, task = problem((12, 13, 7))
    students.weights[0][1, 4, 6] = value
    fused, stacked = (kind(task).advance(students, 0, 10) for kind in (FusedCpu, Stacked))
    for a, b in zip(fused.parameters, stacked.parameters, strict=True):
        assert torch.equal(torch.isfinite(a), torch.isfinite(b))


# ------------------------------------------------------------------------------------------------- what is refused
@pytest.mark.parametrize(
    ("widths", "settings", "said"),
    [
        ((4, 5, 5, 2), {}, "it trains networks of two layers, not 3"),
        ((4, 2), {}, "it trains networks of two layers, not 1"),
        ((4, 5, 2), {"batch": "all"}, "it trains on batches, not on all samples at once"),
        ((4, 5, 2), {"dtype": torch.float16}, "it computes in float32 and float64, not float16"),
    ],
)
def test_refusals(widths, settings, said):
    assert FusedCpu.unsupported(*problem(widths, **settings)) == said


def test_other_devices_and_mixed_precision_are_refused():
    students, task = problem((4, 5, 2))
    assert FusedCpu.unsupported(students.to("meta"), task) == "it works on the CPU alone"
    mixed = replace(task, labels=task.labels.float())
    assert FusedCpu.unsupported(students, mixed) == "weights, points and labels must have one precision"
    assert FusedCpu.unsupported(students, task) is None


def test_students_that_do_not_fit_are_refused_before_compiled_code_sees_them():
    students, task = problem((4, 5, 2))
    for wrong in (network((3, 5, 2), 3), network((4, 5, 6), 3), network((4, 5, 2), 2)):
        with pytest.raises(TutelageError, match="do not fit"):
            FusedCpu(task).advance(wrong, 0, 1)
    with pytest.raises(TutelageError, match="do not fit"):
        FusedCpu(replace(task, labels=task.labels[:, 1:])).advance(students, 0, 1)
    with pytest.raises(TutelageError, match="no samples"):
        FusedCpu(replace(task, points=task.points[:, :0], labels=task.labels[:, :0])).advance(students, 0, 1)


def test_an_unknown_vector_setting_is_refused(monkeypatch):
    from tutelage.training._vector_tiles import choose_vector

    monkeypatch.setenv("TUTELAGE_VECTOR", "avx215")
    with pytest.raises(TutelageError, match="did you mean 'avx2'"):
        choose_vector()


# -------------------------------------------------------------------------------------- compiled code kept on disk
def test_without_a_folder_for_compiled_code_it_says_so_and_trains():
    code = """
import logging
logging.basicConfig(format="%(message)s")
from test_fused_cpu import error_against_stacked, problem
assert error_against_stacked(*problem((5, 4, 3)), steps=5) < 1e-12
"""
    nowhere = {"NUMBA_CACHE_DIR": "/dev/null/none", "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}
    said = in_a_process(code, TUTELAGE_VECTOR="plain", **nowhere).stderr
    assert said.count("could not be kept on disk") == 1


def test_a_disk_that_fills_up_is_no_reason_to_fail(caplog, monkeypatch):
    students, task = problem((5, 4, 3))
    engine, calls = FusedCpu(task), []
    kernel = engine._kernel
    monkeypatch.setattr(compiling, "_told", [])

    def train(first, last, *arguments):
        calls.append((first, last))
        if len(calls) == 1:
            raise OSError("no space left on device")
        return kernel.train(first, last, *arguments)

    engine._kernel = SimpleNamespace(**{**vars(kernel), "train": train})
    with caplog.at_level(logging.WARNING):
        trained = engine.advance(students, 0, 20)
    assert "no space left" in caplog.text
    assert_identical(trained, FusedCpu(task).advance(students, 0, 20))
