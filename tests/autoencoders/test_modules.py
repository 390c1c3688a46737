"""The mutual autoencoder around ordinary torch modules."""

import math

import pytest
import torch
from safetensors.torch import save_file
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tutelage.autoencoders import MutualAutoencoder
from tutelage.errors import TutelageError
from tutelage.training import Settle


class Two(nn.Module):
    """A network that gives a pair: the two halves of its output."""

    def __init__(self, inputs: int, outputs: int, hidden: int = 24) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(inputs, hidden), nn.Tanh(), nn.Linear(hidden, 2 * outputs))

    def forward(self, x):
        return self.net(x.flatten(1).float()).chunk(2, dim=1)


class Symbols(nn.Module):
    """An encoder of symbols by a table."""

    def __init__(self, symbols: int, latent: int) -> None:
        super().__init__()
        self.table = nn.Embedding(symbols, 2 * latent)

    def forward(self, x):
        return self.table(x[:, 0]).chunk(2, dim=1)


@pytest.fixture(autouse=True)
def _same_start():
    torch.manual_seed(0)


def _numbers(count: int = 400) -> torch.Tensor:
    z = torch.randn(count, 1, generator=torch.Generator().manual_seed(1))
    return torch.cat([z, z], dim=1) + 0.3 * torch.randn(count, 2, generator=torch.Generator().manual_seed(2))


def _bits(count: int = 256) -> torch.Tensor:
    return (torch.rand(count, 6, generator=torch.Generator().manual_seed(3)) < 0.5).float()


def test_the_estimate_comes_to_the_target_and_the_bounds_enclose_it():
    told = []
    model = MutualAutoencoder(Two(2, 1), Two(1, 2), target=0.8, penalty=4.0)  # the likelihood wants more of it
    model.fit(_numbers(), steps=500, batch=64, learning_rate=5e-3, on_record=told.append)
    assert [record.step for record in told][-1] == 500
    assert told[-1].target == 0.8
    assert told[-1].estimate == pytest.approx(0.8, abs=0.12)
    assert not told[-1].collapsed
    found = model.bounds(samples=2000)
    assert found.lower == pytest.approx(0.8, abs=0.12)
    assert found.lower - 4 * found.lower_error < found.upper + 4 * found.upper_error
    assert model.active_units(_numbers()) == 1
    assert model.plain()[-1]["step"] == 500


def test_bits_learn_by_reinforce_from_a_loader_with_labels():
    data = DataLoader(TensorDataset(_bits(), torch.zeros(256)), batch_size=64)
    plain, forced = (MutualAutoencoder(Two(6, 2), nn.Linear(2, 6), target=t, kind="bernoulli") for t in (None, 1.0))
    for model in (plain, forced):
        model.fit(data, steps=400, batch=64, learning_rate=1e-2)
    assert plain.log[-1].estimate < 0.3
    assert forced.log[-1].estimate == pytest.approx(1.0, abs=0.2)
    assert set(forced.sample(50).unique().tolist()) <= {0.0, 1.0}
    assert forced.reconstruct(_bits(5)).shape == (5, 6)


def test_symbols():
    data = torch.arange(4).repeat(64).view(-1, 1)
    decoder = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 4), nn.Unflatten(1, (1, 4)))
    model = MutualAutoencoder(Symbols(4, 1), decoder, target=0.7, kind="categorical")
    model.fit(data, steps=400, batch=64, learning_rate=1e-2)
    assert model.log[-1].estimate == pytest.approx(0.7, abs=0.15)
    assert model.sample(10).dtype == torch.int64


def test_a_seed_gives_the_same_model_again():
    data = _numbers(100)
    ends = []
    for _ in range(2):
        torch.manual_seed(0)
        model = MutualAutoencoder(Two(2, 1), Two(1, 2), target=0.3).fit(data, steps=20, batch=16, seed=3)
        ends.append(model.encode(data)[0])
    assert torch.equal(*ends)


def test_saved_and_read_again(tmp_path):
    model = MutualAutoencoder(Two(2, 1), Two(1, 2), target=0.5, penalty=2.0).fit(_numbers(64), steps=5, batch=16)
    model.save(tmp_path / "one.safetensors")
    again = MutualAutoencoder.load(tmp_path / "one.safetensors", Two(2, 1), Two(1, 2))
    assert (again.target, again.penalty, again.likelihood.kind) == (0.5, 2.0, "normal")
    x = _numbers(10)
    torch.testing.assert_close(again.encode(x)[1], model.encode(x)[1])
    assert again.bounds(samples=64) == model.bounds(samples=64)
    with pytest.raises(TutelageError, match="does not fit"):
        MutualAutoencoder.load(tmp_path / "one.safetensors", Two(2, 1, hidden=3), Two(1, 2))
    with pytest.raises(TutelageError, match="cannot be read"):
        MutualAutoencoder.load(tmp_path / "none.safetensors", Two(2, 1), Two(1, 2))
    other = tmp_path / "other.safetensors"
    save_file({"a": torch.zeros(1)}, other)
    with pytest.raises(TutelageError, match="holds no mutual autoencoder"):
        MutualAutoencoder.load(other, Two(2, 1), Two(1, 2))


def test_a_vae_is_saved_without_a_target(tmp_path):
    MutualAutoencoder(Two(2, 1), Two(1, 2), None).fit(_numbers(16), steps=2, batch=4).save(tmp_path / "vae")
    assert MutualAutoencoder.load(tmp_path / "vae", Two(2, 1), Two(1, 2)).target is None


def test_switches_are_kept_with_the_weights(tmp_path):
    switches = {"resample": 3, "gradient": "reinforce"}
    model = MutualAutoencoder(Two(6, 2), nn.Linear(2, 6), 0.5, kind="bernoulli", **switches)
    model.fit(_bits(64), steps=5, batch=16).save(tmp_path / "one")
    again = MutualAutoencoder.load(tmp_path / "one", Two(6, 2), nn.Linear(2, 6))
    assert again.objective == model.objective
    assert torch.equal(again.reconstruct(_bits(5)), model.reconstruct(_bits(5)))


def test_a_lighter_kl_term_lets_a_vae_say_more():
    found = {}
    for name, switches in {"plain": {}, "beta": {"beta": 0.1}, "free bits": {"free_bits": 1.5}}.items():
        torch.manual_seed(0)
        model = MutualAutoencoder(Two(6, 2), nn.Linear(2, 6), None, kind="bernoulli", **switches)
        model.fit(_bits(), steps=300, batch=64, learning_rate=1e-2)
        found[name] = model.log[-1].kl
        assert model.log[-1].elbo == pytest.approx(model.log[-1].reconstruction - model.log[-1].kl, abs=1e-4)
    assert found["beta"] > found["plain"] + 0.5
    assert found["free bits"] > found["plain"] + 0.5


def test_the_sum_over_symbols_reaches_the_target():
    data = torch.arange(4).repeat(64).view(-1, 1)
    decoder = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 4), nn.Unflatten(1, (1, 4)))
    model = MutualAutoencoder(Symbols(4, 1), decoder, target=0.7, kind="categorical", gradient="sum")
    model.fit(data, steps=400, batch=64, learning_rate=3e-2, schedule=Settle(share=0.5))
    assert model.log[-1].estimate == pytest.approx(0.7, abs=0.1)
    assert 0.1 < model.log[-1].wrong_signs < 0.9


def test_all_that_a_user_wants_measured():
    model = MutualAutoencoder(Two(2, 1), Two(1, 2), target=0.8, penalty=4.0)
    x = _numbers(300)
    model.fit(x, steps=400, batch=64, learning_rate=5e-3)
    found = model.information(x, samples=1000)
    assert found.target == 0.8
    assert found.bounds == model.bounds(samples=1000)
    assert found.elbo == pytest.approx(found.reconstruction - found.kl)
    assert found.likelihood > found.elbo - 3 * found.elbo_error
    assert (found.active, found.latent) == (1, 1)
    assert 0 < found.wrong_signs < 1
    assert not found.collapsed


def test_refining_closes_the_bounds_and_leaves_the_model_alone():
    model = MutualAutoencoder(Two(2, 1), Two(1, 2), None).fit(_numbers(), steps=300, batch=64, learning_rate=1e-2)
    with torch.no_grad():
        for parameter in model.estimator.parameters():
            parameter.mul_(0.2)
    before, codes, samples = model.bounds(2000), model.encode(_numbers())[0], model.sample(9)
    after = model.refine(steps=300, learning_rate=1e-2).bounds(2000)
    assert after.lower > before.lower + 0.1
    assert after.upper - after.lower < before.upper - before.lower
    assert torch.equal(model.encode(_numbers())[0], codes)
    assert torch.equal(model.sample(9), samples)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(("target", "resample"), [(0.5, 1), (None, 3)])
def test_modules_on_a_gpu(target, resample):
    model = MutualAutoencoder(Two(6, 2).cuda(), nn.Linear(2, 6).cuda(), target, kind="bernoulli", resample=resample)
    x = _bits()
    model.fit(x, steps=60, batch=32, learning_rate=1e-2).refine(steps=5)
    assert model.sample(4).device.type == "cuda"
    assert model.reconstruct(x.cuda()).shape == x.shape
    assert model.information(x.cuda(), samples=64).latent == 2


def test_what_cannot_be_built_is_refused():
    encoder = Two(2, 1)
    for changes, words in (
        ({"resample": 2, "beta": 0.5}, "no KL term"),
        ({"warm_up": -1}, "at least 0"),
        ({"gradient": "sum"}, "leave the gradient alone"),
        ({"gradient": "exact"}, "'sum' or 'reinforce'"),
        ({"target": -1.0}, "at least 0"),
        ({"penalty": 0.0}, "above 0"),
        ({"kind": "poisson"}, "unknown kind of decoder"),
        ({"estimator": encoder}, "its own"),
    ):
        with pytest.raises(TutelageError, match=words):
            MutualAutoencoder(encoder, Two(1, 2), **{"target": 1.0, **changes})


def test_a_target_may_exceed_the_entropy_of_the_sample():
    """Sixteen samples of sixteen bits have log 16 = 2.8 nats, and a model of sixteen bits may carry 11.1."""
    x = (torch.rand(16, 16, generator=torch.Generator().manual_seed(0)) < 0.5).float()
    model = MutualAutoencoder(Two(16, 16), nn.Linear(16, 16), 6.0, kind="bernoulli", penalty=4.0)
    model.fit(x, steps=600, learning_rate=1e-2)
    assert model.bounds().lower > math.log(len(x)) + 1
    with pytest.raises(TutelageError, match=r"carry 11\.09 nats at most"):
        MutualAutoencoder(Two(16, 16), nn.Linear(16, 16), 11.1, kind="bernoulli").fit(x)


def test_what_cannot_be_learnt_from_is_refused():
    model = MutualAutoencoder(Two(2, 1), Two(1, 2), target=0.5)
    for data, words in (
        (torch.arange(8).view(4, 2), "whole numbers"),
        (_numbers(1), "at least 2"),
        ([], "empty"),
        (torch.rand(4, 3), "do not fit"),
        (torch.full((4, 2), math.inf), "not finite"),
    ):
        with pytest.raises(TutelageError, match=words):
            model.fit(data)
    with pytest.raises(TutelageError, match="'steps' in the training: input should be greater than 0"):
        model.fit(_numbers(8), steps=0)
    with pytest.raises(TutelageError, match=r"carry 0\.6931 nats at most"):
        MutualAutoencoder(Two(1, 1), nn.Linear(1, 1), 2.0, kind="bernoulli").fit(torch.tensor([[0.0], [1.0]]))
    with pytest.raises(TutelageError, match="not known yet"):
        MutualAutoencoder(Two(2, 1), Two(1, 2), 1.0).sample(3)
    with pytest.raises(TutelageError, match="diverged at step"):
        model.fit(_numbers(8), learning_rate=1e30, steps=20, batch=4)


def test_modules_in_float64_and_arrays_are_errors_that_say_what_to_do():
    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x):
            return self.layer(x).chunk(2, -1)

    x = (torch.rand(8, 4) < 0.5).double()
    model = MutualAutoencoder(Encoder().double(), nn.Linear(2, 4).double(), target=0.5, kind="bernoulli")
    with pytest.raises(TutelageError, match=r"codes in float64, and codes are drawn in float32: call \.float\(\)"):
        model.fit(x, steps=2)
    with pytest.raises(TutelageError, match="got ndarray: pass torch"):
        MutualAutoencoder(Encoder(), nn.Linear(2, 4), target=0.5, kind="bernoulli").fit(x.numpy(), steps=2)
