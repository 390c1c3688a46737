"""Random training settings for every trainer: it trains, or says in one sentence what it does not support."""

import copy

import pytest
import torch
from torch import nn

from tutelage import TutelageError, draws
from tutelage.autoencoders import MutualAutoencoder, sentence_models
from tutelage.autoencoders.parts import normal_models
from tutelage.autoencoders.sentence_training import train_sentences
from tutelage.autoencoders.training import normal_data, train_models
from tutelage.distillation import distil
from tutelage.exits.multi_exit import multi_exit_mlp
from tutelage.exits.training import train_exits
from tutelage.networks import Network
from tutelage.networks.layered import Architecture, Dense, Layered
from tutelage.training import Training, train
from tutelage.training.classify import classify, small_uniform
from tutelage.training.inputs import Inputs
from tutelage.training.layered import fit

N = 12  # samples
X = draws.normals(draws.keys([0], "points"), 3 * N).view(N, 3).float()
Y = (X[:, 0] > 0).long()
MODULE = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
STUDENTS = small_uniform([0, 1], 3, 4, factor=1.0).network


class Two(nn.Module):
    """Mean and log-variance."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.net = nn.Linear(inputs, 2 * outputs)

    def forward(self, x):
        return self.net(x).chunk(2, -1)


def students(settings):
    inputs = Inputs(X.expand(2, -1, -1), X.expand(2, -1, -1), (0, 1))
    return train(Network(STUDENTS.weights), STUDENTS, inputs, settings).students.parameters


def layered(settings):
    model = Layered(Architecture((1, 1, 3), (Dense(4),), 1 if settings.loss.startswith("b") else 2, pool=False), [0, 1])
    labels = torch.zeros(1, N, 2) if settings.loss == "mse" else Y
    fit(model, X.view(N, 1, 1, 3), labels, settings)
    return list(model.parameters())


def separable(settings):
    start = small_uniform([0, 1], 3, 4)
    return classify(start, X.expand(2, -1, -1), (2.0 * Y - 1).expand(2, -1), [0, 1], settings).weights


def exits(settings):
    return list(train_exits(multi_exit_mlp(3, (4, 4), 2), X, Y, settings).model.parameters())


def distilled(settings):
    return list(distil(MODULE, copy.deepcopy(MODULE), X, settings).student.parameters())


def stacked_autoencoders(settings):
    model = normal_models([0, 1], hidden=4)
    train_models(model, normal_data, [None, 0.5], [0, 1], settings)
    return list(model.decoder.parameters())


def sentences(settings):
    model = sentence_models([0], 6, 2, latent=2, hidden=4, embedding=3)
    train_sentences(model, torch.ones(N, 2, dtype=torch.int64), [0.5], [0], settings)
    return list(model.decoder.parameters())


def autoencoder(settings):
    model = MutualAutoencoder(Two(3, 1), Two(1, 3), 0.3).fit(X, settings)
    return list(model.decoder.parameters())


TRAINERS = (students, layered, separable, exits, distilled, stacked_autoencoders, sentences, autoencoder)
CHOICES = {
    "batch": (1, 2, 5, N, N + 1, "all"),
    "sampling": ("replacement", "epochs"),
    "learning_rate": (0.0, 0.05, 0.05, 0.05, 1e30, (0.1, 0.2), (0.1, 0.2, 0.3)),
    "schedule": (
        {"kind": "cosine"},
        {"kind": "settle", "share": 0.5},
        {"kind": "drops", "at": (1, 2)},
        {"kind": "drops", "at": (1,), "unit": "epochs"},
        {"kind": "drops", "at": (2**62,), "unit": "epochs"},
    ),
    "loss": ("mse", "cross-entropy", "soft-cross-entropy", "binary-cross-entropy"),
    "optimiser": (
        {"kind": "adam"},
        {"kind": "sgd", "momentum": 0.9},
        {"kind": "sgd", "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
    ),
    "mixed_precision": (True, False),
}


def drawn(generator):
    """Settings: a length, and each of the others with a chance of a quarter."""
    length = str(generator.choice(["steps", "epochs"]))
    values = {length: int(generator.integers(0 if length == "epochs" else 1, 4)), "learning_rate": 0.05, "batch": 4}
    for name, choices in CHOICES.items():
        if generator.random() < 0.25:
            values[name] = choices[generator.integers(len(choices))]
    return values


def outcome(trainer, settings):
    """Whether all weights are finite after training, and the error there was instead."""
    try:
        return all(w.isfinite().all() for w in trainer(settings)), None
    except TutelageError as refusal:
        return None, str(refusal)


@pytest.mark.filterwarnings("ignore")
def test_a_trainer_trains_or_says_what_it_does_not_support(attack):
    generator, trained = attack.generator(), dict.fromkeys(TRAINERS, 0)
    for _ in attack.rounds(40):
        values = drawn(generator)
        for trainer in TRAINERS:
            finite, said = outcome(trainer, Training(**values))
            assert said is None or "\n" not in said
            assert finite is not False or values["learning_rate"] == 1e30, (trainer.__name__, values)
            trained[trainer] += said is None
    assert min(trained.values()) > 0, trained
