"""The table of methods: what it says is what is called, for every activation."""

import pytest
import torch

from tutelage import TutelageError
from tutelage.networks.activations import ACTIVATIONS, registered_by_user
from tutelage.population import (
    QUANTITIES,
    Units,
    averages,
    biased_noise,
    biased_smooth,
    gradient,
    hessian,
    kernels,
    loss,
    method,
)
from tutelage.population.overlaps import overlaps

SHIPPED = [name for name in ACTIVATIONS if not registered_by_user(name)]
ASK = {"loss": loss, "gradient": gradient, "flow": gradient, "Hessian": hessian}


def pair(activation, biases, random_network):
    if biases:
        return [random_network((3, 2, 1), members=1, seed=seed, activation=activation) for seed in (1, 2)]
    g = torch.Generator().manual_seed(0)
    w = torch.randn(2, 1, 2, 3, dtype=torch.float64, generator=g) / 3**0.5
    return [Units(each, torch.ones(1, 2, 1), activation) for each in w]


def watched(function, name, called):
    def call(*a, **o):
        called.add(name)
        return function(*a, **o)

    return call


@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize("activation", SHIPPED)
def test_what_is_said_is_what_is_called(activation, biases, random_network, monkeypatch):
    """Quadrature over pairs, nodes and sums of erfs are watched; what is not known raises an error."""
    called = set()
    watched_names = (
        (kernels, "expected"), (biased_smooth, "expected"), (averages, "sampled_noise"), (averages, "_as_erfs"),
        (biased_noise, "_region"),
    )  # fmt: skip
    for module, name in watched_names:
        monkeypatch.setattr(module, name, watched(getattr(module, name), name, called))
    teacher, students = pair(activation, biases, random_network)
    for what in QUANTITIES:
        said = method(activation, what, biases=biases)
        called.clear()
        if said == "not known":
            with pytest.raises(TutelageError):
                ASK.get(what, overlaps)(teacher, students)
        elif what == "order parameters":
            averages.averages(overlaps(teacher, students))
            found = called & {"sampled_noise", "_as_erfs", "_region"}
            ways = {"quadrature": "sampled_noise", "sum of erfs": "_as_erfs", "two integrals": "_region"}
            assert found == ({ways[said]} if said in ways else set())
        else:
            ASK[what](teacher, students)
            assert called == ({"expected"} if said == "quadrature" else set())


def test_unknown_names():
    with pytest.raises(TutelageError, match="unknown quantity 'hessian'; did you mean 'Hessian'"):
        method("erf", "hessian")
    with pytest.raises(TutelageError, match="unknown activation 'gelo'"):
        method("gelo", "loss")
