"""Every rule, activation and way of sampling of the fused GPU engine, against the stacked engine and a NumPy trainer.

The reference is the stacked engine in float64 on the samples that the engine itself saw. What is allowed is a multiple
of what the stacked engine loses in float32, since optimisers differ in how much they amplify rounding.
"""

import importlib.util
import itertools
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import tutelage as tt
from tutelage import TutelageError
from tutelage.networks import Network
from tutelage.networks.activations import slope_of
from tutelage.training import ENGINES, Training, _gpu_layout, fused_gpu
from tutelage.training._gpu_layout import ACTIVATIONS, GpuLayout
from tutelage.training._update_rule import update_rule
from tutelage.training.fused_gpu import FusedGpu, layer_factors, layout, pack, together, unpack
from tutelage.training.make_task import make_task
from tutelage.training.optimisers import Adam, AdamW, Sgd, TrainingState
from tutelage.training.stacked import Stacked

gpu = pytest.mark.skipif(
    not torch.cuda.is_available() or importlib.util.find_spec("cupy") is None,
    reason="needs a CUDA device and cupy",
)
ROUNDING = 1e-5
"""Relative error that is always allowed: products of split numbers are good to 21 bits or so, and what an optimiser
remembers is a difference of such products."""
TIMES = 10.0
"""How many times the error of the stacked engine in float32 is allowed: products are summed in another order, and two
rounding errors of one size easily differ by an order of magnitude; a wrong formula differs by many."""

GAUSSIAN = {"kind": "gaussian", "std": 0.3}
SLOW = {"learning_rate": 0.003}
RULES = {
    "plain": {},
    "weight decay": {"optimiser": {"kind": "sgd", "weight_decay": 0.1}},
    "l1": {"optimiser": {"kind": "sgd", "l1": 0.01}},
    "momentum": {"optimiser": {"kind": "sgd", "momentum": 0.9}},
    "nesterov": {"optimiser": {"kind": "sgd", "momentum": 0.8, "nesterov": True, "weight_decay": 0.01}},
    "adam": {"optimiser": {"kind": "adam", "epsilon": 1e-3}} | SLOW,
    "adam, penalties": {"optimiser": {"kind": "adam", "epsilon": 1e-3, "weight_decay": 0.1, "l1": 0.01}} | SLOW,
    "adamw": {"optimiser": {"kind": "adamw", "epsilon": 1e-3, "weight_decay": 0.3}} | SLOW,
}
SAMPLES = {
    "fixed": {},
    "epochs": {"sampling": "epochs"},
    "label noise": {"label_noise": GAUSSIAN},
    "fresh labels": {"label_noise": GAUSSIAN | {"fresh": True}},
    "fresh labels, epochs": {"label_noise": GAUSSIAN | {"fresh": True}, "sampling": "epochs"},
    "fresh inputs": {"input_noise": GAUSSIAN | {"fresh": True}},
    "online": {"sampling": "online"},
    "online, noise": {"sampling": "online", "label_noise": GAUSSIAN, "input_noise": GAUSSIAN},
}
LAYERS = {
    "both": {},
    "first frozen": {"frozen": (1,)},
    "last frozen": {"frozen": (-1,)},
    "layer rates": {"layer_rates": (0.5, 2.0)},
    "ntk": {"parameterisation": "ntk"},
    "mup": {"parameterisation": "mup", "learning_rate": 0.001},
}
_draw = random.Random(0)
COMBINATIONS = [
    (rule, activation, _draw.choice(list(SAMPLES)), _draw.random() < 0.7, _draw.choice(list(LAYERS)))
    for rule, activation, _ in itertools.product(RULES, ACTIVATIONS, range(2))
]
"""Every rule with every activation, twice: with samples, biases and layers that differ from case to case."""


def network(widths, members, bias, activation, seed):
    draw = torch.Generator().manual_seed(seed)
    pairs = list(itertools.pairwise(widths))
    w = tuple(torch.randn(members, a, b, generator=draw, dtype=torch.float64) / a**0.5 for a, b in pairs)
    b = tuple(0.1 * torch.randn(members, b, generator=draw, dtype=torch.float64) for _, b in pairs)
    return Network(w, b if bias else None, activation, slope_of(activation, 0.1))


def teachers(widths=(19, 21, 10), members=3, bias=True, device="cpu"):
    return network(widths, members, bias, "tanh", 1).to(device).to(dtype=torch.float32)


def problem(widths=(19, 21, 10), members=3, bias=True, activation="relu", device="cpu", **training):
    students = network(widths, members, bias, activation, 0).to(device).to(dtype=torch.float32)
    teacher = teachers(widths, members, bias, device)
    inputs = tt.inputs.Gaussian(train=70, evaluate=2).draw(teacher, range(members))
    settings = Training(**{"steps": 1000, "batch": 11, "learning_rate": 0.02} | training)
    return students, make_task(students, teacher, inputs, settings)


def start(students, task):
    optimiser = task.training.optimiser
    return TrainingState(students) if optimiser.plain else optimiser.start(students)


def arrays(state):
    return [a for network in (state.students, *state.memory) for a in network.parameters]


def identical(a, b):
    return all(torch.equal(x, y) for x, y in zip(arrays(a), arrays(b), strict=True))


def in_double(task):
    """The same task in float64, on the very samples that the float32 task sees."""

    def batches(step):
        if task.generated:
            x, y = task.generate(step, step + 1)
            return x[:, 0].double(), y[:, 0].double()
        rows = task.rows(step, step + 1)
        return task._at(task.points, rows)[:, 0].double(), task._at(task.labels, rows)[:, 0].double()

    fixed = {"sampling": "replacement", "label_noise": None, "input_noise": None}
    return replace(
        task,
        points=task.points.double(),
        labels=task.labels.double(),
        training=task.training.model_copy(update=fixed),
        batches=batches,
        teacher=None,
        distribution=None,
        taught=None,
    )


def doubled(state):
    return TrainingState(state.students.to(dtype=torch.float64), tuple(m.to(dtype=torch.float64) for m in state.memory))


def error(found, wanted):
    """The largest relative error of an array, over all members at once."""
    pairs = zip(arrays(found), arrays(wanted), strict=True)
    return max(((a.double() - b).norm() / b.norm().clamp(min=1e-30)).item() for a, b in pairs)


def assert_follows_float64(students, task, begin=0, steps=40, engine=None):
    first = start(students, task)
    kept = first.clone()
    wanted = Stacked(in_double(task)).learn(doubled(first), begin, begin + steps)
    allowed = max(ROUNDING, TIMES * error(Stacked(task).learn(first, begin, begin + steps), wanted))
    found = (engine or FusedGpu(task)).learn(first, begin, begin + steps)
    assert error(found, wanted) < allowed
    assert identical(first, kept)


# ------------------------------------------------------------------------------------------------- without a GPU
@pytest.mark.parametrize("samples", SAMPLES)
def test_the_reference_sees_the_samples_of_the_task(samples):
    """The stacked engine in float64 on them differs from the one in float32 by rounding alone."""
    students, task = problem(**SAMPLES[samples])
    wanted = Stacked(in_double(task)).learn(doubled(start(students, task)), 5, 25)
    assert error(Stacked(task).learn(start(students, task), 5, 25), wanted) < 1e-5


@pytest.mark.parametrize("samples", ["fresh labels", "fresh labels, epochs"])
def test_fresh_labels_are_those_of_generated_samples(samples):
    _, task = problem(**SAMPLES[samples])
    assert not task.fresh_points
    assert torch.equal(task.fresh_labels(3, 9), task.generate(3, 9)[1])
    assert torch.equal(task._at(task.points, task.rows(3, 9)), task.generate(3, 9)[0])


def test_plans_of_rules_layers_and_samples():
    def planned(**training):
        return layout(*problem(**training), shared_limit=227 * 1024)

    assert (planned().rule, planned().slots, planned().terms, planned().fresh) == ("plain", 0, frozenset(), frozenset())
    expected = {
        "weight decay": ("sgd", 0, {"decay"}),
        "l1": ("sgd", 0, {"l1"}),
        "momentum": ("momentum", 1, set()),
        "nesterov": ("nesterov", 1, {"decay"}),
        "adam": ("adam", 2, set()),
        "adam, penalties": ("adam", 2, {"decay", "l1"}),
        "adamw": ("adam", 2, {"decoupled"}),
    }
    for name, (rule, slots, terms) in expected.items():
        plan = planned(**RULES[name])
        assert (plan.rule, plan.slots, plan.terms) == (rule, slots, terms)
    assert [planned(**LAYERS[name]).trained for name in ("first frozen", "last frozen", "ntk")] == [
        (False, True), (True, False), (True, True)
    ]  # fmt: skip
    assert [planned(**LAYERS[name]).terms for name in ("first frozen", "layer rates", "mup")] == [
        set(), {"factors"}, {"factors"}
    ]  # fmt: skip
    assert [planned(**SAMPLES[name]).fresh for name in ("label noise", "fresh labels", "fresh inputs", "online")] == [
        set(), {"labels"}, {"points", "labels"}, {"points", "labels"}
    ]  # fmt: skip


def test_factors_are_those_of_weights_and_biases_of_both_layers():
    students, task = problem(parameterisation="mup", optimiser=Sgd(momentum=0.5))
    assert layer_factors(students, task) == (21.0, 21.0, 1 / 21, 1.0)


def test_corrections_of_adam():
    rule = update_rule(Adam(beta_1=0.8, beta_2=0.9))
    wanted = [[1 / (1 - 0.8**t), 1 / (1 - 0.9**t)] for t in (3, 4)]
    np.testing.assert_allclose(rule.corrections(2, 4), wanted, rtol=1e-14)
    assert (rule.slots, update_rule(Sgd()).slots, update_rule(Sgd(momentum=0.1)).slots) == (2, 0, 1)
    assert (update_rule(AdamW()).decay, update_rule(AdamW()).decoupled) == (0.0, 0.01)


def test_memory_is_packed_as_the_weights_are():
    students, shape = network((11, 37, 6), 2, True, "relu", 0), GpuLayout(11, 37, 6)
    slots = [students, students.map(lambda a: 2 * a)]
    first, second = together([pack(slot, shape) for slot in slots], pack(students, shape))
    assert (first.shape, second.shape) == ((2, 2, 48, 16), (2, 2, 48, 8))
    for k, slot in enumerate(slots):
        found = unpack(students, first[k], second[k])
        assert all(torch.equal(a, b) for a, b in zip(found.parameters, slot.parameters, strict=True))


# ------------------------------------------------------------------------------------------------------ on a GPU
@gpu
@pytest.mark.parametrize("case", COMBINATIONS, ids=lambda case: " | ".join(map(str, case)))
def test_every_rule_and_activation(case):
    rule, activation, samples, bias, layers = case
    settings = {}
    for part in (RULES[rule], SAMPLES[samples], LAYERS[layers]):
        settings |= part
    students, task = problem(activation=activation, bias=bias, device="cuda", **settings)
    assert FusedGpu.unsupported(students, task) is None
    assert_follows_float64(students, task)


@gpu
@pytest.mark.parametrize("samples", SAMPLES)
@pytest.mark.parametrize("rule", ["plain", "momentum", "adam"])
def test_every_way_of_sampling(rule, samples):
    assert_follows_float64(*problem(device="cuda", activation="erf", **RULES[rule] | SAMPLES[samples]), begin=13)


@gpu
@pytest.mark.parametrize("layers", LAYERS)
@pytest.mark.parametrize("rule", ["plain", "weight decay", "nesterov", "adamw"])
def test_every_choice_of_layers(rule, layers):
    assert_follows_float64(*problem(device="cuda", activation="tanh", **RULES[rule] | LAYERS[layers]))


@gpu
@pytest.mark.parametrize("batch", [1, 7, 16])
@pytest.mark.parametrize("widths", [(1, 1, 1), (8, 16, 8), (7, 15, 9), (33, 31, 17), (5, 3, 19), (100, 52, 50)])
def test_every_remainder(widths, batch):
    for rule, samples in (("adam", "online"), ("momentum", "fresh labels")):
        settings = RULES[rule] | SAMPLES[samples]
        assert_follows_float64(*problem(widths, batch=batch, device="cuda", activation="erf", **settings), steps=20)


@gpu
@pytest.mark.parametrize("home", ["registers", "shared memory", "global memory", "some of each"])
@pytest.mark.parametrize("rule", ["momentum", "adam"])
def test_wherever_memory_lies(rule, home, monkeypatch):
    """The numbers are the same bits, in registers, in shared memory and in global memory."""
    students, task = problem((40, 37, 20), device="cuda", **RULES[rule])
    wanted = FusedGpu(task).learn(start(students, task), 0, 30)
    if home in ("shared memory", "global memory"):
        monkeypatch.setattr(_gpu_layout, "_TEMPORARIES", 300)
    if home == "some of each":
        monkeypatch.setattr(_gpu_layout, "_TEMPORARIES", 240 - layout(students, task, 227 * 1024).weight_registers)
    room = {"registers": 0, "shared memory": 1000, "global memory": 0, "some of each": 3}[home]

    def plan(students, task):
        shape = layout(students, task, 227 * 1024)
        limit = shape.working_bytes + room * shape.tile_bytes
        return replace(shape, shared_limit=min(227 * 1024, limit))

    monkeypatch.setattr(fused_gpu, "plan", plan)
    shape = plan(students, task)
    places = (shape.held > 0, shape.lent > 0, shape.held + shape.lent < shape.remembered_tiles)
    assert (
        places
        == {
            "registers": (True, False, False),
            "shared memory": (False, True, False),
            "global memory": (False, False, True),
            "some of each": (True, True, True),
        }[home]
    )
    assert identical(FusedGpu(task).learn(start(students, task), 0, 30), wanted)


@gpu
@pytest.mark.parametrize("hidden", [52, 100, 200, 256])
def test_adam_at_the_sizes_of_sweeps(hidden):
    students, task = problem((100, hidden, 50), members=2, device="cuda", batch=16, **RULES["adam"])
    assert_follows_float64(students, task, steps=20)


@gpu
def test_adam_with_its_default_epsilon():
    students, task = problem(device="cuda", activation="tanh", optimiser={"kind": "adam"}, learning_rate=0.003)
    assert_follows_float64(students, task)


@gpu
@pytest.mark.parametrize("samples", ["fixed", "epochs", "online, noise", "fresh labels"])
@pytest.mark.parametrize("rule", ["plain", "nesterov", "adam"])
def test_in_parts_and_alone_bit_for_bit(rule, samples):
    students, task = problem(device="cuda", **RULES[rule] | SAMPLES[samples])
    engine, first = FusedGpu(task), start(students, task)
    whole = engine.learn(first, 0, 60)
    assert identical(engine.learn(engine.learn(first, 0, 23), 23, 60), whole)
    assert identical(engine.learn(first, 7, 7), first)
    if samples != "online, noise":  # a teacher of fewer members multiplies by another routine
        assert identical(FusedGpu(task[[2, 0]]).learn(first[[2, 0]], 0, 60), whole[[2, 0]])


@gpu
def test_short_spans_of_fresh_samples(monkeypatch):
    students, task = problem(device="cuda", **RULES["adam"] | SAMPLES["online"])
    first = start(students, task)
    whole = FusedGpu(task).learn(first, 0, 50)
    monkeypatch.setattr(fused_gpu, "_FRESH", 7 * 3 * 11 * 19)
    found = FusedGpu(task).learn(first, 0, 50)
    assert error(found, doubled(whole)) < ROUNDING  # labels of fewer steps at a time may differ in their last bits


@gpu
def test_an_optimiser_with_memory_is_not_advanced_without_it():
    students, task = problem(device="cuda", **RULES["adam"])
    with pytest.raises(TutelageError, match="call learn instead of advance"):
        FusedGpu(task).advance(students, 0, 5)


@gpu
def test_training_takes_this_engine_and_agrees_with_the_stacked_one():
    for settings in (RULES["adam"], SAMPLES["online"], LAYERS["last frozen"]):
        students, task = problem(device="cuda", activation="erf", **settings)
        teacher = teachers(device="cuda")
        inputs = tt.inputs.Gaussian(train=70, evaluate=2).draw(teacher, range(3))
        runs = [
            tt.train(teacher, students, inputs, task.training.model_copy(update={"steps": 60}), engine=engine)
            for engine in ("auto", "stacked-graph")
        ]
        assert runs[0].engine == "fused-gpu"
        pairs = zip(runs[0].students.parameters, runs[1].students.parameters, strict=True)
        assert max(((a - b).norm() / b.norm()).item() for a, b in pairs) < 1e-4


# ------------------------------------------------------------------------------------------ the trainer in NumPy
_found = importlib.util.spec_from_file_location("reference", Path(__file__).with_name("reference.py"))
reference = importlib.util.module_from_spec(_found)
_found.loader.exec_module(reference)


NUMPY = {
    "nesterov": RULES["nesterov"],
    "adam": {"optimiser": {"kind": "adam", "weight_decay": 0.1}} | SLOW,
    "adamw": {"optimiser": {"kind": "adamw", "weight_decay": 0.3}, "frozen": (2,)} | SLOW,
    "online": SAMPLES["online, noise"],
    "fresh labels": SAMPLES["fresh labels"],
    "mup": LAYERS["mup"],
}


@pytest.mark.parametrize("engine", ["stacked", pytest.param("fused-gpu", marks=gpu)])
@pytest.mark.parametrize("activation", ["relu", "erf", "tanh"])
@pytest.mark.parametrize("mode", NUMPY)
def test_against_numpy(mode, activation, engine):
    """Only float32 separates them; the stacked engine shows that it is the comparison that is right."""
    device = "cuda" if engine == "fused-gpu" else "cpu"
    students, task = problem(device=device, activation=activation, **NUMPY[mode])
    found = ENGINES[engine](task).learn(start(students, task), 0, 30).students
    defaults = {"schedule": {"kind": "constant"}, "loss": "mse", "optimiser": {"kind": "sgd"}, "temperature": 1.0}
    defaults |= {"label_noise": None, "input_noise": None, "sampling": "replacement", "frozen": (), "layer_rates": None}
    defaults |= {"parameterisation": "standard", "batch": 11, "learning_rate": 0.02, "activation": activation}
    teacher = teachers()
    for member in range(3):
        w, b, tw, tb = (
            [a[member].double().cpu().numpy() for a in arrays]
            for arrays in (students.weights, students.biases, teacher.weights, teacher.biases)
        )
        points = task.points[member].double().cpu().numpy()
        one = reference.Reference(w, b, (tw, tb, "tanh"), points, member, defaults | NUMPY[mode]).run(30)
        for a, wanted in zip(found.parameters, one.arrays, strict=True):
            difference = a[member].double().cpu().numpy() - wanted
            assert np.linalg.norm(difference) < 3e-5 * np.linalg.norm(wanted)
