"""Bounds of the information hold around the exact one, and say why when they look odd."""

import pytest
import torch

from tutelage.autoencoders import (
    Bounds,
    bounds,
    categorical_models,
    evaluate,
    normal_models,
    settled_adam,
    train_models,
)
from tutelage.autoencoders.bounds import from_samples
from tutelage.autoencoders.training import normal_data
from tutelage.errors import TutelageError


def test_bounds_enclose_the_exact_information():
    model = normal_models([0, 1], hidden=16)
    train_models(model, normal_data, [0.8, 0.3], [0, 1], settled_adam(300, 64, 5e-3))
    exact = evaluate(model)
    for found, information, infomax in zip(bounds(model, [0, 1]), exact.information, exact.infomax, strict=True):
        assert found.lower < float(information) + 4 * found.lower_error
        assert found.upper > float(information) - 4 * found.upper_error
        assert abs(found.lower - float(infomax)) < 4.5 * found.lower_error
        assert found.upper - found.lower < 0.15


def test_more_codes_tighten_the_upper_bound():
    model = categorical_models([0], symbols=5)
    for parameter in model.decoder.parameters():
        parameter.data *= 4
    few, many = (bounds(model, [0], codes=k)[0].upper for k in (1, 64))
    information = float(evaluate(model).information)
    assert few > many > information - 0.05


def test_a_negative_bound_says_why():
    found = bounds(categorical_models([0], symbols=4), [0])[0]
    assert found.lower < 0.01
    odd = Bounds(-0.2, 0.01, 0.3, 0.01)
    assert "worse than the prior" in str(odd)
    assert odd.interval == (0.0, 0.3)
    assert "more samples" in Bounds(0.9, 0.01, 0.4, 0.01).why
    assert Bounds(0.5, 0.1, 0.4, 0.1).interval == (0.5, 0.5)
    assert Bounds(0.1, 0.1, 0.4, 0.1).why == ""


def test_large_latents_are_served():
    [found] = bounds(normal_models([0], latent=6), [0], samples=500)
    assert found.upper > found.lower


def test_what_cannot_be_bounded_is_refused():
    model = normal_models([0])
    with pytest.raises(TutelageError, match="two samples"):
        bounds(model, [0], samples=1)
    with pytest.raises(TutelageError, match="one each"):
        bounds(model, [0, 1])
    with pytest.raises(TutelageError, match="diverged"):
        from_samples(torch.full((3,), torch.nan), torch.zeros(3), torch.zeros(3), 1.0)
    with pytest.raises(TutelageError, match="two samples"):
        from_samples(torch.zeros(1), torch.zeros(1), torch.zeros(1), 1.0)
