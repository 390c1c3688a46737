"""Algorithm 4.1: what it reaches, what it draws, what it refuses."""

import math

import pytest
import torch

from tutelage.autoencoders import InformationObjective, settled_adam
from tutelage.autoencoders.exact import evaluate
from tutelage.autoencoders.objective import to_prior
from tutelage.autoencoders.parts import categorical_models, normal_models
from tutelage.autoencoders.training import _StepNoise, normal_data, train_models, uniform_symbols
from tutelage.errors import TutelageError
from tutelage.training import Training

SHORT = settled_adam(60, 32, 5e-3)


def test_c4_8_the_information_asked_for_is_met():
    targets = [None, 0.0, 0.7]
    model = normal_models([0, 0, 0], hidden=16)
    course = train_models(model, normal_data, targets, [0, 0, 0], settled_adam(600, 64, 5e-3))
    found = evaluate(model)
    assert float(found.information[2]) == pytest.approx(0.7, abs=0.05)
    assert found.collapsed.tolist() == [True, True, False]
    assert float(course.estimate[-1, 2]) == pytest.approx(0.7, abs=0.1)
    assert course.steps == (600,)


def test_c4_10_symbols_have_no_more_than_their_entropy():
    model = categorical_models([0, 1], symbols=3)
    most = math.log(3)
    train_models(model, uniform_symbols(3), [most] * 2, [0, 1], settled_adam(400, learning_rate=1e-2), most=most)
    information = evaluate(model).information
    assert bool((information <= most).all())
    assert bool((information > 0.8).all())


@pytest.mark.parametrize("gradient", ["sum", "reinforce"])
def test_both_gradients_of_symbols_raise_information(gradient):
    model = categorical_models([0], symbols=4)
    how = InformationObjective(gradient=gradient)
    train_models(
        model, uniform_symbols(4), [0.6], [0], settled_adam(300, learning_rate=1e-2), objective=how, most=math.log(4)
    )
    assert float(evaluate(model).information[0]) == pytest.approx(0.6, abs=0.12)


def test_a_member_is_trained_the_same_whoever_stands_beside_it():
    alone, together = normal_models([4], hidden=8), normal_models([9, 4], hidden=8)
    train_models(alone, normal_data, [0.5], [4], SHORT)
    train_models(together, normal_data, [None, 0.5], [9, 4], SHORT)
    for a, b in zip(alone.decoder.parameters(), together.decoder.parameters(), strict=True):
        torch.testing.assert_close(a[0], b[1], rtol=1e-3, atol=1e-4)


def test_the_three_batches_of_a_step_are_different_draws():
    model = normal_models([0])
    part = _StepNoise(model, [0], 1, 32)(7)
    assert len(part.latent) == len(part.sample) == 3
    gradient, sign, estimator = part.latent
    assert not torch.equal(gradient, sign)
    assert not torch.equal(sign, estimator)
    again = _StepNoise(model, [0], 1, 32)
    for step in range(8):
        last = again(step)
    torch.testing.assert_close(last.latent[1], sign)


def test_the_estimator_never_meets_data(monkeypatch):
    """Data far from anything the model makes do not reach r, and a VAE's decoder does not hear of r."""
    model = normal_models([0], hidden=8)
    seen = []
    known = type(model.estimator).moments

    def watched(self, x):
        if self is model.estimator:
            seen.append(float(x.detach().abs().max()))
        return known(self, x)

    monkeypatch.setattr(type(model.estimator), "moments", watched)
    far = lambda key, count, start: normal_data(key, count, start) + 50.0  # noqa: E731
    train_models(model, far, [None], [0], settled_adam(5, 32, 5e-3))
    assert len(seen) == 15  # sign, gradient and its own step
    assert max(seen) < 20


def test_the_sign_decides_the_direction():
    start = categorical_models([0], symbols=4)
    up, down = (categorical_models([0], symbols=4) for _ in range(2))
    how = InformationObjective(penalty=10.0)
    train_models(up, uniform_symbols(4), [1.3], [0], SHORT, objective=how)
    train_models(down, uniform_symbols(4), [0.0], [0], SHORT, objective=how)
    information = [float(evaluate(m).information[0]) for m in (down, start, up)]
    assert information[0] < information[1] < information[2]


def test_switches_of_the_kl_term_keep_a_vae_from_collapsing():
    found, line = {}, torch.linspace(-2, 2, 101).view(1, -1, 1)
    for name, how in {
        "plain": InformationObjective(),
        "beta": InformationObjective(beta=0.1),
        "warm-up": InformationObjective(warm_up=10_000),
        "free bits": InformationObjective(free_bits=1.0),
    }.items():
        model = normal_models([0], hidden=8)
        train_models(model, normal_data, [None], [0], settled_adam(200, 32, 5e-3), objective=how)
        with torch.no_grad():
            found[name] = float(to_prior(*model.encoder.moments(line)).mean())
    assert all(found[name] > found["plain"] + 0.1 for name in ("beta", "warm-up", "free bits"))


def test_settings_along_the_way():
    how = InformationObjective(beta=2.0, warm_up=10)
    rates = list(settled_adam(100, learning_rate=1.0, share=0.5).rates(100))
    assert how.kl_weight(4) == 1.0
    assert how.kl_weight(50) == 2.0
    assert rates[0] == rates[50] == pytest.approx(1.0)
    assert rates[99] == pytest.approx(0.1, abs=0.02)


def test_resampling_trains_and_records():
    model = categorical_models([0], symbols=4)
    how = InformationObjective(resample=3)
    shares = []
    course = train_models(
        model,
        uniform_symbols(4),
        [1.0],
        [0],
        SHORT,
        objective=how,
        record=[20, 40],
        on_progress=shares.append,
        most=math.log(4),
    )
    assert course.steps == (20, 40, 60)
    assert course.estimate.shape == course.elbo.shape == (3, 1)
    assert shares[-1] == 1.0


def test_wrong_signs_are_rare_far_from_the_target_and_half_of_all_at_it():
    targets, how = [None, 5.0, 0.3], settled_adam(500, 32, 1e-2)
    course = train_models(normal_models([0] * 3, hidden=8), normal_data, targets, [0] * 3, how, record=[100, 300])
    assert course.wrong_signs.shape == (3, 3)
    assert course.wrong_signs[:, 0].tolist() == [0, 0, 0]
    assert float(course.wrong_signs[-1, 1]) < 0.02
    assert 0.2 < float(course.wrong_signs[-1, 2]) < 0.7


def test_a_device_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(TutelageError, match="no CUDA device"):
        train_models(normal_models([0]), normal_data, [0.5], [0], SHORT, device="cuda")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("distribution", ["numbers", "symbols"])
def test_a_gpu_trains_the_same_models(distribution):
    build, data = (
        (normal_models, normal_data) if distribution == "numbers" else (categorical_models, uniform_symbols(10))
    )
    here, there = build([3, 4]), build([3, 4])
    ours = train_models(here, data, [None, 0.5], [3, 4], settled_adam(20, 32, 5e-3))
    theirs = train_models(there, data, [None, 0.5], [3, 4], settled_adam(20, 32, 5e-3), device="cuda")
    torch.testing.assert_close(ours.estimate, theirs.estimate, rtol=1e-2, atol=1e-2)
    for a, b in zip(here.decoder.parameters(), there.decoder.parameters(), strict=True):
        assert b.device.type == "cpu"
        torch.testing.assert_close(a, b, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(
    ("targets", "words"),
    [([-0.1], "at least 0"), ([math.inf], "finite"), ([9.0], "1.386 nats at most"), ([1.0, 1.0], "one each")],
)
def test_targets_that_cannot_be_met_are_refused(targets, words):
    with pytest.raises(TutelageError, match=words):
        train_models(categorical_models([0], 4), uniform_symbols(4), targets, [0], SHORT, most=math.log(4))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"penalty": 0.0}, "above 0"),
        ({"resample": 0}, "resample must be at least 1, got 0"),
        ({"resample": 2, "beta": 2.0}, "no KL term"),
        ({"beta": -1.0}, "at least 0"),
        ({"gradient": "none"}, "'sum' or 'reinforce'"),
        ({"penalty": 10**400}, "penalty must be a number of at most 1e.300"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes, words):
    with pytest.raises(TutelageError, match=words):
        InformationObjective(**changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"steps": None, "epochs": 3}, "Training.epochs=3 is not supported by train_models: use steps"),
        ({"loss": "mse"}, "Training.loss='mse' is not supported by train_models: leave loss out"),
        ({"batch": 1}, "batch must be at least 2, got 1"),
    ],
)
def test_training_that_is_not_supported_is_named(changes, words):
    with pytest.raises(TutelageError, match=words):
        train_models(normal_models([0]), normal_data, [None], [0], Training(**({"steps": 3} | changes)))


@pytest.mark.parametrize("rate", [1e4, 1e30])
def test_members_that_left_everything_behind_are_refused_while_their_numbers_are_finite_and_after(rate):
    with pytest.raises(TutelageError, match="diverged by step"):
        train_models(normal_models([0, 1]), normal_data, [1.0, 2.0], [0, 1], settled_adam(60, learning_rate=rate))


def test_seeds_are_one_a_member():
    with pytest.raises(TutelageError, match="2 seeds for a model of 1"):
        train_models(normal_models([0]), normal_data, [1.0, 2.0], [0, 1], settled_adam(2))


def test_symbols_for_a_normal_decoder_and_divergence_are_refused():
    with pytest.raises(TutelageError, match="categorical decoder"):
        train_models(normal_models([0]), uniform_symbols(4), [1.0], [0], SHORT)
    broken = lambda key, count, start: normal_data(key, count, start) * math.inf  # noqa: E731
    with pytest.raises(TutelageError, match=r"members \[0\] diverged"):
        train_models(normal_models([0]), broken, [1.0], [0], SHORT)
