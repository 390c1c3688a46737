"""Checks C6.1 to C6.6 of networks with exits: temperature, gradients, detaching, labels that are absent."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from tutelage.distillation.targets import log_probabilities
from tutelage.errors import TutelageError
from tutelage.exits.multi_exit import multi_exit_mlp
from tutelage.exits.objective import (
    UNLABELLED,
    Annealing,
    check_labels,
    classification,
    confidence,
    constant,
    distillation,
    teacher_sets,
    teacher_shares,
    training_goal,
)

SEEDS = st.integers(0, 10_000)


def drawn(seed, exits=3, count=6, classes=4):
    source = torch.Generator().manual_seed(seed)
    logits = [2 * torch.randn(count, classes, generator=source, dtype=torch.float64) for _ in range(exits)]
    return logits, torch.randint(classes, (count,), generator=source)


def distilled(logits, sets, tau):
    z = torch.stack(list(logits))
    return distillation(z, teacher_shares(sets, z), tau)


def goal(logits, labels, sets, tau, weights=None):
    z = torch.stack(list(logits))
    shares = teacher_shares(sets, z) if any(sets) else None
    return training_goal(z, labels, shares, z.new_tensor(tau), 2.0, weights)[0]


def confidence_of(logits, sets, tau=1.0):
    z = torch.stack(list(logits))
    return float(confidence(z, teacher_shares(sets, z), tau))


def by_the_letter(logits, sets, tau):
    """(6.2)-(6.4) with loops over samples, exits and teachers, from probabilities."""
    p = [z.softmax(-1) for z in logits]
    total = torch.zeros(len(p[0]), dtype=torch.float64)
    for m, own in enumerate(sets):
        for t in own:
            for n in range(len(total)):
                teacher, student = (q[n] ** (1 / tau) / (q[n] ** (1 / tau)).sum() for q in (p[t - 1], p[m]))
                total[n] -= tau**2 * (teacher * student.log()).sum() / len(own)
    return total / len(logits)


@given(SEEDS, st.floats(0.3, 8))
def test_c6_1_tempered_probabilities_are_the_softmax_of_divided_logits(seed, tau):
    z = drawn(seed)[0][0]
    torch.testing.assert_close(
        log_probabilities(z.softmax(-1).log(), tau).exp(), (z / tau).softmax(-1), rtol=0, atol=1e-12
    )


@given(SEEDS, st.floats(0.5, 8))
def test_c6_2_the_gradient_is_the_softened_difference_times_the_temperature(seed, tau):
    (student, teacher), _ = drawn(seed, exits=2)
    student.requires_grad_()
    (gradient,) = torch.autograd.grad(2 * distilled([student, teacher], [(2,), ()], tau).sum(), student)
    wanted = tau * ((student / tau).softmax(-1) - (teacher / tau).softmax(-1))
    torch.testing.assert_close(gradient, wanted, rtol=1e-9, atol=1e-12)
    with torch.no_grad():
        step = torch.zeros_like(student)
        step[0, 1] = 1e-5
        above, below = (distilled([student + s * step, teacher], [(2,), ()], tau).sum() * 2 for s in (1, -1))
    assert float(gradient[0, 1]) == pytest.approx(float(above - below) / 2e-5, abs=1e-6)


def test_c6_2_a_large_temperature_leaves_centred_differences_of_logits():
    (student, teacher), _ = drawn(0, exits=2)
    student.requires_grad_()
    (gradient,) = torch.autograd.grad(2 * distilled([student, teacher], [(2,), ()], 1e5).sum(), student)
    centred = (student - student.mean(-1, keepdim=True)) - (teacher - teacher.mean(-1, keepdim=True))
    torch.testing.assert_close(gradient, centred.detach() / 4, rtol=1e-3, atol=1e-4)


@given(SEEDS, st.floats(0.5, 6))
def test_c6_3_the_least_loss_is_at_the_teacher_and_is_its_entropy(seed, tau):
    (student, teacher), _ = drawn(seed, exits=2)
    soft = (teacher / tau).softmax(-1)
    least = tau**2 * -(soft * soft.log()).sum(-1)
    torch.testing.assert_close(2 * distilled([teacher, teacher], [(2,), ()], tau), least)
    assert (2 * distilled([student, teacher], [(2,), ()], tau) >= least - 1e-12).all()


def test_c6_4_distillation_sends_nothing_to_the_teachers_head():
    net, x = multi_exit_mlp(5, (4, 4, 4), 3), torch.randn(6, 5)
    distilled(net(x), teacher_sets(3), 2.0).sum().backward()
    assert all(p.grad is None or not p.grad.any() for p in net.heads[2].parameters())
    assert all(p.grad is None or not p.grad.any() for p in net.stages[2].parameters())
    assert net.heads[0].weight.grad.any()
    net.zero_grad()
    goal(net(x), torch.zeros(6, dtype=torch.long), teacher_sets(3), 2.0).backward()
    assert net.heads[2].weight.grad.any()


@given(SEEDS, st.floats(0.5, 6), st.sampled_from(["last", "later"]))
def test_c6_5_without_unlabelled_samples_the_two_losses_are_one(seed, tau, teachers):
    logits, y = drawn(seed)
    sets = teacher_sets(3, teachers)
    cross = sum(functional.cross_entropy(z, y) for z in logits) / 3
    both = goal(logits, y, sets, tau)
    torch.testing.assert_close(both, cross + by_the_letter(logits, sets, tau).mean())
    torch.testing.assert_close(goal(logits, y, sets, tau, torch.full((6,), 1 / 6)), both)


def test_unlabelled_samples_count_in_distillation_alone():
    logits, y = drawn(1)
    sets = teacher_sets(3)
    y[4:] = UNLABELLED
    few = [z[:4] for z in logits]
    wanted = classification(torch.stack(few), y[:4]) + distilled(logits, sets, 2.0).mean()
    torch.testing.assert_close(goal(logits, y, sets, 2.0), wanted)
    torch.testing.assert_close(goal(logits, y, teacher_sets(3, "none"), 2.0), classification(torch.stack(few), y[:4]))


@given(SEEDS, st.floats(0.5, 6))
def test_several_teachers_are_the_mean_over_them(seed, tau):
    logits, _ = drawn(seed)
    sets = ((2, 3), (1,), ())
    torch.testing.assert_close(distilled(logits, sets, tau), by_the_letter(logits, sets, tau))


def test_c6_6_the_temperature_rises_only_above_the_limit_and_never_falls():
    now = Annealing(limit=0.5)
    for mean, wanted in ((0.4, 1.0), (0.5, 1.0), (0.51, 1.05), (0.2, 1.05), (0.9, 1.05**2)):
        now = now.after(mean)
        assert now.temperature == pytest.approx(wanted)
    assert constant(3.0).after(1.0).temperature == 3.0


def test_confidence_is_that_of_the_mean_over_teaching_exits():
    logits, _ = drawn(2)
    mean = ((logits[1] / 2).softmax(-1) + (logits[2] / 2).softmax(-1)) / 2
    assert confidence_of(logits, teacher_sets(3, "later"), 2.0) == pytest.approx(float(mean.amax(-1).mean()))
    assert confidence_of(logits, teacher_sets(3), 50.0) < confidence_of(logits, teacher_sets(3))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda z, y: teacher_sets(3, "first"), "got 'first'"),
        (lambda z, y: teacher_sets(3, [(2,), (3,)]), "each of 3 exits, got 2"),
        (lambda z, y: teacher_sets(3, [(1,), (3,), ()]), "the teachers of exit 1 must be"),
        (lambda z, y: teacher_sets(3, [(4,), (3,), ()]), "the teachers of exit 1 must be"),
        (lambda z, y: Annealing(0.0), r"above 0 and at most 1e\+100, got 0"),
        (lambda z, y: Annealing(factor=0.9), "at least 1"),
        (lambda z, y: Annealing(limit=0), "limit must lie between 0 and 1"),
        (lambda z, y: constant(-1.0), r"above 0 and at most 1e\+100, got -1"),
        (lambda z, y: check_labels(torch.full_like(y, UNLABELLED), 4), "no sample has a label"),
        (lambda z, y: check_labels(y + 4, 4), "labels must be from 0 to 3"),
        (lambda z, y: confidence_of(z, teacher_sets(3, "none")), "no exit teaches"),
    ],
)
def test_what_cannot_be_is_said(wrong, said):
    with pytest.raises(TutelageError, match=said):
        wrong(*drawn(0))
