"""Equations of the overlaps and biases: against samples of one step, the equations without, flow, and online SGD."""

from dataclasses import replace

import pytest
import torch

import tutelage as tt
from tutelage import TutelageError, draws
from tutelage.networks import Network, outputs
from tutelage.networks.activations import slope_of, value_and_derivative
from tutelage.population import Units, flow, online_sgd, order_parameters, overlaps, recorded_overlaps
from tutelage.population.averages import averages, error_of, noise_term
from tutelage.population.biased_noise import biased_noise
from tutelage.population.kernels import KINDS
from tutelage.population.nodes import sampled_noise
from tutelage.population.order_parameters import follow_overlaps

START = torch.tensor([[0.6, 0.1, 0.5, 0.0], [0.1, 0.7, 0.0, 0.5]], dtype=torch.float64)


def drawn(kind, members=1, k=3, m=2, d=6, c=2, scale=1.0):
    g = torch.Generator().manual_seed(7)

    def network(n):
        shapes = (members, d, n), (members, n, c), (members, n), (members, c)
        w, a, b, top = (torch.randn(*shape, dtype=torch.float64, generator=g) for shape in shapes)
        return Network((scale * w / d**0.5, a), (0.7 * b, top), kind, slope_of(kind, 0.3))

    return network(m), network(k)


def placed(kind, d, members=1, c=1):
    """Two units each, whose overlaps and biases are the same in any number of dimensions."""
    w, v = torch.zeros(members, 2, d, dtype=torch.float64), torch.eye(2, d, dtype=torch.float64)[None]
    w[..., :4] = START
    ones = torch.ones(members, 2, c, dtype=torch.float64)

    def row(*values):
        return torch.tensor([values], dtype=torch.float64).expand(members, -1)

    teacher = Network((v.mT, ones[:1]), (row(0.5, -0.8)[:1], row(*[0.3] * c)[:1]), kind)
    return teacher, Network((w.mT, ones), (row(0.1, 0.2), row(*[-0.2] * c)), kind)


def scores(limit, run, place=-1):
    """Mean of the runs less the limit, over the standard error: one number per order parameter."""
    pairs = [(getattr(limit, name), getattr(run, name)) for name in ("q", "r", "c")]
    pairs += zip(limit.biases, run.biases, strict=True)
    members = run.q.shape[1]
    each = [(met[place].mean(0) - exact[place, 0]) / (met[place].std(0) / members**0.5) for exact, met in pairs]
    return torch.cat([score.flatten() for score in each])


@pytest.mark.parametrize("kind", [*KINDS, "tanh", "gelu", "sigmoid"])
def test_every_term_against_samples_of_one_step(kind, change):
    """Means over 200,000 samples of the terms as they are written, with noise in the labels."""
    rate, second, noise = 0.7, 0.4, 0.5
    teacher, students = drawn(kind, k=2 if kind == "gelu" else 3)
    g = torch.Generator().manual_seed(3)
    x = torch.randn(200_000, 6, dtype=torch.float64, generator=g)
    lam, rho = x @ students.weights[0][0], x @ teacher.weights[0][0]
    value, bend = value_and_derivative(kind, lam + students.biases[0][0], 0.3)
    error = outputs(students, x)[0] - outputs(teacher, x)[0]
    error = error - noise * torch.randn(*error.shape, dtype=torch.float64, generator=g)
    delta = bend * (error @ students.weights[1][0].T)
    drift = delta[:, :, None] * lam[:, None, :]
    sampled = (
        -rate * (drift + drift.mT) + rate**2 * delta[:, :, None] * delta[:, None, :],
        -rate * rho[:, :, None] * delta[:, None, :],
        -second * value[:, :, None] * error[:, None, :],
        -rate * delta,
        -second * error,
    )
    rates = torch.tensor([rate], dtype=torch.float64), torch.tensor([second], dtype=torch.float64)
    for exact, samples in zip(change(overlaps(teacher, students), *rates, noise), sampled, strict=True):
        score = (samples.mean(0) - exact[0]) / (samples.std(0) / len(samples) ** 0.5)
        assert score.abs().max() < 4.5
        assert score.square().mean() < 4


@pytest.mark.parametrize("kind", [*KINDS, "tanh", "gelu"])
def test_biases_of_0_leave_the_terms_without_biases(kind):
    """Those of relu and others have an error of 1e-7 on either side: one integral there, two here."""
    teacher, students = drawn(kind, members=3, k=2, scale=0.7)
    bare = [Network(net.weights, None, kind, net.slope) for net in (teacher, students)]
    plain = overlaps(*bare)
    zeros = tuple(0 * b for b in students.biases), tuple(0 * b for b in teacher.biases)
    found = replace(plain, biases=zeros[0], taught_biases=zeros[1])
    assert torch.allclose(found.loss(), plain.loss(), atol=1e-10)
    one, other = averages(plain, 0.3), averages(found, 0.3)
    for name in ("towards", "fan_outs", "noise"):
        assert torch.allclose(getattr(one, name), getattr(other, name), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("k", "m"), [(1, 1), (2, 2)])
def test_the_closed_form_of_erf_is_that_of_the_product_rule(k, m):
    now = overlaps(*drawn("erf", members=4, k=k, m=m))
    exact, found, shorter = biased_noise(now), sampled_noise(now), sampled_noise(now, shorter=True)
    assert (exact - found).abs().max() <= 3 * (found - shorter).abs().max() + 1e-11
    assert (exact - found).abs().max() < 1e-3 * exact.abs().max()


@pytest.mark.parametrize("apart", [1.0, 0.1, 1e-2, 1e-4, 1e-7])
@pytest.mark.parametrize("kind", ["relu", "leaky", "abs"])
def test_the_two_integrals_have_the_error_that_is_stated(kind, apart, monkeypatch):
    """Students near one another and near a teacher, as at the start and at the end; against twice the points."""
    g = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(*shape, dtype=torch.float64, generator=g)

    base = normal(2, 1, 8) / 8**0.5
    w, v = base + apart * normal(2, 2, 8) / 8**0.5, torch.cat([base, normal(2, 1, 8) / 8**0.5], 1)
    b, c = torch.full((2, 2), 0.4, dtype=torch.float64), normal(2, 2, 1)
    kinds = kind, slope_of(kind, 0.3)
    now = overlaps(
        Network((v.mT, c), (b, c[:, 0]), *kinds), Network((w.mT, c), (b + apart * normal(2, 2), c[:, 1]), *kinds)
    )
    found, stated = noise_term(now), error_of(now)
    monkeypatch.setattr("tutelage.population.biased_noise.NODES", 48)
    exact = noise_term(now)
    actual = ((found - exact).abs().amax((1, 2)) / exact.abs().amax((1, 2))).max()
    assert actual <= stated + 1e-13
    assert actual < 1e-5


def test_one_step_is_the_gradient_of_half_the_squared_error():
    teacher, students = drawn("relu", members=2, d=5)
    seeds, d = (4, 9), 5
    x = draws.normals(draws.keys(seeds, "online points"), d).unsqueeze(1)
    moving = students.map(lambda array: array.clone().requires_grad_())
    ((outputs(moving, x) - outputs(teacher, x)) ** 2).sum().div(2).backward()
    rates = iter((0.3, 0.2, 0.3, 0.2))
    moved = moving.map(lambda array: (array - next(rates) / d * array.grad).detach())
    exact, run = overlaps(teacher, moved), online_sgd(teacher, students, 0.3, [1 / d], seeds, second_rate=0.2)
    for name in ("q", "r", "c"):
        assert torch.allclose(getattr(run, name)[0], getattr(exact, name))
    for found, wanted in zip(run.biases, exact.biases, strict=True):
        assert torch.allclose(found[0], wanted)


SETTINGS = {
    "both layers": {"second_rate": 0.2, "label_noise": 0.1},
    "batch": {"batch": 5, "label_noise": 0.5},
    "schedule": {"schedule": lambda t: 1 / (1 + t), "second_rate": 0.2},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("kind", ["relu", "erf"])
def test_online_sgd_in_400_dimensions_agrees_in_the_mean(kind, settings):
    """What is left of the order 1/d is within the standard error of 30 runs."""
    limit = order_parameters(*placed(kind, 4, c=2), 0.6, [2.0], **settings)
    run = online_sgd(*placed(kind, 400, 30, c=2), 0.6, [2.0], range(30), **settings)
    moving = scores(limit, run)[: -2 if "second_rate" not in settings else None]
    moving = moving[moving.isfinite()]
    assert moving.abs().max() < 4.5
    assert moving.square().mean() < 3
    assert (limit.biases[0][-1] - limit.start.biases[0]).abs().max() > 0.05


@pytest.mark.parametrize("kind", ["tanh", "gelu"])
def test_online_sgd_of_other_activations_agrees_in_the_mean(kind):
    limit = order_parameters(*placed(kind, 4), 0.8, [1.5], second_rate=0.2)
    run = online_sgd(*placed(kind, 300, 40), 0.8, [1.5], range(40), second_rate=0.2)
    assert scores(limit, run).abs().max() < 4.5
    assert scores(limit, run).square().mean() < 3


def test_inputs_with_a_covariance_agree_with_online_sgd():
    d = 400
    variances = torch.ones(d, dtype=torch.float64)
    variances[0], variances[2], variances[200:] = 2.0, 0.5, 0.6
    limit = order_parameters(*placed("erf", d), 0.8, [3.0], label_noise=0.3, covariance=variances)
    run = online_sgd(*placed("erf", d, 40), 0.8, [3.0], range(40), label_noise=0.3, covariance=variances)
    met = scores(limit, run)
    assert met[met.isfinite()].abs().max() < 4.5
    assert (limit.biases[0][-1] - limit.start.biases[0]).abs().max() > 0.05


def test_the_gap_from_online_sgd_is_of_order_one_over_d():
    """The mean of d times the gap is the same at d = 20 and 40, and it is there."""
    limit = order_parameters(*placed("erf", 4), 1.0, [2.0], second_rate=0.2)
    found = []
    for d, members in ((20, 3000), (40, 3000)):
        run = online_sgd(*placed("erf", d, members), 1.0, [2.0], range(members), second_rate=0.2)
        size = run.q[-1].diagonal(dim1=1, dim2=2).sum(1) - limit.q[-1, 0].trace()
        found.append((d * size.mean(), d * size.std() / members**0.5))
    (one, off), (two, away) = found
    assert (one - two).abs() < 4 * (off**2 + away**2) ** 0.5
    assert one > 4 * off


@pytest.mark.parametrize("kind", ["relu", "erf", "gelu"])
@pytest.mark.parametrize("both", [False, True])
def test_small_rates_are_gradient_flow(kind, both):
    """The gap from gradient flow at time eta t is of order eta: a tenth of the rate has a tenth of the gap."""
    teacher, students = drawn(kind, members=2, k=2, d=3, c=1, scale=0.7)
    course, gaps = flow(teacher, students, [1.0], both_layers=both), []
    for rate in (1e-2, 1e-3):
        way = follow_overlaps(overlaps(teacher, students), rate, [1 / rate], second_rate=rate if both else 0.0)
        pairs = ((way.q, course.w @ course.w.mT), (way.biases[0], course.biases[0]), (way.biases[1], course.biases[1]))
        gaps.append(torch.stack([(a - b).abs().max() for a, b in pairs])[: 3 if both else 2])
    assert ((gaps[1] / gaps[0] > 0.05) & (gaps[1] / gaps[0] < 0.2)).all()
    assert gaps[1].max() < 1e-2


def test_a_training_at_one_rate_follows_the_equations():
    """Weights, biases, both layers: the trainer has one learning rate, rate / d."""
    d, members = 100, 40
    teacher, students = placed("erf", d, members, c=2)
    teacher = teacher.expand(members)
    inputs = tt.inputs.Gaussian(train=1, evaluate=1).draw(teacher, range(members))
    run = tt.train(teacher, students, inputs, steps=d, batch=1, sampling="online", record=[d], learning_rate=0.6 / d)
    limit = order_parameters(*placed("erf", 4, c=2), 0.6, [1.0], second_rate=0.6)
    assert scores(limit, recorded_overlaps(run)).abs().max() < 4.5


def test_a_perfect_student_stays_unless_labels_are_noisy():
    teacher, _ = placed("relu", 4)
    perfect = overlaps(teacher, teacher)
    still = follow_overlaps(perfect, 0.5, [3.0], second_rate=0.2)
    assert (still.q[0] - perfect.q).abs().max() < 1e-6
    assert (still.biases[0][0] - perfect.biases[0]).abs().max() < 1e-6
    assert follow_overlaps(perfect, 0.5, [3.0], label_noise=0.2).losses().min() > 1e-4


def test_students_learn_the_biases_that_they_have():
    """Biases of 0 are learnt, from a teacher without any too; a teacher's that students lack are an error."""
    teacher, students = placed("relu", 4)
    start = Network(students.weights, tuple(0 * b for b in students.biases))
    bare = Units(teacher.weights[0].mT, teacher.weights[1])
    assert (order_parameters(bare, start, 0.5, [1.0]).biases[0].abs() > 1e-3).all()
    with pytest.raises(TutelageError, match="the teacher has biases and the students have none"):
        order_parameters(teacher, Network(students.weights), 0.5, [1.0])
    with pytest.raises(TutelageError, match="not smooth enough"):
        order_parameters(*(Network(net.weights, net.biases, "squared-relu") for net in placed("relu", 4)), 0.5, [1.0])
