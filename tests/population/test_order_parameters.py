"""Equations of the overlaps: against samples of one step, against gradient flow, and against online SGD."""

import math

import pytest
import torch

import tutelage as tt
from tutelage import TutelageError, draws
from tutelage.networks.activations import slope_of, value_and_derivative
from tutelage.population.averages import noise_term
from tutelage.population.expectations import Units, loss
from tutelage.population.flow import flow
from tutelage.population.kernels import KINDS
from tutelage.population.online_sgd import online_sgd
from tutelage.population.order_parameters import follow_overlaps, order_parameters
from tutelage.population.overlaps import Overlaps, overlaps, recorded_overlaps

START = torch.tensor([[0.6, 0.1, 0.5, 0.0], [0.1, 0.7, 0.0, 0.5]], dtype=torch.float64)


def drawn(kind: str, members: int = 1, k: int = 3, m: int = 2, d: int = 6, c: int = 2) -> tuple[Units, Units]:
    g = torch.Generator().manual_seed(7)
    w, v = (torch.randn(members, n, d, dtype=torch.float64, generator=g) / d**0.5 for n in (k, m))
    a, b = (torch.randn(members, n, c, dtype=torch.float64, generator=g) for n in (k, m))
    return Units(v, b, kind, slope_of(kind, 0.3)), Units(w, a, kind, slope_of(kind, 0.3))


def placed(kind: str, d: int, members: int) -> tuple[Units, Units]:
    w = torch.zeros(members, 2, d, dtype=torch.float64)
    w[..., :4] = START
    teacher = torch.eye(2, d, dtype=torch.float64)[None]
    return Units(teacher, torch.ones(1, 2, 1), kind), Units(w, torch.ones(members, 2, 1), kind)


@pytest.mark.parametrize("kind", KINDS)
def test_the_vectors_have_the_overlaps_and_the_loss(kind):
    teacher, students = drawn(kind, members=3)
    now = overlaps(teacher, students)
    v, w = now.vectors()
    for a, b in ((w.w @ w.w.mT, now.q), (v.w @ w.w.mT, now.r), (v.w @ v.w.mT, now.t)):
        assert torch.allclose(a, b, atol=1e-12)
    assert torch.allclose(now.loss(), loss(teacher, students), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_every_term_against_samples_of_one_step(kind, change):
    """Means over 200,000 samples of the terms as they are written, with noise in the labels."""
    rate, second, noise = 0.7, 0.4, 0.5
    teacher, students = drawn(kind)
    now = overlaps(teacher, students)
    g = torch.Generator().manual_seed(3)
    x = torch.randn(200_000, 6, dtype=torch.float64, generator=g)
    lam, rho = x @ students.w[0].T, x @ teacher.w[0].T
    value, bend = value_and_derivative(kind, lam, 0.3)
    taught = value_and_derivative(kind, rho, 0.3)[0] @ teacher.c[0]
    error = value @ students.c[0] - taught - noise * torch.randn(*taught.shape, dtype=torch.float64, generator=g)
    delta = bend * (error @ students.c[0].T)
    drift = delta[:, :, None] * lam[:, None, :]
    sampled = (
        -rate * (drift + drift.mT) + rate**2 * delta[:, :, None] * delta[:, None, :],
        -rate * rho[:, :, None] * delta[:, None, :],
        -second * value[:, :, None] * error[:, None, :],
    )
    rates = torch.tensor([rate], dtype=torch.float64), torch.tensor([second], dtype=torch.float64)
    for exact, samples in zip(change(now, *rates, noise), sampled, strict=True):
        score = (samples.mean(0) - exact[0]) / (samples.std(0) / len(samples) ** 0.5)
        assert score.abs().max() < 4.5
        assert score.square().mean() < 4


@pytest.mark.parametrize("kind", ["relu", "erf"])
@pytest.mark.parametrize("both", [False, True])
def test_small_rates_are_gradient_flow(kind, both):
    """The gap from gradient flow at time eta t is of order eta: a tenth of the rate has a tenth of the gap."""
    teacher, students = drawn(kind, members=2)
    moments, gaps = [0.5, 2.0], []
    course = flow(teacher, students, moments, both_layers=both)
    for rate in (1e-2, 1e-3):
        way = follow_overlaps(
            overlaps(teacher, students), rate, [t / rate for t in moments], second_rate=rate if both else 0.0,
        )  # fmt: skip
        gaps.append(((way.q - course.w @ course.w.mT).abs().max(), (way.r - teacher.w @ course.w.mT).abs().max()))
        assert torch.allclose(way.losses(), course.losses(), atol=3 * rate)
    for coarse, fine in zip(*gaps, strict=True):
        assert 0.05 < fine / coarse < 0.2
        assert fine < 5e-3


@pytest.mark.parametrize("kind", ["relu", "erf"])
def test_online_sgd_in_400_dimensions_agrees_in_the_mean(kind):
    members, times = 12, [0.0, 1.0, 3.0]
    rates = {"second_rate": 0.2, "label_noise": 0.1}
    limit = follow_overlaps(overlaps(*placed(kind, 4, 1)), 0.8, times, **rates)
    run = online_sgd(*placed(kind, 400, members), 0.8, times, range(members), **rates)
    scores = []
    for name in ("q", "r", "c"):
        expected, met = getattr(limit, name)[:, 0], getattr(run, name)
        assert torch.allclose(met[0], expected[0].expand_as(met[0]), atol=1e-12)
        stderr = met[1:].std(1) / math.sqrt(members)
        scores.append(((met[1:].mean(1) - expected[1:]) / stderr).flatten())
        assert (met - expected.unsqueeze(1)).square().mean().sqrt() < 0.03
    scores = torch.cat(scores)
    assert scores.abs().max() < 4.5
    assert scores.square().mean() < 3


def test_a_perfect_student_stays_unless_labels_are_noisy():
    teacher, _ = placed("relu", 4, 1)
    perfect = overlaps(teacher, teacher)
    still = follow_overlaps(perfect, 0.5, [5.0])
    assert (still.q[0] - perfect.q).abs().max() < 1e-6
    assert still.losses().max() < 1e-6
    assert follow_overlaps(perfect, 0.5, [5.0], label_noise=0.2).losses().min() > 1e-4


def test_the_noise_term_is_a_covariance_and_each_member_has_its_own_rate():
    teacher, students = drawn("relu", members=4)
    now = overlaps(teacher, students)
    assert torch.linalg.eigvalsh(noise_term(now, 0.3)).min() > -1e-9
    assert (noise_term(now, 0.3) - noise_term(now)).diagonal(dim1=1, dim2=2).min() > 0
    both = follow_overlaps(now, [0.1, 0.2, 0.1, 0.2], [1.0])
    one = follow_overlaps(overlaps(Units(teacher.w[1:2], teacher.c[1:2], "relu"),
                          Units(students.w[1:2], students.c[1:2], "relu")), 0.2, [1.0])  # fmt: skip
    assert torch.allclose(both.q[:, 1:2], one.q, atol=1e-6)
    assert isinstance(both.at(0), Overlaps)


def test_what_cannot_be_asked_is_refused():
    teacher, students = placed("relu", 4, 2)
    now = overlaps(teacher, students)
    with pytest.raises(TutelageError, match="3 values for 2 members"):
        follow_overlaps(now, [0.1, 0.2, 0.3], [1.0])
    with pytest.raises(TutelageError, match="rate must be finite"):
        follow_overlaps(now, -1.0, [1.0])
    with pytest.raises(TutelageError, match="label_noise"):
        follow_overlaps(now, 0.1, [1.0], label_noise=-0.1)
    with pytest.raises(TutelageError, match="grow without bound: lower the rate"):
        follow_overlaps(now, 20.0, [100.0])
    with pytest.raises(TutelageError, match="a student unit is 0"):
        overlaps(teacher, students.moved(students.w * 0))


def pair(members: int = 2, d: int = 5) -> tuple[Units, Units]:
    g = torch.Generator().manual_seed(1)
    w, v = (torch.randn(members, n, d, dtype=torch.float64, generator=g) for n in (3, 2))
    a, b = (torch.randn(members, n, 2, dtype=torch.float64, generator=g) for n in (3, 2))
    return Units(v, b), Units(w, a)


def test_one_step_is_the_gradient_of_half_the_squared_error():
    teacher, students = pair()
    seeds, d = (4, 9), 5
    x = draws.normals(draws.keys(seeds, "online points"), d)
    w, c = (a.clone().requires_grad_() for a in (students.w, students.c))
    f = (torch.relu(w @ x[..., None]).mT @ c).squeeze(1)
    taught = (torch.relu(teacher.w @ x[..., None]).mT @ teacher.c).squeeze(1)
    ((f - taught) ** 2).sum().div(2).backward()
    moved, fans = w - 0.3 / d * w.grad, c - 0.2 / d * c.grad
    run = online_sgd(teacher, students, [0.3, 0.3], [1 / d], seeds, second_rate=0.2)
    assert torch.allclose(run.q[0], moved @ moved.mT)
    assert torch.allclose(run.r[0], teacher.w @ moved.mT)
    assert torch.allclose(run.c[0], fans)


def test_a_member_depends_on_its_seed_alone():
    teacher, students = pair()
    both = online_sgd(teacher, students, 0.1, [0.0, 2.0, 4.0], (4, 9), label_noise=0.5)
    alone = online_sgd(
        Units(teacher.w[1:], teacher.c[1:]), Units(students.w[1:], students.c[1:]), 0.1, [4.0], (9,), label_noise=0.5
    )
    assert torch.allclose(both.q[-1, 1], alone.q[0, 0], atol=1e-12)


def test_what_cannot_be_asked_is_refused_online():
    teacher, students = pair()
    with pytest.raises(TutelageError, match="1 seeds for 2 members"):
        online_sgd(teacher, students, 0.1, [1.0], (1,))
    with pytest.raises(TutelageError, match="at least a step"):
        online_sgd(teacher, students, 0.1, [1.0, 1.01], (1, 2))
    with pytest.raises(TutelageError, match="rate must be finite"):
        online_sgd(teacher, students, -0.1, [1.0], (1, 2))
    with pytest.raises(TutelageError, match="diverged"):
        online_sgd(teacher, students, 1e6, [100.0], (1, 2))


def test_a_bare_seed_and_a_time_that_is_no_number_are_errors():
    teacher, students = pair()
    with pytest.raises(TutelageError, match="seeds must be a list of whole numbers"):
        online_sgd(teacher, students, 0.1, [1.0], seeds=0)
    with pytest.raises(TutelageError, match="times to record at must be finite, got nan"):
        online_sgd(teacher, students, 0.1, [float("nan")], seeds=[0, 1])


def bump(u):
    """A function of a user, neither odd nor even."""
    return torch.exp(-((u - 0.5) ** 2)) + 0.3 * u


@pytest.mark.parametrize("kind", ["gelu", "silu", "softplus", "sigmoid", pytest.param(bump, id="bump")], ids=str)
def test_every_term_of_any_activation_against_samples_of_one_step(kind, change):
    rate, second, noise = 0.7, 0.4, 0.5
    g = torch.Generator().manual_seed(7)
    w, v = (torch.randn(1, 2, 6, dtype=torch.float64, generator=g) / 6**0.5 for _ in range(2))
    a, b = (torch.randn(1, 2, 2, dtype=torch.float64, generator=g) for _ in range(2))
    teacher, students = Units(v, b, kind), Units(w, a, kind)
    now = overlaps(teacher, students)
    x = torch.randn(200_000, 6, dtype=torch.float64, generator=g)
    value, bend = value_and_derivative(now.activation, x @ w[0].T)
    taught = value_and_derivative(now.activation, x @ v[0].T)[0] @ b[0]
    error = value @ a[0] - taught - noise * torch.randn(*taught.shape, dtype=torch.float64, generator=g)
    delta = bend * (error @ a[0].T)
    drift = delta[:, :, None] * (x @ w[0].T)[:, None, :]
    sampled = (
        -rate * (drift + drift.mT) + rate**2 * delta[:, :, None] * delta[:, None, :],
        -rate * (x @ v[0].T)[:, :, None] * delta[:, None, :],
        -second * value[:, :, None] * error[:, None, :],
    )
    rates = torch.tensor([rate], dtype=torch.float64), torch.tensor([second], dtype=torch.float64)
    for exact, samples in zip(change(now, *rates, noise), sampled, strict=True):
        score = (samples.mean(0) - exact[0]) / (samples.std(0) / len(samples) ** 0.5)
        assert score.abs().max() < 4.5
        assert score.square().mean() < 4


def gap_to_simulation(kind, members=40, d=400, last=4.0, c=1, **settings):
    """Largest distance of the mean overlaps of online SGD from the limit, in standard errors and 4/d beside them."""
    w = torch.zeros(1, 2, d, dtype=torch.float64)
    w[..., :4] = START
    teacher = Units(torch.eye(2, d, dtype=torch.float64)[None], torch.ones(1, 2, c), kind)
    students = Units(w, torch.ones(1, 2, c), kind)
    limit = order_parameters(teacher, students, 0.8, [last], **settings)
    many = students.moved(w.expand(members, -1, -1), students.c.expand(members, -1, -1))
    run = online_sgd(teacher, many, 0.8, [0.0, last], range(members), **settings)
    moved = 0.0
    for exact, simulated in ((limit.q, run.q), (limit.r, run.r), (limit.c, run.c)):
        mean, error = simulated[-1].mean(0), simulated[-1].std(0) / members**0.5
        assert ((mean - exact[-1, 0]).abs() < 4 * error + 4 / d).all()
        moved = max(moved, float((exact[-1, 0] - simulated[0, 0]).abs().max()))
    return moved


def test_online_sgd_of_any_activation_agrees_in_the_mean():
    assert gap_to_simulation("gelu", second_rate=0.3, label_noise=0.3) > 0.05


@pytest.mark.parametrize("kind", ["erf", "relu"])
@pytest.mark.parametrize(
    "settings",
    [
        {"batch": 5, "label_noise": 0.5},
        {"schedule": lambda t: 1 / (1 + t), "label_noise": 0.5},
        {"c": 3, "second_rate": 0.2},
    ],
    ids=["batch", "schedule", "outputs"],
)
def test_batches_schedules_and_several_outputs_agree_with_online_sgd(kind, settings):
    assert gap_to_simulation(kind, **settings) > 0.05


@pytest.mark.parametrize("kind", ["erf", "gelu"])
@pytest.mark.parametrize("turned", [False, True])
def test_any_input_covariance_agrees_with_online_sgd(kind, turned):
    """Two large eigenvalues across the teachers' directions, or a full matrix with four of them."""
    d = 400
    variances = torch.ones(d, dtype=torch.float64)
    variances[0], variances[2], variances[200:] = 2.0, 0.5, 0.6
    sigma = variances
    if turned:
        basis = torch.linalg.qr(torch.randn(d, d, dtype=torch.float64, generator=torch.Generator().manual_seed(1)))[0]
        sigma = basis @ torch.diag(variances) @ basis.mT
        sigma = (sigma + sigma.mT) / 2
    members = 24 if turned else 40
    moved = gap_to_simulation(kind, members=members, label_noise=0.3, covariance=sigma)
    assert moved > 0.05


def test_a_covariance_of_one_value_is_a_scale_and_the_identity_changes_nothing():
    teacher, students = placed("erf", 50, 2)
    plain = order_parameters(teacher, students, 0.8, [1.0, 3.0], label_noise=0.2)
    same = order_parameters(teacher, students, 0.8, [1.0, 3.0], label_noise=0.2, covariance=torch.eye(50))
    assert torch.allclose(plain.q, same.q, atol=1e-6)
    assert torch.allclose(plain.r, same.r, atol=1e-6)
    # x = s z: u = (s w).z, and s w moves at s^2 times the rate with the noise s^2 |z|^2 per d
    scaled = order_parameters(teacher, students, 0.8, [3.0], covariance=4 * torch.ones(50))
    by_hand = order_parameters(teacher.moved(2 * teacher.w), students.moved(2 * students.w), 3.2, [3.0])
    assert torch.allclose(scaled.q, by_hand.q, atol=1e-5)


def test_the_teacher_comes_first_in_theory_and_in_measures():
    """R[n, k] of a training with three students and two teachers is the measure ``overlap``."""
    teacher = tt.teachers.Normal(inputs=20, hidden=2, outputs=1, activation="erf").build([0, 1], dtype=torch.float64)
    students = tt.students.FanInNormal(hidden=3, activation="erf", bias=False).build(teacher, [0, 1])
    inputs = tt.inputs.Gaussian(train=2, evaluate=2).draw(teacher, [0, 1])
    run = tt.train(teacher, students, inputs, steps=10, batch=1, sampling="online", record=[5])
    found, report = recorded_overlaps(run), tt.measure(run, ("overlap", "student_overlaps", "teacher_overlaps"))
    for ours, name in ((found.r, "overlap"), (found.q, "student_overlaps"), (found.start.t, "teacher_overlaps")):
        measured = torch.from_numpy(report[name]).reshape(3, 2, *ours.shape[-2:])
        assert torch.allclose(ours.expand_as(measured), measured, atol=1e-12)
    limit = order_parameters(teacher, students, 0.2, found.times)
    assert limit.r.shape == found.r.shape == (3, 2, 2, 3)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"batch": 0}, "batch must be a whole number of at least 1, got 0"),
        ({"covariance": torch.ones(3)}, r"covariance must be one variance per input \[50\] or a symmetric matrix"),
        ({"covariance": -torch.ones(50)}, "eigenvalues above 0, got -1"),
        ({"covariance": torch.triu(torch.ones(50, 50))}, "symmetric matrix"),
    ],
)
def test_settings_that_are_none(settings, sentence):
    for solve in (order_parameters, lambda *a, **s: online_sgd(*a, [0, 1], **s)):
        with pytest.raises(TutelageError, match=sentence):
            solve(*placed("erf", 50, 2), 0.8, [1.0], **settings)
