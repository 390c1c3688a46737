"""The stacked engine in a CUDA graph: it refuses the CPU, and on a GPU it equals the stacked engine."""

import pytest
import torch

import tutelage as tt
from tutelage.networks import Network
from tutelage.training import Task, Training
from tutelage.training.make_task import make_task
from tutelage.training.optimisers import TrainingState
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


MODES = {
    "adam": {"optimiser": {"kind": "adam"}, "learning_rate": 0.003},
    "adamw": {"optimiser": {"kind": "adamw"}, "learning_rate": 0.003},
    "momentum and decay": {"optimiser": {"kind": "sgd", "momentum": 0.9, "weight_decay": 0.01}},
    "flow": {"optimiser": {"kind": "gradient-flow"}, "batch": "all"},
    "online": {"sampling": "online", "label_noise": 0.1},
    "fresh noise": {"input_noise": {"kind": "gaussian", "std": 0.1, "fresh": True}},
    "frozen": {"frozen": (2,)},
    "logistic": {"loss": "logistic"},
}


@gpu
@pytest.mark.parametrize("activation", ["relu", "erf", "gelu"])
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_equals_the_stacked_engine(mode, activation):
    source = tt.teachers.Normal(inputs=6, hidden=5, outputs=2, activation="tanh")
    teacher = source.build(range(3), dtype=torch.float64, device="cuda")
    students = tt.students.FanInNormal(hidden=(9, 7), activation=activation).build(teacher, range(3))
    inputs = tt.inputs.Gaussian(train=50, evaluate=2).draw(teacher, range(3))
    task = make_task(students, teacher, inputs, Training(**{"steps": 200, "learning_rate": 0.02} | MODES[mode]))
    assert StackedGraph.unsupported(students, task) is None
    optimiser = task.training.optimiser
    start = TrainingState(students) if optimiser.plain else optimiser.start(students)
    after, wanted = (kind(task).learn(start, 0, 75) for kind in (StackedGraph, Stacked))
    for ours, theirs in zip((after.students, *after.memory), (wanted.students, *wanted.memory), strict=True):
        for a, b in zip(ours.parameters, theirs.parameters, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-11)
