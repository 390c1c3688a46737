"""What every operation refuses, in one sentence."""

import pytest
import torch
from torch import nn

import tutelage as tt
from tutelage.deadline import Deadline
from tutelage.functions.bounds import ranges
from tutelage.functions.checks import as_network, bias, in_double, points_for, same_function_space
from tutelage.functions.identifying import folds, generality, transparency
from tutelage.functions.matching import aligning
from tutelage.functions.pieces import counts
from tutelage.networks import Network


def net(inputs=2, outputs=1, members=1):
    return Network((torch.ones(members, inputs, 3), torch.ones(members, 3, outputs)))


def test_networks_come_back_in_double():
    assert in_double(net()).dtype == torch.float64
    with pytest.raises(tt.TutelageError, match="the teacher has weights that are not finite"):
        in_double(net().map(lambda a: a * torch.inf), "teacher")


def test_points_are_shared_or_a_members_own():
    assert points_for(in_double(net(members=4)), torch.ones(7, 2)).shape == (4, 7, 2)
    for wrong, words in (
        (torch.ones(0, 2), "at least one row"),
        (torch.full((3, 2), torch.nan), "not finite"),
        (torch.ones(3, 5), r"shape \[N, 2\].*got \[3, 5\]"),
    ):
        with pytest.raises(tt.TutelageError, match=words):
            points_for(in_double(net()), wrong)


def test_two_stacks_must_have_the_same_ends():
    same_function_space(net(), net())
    for other, words in ((net(inputs=3), "inputs"), (net(outputs=2), "outputs"), (net(members=2), "members")):
        with pytest.raises(tt.TutelageError, match=words):
            same_function_space(net(), other)


def test_a_missing_bias_is_zero():
    assert bias(net(members=2), 0).shape == (2, 3)
    assert not bias(net(), 1).any()


def test_a_torch_module_is_imported():
    module = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    assert as_network(module).widths == (2, 3, 1)
    assert in_double(module).dtype == torch.float64
    assert as_network(nn.Linear(2, 3)).widths == (2, 3)
    with pytest.raises(tt.TutelageError, match=r"there is no file net.safetensors"):
        as_network("net.safetensors", "second network")
    with pytest.raises(tt.TutelageError, match=r"the second network must be a Network.*, got int"):
        as_network(3, "second network")


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.float8_e4m3fn, torch.complex64])
@pytest.mark.parametrize("use", [tt.functions.prune, lambda n: tt.functions.same_function(n, n)])
def test_weights_that_are_no_real_numbers_raise_an_error(use, dtype):
    with pytest.raises(
        tt.TutelageError, match=f"must be of type float16, bfloat16, float32, float64, got {str(dtype)[6:]}"
    ):
        use(net().map(lambda a: a.to(dtype)))


@pytest.mark.parametrize("use", [tt.functions.prune, tt.functions.identify, lambda n: tt.functions.same_function(n, n)])
@pytest.mark.parametrize("widths", [(2, 0, 1), (0, 2, 1), (2, 3, 0)])
def test_layers_without_units_raise_an_error(use, widths):
    network = Network((torch.ones(1, *widths[:2]), torch.ones(1, *widths[1:])))
    with pytest.raises(tt.TutelageError, match=r"one unit per layer, got 1 members of widths \d-\d-\d"):
        use(network)


@pytest.mark.parametrize("box", [("a", 1), (0, 1, 2), 3, (None, 1)])
@pytest.mark.parametrize("use", [tt.functions.prune, lambda n, box: tt.functions.same_function(n, n, box)])
def test_a_box_that_is_none_raises_an_error(use, box):
    with pytest.raises(tt.TutelageError, match=r"a box must be \(low, high\), two numbers or arrays of numbers"):
        use(net(), box=box)


def test_points_must_be_a_tensor():
    with pytest.raises(tt.TutelageError, match=r"points must be a torch tensor \[N, 2\], got list"):
        tt.functions.prune(net(), [[1.0, 2.0]])


def test_a_deadline_passes():
    assert Deadline(0).passed
    assert not Deadline(None).passed
    assert Deadline(None).left == float("inf")
    assert 0 < Deadline(100).left <= 100
    assert 0 < Deadline(100).within(5).left <= 5
    assert 0 < Deadline(None).within(5).left <= 5
    assert Deadline(0).within(5).passed
    with pytest.raises(tt.TutelageError, match="seconds must be at least 0, got nan"):
        Deadline(float("nan"))
    with pytest.raises(tt.TutelageError, match="seconds must be a number, got 'soon'"):
        Deadline("soon")


def test_complex_points_are_an_error():
    with pytest.raises(tt.TutelageError, match="points must be real numbers"):
        tt.functions.prune(net(), torch.ones(3, 2, dtype=torch.complex64))


@pytest.mark.parametrize(
    "use",
    [
        tt.functions.canonical,
        tt.functions.orbit_size,
        lambda n: tt.functions.match(n, n, torch.ones(3, 2)),
        lambda n: tt.functions.enumerate_regions(n, (-1, 1)),
        lambda n: tt.functions.estimate(n, (-1, 1)),
        lambda n: generality.generality(n, (-1, 1)),
        lambda n: tt.functions.identifiability(n, (-1, 1)),
        lambda n: transparency.transparency(n, (-1, 1)),
        lambda n: aligning.weight_matched(n, n),
    ],
)
def test_what_is_no_network_is_an_error(use):
    with pytest.raises(tt.TutelageError, match="expected a network, got list: turn a torch module into one"):
        use([1.0])


def regions():
    return tt.functions.enumerate_regions(net(), (-1, 1))


def square(members, inputs):
    ones = torch.ones(members, inputs, dtype=torch.float64)
    return tt.functions.domain.Domain(-ones, ones)


def other():
    return net().map(lambda a: 1.5 * a)


def huge():
    return Network(tuple(torch.full((1, a, b), 1e300, dtype=torch.float64) for a, b in ((2, 2), (2, 2), (2, 1))))


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda: tt.functions.same_function(net(), net(), budget=float("nan")), "budget must be a whole number of at"),
        (lambda: tt.functions.same_function(net(), net(), tolerance="x"), "tolerance must be a number, got 'x'"),
        (lambda: tt.functions.enumerate_regions(net(), (-1, 1), budget=None), "budget must be a whole number of at"),
        (lambda: tt.functions.estimate(net(), (-1, 1), seed=1.5), "a seed must be a whole number"),
        (lambda: tt.functions.box(0, 1, dimension=1.5), r"dimension must be a whole number of at least 1, got 1\.5"),
        (lambda: tt.functions.polytope(None, [1.0]), "normals must be a tensor or an array of numbers"),
        (lambda: tt.functions.slice_network(net(), 3, [[1.0, 0.0]]), r"shapes \[2\] and \[k, 2\] .* got \[\] and"),
        (lambda: tt.functions.slice_network(net(), "x", [[1.0, 0.0]]), "origin must be a tensor or an array"),
        (lambda: tt.functions.difference_curve(net(), net(), None, [0.1]), "centre must be a tensor or an array"),
        (lambda: tt.functions.difference_curve(net(), net(), [0.0, 0.0], 0.1), "radii must be a list of numbers"),
        (lambda: counts.zaslavsky(1.5, 2), r"must be whole numbers of at least 0, got 1\.5 and 2"),
        (lambda: generality.generality(huge(), (-1, 1)), "multiply to numbers beyond float64"),
        (lambda: tt.functions.identifiability(Network((torch.ones(1, 2, 1),)), (-1, 1)), "the network has none"),
        (lambda: generality.generality(net(), (-1, 1), patterns=1.5), "patterns must be a whole number of at least"),
        (lambda: transparency.transparency(net(), (-1, 1), upto="x"), "hidden layers 1 .. 1, not 'x'"),
        (lambda: transparency.transparency(net(), (-1, 1), budget=None), "budget must be a whole number of at least"),
        (lambda: folds.fold_set(regions(), 1, -1), "unit must be from 0 to 2 for this layer, got -1"),
        (lambda: folds.fold_set(regions(), 1.5), r"layer must be from 1 to 2 for this network, got 1\.5"),
        (lambda: ranges.bounds(net(), (-1, 1)), r"box must be a domain with ends \[1, 2\], got tuple"),
        (lambda: ranges.bounds(net(), square(1, 3)), r"box must be a domain with ends \[1, 2\], got \[1, 3\]"),
        (lambda: tt.functions.check_export(net(), net(), (-1, 1), tolerance="x"), "tolerance must be a number"),
        (lambda: tt.functions.difference_bound(net(), net(), (-1, 1), "x"), "epsilon must be a tensor or an array"),
        (lambda: tt.functions.difference_bound(net(), other(), (-1, 1), threads=-1), "threads must be a whole number"),
        (lambda: tt.functions.top_class_agreement(net(2, 2), net(2, 2), (-1, 1), "x"), "margin must be a number"),
        (lambda: tt.functions.identify(net(), widths=3), "widths must be a tuple of whole numbers"),
        (lambda: tt.functions.identify(net(), depth=1.5), r"depth must be a whole number of at least 0, got 1\.5"),
        (
            lambda: tt.functions.identify(net(), lines=float("nan")),
            "lines must be a whole number of at least 1, got nan",
        ),
        (lambda: tt.functions.identify(net(), noise=None), "noise must be a number, got None"),
        (lambda: tt.functions.identify(net(), queries="x"), "queries must be a whole number of at least"),
        (lambda: aligning.weight_matched(net(), net().to(dtype=torch.float16)), "must have one precision"),
        (lambda: aligning.weight_matched(net(), net().map(lambda a: a * float("nan"))), "not finite"),
    ],
)
def test_what_cannot_be_answered_is_one_sentence(use, words):
    with pytest.raises(tt.TutelageError, match=words):
        use()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_matched_by_weights(dtype):
    network = net().to(dtype=dtype)
    assert aligning.weight_matched(network, network).widths == network.widths
