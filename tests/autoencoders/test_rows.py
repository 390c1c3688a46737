"""The decoder of rows: a distribution that sums to 1, and samples that follow it."""

import itertools

import pytest
import torch

from tutelage.autoencoders import MutualAutoencoder, conv_encoder, row_decoder
from tutelage.errors import TutelageError
from tutelage.training import Settle


def _every(height: int, width: int) -> torch.Tensor:
    """All images of bits: [2^(H W), 1, H, W]."""
    return torch.tensor(list(itertools.product((0.0, 1.0), repeat=height * width))).view(-1, 1, height, width)


def test_probabilities_sum_to_one_and_samples_follow_them():
    decoder, every = row_decoder((1, 3, 2), 2, hidden=6, seed=3), _every(3, 2)
    z, count = torch.tensor([[0.8, -1.5]]), 40_000
    with torch.no_grad():
        decoder.symbols.weight.mul_(3)
        p = decoder(z.expand(len(every), -1)).log_density(every).exp()
        uniform = torch.rand(count, 1, 3, 2, generator=torch.Generator().manual_seed(0))
        x = decoder(z.expand(count, -1)).sample(uniform)
    assert float(p.sum()) == pytest.approx(1, abs=1e-5)
    place = (x.flatten(1) * 2 ** torch.arange(5, -1, -1)).sum(1).long()
    share = torch.bincount(place, minlength=len(every)) / count
    assert bool(((share - p).abs() < 4.5 * (p * (1 - p) / count).sqrt() + 1e-4).all())
    assert float(p.max()) > 2 / len(every)  # far enough from uniform for the test to mean something


def test_a_row_depends_on_the_rows_above_and_on_the_code():
    decoder, x = row_decoder((1, 4, 3), 2, hidden=6), _every(4, 3)[:64]
    z = torch.randn(64, 2, generator=torch.Generator().manual_seed(0)).requires_grad_()
    decoder(z).log_density(x).sum().backward()
    assert bool((z.grad.abs().sum(1) > 0).all())


def test_a_strong_decoder_is_told_what_to_say():
    x = _every(4, 4)[torch.tensor([0, 3, 51, 4080, 65535, 61440, 771, 21845])].repeat(32, 1, 1, 1)
    model = MutualAutoencoder(
        conv_encoder((1, 4, 4), 1, width=8), row_decoder((1, 4, 4), 1, hidden=16), 1.0, kind="distribution", penalty=3.0
    )
    model.fit(x, steps=150, batch=64, learning_rate=2e-2, schedule=Settle(share=0.5))
    assert model.log[-1].estimate == pytest.approx(1.0, abs=0.2)
    assert model.reconstruct(x).shape == x.shape
    with pytest.raises(TutelageError, match=r"carry 11\.09 nats at most"):
        MutualAutoencoder(conv_encoder((1, 4, 4), 1), row_decoder((1, 4, 4), 1), 12.0, kind="distribution").fit(x)
    with pytest.raises(TutelageError, match="of shape"):
        model.likelihood.log_density(model.decoder(torch.zeros(2, 1)), x[:2, :, :3])


def test_what_cannot_be_built_is_refused():
    for shape in ((1, 8, 11), (3, 8, 8), (8, 8)):
        with pytest.raises(TutelageError, match="rows of 10 pixels"):
            row_decoder(shape, 2)
