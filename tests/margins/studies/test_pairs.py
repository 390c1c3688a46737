"""Shares of pairs are those of a loop over all of them."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage.margins.datasets import LabelledPoints
from tutelage.margins.orthogonal import separability
from tutelage.margins.studies._pairs import BINS, pair_histogram, pair_shares


@given(st.integers(0, 10**6), st.integers(1, 5))
def test_shares_are_those_of_a_loop(seed, features):
    generator = torch.Generator().manual_seed(seed)
    h = torch.randn(2, 9, features, generator=generator, dtype=torch.float64)
    y = torch.tensor([0, 1, 0, 0, 1, 1, 1, 0, 0])
    found = pair_shares(h, y)
    for s in range(2):
        same, cross = [], []
        for i in range(9):
            for j in range(i + 1, 9):
                (same if y[i] == y[j] else cross).append(float(h[s, i] @ h[s, j]))
        same, cross = np.array(same), np.array(cross)
        assert found.cross_positive[s].item() == pytest.approx((cross > 0).mean())
        assert found.same_not[s].item() == pytest.approx((same <= 0).mean())
        assert found.ahead[s].item() == pytest.approx((same[:, None] > cross).mean(), abs=1e-12)
        wanted = (same.mean() - cross.mean()) / h[s].square().sum(1).mean().item()
        assert found.gap[s].item() == pytest.approx(wanted)


def test_it_agrees_with_the_judge_of_separability():
    generator = torch.Generator().manual_seed(5)
    h, y = torch.randn(3, 12, 4, generator=generator, dtype=torch.float64), torch.tensor([0, 1] * 6)
    found, judged = pair_shares(h, y), separability(LabelledPoints(h, 2 * y - 1))
    assert torch.equal((found.cross_positive * 36).round().long(), judged.cross_violations)
    assert torch.equal((found.same_not * 30).round().long(), judged.same_violations)


def test_products_below_rounding_count_as_zero():
    h = torch.tensor([[[1.0, 1.0], [1.0, 1.0], [1.0, -1.0 - 1e-7], [1.0, -1.0 + 1e-7]]])
    assert pair_shares(h, torch.tensor([0, 0, 1, 1])).cross_positive.item() == 0


def test_densities_are_of_the_three_kinds_of_pairs():
    h = torch.cat([torch.eye(2)[:1].repeat(50, 1), -2 * torch.eye(2)[:1].repeat(50, 1)])
    edges, density = pair_histogram(h, torch.tensor([0] * 50 + [1] * 50))
    assert density.shape == (3, BINS)
    middle = (edges[1:] + edges[:-1]) / 2
    assert np.allclose([middle[d.argmax()] for d in density], [-0.8, 0.4, 1.6], atol=0.04)
    assert np.allclose(density.sum(1) * (edges[1] - edges[0]), 1)
