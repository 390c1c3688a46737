"""Draws one after the other."""

import torch

from tutelage.autoencoders.streams import NamedDraws

CPU = torch.device("cpu")


def test_names_and_seeds_have_streams_of_their_own():
    size = torch.Size((5,))
    stream = NamedDraws(1, CPU)
    assert not torch.equal(stream.normal("a", size), stream.normal("b", size))
    assert not torch.equal(NamedDraws(1, CPU).normal("a", size), NamedDraws(2, CPU).normal("a", size))
    assert not torch.equal(NamedDraws(1, CPU).normal("a", size), NamedDraws(1, CPU, "held-out-").normal("a", size))


def test_what_is_made_ahead_does_not_change_the_draws():
    whole = NamedDraws(3, CPU).uniform("a", torch.Size((70_000,)))
    stream = NamedDraws(3, CPU)
    parts = torch.cat([stream.uniform("a", torch.Size((10_000,))) for _ in range(7)])
    assert torch.equal(whole, parts)
    assert 0 < float(whole.min()) < float(whole.max()) < 1


def test_rows_are_below_the_bound():
    rows = NamedDraws(0, CPU).rows(1000, 7)
    assert rows.min() == 0
    assert rows.max() == 6
