"""The spread of overlaps over samples: against Wick's theorem, samples of one step, and online SGD."""

import math

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from tutelage import TutelageError
from tutelage.networks import Network
from tutelage.networks.activations import slope_of, value_and_derivative
from tutelage.population.expectations import Units
from tutelage.population.fluctuations import _Coordinates, _nodes, _OneStep, fluctuations
from tutelage.population.nodes import rule
from tutelage.population.online_sgd import online_sgd
from tutelage.population.order_parameters import OverlapRows, order_parameters, spectrum
from tutelage.population.overlaps import overlaps

START = torch.tensor([[0.6, 0.1, 0.5, 0.0], [0.1, 0.7, 0.0, 0.5]], dtype=torch.float64)


def placed(kind: str, d: int, members: int) -> tuple[Units, Units]:
    w = torch.zeros(members, 2, d, dtype=torch.float64)
    w[..., :4] = START
    teacher = torch.eye(2, d, dtype=torch.float64)[None]
    return Units(teacher, torch.ones(1, 2, 1), kind), Units(w, torch.ones(members, 2, 1), kind)


def test_linear_units_have_the_covariance_of_wicks_theorem():
    """One linear unit: g are quadratic forms of (lambda, rho), so Cov(g_i, g_j) = 2 tr(S_i C S_j C)."""
    eta, batch, t = 0.7, 3, 1.3
    teacher = Units(torch.tensor([[[t**0.5, 0.0]]]), torch.ones(1, 1, 1), "linear")
    student = Units(torch.tensor([[[0.2, 0.9]]]), torch.ones(1, 1, 1), "linear")
    start = overlaps(teacher, student)

    def slope(_, state):
        r, q, *entries = state
        sigma = np.reshape(entries, (2, 2))
        gain = eta**2 / batch
        c = np.array([[q, r], [r, t]])
        forms = [
            -eta * np.array([[0, 0.5], [0.5, -1]]),  # -eta (lambda - rho) rho
            -2 * eta * np.array([[1, -0.5], [-0.5, 0]]) + gain * np.array([[1, -1], [-1, 1]]),
        ]
        d = np.array([[2 * np.trace(a @ c @ b @ c) for b in forms] for a in forms]) / batch
        jacobian = np.array([[-eta, 0], [2 * eta - 2 * gain, -2 * eta + gain]])
        mean = [np.trace(form @ c) for form in forms]
        return [*mean, *(jacobian @ sigma + sigma @ jacobian.T + d).ravel()]

    first = [float(start.r), float(start.q), 0, 0, 0, 0]
    exact = solve_ivp(slope, (0, 4), first, t_eval=[0.5, 4], rtol=1e-10, atol=1e-12).y.T
    spread = fluctuations(teacher, student, eta, [0.5, 4.0], batch=batch, relative=1e-7, absolute=1e-9)
    assert np.allclose(spread.mean.r.flatten(), exact[:, 0], atol=1e-6)
    assert np.allclose(spread.mean.q.flatten(), exact[:, 1], atol=1e-6)
    assert np.allclose(spread.covariance[:, 0], exact[:, 2:].reshape(2, 2, 2), atol=1e-6)
    assert spread.error < 1e-8


@pytest.mark.parametrize("noise", [0.0, 0.6], ids=["clean", "noisy"])
@pytest.mark.parametrize("kind", ["erf", "relu", "leaky", "tanh"])
def test_the_covariance_of_one_step_is_that_of_samples(kind, noise):
    """400,000 samples of what one sample does, as it is written, with two outputs; four standard errors."""
    eta, second, batch = 0.7, 0.4, 2
    g = torch.Generator().manual_seed(7)
    w, v = (torch.randn(1, n, 6, dtype=torch.float64, generator=g) / 6**0.5 for n in (2, 2))
    a, b = (torch.randn(1, n, 2, dtype=torch.float64, generator=g) for n in (2, 2))
    now = overlaps(Units(v, b, kind, slope_of(kind, 0.3)), Units(w, a, kind, slope_of(kind, 0.3)))
    x = torch.randn(400_000, 6, dtype=torch.float64, generator=g)
    lam, rho = x @ w[0].T, x @ v[0].T
    value, bend = value_and_derivative(kind, lam, 0.3)
    taught = value_and_derivative(kind, rho, 0.3)[0] @ b[0]
    error = value @ a[0] - taught - noise * torch.randn(*taught.shape, dtype=torch.float64, generator=g)
    delta = bend * (error @ a[0].T)
    pairs = delta[:, :, None] * lam[:, None]
    dq = -eta * (pairs + pairs.mT) + eta**2 / batch * delta[:, :, None] * delta[:, None]
    increments = torch.cat(
        [
            (-eta * rho[:, :, None] * delta[:, None]).flatten(1),
            dq[:, [0, 0, 1], [0, 1, 1]],
            (-second * value[:, :, None] * error[:, None]).flatten(1),
        ],
        1,
    )
    off = increments - increments.mean(0)
    products = off[:, :, None] * off[:, None] / batch
    frame = _Coordinates(OverlapRows(now), learns=True)
    step = _OneStep(frame, noise, batch)
    y, one = frame.first[:, frame.index], torch.ones(1, dtype=torch.float64)
    here = y, torch.zeros(1, dtype=torch.long), eta * one, second * one
    exact, shorter = step.covariance(*here)[0], step.covariance(*here, shorter=True)[0]
    slack = 3 * (exact - shorter).abs().max()
    assert slack < 0.1 * exact.abs().max()
    assert ((products.mean(0) - exact).abs() < 4.5 * products.std(0) / len(x) ** 0.5 + slack).all()
    mean = increments.mean(0) - step.slope(*here)[0]
    assert (mean.abs() < 4.5 * increments.std(0) / len(x) ** 0.5).all()


@pytest.mark.parametrize("kind", ["erf", "relu"])
def test_the_jacobian_is_that_of_the_course(kind):
    """The end of a short course turns with its start as exp(A t) says, to the order of t."""
    now = overlaps(*placed(kind, 4, 1))
    frame = _Coordinates(OverlapRows(now), learns=True)
    step = _OneStep(frame, 0.3, 1)
    y, one = frame.first[:, frame.index], torch.ones(1, dtype=torch.float64)
    who, rates = torch.zeros(1, dtype=torch.long), (0.8 * one, 0.3 * one)
    found = step.jacobian(y, who, *rates)[0]
    g = torch.Generator().manual_seed(1)
    for _ in range(4):
        turn = torch.randn(1, frame.size, dtype=torch.float64, generator=g)
        ends = [step.slope(y + sign * 1e-3 * turn, who, *rates) for sign in (1, -1)]
        assert torch.allclose((ends[0] - ends[1])[0] / 2e-3, found @ turn[0], atol=1e-4)


OPTIONS = {"plain": {}, "both layers": {"second_rate": 0.3, "label_noise": 0.3, "batch": 2}}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize(("d", "members"), [(100, 1200), (400, 160)], ids=["d = 100", "d = 400"])
@pytest.mark.parametrize("kind", ["erf", "relu"])
def test_the_spread_over_seeds_of_online_sgd_is_the_predicted_one(kind, d, members, options):
    """Standard deviations with their standard errors, and the whole covariance in units of the deviations."""
    times = [0.0, 0.5, 2.0]
    spread = fluctuations(*placed(kind, 4, 1), 0.8, times, **options)
    assert spread.error < 0.06
    limit = order_parameters(*placed(kind, 4, 1), 0.8, times, **options)
    assert (limit.q - spread.mean.q).abs().max() < 1e-5
    run = online_sgd(*placed(kind, d, members), 0.8, times, range(members), **options)
    scores = []
    for name in ("r", "q", "c") if options else ("r", "q"):
        met, predicted = getattr(run, name)[1:], getattr(spread, name)(d)[1:, 0]
        off = met - met.mean(1, keepdim=True)
        kurtosis = (off**4).mean(1) / (off**2).mean(1) ** 2
        stderr = ((kurtosis - 1) / members).sqrt() / 2  # of a standard deviation, over itself
        scores.append(((met.std(1) / predicted - 1) / stderr).flatten())
    scores = torch.cat(scores)
    assert scores.abs().max() < 4.5
    assert scores.square().mean() < 4  # the overlaps and the two times are correlated: 1 on average
    frame = _Coordinates(OverlapRows(run.at(-1)), learns="second_rate" in options)
    rows = frame.first[:, frame.index]
    scale = (spread.covariance[-1, 0].diagonal() / d).sqrt()
    gap = (rows.T.cov() - spread.covariance[-1, 0] / d) / (scale[:, None] * scale)
    assert gap.abs().max() < 6 / math.sqrt(members)  # a standard error is at most sqrt(2 / members)


def with_biases(units, hidden, top):
    """The network of these units with the same biases for all members."""
    members = len(units.w)
    biases = (torch.tensor([row], dtype=torch.float64).expand(members, -1) for row in (hidden, top))
    return Network((units.w.mT, units.c), tuple(biases), units.activation, units.slope)


@pytest.mark.parametrize("biased", [False, True], ids=["without biases", "with biases"])
def test_the_covariance_of_one_step_is_that_of_samples_of_two_eigenspaces(biased):
    """400,000 samples of what one sample does in every eigenspace, as it is written; four standard errors."""
    eta, second, noise, shares = 0.7, 0.4, 0.5, (0.5, 0.5)
    g = torch.Generator().manual_seed(7)
    w, v = (torch.randn(1, n, 6, dtype=torch.float64, generator=g) / 6**0.5 for n in (2, 1))
    a, b = (torch.randn(1, n, 1, dtype=torch.float64, generator=g) for n in (2, 1))
    variances = torch.tensor([0.5] * 3 + [2.0] * 3, dtype=torch.float64)
    hidden, taught_hidden, top, taught_top = ([0.4, -0.5], [0.6], [0.2], [-0.3]) if biased else ([0, 0], [0], [0], [0])
    x = variances.sqrt() * torch.randn(400_000, 6, dtype=torch.float64, generator=g)
    value, bend = value_and_derivative("erf", x @ w[0].T + torch.tensor(hidden))
    taught = value_and_derivative("erf", x @ v[0].T + torch.tensor(taught_hidden))[0] @ b[0] + taught_top[0]
    error = value @ a[0] + top[0] - taught - noise * torch.randn(len(x), 1, dtype=torch.float64, generator=g)
    delta = bend * (error @ a[0].T)
    spaces = [(x[:, part] @ w[0, :, part].T, x[:, part] @ v[0, :, part].T) for part in (slice(0, 3), slice(3, 6))]
    r = [-eta * rho[:, :, None] * delta[:, None] for _, rho in spaces]
    q = []
    for (lam, _), mu, share in zip(spaces, (0.5, 2.0), shares, strict=True):
        pairs = delta[:, :, None] * lam[:, None]
        both = -eta * (pairs + pairs.mT) + eta**2 * mu * share * delta[:, :, None] * delta[:, None]
        q.append(both[:, [0, 0, 1], [0, 1, 1]])
    increments = [*(each.flatten(1) for each in r), *q, -second * value * error]
    if biased:
        increments += [-eta * delta, -second * error]
    increments = torch.cat(increments, 1)
    off = increments - increments.mean(0)
    products = off[:, :, None] * off[:, None]

    teacher, students = Units(v, b, "erf"), Units(w, a, "erf")
    parts, *units = spectrum(teacher, students, variances)
    now = overlaps(*units)
    if biased:
        now = overlaps(with_biases(units[0], taught_hidden, taught_top), with_biases(units[1], hidden, top))
    frame = _Coordinates(OverlapRows(now, parts), learns=True)
    step, one = _OneStep(frame, noise, 1), torch.ones(1, dtype=torch.float64)
    here = frame.first[:, frame.index], torch.zeros(1, dtype=torch.long), eta * one, second * one
    exact, shorter = step.covariance(*here)[0], step.covariance(*here, shorter=True)[0]
    slack = 3 * (exact - shorter).abs().max()
    assert slack < 1e-3 * exact.abs().max()
    assert ((products.mean(0) - exact).abs() < 4.5 * products.std(0) / len(x) ** 0.5 + slack).all()
    mean = increments.mean(0) - step.slope(*here)[0]
    assert (mean.abs() < 4.5 * increments.std(0) / len(x) ** 0.5).all()


def test_eigenspaces_that_hardly_differ_spread_as_one():
    """The numbers followed are twice as many; their sums are those of the identity."""
    start = placed("erf", 40, 1)
    options = {"second_rate": 0.3, "label_noise": 0.3, "relative": 1e-6, "absolute": 1e-8}
    plain = fluctuations(*start, 0.8, [0.0, 1.5], **options)
    variances = torch.ones(40, dtype=torch.float64)
    variances[[0, 2, *range(20, 38)]] += 1e-7
    apart = fluctuations(*start, 0.8, [0.0, 1.5], covariance=variances, **options)
    assert torch.allclose(plain.mean.q, apart.mean.q, atol=1e-6)
    assert plain.covariance[1].abs().max() > 0.05
    assert torch.allclose(plain.covariance, apart.covariance, atol=1e-4 * float(plain.covariance.abs().max()))


def test_biases_of_odd_units_that_are_0_leave_the_spread_of_the_overlaps():
    """By symmetry the biases' own fluctuations move the overlaps at second order only."""
    start = placed("erf", 4, 1)
    plain = fluctuations(*start, 0.8, [1.5], second_rate=0.3)
    both = fluctuations(*(with_biases(u, [0.0, 0.0], [0.0]) for u in start), 0.8, [1.5], second_rate=0.3)
    size = plain.covariance.shape[2]
    assert torch.allclose(both.covariance[..., :size, :size], plain.covariance, atol=1e-3)
    assert both.covariance[..., size:, :size].abs().max() < 1e-3
    assert (both.biases(100)[0] > 1e-2).all()
    with pytest.raises(TutelageError, match="the students have no biases"):
        plain.biases(100)


EIGENVALUES = torch.ones(120, dtype=torch.float64)
EIGENVALUES[0], EIGENVALUES[2], EIGENVALUES[60:] = 2.0, 2.0, 0.5


@pytest.mark.parametrize(
    ("kind", "covariance", "biased"),
    [("erf", EIGENVALUES, False), ("relu", EIGENVALUES, False), ("erf", EIGENVALUES, True), ("relu", None, True)],
    ids=["erf, covariance", "relu, covariance", "erf, both", "relu, biases"],
)
def test_the_spread_with_a_covariance_and_with_biases_is_that_over_seeds(kind, covariance, biased):
    """Standard deviations of 1,000 runs in 120 dimensions with their standard errors."""
    d, members, options = 120, 1000, {"second_rate": 0.3, "label_noise": 0.2, "covariance": covariance}

    def start(count):
        units = placed(kind, d, count)
        if not biased:
            return units
        return with_biases(units[0], [0.5, -0.8], [0.3]), with_biases(units[1], [0.1, 0.2], [-0.2])

    spread = fluctuations(*start(1), 0.8, [1.5], **options)
    run = online_sgd(*start(members), 0.8, [1.5], range(members), **options)
    pairs = [(getattr(run, name), getattr(spread, name)(d)) for name in ("r", "q", "c")]
    if biased:
        pairs += zip(run.biases, spread.biases(d), strict=True)
    scores = []
    for met, predicted in pairs:
        off = met - met.mean(1, keepdim=True)
        kurtosis = (off**4).mean(1) / (off**2).mean(1) ** 2
        scores.append(((met.std(1) / predicted[:, 0] - 1) / (((kurtosis - 1) / members).sqrt() / 2)).flatten())
    scores = torch.cat(scores)
    assert scores.abs().max() < 4.5
    assert scores.square().mean() < 4


def test_deviations_have_the_shapes_of_the_overlaps_and_shrink_with_the_dimension():
    spread = fluctuations(*placed("erf", 4, 2), [0.8, 0.4], [0.0, 2.0])
    assert spread.r(100).shape == spread.mean.r.shape
    assert spread.q(100).shape == spread.mean.q.shape
    assert spread.c(100).shape == spread.mean.c.shape
    assert torch.equal(spread.q(100), spread.q(100).mT)
    assert torch.allclose(spread.r(400), spread.r(100) / 2)
    assert not spread.c(100).any()
    assert not spread.r(100)[0].any()
    assert (spread.r(100)[1, 0] > spread.r(100)[1, 1]).all()
    alone = fluctuations(*placed("erf", 4, 1), 0.4, [0.0, 2.0])
    assert torch.allclose(spread.covariance[:, 1:], alone.covariance, atol=1e-6)


def test_a_schedule_that_is_half_the_rate_is_half_the_rate():
    half = fluctuations(*placed("erf", 4, 1), 0.8, [1.0], schedule=lambda t: torch.full_like(t, 0.5))
    assert torch.allclose(half.covariance, fluctuations(*placed("erf", 4, 1), 0.4, [1.0]).covariance, atol=1e-8)


def test_a_perfect_student_stays_without_a_spread():
    teacher, _ = placed("erf", 4, 1)
    still = fluctuations(teacher, teacher, 0.8, [3.0])
    assert still.covariance.abs().max() < 1e-9


def test_noise_of_one_or_two_outputs_has_nodes_that_are_exact():
    for noises in (1, 2):
        z, weights = _nodes(2, noises, shorter=False)
        assert z.shape[1] == 2 + noises
        moments = [float(weights @ z[:, 2] ** power) for power in range(5)]
        assert moments == pytest.approx([1, 0, 1, 0, 3], abs=1e-12)
    assert _nodes(2, 3, False)[0].shape == rule(5)[0].shape


@pytest.mark.parametrize("dimension", [0, -1, 2.5, True, "100"], ids=str)
def test_a_dimension_that_is_none_is_one_sentence(dimension):
    spread = fluctuations(*placed("erf", 4, 1), 0.4, [0.5])
    with pytest.raises(TutelageError, match="dimension must be a whole number of at least 1, got"):
        spread.r(dimension)


def test_rates_and_noise_are_checked_as_those_of_the_mean():
    with pytest.raises(TutelageError, match="rate must be finite"):
        fluctuations(*placed("erf", 4, 1), -1.0, [0.5])
    with pytest.raises(TutelageError, match="label_noise must be at least 0"):
        fluctuations(*placed("erf", 4, 1), 1.0, [0.5], label_noise=-0.1)
