"""Losses and accuracies of many networks on the same points."""

import weakref

import pytest
import torch

from tutelage.functions.matching import judging
from tutelage.networks import Network, outputs


def networks(count: int) -> list[Network]:
    draw = torch.Generator().manual_seed(0)
    shapes = [(2, 3, 4), (2, 4, 2)]
    return [
        Network([torch.randn(s, generator=draw, dtype=torch.float64) for s in shapes], None, activation="relu")
        for _ in range(count)
    ]


@pytest.mark.parametrize("classes", [False, True])
def test_outputs_of_one_network_are_kept_at_a_time(monkeypatch, classes):
    """A path through 300 networks with 32 members held 38 GB of outputs."""
    x = torch.randn(2, 5, 3, dtype=torch.float64)
    wanted = torch.tensor([[0, 1, 1, 0, 1]] * 2) if classes else torch.zeros(2, 5, 2, dtype=torch.float64)
    alive: list[weakref.ref] = []

    def counted(network, points):
        assert sum(tensor() is not None for tensor in alive) == 0
        answers = outputs(network, points)
        alive.append(weakref.ref(answers))
        return answers

    several = networks(4)
    expected = [outputs(network, x) for network in several]
    monkeypatch.setattr(judging, "outputs", counted)
    losses, right = judging.judged(iter(several), x, wanted)
    assert len(alive) == 4
    if classes:
        assert right.equal(torch.stack([(a.argmax(2) == wanted).double().mean(1) for a in expected]))
        nats = [-a.log_softmax(2).gather(2, wanted.unsqueeze(2)).mean((1, 2)) for a in expected]
        assert losses == pytest.approx(torch.stack(nats))
    else:
        assert right is None
        assert losses.equal(torch.stack([a.square().sum(2).mean(1) / 2 for a in expected]))
