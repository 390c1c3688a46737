"""Factorisations find what was mixed."""

import numpy as np
import pytest
import torch

from tutelage.measures import correlations
from tutelage.planted.methods.factors import dictionary, ica, nmf, pca


class Mixed:
    """Sparse non-negative sources mixed into eight activations, each mostly into units of its own."""

    def __init__(self, sources=3, units=8, count=1_500):
        draw = torch.Generator().manual_seed(2)
        present = torch.rand(2, count, sources, generator=draw) < 0.1
        self.sources = (present * torch.rand(2, count, sources, generator=draw)).double()
        own = torch.arange(units) % sources == torch.arange(sources)[:, None]
        self.mixing = (own + 0.1 * torch.rand(2, sources, units, generator=draw)).double()
        self.seeds = (0, 1)

    def activations(self, points):
        return self.sources @ self.mixing


def best(mixed, answer):
    code = mixed.activations(None) @ torch.as_tensor(answer.directions).double().mT
    return correlations(mixed.sources, code).abs().amax(2)


@pytest.mark.parametrize(("function", "least"), [(ica, 0.99), (nmf, 0.8), (dictionary, 0.8)])
def test_mixed_sources_are_separated(function, least):
    mixed = Mixed()
    assert (best(mixed, function(mixed, None)) > least).all()


def test_principal_directions_are_those_of_the_singular_values():
    mixed = Mixed()
    answer = pca(mixed, None)
    f = mixed.activations(None)[0]
    _, values, rows = torch.linalg.svd(f - f.mean(0), full_matrices=False)
    count = int(answer.count[0])
    found = torch.as_tensor(answer.directions[0][:count])
    assert torch.allclose((found @ rows[:count].T).abs(), torch.eye(count).double(), atol=1e-8)
    shares = values[:count] ** 2 / (values**2).sum()
    # the variance that is linear in a principal code is its own
    assert np.allclose(np.asarray(answer.scores)[0][:count], shares, atol=1e-8)
    assert count == int((values.square().cumsum(0) < 0.99 * values.square().sum()).sum()) + 1


def test_units_that_do_not_vary_are_left_out():
    class Still(Mixed):
        def activations(self, points):
            return torch.cat([super().activations(points), torch.zeros(2, 1_500, 1).double()], 2)

    for function in (pca, nmf):
        answer = function(Still(), None)
        assert (np.asarray(answer.directions)[..., -1] == 0).all()
    nothing = Mixed()
    nothing.mixing = torch.zeros(2, 3, 8).double()
    assert np.asarray(pca(nothing, None).directions).shape == (2, 1, 8)
