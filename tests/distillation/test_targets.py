"""The loss of distillation, held to torch's own."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from tutelage.distillation.targets import (
    Softening,
    distillation_loss,
    log_probabilities,
    logistic_teacher,
    soft_targets,
)
from tutelage.errors import TutelageError


@given(temperature=st.floats(0.3, 20), hard=st.floats(0, 1), seed=st.integers(0, 99), scaled=st.booleans())
def test_the_loss_is_the_two_cross_entropies(temperature, hard, seed, scaled):
    generator = torch.Generator().manual_seed(seed)
    s, t = (torch.randn(6, 4, generator=generator, dtype=torch.float64) for _ in range(2))
    y = torch.randint(0, 4, (6,), generator=generator)
    got = distillation_loss(s, soft_targets([t], temperature), y, Softening(temperature, hard, scaled))
    soft = functional.cross_entropy(s / temperature, (t / temperature).softmax(-1), reduction="none")
    wanted = (1 - hard) * soft * (temperature**2 if scaled else 1) + hard * functional.cross_entropy(
        s, y, reduction="none"
    )
    torch.testing.assert_close(got, wanted)


def test_the_scale_keeps_gradients_of_one_size():
    """At high temperatures the gradient tends to (s - t)/C for centred logits, whatever T is."""
    s, t = torch.randn(5, 3, dtype=torch.float64), torch.randn(5, 3, dtype=torch.float64)
    s, t = s - s.mean(1, keepdim=True), t - t.mean(1, keepdim=True)
    s.requires_grad_()
    loss = distillation_loss(s, soft_targets([t], 1e4), None, Softening(1e4))
    torch.testing.assert_close(torch.autograd.grad(loss.sum(), s)[0], (s - t).detach() / 3, rtol=1e-3, atol=1e-4)


def test_one_output_is_the_odds_of_two_classes():
    z = torch.tensor([[0.7], [-2.0]], dtype=torch.float64)
    torch.testing.assert_close(log_probabilities(z, 2.0)[:, 1:], functional.logsigmoid(z / 2))
    confident = log_probabilities(torch.tensor([[2000.0]]))
    assert confident.isfinite().all()
    assert confident[0, 0] == -2000


def test_an_ensemble_is_the_mean_of_probabilities():
    a, b = torch.randn(3, 4), torch.randn(3, 4)
    torch.testing.assert_close(soft_targets([a, b], 3.0), ((a / 3).softmax(-1) + (b / 3).softmax(-1)) / 2)


def test_bad_softenings_are_refused():
    with pytest.raises(TutelageError, match=r"temperature must be above 0 and at most 1e\+100, got 0"):
        Softening(temperature=0)
    with pytest.raises(TutelageError, match=r"between 0 and 1, got 1\.5"):
        Softening(hard_share=1.5)
    with pytest.raises(TutelageError, match="needs labels, but none were given"):
        distillation_loss(torch.zeros(2, 3), torch.full((2, 3), 1 / 3), None, Softening(hard_share=0.5))
    with pytest.raises(TutelageError, match="hard_share=1"):
        distillation_loss(torch.zeros(2, 3), None, torch.zeros(2))
    with pytest.raises(TutelageError, match="at least one"):
        soft_targets([])


def test_the_gradient_vanishes_and_the_classes_are_told_apart():
    draw = torch.Generator().manual_seed(0)
    labels = torch.arange(200) % 2
    x = torch.randn(200, 6, generator=draw) + 2 * (2 * labels - 1).unsqueeze(1) * torch.eye(1, 6)
    w = logistic_teacher(x, labels, penalty=0.5)
    signs = 2 * labels.double() - 1
    pull = torch.sigmoid(-signs * (x.double() @ w)) * signs
    assert (0.5 * w - pull @ x.double()).abs().max() < 1e-4
    assert ((x.double() @ w >= 0) == labels.bool()).double().mean() > 0.95


def test_what_is_refused():
    with pytest.raises(TutelageError, match="labels 0 and 1"):
        logistic_teacher(torch.ones(3, 2), torch.ones(3))
    with pytest.raises(TutelageError, match="a label each"):
        logistic_teacher(torch.ones(3, 2), torch.ones(4))


def test_a_temperature_whose_square_is_no_number_is_an_error():
    with pytest.raises(TutelageError, match=r"at most 1e\+100, got 1e\+200"):
        Softening(temperature=1e200)
    assert torch.isfinite(torch.tensor(Softening(temperature=1e100).temperature ** 2, dtype=torch.float64))
