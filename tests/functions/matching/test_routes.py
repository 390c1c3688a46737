"""Fits are least squares, and as few units as needed are kept."""

import torch

from tutelage.functions.matching.routes import FanOutFit, leaders, route
from tutelage.networks import Network, forward, outputs


def student(seed, width=6, bias=True):
    draw = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=draw, dtype=torch.float64)

    return Network((normal(1, 4, width), normal(1, width, 2)), (normal(1, width), normal(1, 2)) if bias else None)


def points(count=200):
    return torch.randn(count, 4, generator=torch.Generator().manual_seed(9), dtype=torch.float64)


def test_a_fit_is_that_of_least_squares():
    for bias in (True, False):
        a, b, x = student(1, bias=bias), student(2, bias=bias), points()
        labels = outputs(student(3), x)[0]
        fit, chosen = FanOutFit(a, b, x, labels), [0, 3, 8]
        f = torch.cat([forward(n, x).features[1][0] for n in (a, b)], dim=1)[:, chosen]
        columns = torch.cat([f, torch.ones_like(f[:, :1])], dim=1) if bias else f
        v = torch.linalg.lstsq(columns, labels).solution
        assert torch.allclose(fit.fan_out(chosen)[: columns.shape[1]], v)
        loss = (columns @ v - labels).square().sum() / (2 * len(x))
        assert abs(fit.least(chosen) - loss.item()) < 1e-12


def test_the_loss_of_all_units_is_that_of_the_student():
    a, x = student(1), points()
    labels = outputs(student(3), x)[0]
    fit = FanOutFit(a, student(2), x, labels)
    v = torch.cat([a.weights[1][0], a.biases[1]])
    loss = (outputs(a, x)[0] - labels).square().sum() / (2 * len(x))
    assert abs(fit.loss(list(range(6)), v) - loss.item()) < 1e-10


def test_duplicates_and_idle_units_are_not_needed():
    a, x = student(1), points()
    a.weights[0][0, :, 1], a.biases[0][0, 1] = 2 * a.weights[0][0, :, 0], 2 * a.biases[0][0, 0]
    a.weights[1][0, 5] = 0
    fit = FanOutFit(a, student(2), x, outputs(a, x)[0])
    kept = leaders(fit, a, 0, 0.0)
    assert len(kept) == 4
    assert 5 not in kept
    assert not {0, 1} <= set(kept)
    assert fit.least(kept) < 1e-20


def test_any_excess_frees_one_unit():
    a, x = student(1), points()
    fit = FanOutFit(a, student(2), x, outputs(a, x)[0])
    assert len(leaders(fit, a, 0, 0.0)) == 6
    assert len(leaders(fit, a, 0, None)) == 5


def test_rings_are_undone_by_way_of_a_free_unit():
    """The second student is the first with its units moved round in a ring, and one free unit in both."""
    a, x = student(1, width=5), points()
    a.weights[1][0, 4] = 0
    ring = torch.tensor([1, 2, 3, 0, 4])
    b = Network((a.weights[0][:, :, ring], a.weights[1][:, ring]), (a.biases[0][:, ring], a.biases[1]))
    labels = outputs(a, x)[0]
    knots, what = route(a, b, x, labels, 0.0, 0)
    assert len(what) == len(knots) - 1
    for knot in knots:
        assert torch.allclose(outputs(knot, x)[0], labels, atol=1e-9)
    assert all(torch.equal(p, q) for p, q in zip(knots[-1].parameters, b.parameters, strict=True))


def test_the_cheapest_unit_is_the_one_whose_loss_is_least_without_it():
    a, b, x = student(1), student(2), points()
    fit = FanOutFit(a, b, x, outputs(student(3), x)[0])
    units = [0, 2, 3, 7, 9, 11]
    by_trying = min(units, key=lambda k: fit.least([u for u in units if u != k]))
    assert fit.cheapest(units, units) == by_trying
    assert fit.cheapest(units, [2, 9]) == min((2, 9), key=lambda k: fit.least([u for u in units if u != k]))
