"""The stacked engine in a CUDA graph: it refuses the CPU, and on a GPU it equals the stacked engine."""

import pytest
import torch

from tutelage.networks import Network
from tutelage.training import Task, Training
from tutelage.training.stacked import Stacked
from tutelage.training.stacked_graph import StackedGraph

gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
ROUNDING = {torch.float32: 1e-5, torch.float64: 1e-13}


def problem(widths=(6, 9, 4), dtype=torch.float32, device="cpu", members=3, **training):
    source = torch.Generator().manual_seed(1)

    def normal(*shape):
        return torch.randn(*shape, generator=source, dtype=torch.float64).to(device, dtype)

    layers = [(widths[i], widths[i + 1]) for i in range(len(widths) - 1)]
    students = Network(
        tuple(normal(members, a, b) / a**0.5 for a, b in layers), tuple(0.1 * normal(members, b) for _, b in layers)
    )
    training = Training(**{"steps": 200} | training)
    return students, Task(normal(members, 50, widths[0]), normal(members, 50, widths[-1]), training, (4, 5, 6))


def test_the_cpu_is_refused():
    assert StackedGraph.unsupported(*problem()) == "the students and their data are not on a GPU"


@gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "case", [{}, {"widths": (6, 9, 8, 4)}, {"sampling": "epochs"}, {"batch": "all"}, {"batch": 5}], ids=str
)
def test_equals_the_stacked_engine(case, dtype):
    students, task = problem(dtype=dtype, device="cuda", **case)
    assert StackedGraph.unsupported(students, task) is None
    before = students.map(torch.clone)
    after = StackedGraph(task).advance(students, 0, 75)
    wanted = Stacked(task).advance(students, 0, 75)
    for a, b, kept, given in zip(
        after.parameters, wanted.parameters, before.parameters, students.parameters, strict=True
    ):
        torch.testing.assert_close(a, b, rtol=ROUNDING[dtype], atol=ROUNDING[dtype])
        assert torch.equal(kept, given)


@gpu
def test_splitting_bit_for_bit():
    students, task = problem(device="cuda")
    engine = StackedGraph(task)
    whole = engine.advance(students, 0, 100)
    parts = engine.advance(engine.advance(students, 0, 37), 37, 100)
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters, parts.parameters, strict=True))
