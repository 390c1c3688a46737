"""Distributions of decoders by name, against torch's own distributions."""

import math

import pytest
import torch

from tutelage.autoencoders.likelihoods import Likelihood, pair
from tutelage.errors import TutelageError


def _random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_densities_are_torchs():
    mean, log_variance, x = _random(3, 2, 2), 0.3 * _random(3, 2, 2), _random(3, 2, 2) + 1
    wanted = torch.distributions.Normal(mean, (0.5 * log_variance).exp()).log_prob(x).sum((1, 2))
    torch.testing.assert_close(Likelihood("normal").log_density((mean, log_variance), x), wanted)
    bits = (x > 1).double()
    wanted = torch.distributions.Bernoulli(logits=mean).log_prob(bits).sum((1, 2))
    torch.testing.assert_close(Likelihood("bernoulli").log_density(mean, bits), wanted)
    logits, symbols = _random(3, 4, 5), torch.arange(12).view(3, 4) % 5
    wanted = torch.distributions.Categorical(logits=logits).log_prob(symbols).sum(1)
    torch.testing.assert_close(Likelihood("categorical").log_density(logits, symbols), wanted)


def test_samples_have_the_decoders_moments():
    count = 40_000
    uniform = torch.rand(count, 2, generator=torch.Generator().manual_seed(0))
    logits = torch.tensor([0.5, -1.0]).expand(count, 2)
    share = Likelihood("bernoulli").sample(logits, uniform).mean(0)
    assert bool(((share - logits[0].sigmoid()).abs() < 4.5 * 0.5 / math.sqrt(count)).all())
    table = torch.tensor([0.1, 0.9, -0.5]).expand(count, 1, 3)
    drawn = Likelihood("categorical").sample(table, uniform[:, :1])
    share = torch.bincount(drawn[:, 0], minlength=3) / count
    assert bool(((share - table[0, 0].softmax(-1)).abs() < 4.5 * 0.5 / math.sqrt(count)).all())
    mean = torch.zeros(2, 1, requires_grad=True)
    Likelihood("normal").sample((mean, torch.zeros(2, 1)), torch.ones(2, 1)).sum().backward()
    assert mean.grad is not None


def test_a_law_of_ones_own_speaks_for_itself():
    class Ones:
        shape, discrete = (2, 3), True

        def log_density(self, x):
            return -x.sum(1)

        def sample(self, draw):
            return (draw < 0.5).float()

    distribution = Likelihood("distribution")
    assert distribution.symbols(Ones())
    assert distribution.shape(Ones()) == torch.Size((2, 3))
    assert distribution.log_density(Ones(), torch.ones(2, 3)).tolist() == [-3, -3]
    assert distribution.sample(Ones(), torch.rand(2, 3)).shape == (2, 3)
    with pytest.raises(TutelageError, match="of shape"):
        distribution.log_density(Ones(), torch.ones(2, 4))


def test_shapes():
    assert Likelihood("categorical").shape(torch.zeros(2, 3, 7)) == (2, 3)
    assert Likelihood("bernoulli").shape(torch.zeros(2, 3)) == (2, 3)


@pytest.mark.parametrize(
    ("kind", "x", "words"),
    [
        ("normal", torch.arange(4), "whole numbers"),
        ("normal", torch.tensor([0.0, 1.0]), "whole numbers"),
        ("normal", torch.tensor([0.5, math.nan]), "not finite"),
        ("bernoulli", torch.tensor([0.5]), "0 or 1"),
        ("categorical", torch.tensor([0.5]), "integer tensor"),
        ("categorical", torch.tensor([-1]), "from 0 up"),
    ],
)
def test_data_of_another_kind_are_refused(kind, x, words):
    with pytest.raises(TutelageError, match=words):
        Likelihood(kind).check(x)


def test_outputs_of_another_kind_are_refused():
    with pytest.raises(TutelageError, match="did you mean 'normal'"):
        Likelihood("normall")
    with pytest.raises(TutelageError, match="two tensors"):
        pair(torch.zeros(2, 2), "encoder")
    with pytest.raises(TutelageError, match="one tensor"):
        Likelihood("bernoulli").log_density((torch.zeros(2), torch.zeros(2)), torch.zeros(2))
    with pytest.raises(TutelageError, match="of shape"):
        Likelihood("bernoulli").log_density(torch.zeros(2, 3), torch.zeros(2, 4))


@pytest.mark.parametrize(
    ("kind", "out", "most"),
    [
        ("bernoulli", torch.zeros(2, 3, 4), 12 * math.log(2)),
        ("categorical", torch.zeros(2, 3, 5), 3 * math.log(5)),
        ("normal", (torch.zeros(2, 3), torch.zeros(2, 3)), None),
    ],
)
def test_information_is_limited_by_how_many_values_the_data_can_take(kind, out, most):
    assert Likelihood(kind).most(out) == (None if most is None else pytest.approx(most))
