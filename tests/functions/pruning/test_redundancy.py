"""Each kind of step alone: what it finds, what it leaves, what it writes down."""

from dataclasses import replace

import torch

from tutelage.functions.domain import box_for
from tutelage.functions.pruning.redundancy import Work, colinear, constant, idle
from tutelage.functions.rounding import cancelled
from tutelage.networks import Network, outputs
from tutelage.networks.activations import slope_of


def double(*rows):
    return torch.tensor([rows], dtype=torch.float64)


def work(network, box=None, tolerance=0.0, points=None, on_samples=False):
    return Work(network, box_for(network, box), points, tolerance, 1e-14, on_samples)


def plain(activation="relu"):
    """Units: ordinary, without weights, never on in the box, twice the first, no fan-out."""
    return Network(
        (
            double([1.0, 0.0, 1.0, 2.0, 1.0], [-1.0, 0.0, 1.0, -2.0, 0.5]),
            double([1.0], [2.0], [3.0], [0.5], [0.0]),
        ),
        (double(0.5, -0.3, -9.0, 1.0, 0.0), double(0.25)),
        activation,
        slope_of(activation, 0.1),
    )


def said(w):
    return [(s.unit, s.action, s.reason, s.valid) for s in w.steps]


def test_constants_join_the_bias_above():
    net = plain("leaky")
    w = work(net)
    assert constant(w, 1)
    assert said(w) == [(1, "removed", "no incoming weights, so it is a constant", "all inputs")]
    assert torch.allclose(w.network.biases[1], double(0.25 - 0.3 * 0.1 * 2.0))
    x = torch.randn(1, 20, 2, dtype=torch.float64)
    assert torch.allclose(outputs(w.network, x), outputs(net, x))
    assert not constant(w, 1)


def test_a_unit_is_dead_where_it_is_proved():
    assert said_after(constant, work(plain())) == [
        (1, "removed", "no incoming weights, so it is a constant", "all inputs")
    ]
    boxed = said_after(constant, work(plain(), (-2, 2)))
    assert boxed[1] == (2, "removed", "never active", "the box")
    assert not [s for s in said_after(constant, work(plain("leaky"), (-2, 2))) if s[0] == 2]


def said_after(step, w):
    step(w, 1)
    return said(w)


def test_co_linear_units_give_their_fan_out_to_the_largest():
    net = plain()
    w = work(net)
    assert colinear(w, 1)
    assert said(w) == [(0, "merged", "co-linear with unit 3", "all inputs")] or said(w) == [
        (3, "merged", "co-linear with unit 0", "all inputs")
    ]
    x = torch.randn(1, 20, 2, dtype=torch.float64)
    assert torch.allclose(outputs(w.network, x), outputs(net, x))


def test_opposite_units_are_one_for_abs_alone():
    for activation, merged in (("abs", True), ("relu", False), ("leaky", False)):
        net = Network(
            (double([1.0, -2.0]), double([1.0], [1.0])),
            (double(0.5, -1.0), double(0.0)),
            activation,
            slope_of(activation, slope_of(activation, 0.1)),
        )
        w = work(net)
        assert colinear(w, 1) == merged
        x = torch.randn(1, 20, 1, dtype=torch.float64)
        assert torch.allclose(outputs(w.network, x), outputs(net, x))


def test_fan_outs_that_cancel_leave_nothing():
    """Theorem 2 of Tian 2020: a co-linear group whose fan-outs sum to zero."""
    net = Network((double([1.0, 3.0], [0.3, 0.9]), double([0.3], [-0.1])), (double(0.1, 0.3), double(0.0)))
    w = work(net)
    assert colinear(w, 1)
    assert idle(w, 1)
    assert not any(a.any() for a in w.alive)
    assert w.moved.max() < 1e-14


def test_idle_means_no_fan_out_or_little_of_it():
    w = work(plain(), (-1, 1))
    assert idle(w, 1)
    assert said(w) == [(4, "removed", "no fan-out", "all inputs")]
    net = plain()
    small = replace(net, weights=(net.weights[0], net.weights[1] * double([1.0], [1.0], [1.0], [1e-3], [1.0])))
    w = work(small, (-1, 1), tolerance=1e-3)
    assert idle(w, 1)
    assert (3, "removed", "next to no fan-out", "the box") in said(w)
    most = (2 + 2 + 1) * 0.5e-3  # the largest activation of unit 3 in the box times its fan-out
    assert abs(w.moved.item() - most) < 1e-9


def test_samples_decide_only_when_asked():
    points = double([0.1, 0.1], [0.0, -0.1])
    assert not [s for s in said_after(constant, work(plain(), points=points)) if s[0] == 2]
    asked = said_after(constant, work(plain(), points=points, on_samples=True))
    assert (2, "removed", "never active on the points", "the points") in asked


def test_cancelled_keeps_what_is_more_than_rounding():
    summed, lost = cancelled(double(1e-17, 1e-3), double(1.0, 1.0), 1e-14)
    assert summed.tolist() == [[0.0, 1e-3]]
    assert lost.tolist() == [[1e-17, 0.0]]
