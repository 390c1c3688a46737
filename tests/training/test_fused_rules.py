"""The general loop of the fused CPU engine, held to the stacked engine in every mode and at every remainder."""

from itertools import pairwise

import pytest
import torch

import tutelage as tt
from tutelage import TutelageError
from tutelage.networks import Network
from tutelage.networks.activations import slope_of
from tutelage.training import Training
from tutelage.training.engine import choose
from tutelage.training.fused_cpu import FusedCpu
from tutelage.training.make_task import make_task
from tutelage.training.optimisers import TrainingState
from tutelage.training.stacked import Stacked

EXACT = 1e-12
GAUSSIAN = {"kind": "gaussian", "std": 0.3}
MODES = {
    "weight decay": {"optimiser": {"kind": "sgd", "weight_decay": 0.1}},
    "l1": {"optimiser": {"kind": "sgd", "l1": 0.01}},
    "momentum": {"optimiser": {"kind": "sgd", "momentum": 0.9}},
    "nesterov": {"optimiser": {"kind": "sgd", "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}},
    "adam": {"optimiser": {"kind": "adam"}, "learning_rate": 0.003},
    "adam with decay": {"optimiser": {"kind": "adam", "weight_decay": 0.1, "l1": 0.01}, "learning_rate": 0.003},
    "adamw": {"optimiser": {"kind": "adamw", "weight_decay": 0.3}, "learning_rate": 0.003},
    "frozen first": {"frozen": (1,), "optimiser": {"kind": "adam"}, "learning_rate": 0.003},
    "frozen last": {"frozen": (-1,)},
    "layer rates": {"layer_rates": (0.5, 2.0)},
    "ntk": {"parameterisation": "ntk", "learning_rate": 0.1},
    "mup": {"parameterisation": "mup", "learning_rate": 0.002, "optimiser": {"kind": "sgd", "momentum": 0.5}},
    "online": {"sampling": "online", "label_noise": GAUSSIAN},
    "online adam": {"sampling": "online", "optimiser": {"kind": "adam"}, "learning_rate": 0.003},
    "fresh noise": {"label_noise": GAUSSIAN | {"fresh": True}, "input_noise": GAUSSIAN | {"fresh": True}},
    "label noise": {"label_noise": GAUSSIAN},
    "epochs with momentum": {"sampling": "epochs", "optimiser": {"kind": "sgd", "momentum": 0.5}},
}


def network(widths, members, bias, activation, seed=0):
    draw = torch.Generator().manual_seed(seed)
    pairs = list(pairwise(widths))
    w = tuple(torch.randn(members, a, b, generator=draw, dtype=torch.float64) / a**0.5 for a, b in pairs)
    b = tuple(0.1 * torch.randn(members, b, generator=draw, dtype=torch.float64) for _, b in pairs)
    return Network(w, b if bias else None, activation, slope_of(activation, 0.1))


def problem(widths=(9, 7, 3), members=3, bias=True, activation="relu", dtype=torch.float64, **training):
    students, teacher = (network(widths, members, bias, kind, seed) for kind, seed in ((activation, 0), ("tanh", 1)))
    students, teacher = students.to(dtype=dtype), teacher.to(dtype=dtype)
    inputs = tt.inputs.Gaussian(train=40, evaluate=2).draw(teacher, range(members))
    settings = Training(**{"steps": 1000, "batch": 5, "learning_rate": 0.02} | training)
    return students, make_task(students, teacher, inputs, settings)


def start(students, task):
    optimiser = task.training.optimiser
    return TrainingState(students) if optimiser.plain else optimiser.start(students)


def error(a, b):
    return max((x - y).abs().max().item() / max(1.0, y.abs().max().item()) for x, y in zip(a, b, strict=True))


def arrays(state):
    return [a for network in (state.students, *state.memory) for a in network.parameters]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("activation", ["relu", "erf", "tanh"])
@pytest.mark.parametrize("mode", MODES)
def test_a_mode_agrees_with_the_stacked_engine(mode, activation, bias):
    students, task = problem(activation=activation, bias=bias, **MODES[mode])
    assert choose("auto", students, task)[0] is FusedCpu
    fused = FusedCpu(task).learn(start(students, task), 0, 100)
    assert error(arrays(fused), arrays(Stacked(task).learn(start(students, task), 0, 100))) < EXACT


@pytest.mark.parametrize("widths", [(1, 1, 1), (8, 16, 4), (17, 9, 5), (33, 31, 17), (5, 3, 19)])
@pytest.mark.parametrize("batch", [1, 7, 16])
def test_every_remainder(widths, batch):
    for mode in ("adam", "momentum", "online"):
        students, task = problem(widths, members=2, batch=batch, activation="erf", **MODES[mode])
        fused = FusedCpu(task).learn(start(students, task), 4, 24)
        assert error(arrays(fused), arrays(Stacked(task).learn(start(students, task), 4, 24))) < EXACT


@pytest.mark.parametrize("batch", [1, 7, 8, 16, 20])
@pytest.mark.parametrize("mode", ["adam", "online", "nesterov"])
def test_in_parts_as_in_one_go_bit_for_bit(mode, batch):
    students, task = problem(batch=batch, **MODES[mode])
    engine, first = FusedCpu(task), start(students, task)
    whole, parts = engine.learn(first, 0, 60), engine.learn(engine.learn(first, 0, 23), 23, 60)
    assert all(torch.equal(a, b) for a, b in zip(arrays(whole), arrays(parts), strict=True))
    assert all(torch.equal(a, b) for a, b in zip(arrays(first), arrays(start(students, task)), strict=True))


@pytest.mark.parametrize("mode", ["adam", "momentum", "online"])
def test_float32_agrees_to_its_rounding(mode):
    students, task = problem(dtype=torch.float32, activation="tanh", **MODES[mode])
    fused = FusedCpu(task).learn(start(students, task), 0, 50)
    assert error(arrays(fused), arrays(Stacked(task).learn(start(students, task), 0, 50))) < 1e-4


def test_what_it_cannot_do_it_says():
    cases = {
        "it minimises the squared error, not logistic": problem(loss="logistic"),
        "erf and tanh, not gelu": problem(activation="gelu"),
        "it does SGD and Adam, not gradient-flow": problem(batch="all", optimiser={"kind": "gradient-flow"}),
    }
    for why, (students, task) in cases.items():
        assert why in FusedCpu.unsupported(students, task)


def test_an_optimiser_with_memory_is_not_advanced_without_it():
    students, task = problem(**MODES["adam"])
    with pytest.raises(TutelageError, match="call learn instead of advance"):
        FusedCpu(task).advance(students, 0, 5)
