"""Two networks at inputs of their own: what is proved holds on sampled pairs, and what is false is never proved."""

import pytest
import torch
from tests.functions.conftest import make_network

from tutelage.deadline import Deadline
from tutelage.functions.comparing.ordered import proved_apart
from tutelage.functions.comparing.vnnlib import read_property
from tutelage.networks import Network, outputs

HEAD = """(vnnlib-version <2.0>)
(declare-network f (declare-input X_f real [2]) (declare-output Y_f real [2]))
(declare-network g ({like} f) (declare-input X_g real [2]) (declare-output Y_g real [2]))
(assert (and (<= X_f[0] 1.0) (>= X_f[0] -1.0) (<= X_g[0] 1.0) (>= X_g[0] -1.0)))
(assert (and (<= X_f[1] 0.5) (>= X_f[1] -0.5) (<= X_g[1] 0.5) (>= X_g[1] -0.5)))
"""
ORDERED = "(assert (>= X_f[0] X_g[0])) (assert (== X_f[1] X_g[1]))\n"


def asked(folder, claim, ties=ORDERED, like="equal-to"):
    (folder / "p.vnnlib").write_text(HEAD.format(like=like) + ties + f"(assert {claim})\n")
    return read_property(folder / "p.vnnlib")


def rising(seed, by=0.0):
    """A random network 2-6-5-2 whose first output never falls with its first input; by: how much more it falls."""
    net = make_network((2, 6, 5, 2), seed)
    weights = [w.clone() for w in net.weights]
    weights[0][:, 0] = weights[0][:, 0].abs()
    for layer in (1, 2):
        weights[layer][..., 0 if layer == 2 else slice(None)] = weights[layer][
            ..., 0 if layer == 2 else slice(None)
        ].abs()
    made = Network(tuple(weights), net.biases)
    if not by:
        return made
    passed = torch.zeros(1, 2, 2, dtype=torch.float64)
    passed[0, 0] = torch.tensor([1.0, -1.0])  # relu(x) and relu(-x), handed on to the top with the slope -by
    first = torch.cat([weights[0], passed], 2)
    second = torch.block_diag(weights[1][0], torch.eye(2, dtype=torch.float64))[None]
    top = torch.cat([weights[2], torch.tensor([[[-by, 0.0], [by, 0.0]]], dtype=torch.float64)], 1)
    more = [torch.cat([b, b.new_zeros(1, 2)], 1) for b in made.biases[:2]]
    return Network((first, second, top), (*more, made.biases[2]))


def sampled(first, second, least, seed=0):
    """The smallest Y_f[0] - Y_g[0] at random pairs with x_0 >= y_0 and x_1 = y_1."""
    draw = torch.Generator().manual_seed(seed)
    x = 2 * torch.rand(4000, 2, generator=draw, dtype=torch.float64) - 1
    x[:, 1] /= 2
    y = x.clone()
    y[:, 0] = -1 + (x[:, 0] + 1) * torch.rand(4000, generator=draw, dtype=torch.float64)
    return float((outputs(first, x)[0, :, 0] - outputs(second, y)[0, :, 0]).min()) >= least


@pytest.mark.parametrize("seed", range(4))
def test_a_network_that_never_falls_is_proved_so(seed, tmp_path):
    net = rising(seed)
    assert sampled(net, net, 0.0)
    assert proved_apart(asked(tmp_path, "(< Y_f[0] Y_g[0])"), (net, net), Deadline(20))
    turned = ORDERED.replace(">=", "<=")
    assert proved_apart(asked(tmp_path, "(> Y_f[0] Y_g[0])", turned), (net, net), Deadline(20))
    assert not proved_apart(asked(tmp_path, "(> Y_f[0] Y_g[0])"), (net, net), Deadline(1))
    # Equal inputs give equal outputs, which is a counterexample where it need not be strict.
    assert not proved_apart(asked(tmp_path, "(<= Y_f[0] Y_g[0])"), (net, net), Deadline(1))


@pytest.mark.parametrize("seed", range(4))
def test_one_that_falls_a_little_is_proved_within_what_it_falls(seed, tmp_path):
    net = rising(seed, by=3.0)
    assert not sampled(net, net, 0.0)
    assert not proved_apart(asked(tmp_path, "(< Y_f[0] Y_g[0])"), (net, net), Deadline(2))
    for below in (0.5, 7.0):
        proved = proved_apart(asked(tmp_path, f"(< Y_f[0] (- Y_g[0] {below}))"), (net, net), Deadline(5))
        assert not proved or sampled(net, net, -below)
        assert proved or below < 7  # it falls by 6 at most


def test_two_networks_are_proved_apart_by_a_margin(tmp_path):
    net = rising(0)
    higher = Network(net.weights, (*net.biases[:-1], net.biases[-1] + 1))
    question = asked(tmp_path, "(< Y_f[0] (+ Y_g[0] 0.9))", like="isomorphic-to")
    assert sampled(higher, net, 0.9)
    assert proved_apart(question, (higher, net), Deadline(20))
    assert not proved_apart(asked(tmp_path, "(< Y_f[0] (+ Y_g[0] 1.1))"), (higher, net), Deadline(1))
    both = asked(tmp_path, "(or (< Y_f[0] (+ Y_g[0] 0.9)) (> Y_g[0] Y_f[0]))", like="isomorphic-to")
    assert proved_apart(both, (higher, net), Deadline(20))


def test_other_claims_are_left_open(tmp_path):
    net = rising(0)
    for claim in ("(and (< Y_f[0] Y_g[0]) (< Y_f[1] Y_g[1]))", "(< Y_f[0] -100.0)", "(< Y_f[0] (* 2.0 Y_g[0]))"):
        assert not proved_apart(asked(tmp_path, claim), (net, net), Deadline(1))
