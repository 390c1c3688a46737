"""The verdict is right where it is known, has a valid witness or bound, and does not change with the symmetries."""

import time
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from tutelage.errors import TutelageError
from tutelage.functions.bounds.pieces import supremum
from tutelage.functions.comparing import equivalence
from tutelage.functions.comparing.canonical import reordered, scaled
from tutelage.functions.comparing.equivalence import same_function
from tutelage.functions.comparing.gallery import exhibit, names
from tutelage.functions.domain import box, polytope
from tutelage.functions.layers.joint import deepen
from tutelage.networks import Network, outputs

ACTIVATIONS = ["relu", "leaky", "abs", "linear"]


def moved(network, seed):
    """Hidden units permuted and scaled at random."""
    draw = torch.Generator().manual_seed(seed)
    for layer, width in enumerate(network.widths[1:-1]):
        by = 0.2 + 4 * torch.rand(1, width, generator=draw, dtype=network.dtype)
        network = scaled(reordered(network, layer, torch.randperm(width, generator=draw)[None]), layer, by)
    return network


def gap(a, b, found):
    """The difference at the witness, in the measure of the comparison."""
    x = found.witness[None]
    size = 1.0 if found.bounded else max(1.0, x.abs().max().item())
    double = [n.to(dtype=torch.float64) for n in (a, b)]
    return (outputs(double[0], x) - outputs(double[1], x)).abs().max().item() / size


def largest_of_three(order):
    """max(x, y, z) as nested maxima of two, in a given order of the inputs: a network 3-5-3-1."""
    x, y, z = order
    w1 = torch.zeros(3, 5, dtype=torch.float64)
    w1[x, 0], w1[y, 0] = 1, -1  # max(x, y) = max(0, x - y) + y
    w1[y, 1], w1[y, 2], w1[z, 3], w1[z, 4] = 1, -1, 1, -1
    w2 = torch.tensor([[1, 0, 0], [1, 0, 0], [-1, 0, 0], [-1, 1, -1], [1, -1, 1]], dtype=torch.float64)
    return Network((w1[None], w2[None], torch.tensor([[[1.0], [1.0], [-1.0]]], dtype=torch.float64)))


@given(st.integers(0, 10**6), st.sampled_from(ACTIVATIONS), st.sampled_from([(2, 4, 1), (3, 5, 4, 2)]), st.booleans())
def test_copies_are_related(random_net, seed, activation, widths, boxed):
    a = random_net(widths, seed, activation=activation)
    found = same_function(a, moved(a, seed), (-1, 1) if boxed else None)
    assert found.verdict == "same and related"
    assert found.same
    assert found.relation.holds.all()
    assert found.bound <= found.tolerance
    assert found.witness is None


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from(["relu", "leaky", "abs"]), st.booleans(), st.booleans(), st.data())
def test_a_weight_moved_by_a_millionth_is_found(random_net, seed, activation, deep, boxed, data):
    a = random_net((2, 4, 3, 1) if deep else (3, 5, 2), seed, activation=activation)
    layer = data.draw(st.integers(0, a.depth - 1))
    place = [data.draw(st.integers(0, n - 1)) for n in a.weights[layer].shape[1:]]
    weights = [w.clone() for w in a.weights]
    weights[layer][0, place[0], place[1]] += 1e-6
    b = moved(replace(a, weights=tuple(weights)), seed)
    domain = box(-1, 1, dimension=a.inputs) if boxed else None
    found = same_function(a, b, domain)
    if found.verdict == "different":
        assert gap(a, b, found) == pytest.approx(found.difference, rel=1e-6)
        assert found.difference > found.tolerance
        assert found.bound >= found.difference
        assert domain is None or (found.witness.abs() <= 1).all()
    else:  # the unit does nothing: the exact supremum over the domain says so too
        assert found.verdict == "same, not related"
        assert supremum(a, b, domain).value <= found.tolerance


@settings(max_examples=40)
@given(st.sampled_from(names()), st.integers(0, 1000))
def test_symmetries_do_not_change_a_verdict(name, seed):
    shown = exhibit(name, seed)
    found = same_function(moved(shown.first, seed), moved(shown.second, seed + 1), shown.domain)
    assert found.verdict == "same, not related"
    before = same_function(shown.first, shown.second, shown.domain)
    mine, again = (sorted(r.kind for each in c.redundancies for r in each) for c in (before, found))
    if name != "leaky-as-relu":  # there, which of two mirrored units comes first decides what is turned round
        assert mine == again


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from(ACTIVATIONS), st.sampled_from(ACTIVATIONS), st.booleans())
def test_random_networks_differ_and_the_supremum_is_given(random_net, seed, first, second, boxed):
    a = random_net((2, 4, 3, 2), seed, activation=first)
    b = random_net((2, 5, 2), seed + 1, activation=second)
    domain = box(-1, 1, dimension=2) if boxed else None
    found = same_function(a, b, domain)
    assert found.verdict == "different"
    assert gap(a, b, found) == pytest.approx(found.difference, rel=1e-9)
    assert found.exact == boxed
    again = same_function(moved(a, seed), moved(b, seed), domain)
    assert again.verdict == "different"
    if boxed:
        assert again.difference == pytest.approx(found.difference, rel=1e-9)
        assert found.difference <= found.bound < found.difference + 1e-9


@pytest.mark.parametrize("domain", [None, (-1, 1), (-5, 2)])
def test_other_algorithms_for_one_function_are_proved_equal_from_all_regions(domain):
    found = same_function(largest_of_three((0, 1, 2)), largest_of_three((2, 0, 1)), domain)
    assert found.verdict == "same, not related"
    assert "regions of both together" in found.reason
    assert found.bound <= found.tolerance < 1e-9


def test_beyond_the_budget_nothing_is_claimed():
    found = same_function(largest_of_three((0, 1, 2)), largest_of_three((2, 0, 1)), (-1, 1), budget=10)
    assert found.verdict == "not decided"
    assert not found.same
    assert found.witness is None
    assert found.bound > found.tolerance
    for words in ("was not proved", "budget", "slice"):
        assert words in found.reason


def test_a_unit_that_fires_in_a_millionth_of_the_domain_makes_a_difference(random_net):
    """The corner of the simplex beyond x + 2 y + 3 z = 2.98: 10^5 samples of the simplex miss it."""
    a = random_net((3, 5, 1), 1)
    w = torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64)[None]
    b = Network(
        (torch.cat([a.weights[0], w], 2), torch.cat([a.weights[1], torch.ones(1, 1, 1, dtype=torch.float64)], 1)),
        (torch.cat([a.biases[0], torch.full((1, 1), -2.98, dtype=torch.float64)], 1), a.biases[1]),
    )
    simplex = polytope(torch.cat([-torch.eye(3), torch.ones(1, 3)]), torch.tensor([0.0, 0.0, 0.0, 1.0]))
    x = -torch.rand(100_000, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64).log()
    x = (x / x.sum(1, keepdim=True))[:, :3]
    assert torch.allclose(outputs(a, x), outputs(b, x), rtol=0, atol=1e-12)
    exact = supremum(a, b, simplex)
    assert exact.value == pytest.approx(0.02)
    assert torch.allclose(exact.at, torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64), atol=1e-9)
    found = same_function(a, b, simplex)
    assert found.verdict == "different"
    assert found.exact
    assert found.difference == pytest.approx(0.02)


def test_float32_is_compared_with_its_own_rounding(random_net):
    a = random_net((10, 20, 20, 3), 1, dtype=torch.float32)
    assert same_function(a, moved(a, 1)).verdict == "same and related"
    rounded = a.to(dtype=torch.float64).map(lambda p: p * (1 + 1e-9))
    assert same_function(a, rounded).verdict == "same and related"
    assert same_function(a.to(dtype=torch.float64), rounded).verdict == "different"
    weights = [w.clone() for w in a.weights]
    weights[0][0, 3, 4] += 1e-3
    found = same_function(a, replace(a, weights=tuple(weights)))
    assert found.verdict == "different"
    assert found.difference > found.tolerance


def test_a_told_tolerance_is_what_counts(random_net):
    a = random_net((2, 4, 1), 1)
    b = a.map(lambda p: p + 1e-4)
    assert same_function(a, b, (-1, 1)).verdict == "different"
    near = same_function(a, b, (-1, 1), tolerance=0.01)
    assert near.verdict == "same, not related"
    assert near.bound <= 0.01
    assert same_function(a, b, (-1, 1), tolerance=1e-6).verdict == "different"
    assert same_function(a, b, tolerance=0.01).same
    assert same_function(a, moved(a, 1), tolerance=0.0).verdict == "same and related"
    single = a.to(dtype=torch.float32)
    assert same_function(a, single).same
    assert same_function(a, single, tolerance=0.0).verdict == "different"


def test_layers_without_hidden_units_are_compared_too(random_net):
    a = random_net((3, 2), 1)
    assert same_function(a, a).verdict == "same and related"
    assert same_function(a, deepen(a, 3)).verdict == "same, not related"
    assert same_function(a, random_net((3, 2), 2), (-1, 1)).exact


def test_two_outputs_that_are_bounded_leave_no_room():
    w = torch.full((1, 2, 3), 1e-9, dtype=torch.float64)
    v = torch.full((1, 3, 1), 1e-9, dtype=torch.float64)
    found = same_function(Network((w, v)), Network((-w, v)), (-1, 1), tolerance=1e-6)
    assert found.same


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"second": (3, 4, 1)}, "2 and 3 inputs"),
        ({"second": (2, 4, 2)}, "1 and 2 outputs"),
        ({"members": 2}, "one network, got a stack of 2"),
        ({"domain": (1, -1)}, "got 1 to -1 for input 0"),
        ({"domain": box(-1, 1, dimension=3)}, "domain must have 2 dimensions.*got 3"),
        ({"tolerance": -1.0}, "tolerance"),
        ({"domain": (0.0, torch.inf)}, "finite, got 0 to inf"),
    ],
)
def test_bad_input_is_refused(random_net, change, words):
    a = random_net((2, 4, 1), 1)
    b = random_net(change.pop("second", (2, 4, 1)), 2, members=change.pop("members", 1))
    with pytest.raises(TutelageError, match=words):
        same_function(a, b, change.pop("domain", None), **change)


def stored(*layers, biases=None, dtype=torch.float32, activation="relu", slope=0.01):
    """One member from nested lists."""
    weights = tuple(torch.tensor([w], dtype=dtype) for w in layers)
    biases = None if biases is None else tuple(torch.tensor([b], dtype=dtype) for b in biases)
    return Network(weights, biases, activation, slope)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("domain", [None, (-1, 1)])
def test_half_precision_has_no_tolerance_of_16_bits(random_net, dtype, domain):
    a = random_net((8, 32, 32, 4), 1, dtype=dtype)
    assert same_function(a, reordered(a, 0, torch.arange(31, -1, -1)[None]), domain).verdict == "same and related"
    weights = [w.clone() for w in a.weights]
    weights[-1][0, 3, 2] *= 1.01
    found = same_function(a, replace(a, weights=tuple(weights)), domain)
    assert found.verdict == "different"
    assert found.tolerance < 1e-6


@pytest.mark.parametrize("domain", [None, (-1, 1), (-100, 100)])
def test_a_shared_bias_hides_no_difference(domain):
    """x - 1e9 and 3 x - 1e9 in float32, which has steps of 64 there."""
    a, b = (stored([[1.0, -1.0]], [[w], [-w]], biases=([0.0, 0.0], [-1e9])) for w in (1.0, 3.0))
    found = same_function(a, b, domain)
    assert found.verdict == "different"
    assert found.tolerance < 1.0
    assert same_function(a, a, domain).verdict == "same and related"
    near = stored([[1.0, -1.0]], [[1.0], [-1.0]], biases=([0.0, 0.0], [-1e9 + 64]))
    assert same_function(a, near, domain).verdict == "different"


@pytest.mark.parametrize("domain", [None, (-1, 1)])
@pytest.mark.parametrize("large", [1e9, 1e30])
def test_a_shared_unit_that_is_not_active_hides_no_difference(domain, large):
    a, b = (stored([[1.0, -1.0, 1.0]], [[w], [-w], [large]], biases=([0.0, 0.0, -1e6], [0.0])) for w in (1.0, 3.0))
    assert same_function(a, b, domain).verdict == "different"
    assert same_function(a, a, domain).verdict == "same and related"


@pytest.mark.parametrize("slope", [0.01, 0.3, 1e-6])
@pytest.mark.parametrize("large", [1.0, 1e8])
def test_leaky_networks_are_bounded_with_their_own_slope(random_net, slope, large):
    """A slope rounded to float32 gave bounds below the difference, and even below 0."""
    for seed in range(5):
        a = random_net((2, 4, 3, 1), seed, activation="leaky", slope=slope)
        a = replace(a, weights=(a.weights[0] * large, *a.weights[1:]), biases=(a.biases[0] * large, *a.biases[1:]))
        b = replace(a, biases=(*a.biases[:-1], a.biases[-1] + 1e-4 * large))
        found = same_function(a, b, (-1, 1))
        assert found.verdict == "different"
        assert found.difference == pytest.approx(1e-4 * large, rel=1e-6)
        assert found.difference <= found.bound
        assert same_function(a, moved(a, seed), (-1, 1)).same


def test_a_time_limit_leaves_the_question_undecided():
    a, b = largest_of_three((0, 1, 2)), largest_of_three((2, 0, 1))
    found = same_function(a, b, seconds=0)
    assert found.verdict == "not decided"
    assert "the time limit of 0 seconds was reached" in found.reason
    assert found.bound is None
    told = []
    assert same_function(a, b, (-1, 1), seconds=600, on_progress=told.append).same
    assert told == sorted(told)
    assert told[-1] == 1.0
    with pytest.raises(TutelageError, match="seconds must be at least 0"):
        same_function(a, b, seconds=-1)


def test_torch_modules_are_compared():
    first = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    assert same_function(first, first).verdict == "same and related"
    assert same_function(first, nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))).verdict == "different"
    with pytest.raises(TutelageError, match="the second network must be a Network"):
        same_function(first, 3)


@pytest.mark.parametrize("domain", [None, (-1.0, 1.0)])
@pytest.mark.parametrize("change", [1e-3, 1e-5])
def test_an_output_in_other_units_hides_no_difference_of_another(random_net, domain, change):
    """A network with a second output a thousand times as large, and the bias of the first moved."""
    net = random_net((3, 12, 8, 2), seed=1, dtype=torch.float32)
    units = net.map(lambda a: a * torch.tensor([1.0, 1000.0]) if a.shape[-1] == 2 else a)
    biases = (*units.biases[:-1], units.biases[-1] + torch.tensor([change, 0.0]))
    moved = replace(units, biases=biases)
    with_a_dead_unit = replace(
        moved,
        weights=(torch.cat([moved.weights[0], torch.zeros(1, 3, 1)], 2),
                 torch.cat([moved.weights[1], torch.ones(1, 1, 8)], 1), moved.weights[2]),
        biases=(torch.cat([moved.biases[0], torch.full((1, 1), -1.0)], 1), *moved.biases[1:]),
    )  # fmt: skip
    assert same_function(units, moved, domain).verdict == "different"
    assert same_function(units, with_a_dead_unit, domain).verdict == "different"


@pytest.mark.parametrize("domain", [None, (-1.0, 1.0)])
def test_networks_that_are_0_everywhere_are_the_same(random_net, domain):
    zeros = [Network((torch.zeros(1, 3, n).double(), torch.zeros(1, n, 2).double())) for n in (4, 6)]
    unread = random_net((3, 6, 2), seed=0)
    unread = replace(unread, weights=(unread.weights[0], 0 * unread.weights[1]), biases=None)
    for other in (zeros[1], unread):
        assert same_function(zeros[0], other, domain).verdict.startswith("same")
    biases = torch.zeros(1, 6).double(), torch.tensor([[0.0, 1e-300]], dtype=torch.float64)
    assert same_function(zeros[0], replace(unread, biases=biases), domain).verdict == "different"


def test_no_time_limit_is_spent_on_compiling(monkeypatch):
    monkeypatch.setattr(equivalence, "compile_bounds", lambda: time.sleep(1.5))
    net = Network((torch.tensor([[[3.0, 0.0], [0.0, 0.5]]]), torch.tensor([[[1.0], [4.0]]])))
    turned = Network((net.weights[0].flip(2), net.weights[1].flip(1)))
    assert same_function(net, turned, (-1, 1), seconds=1.0).verdict == "same and related"


@pytest.mark.parametrize("hidden", [False, True])
def test_a_large_bias_does_not_excuse_weights_that_differ_beyond_rounding(hidden):
    """Far from 0 the bias counts for nothing: 1e-5 of a float32 weight is no rounding there, with any domain."""
    bias, weights = torch.tensor([[-19190.85]]), (torch.tensor([[[-465.1166]]]), torch.tensor([[[-465.1212]]]))
    a, b = (Network((w,), (bias,)) for w in weights)
    if hidden:
        top = torch.ones(1, 1, 1), torch.zeros(1, 1)
        a, b = (Network((*n.weights, top[0]), (*n.biases, top[1]), "leaky", 0.5) for n in (a, b))
    for domain in (None, (-10, 10), (-100, 100)):
        assert same_function(a, b, domain).verdict == "different"
    copy = Network((weights[0] * (1 + 2.0**-23), *a.weights[1:]), a.biases, a.activation, a.slope)
    assert same_function(a, copy).same
