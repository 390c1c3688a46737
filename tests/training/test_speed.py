"""Speeds are measured, not asserted; what is held here is the arithmetic and that unsuited engines are left out."""

import pytest
import torch

from tutelage.training import ENGINES
from tutelage.training.speed import BATCH, INPUTS, OUTPUTS, best_seconds, engine_speed, gemm_gflops, problem, step_flops

CPU = torch.device("cpu")


def test_operations_of_a_step_are_those_of_its_five_products():
    n, points, hidden = 7, INPUTS + 1, 7 + 1
    products = [
        (BATCH, points, n),
        (BATCH, hidden, OUTPUTS),
        (BATCH, OUTPUTS, n),
        (points, BATCH, n),
        (hidden, BATCH, OUTPUTS),
    ]
    assert step_flops(n) == sum(2 * a * b * c for a, b, c in products)


def test_every_engine_that_can_be_used_here_has_a_speed():
    for name, kind in ENGINES.items():
        speed = engine_speed(name, 4, 2, torch.float64, CPU, steps=3)
        students, task = problem(4, 2, torch.float64, CPU)
        usable = kind.missing() is None and kind.unsupported(students, task) is None
        assert (speed is not None) == usable
        if speed:
            assert (speed.engine, speed.hidden, speed.members, speed.precision) == (name, 4, 2, "float64")
            assert speed.microseconds > 0
            assert speed.gflops * speed.microseconds * 1e3 == pytest.approx(step_flops(4))


def test_a_product_has_a_rate():
    assert gemm_gflops(torch.float32, CPU, size=64) > 0


def test_the_first_run_does_not_count():
    calls = []
    assert best_seconds(lambda: calls.append(1), repeats=2) >= 0
    assert len(calls) == 3
