"""One step of Algorithm 4.1: switches of the bound, and the two gradients of symbols."""

import pytest
import torch
from torch import nn

from tutelage.autoencoders import InformationObjective
from tutelage.autoencoders.bounds import Joint, NamedDraws
from tutelage.autoencoders.likelihoods import Likelihood
from tutelage.autoencoders.steps import bound, gain, kept_codes
from tutelage.errors import TutelageError

CPU = torch.device("cpu")
SYMBOLS = 5


class Table(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(SYMBOLS, 4)
        nn.init.normal_(self.table.weight, std=0.5)

    def forward(self, x):
        return self.table(x[:, 0]).chunk(2, dim=1)


@pytest.fixture
def joint() -> Joint:
    torch.manual_seed(0)
    decoder = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, SYMBOLS), nn.Unflatten(1, (1, SYMBOLS)))
    found = Joint(Table(), decoder, Table(), Likelihood("categorical"))
    found.fits(torch.zeros(2, 1, dtype=torch.long))
    return found


DATA = torch.arange(40).view(-1, 1) % SYMBOLS


@torch.no_grad()
def test_the_kl_term_is_weighed_and_has_its_floor(joint):
    plain, half, free = (
        bound(joint, DATA, NamedDraws(0, CPU), how, 0)
        for how in (
            InformationObjective(),
            InformationObjective(beta=3.0, warm_up=6),
            InformationObjective(free_bits=100.0),
        )
    )
    fit, kl = float(plain.reconstruction), float(plain.kl)
    assert float(plain.climbed) == pytest.approx(fit - kl)
    assert float(half.climbed) == pytest.approx(fit - 3 / 6 * kl, rel=1e-5)
    assert float(half.elbo) == pytest.approx(fit - kl)
    assert float(free.climbed) == pytest.approx(fit - 100, rel=1e-5)


@torch.no_grad()
def test_resampling_closes_in_on_the_likelihood(joint):
    one, few, many = (
        sum(
            float(bound(joint, DATA, NamedDraws(s, CPU), InformationObjective(resample=k), 0).climbed)
            for s in range(60)
        )
        / 60
        for k in (1, 3, 30)
    )
    z = torch.randn(100_000, 2, generator=torch.Generator().manual_seed(0))
    exact = float(joint.decoder(z).softmax(-1).mean((0, 1)).log().mean())
    assert one < few < many < exact + 0.01
    assert many == pytest.approx(exact, abs=0.05)


def test_reinforce_and_the_sum_have_the_same_gradient(joint):
    weight = joint.decoder[2].weight

    def gradients(how: str, count: int) -> torch.Tensor:
        stream, found = NamedDraws(0, CPU), []
        for _ in range(count):
            joint.decoder.zero_grad()
            gain(joint, stream, how, 512).backward()
            found.append(weight.grad.clone())
        return torch.stack(found)

    noisy, exact = gradients("reinforce", 150), gradients("sum", 150)
    error = ((noisy.var(0) + exact.var(0)) / 150).sqrt()
    assert bool(((noisy.mean(0) - exact.mean(0)).abs() < 4.5 * error).all())
    assert float(exact.var(0).mean()) < 0.2 * float(noisy.var(0).mean())
    assert all(p.grad is None for p in joint.estimator.parameters())


def test_the_sum_is_for_one_symbol_a_sample():
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Linear(1, 2 * SYMBOLS)

        def forward(self, z):
            return self.net(z).unflatten(1, (2, SYMBOLS))

    joint = Joint(Table(), Two(), Table(), Likelihood("categorical"), size=1)
    with pytest.raises(TutelageError, match="2 symbols"):
        gain(joint, NamedDraws(0, CPU), "sum", 128)


def test_of_several_codes_one_is_kept_by_its_weight(joint):
    x = torch.zeros(30_000, 1, dtype=torch.long)
    kept = kept_codes(joint, x, NamedDraws(0, CPU), 20)
    z = torch.randn(400_000, 2, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        weight = joint.decoder(z)[:, 0].softmax(-1)[:, 0]
        wanted = (weight.unsqueeze(1) * z).sum(0) / weight.sum()  # mean of the model's posterior
        plain = kept_codes(joint, x, NamedDraws(0, CPU), 1).mean(0)
    assert float((kept.mean(0) - wanted).abs().max()) < 0.25 * float((plain - wanted).abs().max())
