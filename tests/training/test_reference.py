"""Every sampling mode, noise, loss, optimiser, schedule, parameterisation and activation against a NumPy trainer.

Agreement is to 1e-10 of the largest weight after 200 steps in float64, on networks of random shapes.
"""

import importlib.util
import itertools
import random
from pathlib import Path

import pytest
import torch

import tutelage as tt
from tutelage.networks import Network
from tutelage.networks.activations import slope_of

_found = importlib.util.spec_from_file_location("reference", Path(__file__).with_name("reference.py"))
reference = importlib.util.module_from_spec(_found)
_found.loader.exec_module(reference)
ACTIVATIONS, Reference = reference.ACTIVATIONS, reference.Reference

STEPS = 200
DEFAULTS = {
    "batch": 4,
    "sampling": "replacement",
    "learning_rate": 0.02,
    "schedule": {"kind": "constant"},
    "loss": "mse",
    "optimiser": {"kind": "sgd"},
    "temperature": 1.0,
    "label_noise": None,
    "input_noise": None,
    "layer_rates": None,
    "frozen": (),
    "parameterisation": "standard",
}
GAUSSIAN, HEAVY = {"kind": "gaussian", "std": 0.3}, {"kind": "student-t", "scale": 0.2, "freedom": 3.0}
ADAM = {"kind": "adam"}
MODES = {
    "plain": {},
    "epochs": {"sampling": "epochs"},
    "all": {"batch": "all"},
    "online": {"sampling": "online"},
    "online, noise on both": {"sampling": "online", "label_noise": GAUSSIAN, "input_noise": GAUSSIAN},
    "online, heavy tails": {"sampling": "online", "label_noise": HEAVY},
    "online, flips": {"sampling": "online", "loss": "logistic", "label_noise": {"kind": "flips", "share": 0.2}},
    "label noise": {"label_noise": GAUSSIAN},
    "heavy label noise": {"label_noise": HEAVY, "batch": "all"},
    "fresh label noise": {"label_noise": GAUSSIAN | {"fresh": True}},
    "fresh input noise": {"input_noise": GAUSSIAN | {"fresh": True}, "loss": "binary-cross-entropy"},
    "input noise": {"input_noise": GAUSSIAN, "sampling": "epochs"},
    "flipped classes": {"loss": "cross-entropy", "label_noise": {"kind": "flips", "share": 0.3}},
    "flipped signs": {"loss": "exponential", "label_noise": {"kind": "flips", "share": 0.1}},
    "flipped bits": {"loss": "binary-cross-entropy", "label_noise": {"kind": "flips", "share": 0.3}},
    "fresh flips": {"loss": "cross-entropy", "label_noise": {"kind": "flips", "share": 0.3, "fresh": True}},
    "cross-entropy": {"loss": "cross-entropy"},
    "soft-cross-entropy": {"loss": "soft-cross-entropy"},
    "temperature": {"loss": "soft-cross-entropy", "temperature": 3.0},
    "temperature, fresh inputs": {
        "loss": "soft-cross-entropy",
        "temperature": 3.0,
        "input_noise": GAUSSIAN | {"fresh": True},
    },
    "binary-cross-entropy": {"loss": "binary-cross-entropy"},
    "logistic": {"loss": "logistic"},
    "exponential": {"loss": "exponential"},
    "weight decay": {"optimiser": {"kind": "sgd", "weight_decay": 0.1}},
    "l1": {"optimiser": {"kind": "sgd", "l1": 0.01}},
    "momentum": {"optimiser": {"kind": "sgd", "momentum": 0.9}},
    "nesterov": {"optimiser": {"kind": "sgd", "momentum": 0.8, "nesterov": True, "weight_decay": 0.01}},
    "adam": {"optimiser": ADAM, "learning_rate": 0.003},
    "adam with penalties": {"optimiser": ADAM | {"weight_decay": 0.1, "l1": 0.01}, "learning_rate": 0.003},
    "adamw": {"optimiser": {"kind": "adamw", "weight_decay": 0.3}, "learning_rate": 0.003},
    "gradient flow": {"optimiser": {"kind": "gradient-flow", "weight_decay": 0.05}, "batch": "all"},
    "cosine": {"schedule": {"kind": "cosine"}},
    "drops": {"schedule": {"kind": "drops", "at": (50, 120), "factor": 0.3}},
    "settle": {"schedule": {"kind": "settle"}},
    "inverse": {"schedule": {"kind": "inverse", "after": 30.0, "power": 1.0}},
    "inverse root": {"schedule": {"kind": "inverse", "after": 30.0, "power": 0.5}, "sampling": "online"},
    "warm-up": {"schedule": {"kind": "cosine", "warm_up": 40}, "optimiser": ADAM, "learning_rate": 0.003},
    "layer rates": {"layer_rates": (0.5, 2.0, 1.5)},
    "frozen last layer": {"frozen": (-1,)},
    "frozen first layers": {"frozen": (1, 2), "optimiser": {"kind": "sgd", "momentum": 0.5}},
    "frozen, flow": {"frozen": (1,), "optimiser": {"kind": "gradient-flow"}, "batch": "all"},
    "ntk": {"parameterisation": "ntk", "learning_rate": 0.2},
    "ntk, adam": {"parameterisation": "ntk", "optimiser": ADAM, "learning_rate": 0.003},
    "mup": {"parameterisation": "mup", "learning_rate": 0.002},
    "mup, adam": {"parameterisation": "mup", "optimiser": ADAM, "learning_rate": 0.003},
}


def compare(mode, draw, activation="relu", bias=True, members=2, depth=3):
    """Train by the package and by the reference; returns the largest difference over the largest weight."""
    how = DEFAULTS | mode
    widths = (draw.randint(2, 6), *(draw.randint(1, 7) for _ in range(depth - 1)), draw.randint(2, 4))
    generator = torch.Generator().manual_seed(draw.randint(0, 10**6))

    def network(name):
        pairs = list(itertools.pairwise(widths))
        w = [torch.randn(members, a, b, generator=generator, dtype=torch.float64) / a**0.5 for a, b in pairs]
        biases = [0.1 * torch.randn(members, b, generator=generator, dtype=torch.float64) for _, b in pairs]
        return Network(tuple(w), tuple(biases) if bias else None, name, slope_of(name, 0.1))

    teacher, students, seeds = network("tanh"), network(activation), [draw.randint(0, 2**40) for _ in range(members)]
    inputs = tt.inputs.Gaussian(train=draw.randint(4, 9), evaluate=1).draw(teacher, seeds)
    settings = tt.training.Training(steps=STEPS, **how)
    trained = tt.train(teacher, students, inputs, settings, engine="stacked").students
    worst = 0.0
    for s in range(members):
        arrays = [[a[s].numpy() for a in net.weights] for net in (teacher, students)]
        biases = [None if net.biases is None else [a[s].numpy() for a in net.biases] for net in (teacher, students)]
        member = Reference(
            arrays[1],
            biases[1],
            (arrays[0], biases[0], "tanh"),
            inputs.train[s].numpy(),
            seeds[s],
            how | {"activation": activation},
        ).run(STEPS)
        for ours, theirs in zip(trained.parameters, member.arrays, strict=True):
            size = max(1.0, abs(theirs).max())
            worst = max(worst, abs(ours[s].numpy() - theirs).max() / size)
    return worst


@pytest.mark.parametrize("name", MODES)
def test_a_mode_agrees_with_the_reference(name):
    draw = random.Random(name)
    assert compare(MODES[name], draw, "erf", bias=draw.random() < 0.7) < 1e-10


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_an_activation_agrees_with_the_reference(activation):
    draw = random.Random(activation)
    rate = 0.001 if activation in ("hermite-3", "squared-relu") else 0.02
    for depth in (2, 3):
        assert compare({"learning_rate": rate}, draw, activation, bias=depth == 2, depth=depth) < 1e-10


def test_a_mode_that_is_left_out_would_be_seen():
    """The comparison fails where the reference lacks what the package does: it can tell modes apart."""
    draw = random.Random(0)
    how = DEFAULTS | {"optimiser": {"kind": "sgd", "momentum": 0.9}}
    original = Reference.step

    def without(self, t, total, x, y):
        self.how = self.how | {"optimiser": {"kind": "sgd"}}
        original(self, t, total, x, y)

    Reference.step = without
    try:
        assert compare(how, draw, "erf") > 1e-4
    finally:
        Reference.step = original
