"""A network is arrays that fit together; members come and go along the first axis."""

import dataclasses

import numpy as np
import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.networks import Network, concatenate, outputs


def zeros(*shape, dtype=torch.float32):
    return torch.zeros(shape, dtype=dtype)


def equal(one: Network, other: Network) -> bool:
    same = (one.activation, one.slope, one.widths) == (other.activation, other.slope, other.widths)
    return same and all(torch.equal(a, b) for a, b in zip(one.parameters, other.parameters, strict=True))


def test_shapes_say_what_the_network_is(random_network, dtype):
    net = random_network((5, 4, 3, 2), members=6, dtype=dtype)
    assert (net.members, net.depth, net.widths, net.inputs, net.outputs) == (6, 3, (5, 4, 3, 2), 5, 2)
    assert net.dtype == dtype
    assert net.device == torch.device("cpu")


@pytest.mark.parametrize("bias", [True, False])
def test_parameters_are_weights_then_biases(random_network, bias):
    net = random_network((3, 4, 2), bias=bias)
    shapes = [(2, 3, 4), (2, 4, 2), (2, 4), (2, 2)]
    assert [p.shape for p in net.parameters] == shapes[: 4 if bias else 2]


def test_a_network_is_frozen(random_network):
    net = random_network((3, 2))
    with pytest.raises(dataclasses.FrozenInstanceError):
        net.activation = "abs"


def test_lists_of_arrays_become_tuples():
    net = Network([zeros(1, 2, 3)], [zeros(1, 3)])
    assert isinstance(net.weights, tuple)
    assert isinstance(net.biases, tuple)


@pytest.mark.parametrize(
    ("weights", "biases", "message"),
    [
        ([], None, "at least one layer"),
        ([(2, 3, 4), (2, 5, 1)], None, r"layer 2 must have shape \[2, 4, out\], got \[2, 5, 1\]"),
        ([(2, 3, 4), (3, 4, 1)], None, r"layer 2 must have shape \[2, 4, out\], got \[3, 4, 1\]"),
        ([(3, 4)], None, r"layer 1 must have shape .*, got \[3, 4\]"),
        ([(2, 3, 4, 1)], None, r"layer 1 must have shape .*, got \[2, 3, 4, 1\]"),
        ([(2, 3, 4), (2, 4)], None, r"layer 2 must have shape .*, got \[2, 4\]"),
        ([(2, 3, 4)], [(2, 3)], r"bias of layer 1 must have shape \[2, 4\], got \[2, 3\]"),
        ([(2, 3, 4)], [(4,)], r"bias of layer 1 must have shape \[2, 4\], got \[4\]"),
        ([(2, 3, 4), (2, 4, 1)], [(2, 4), (1, 1)], r"bias of layer 2 must have shape \[2, 1\], got \[1, 1\]"),
        ([(2, 3, 4), (2, 4, 1)], [(2, 4)], "each of 2 layers, got 1"),
        ([(2, 3, 4)], [], "each of 1 layers, got 0"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_by_layer_and_shape(weights, biases, message):
    stacked = None if biases is None else [zeros(*shape) for shape in biases]
    with pytest.raises(TutelageError, match=message):
        Network([zeros(*shape) for shape in weights], stacked)


@pytest.mark.parametrize("shape", [(3,), ()])
def test_weights_without_enough_axes_are_refused_by_layer_and_shape(shape):
    with pytest.raises(TutelageError, match="layer 1"):
        Network([zeros(*shape)])


@pytest.mark.parametrize("odd", [0, 1, 2, 3])
def test_arrays_of_two_precisions_are_refused(odd):
    arrays = [zeros(2, 3, 4), zeros(2, 4, 1), zeros(2, 4), zeros(2, 1)]
    arrays[odd] = arrays[odd].double()
    with pytest.raises(TutelageError, match="float64"):
        Network(arrays[:2], arrays[2:])


def test_an_unknown_activation_is_refused_with_the_known_ones():
    with pytest.raises(TutelageError, match=r"'swish'.*relu, leaky, abs, linear"):
        Network([zeros(1, 2, 3)], activation="swish")


@pytest.mark.parametrize("bias", [True, False])
def test_map_keeps_the_architecture_and_changes_the_arrays(random_network, bias):
    net = random_network((3, 4, 2), bias=bias, activation="leaky", slope=0.3)
    doubled = net.map(lambda a: 2 * a)
    assert (doubled.activation, doubled.slope, doubled.biases is None) == ("leaky", 0.3, not bias)
    assert all(torch.equal(b, 2 * a) for a, b in zip(net.parameters, doubled.parameters, strict=True))


def test_to_converts_every_array(random_network):
    net = random_network((3, 4, 2)).to(dtype=torch.float32)
    assert {p.dtype for p in net.parameters} == {torch.float32}


@pytest.mark.parametrize(
    ("chosen", "members"),
    [
        (2, [2]),
        (-1, [4]),
        (slice(1, 3), [1, 2]),
        (slice(None, None, 2), [0, 2, 4]),
        ([4, 0, 4], [4, 0, 4]),
        (range(3), [0, 1, 2]),
        (torch.tensor([3, 1]), [3, 1]),
        (np.array([3, 1]), [3, 1]),
        (torch.tensor([2]), [2]),
        (torch.tensor([True, False, False, True, False]), [0, 3]),
    ],
)
def test_chosen_members_stay_a_stack(random_network, chosen, members):
    net = random_network((3, 4, 2), members=5, activation="leaky")
    part = net[chosen]
    assert part.members == len(members)
    assert equal(part, net.map(lambda a: torch.stack([a[m] for m in members])))


@pytest.mark.parametrize("chosen", [np.int64(2), torch.tensor(2)])
def test_one_member_may_be_chosen_by_any_integer(random_network, chosen):
    net = random_network((3, 4, 2), members=5)
    assert equal(net[chosen], net[2])


@pytest.mark.parametrize("member", [5, -6])
def test_a_member_that_is_not_there_is_an_index_error(random_network, member):
    with pytest.raises(IndexError, match=f"member {member} of a network with 5"):
        random_network((3, 2), members=5)[member]


def test_iteration_over_members_ends(random_network):
    assert [one.members for one in random_network((3, 2), members=4)] == [1, 1, 1, 1]


def test_a_member_of_a_stack_is_the_network_alone(random_network, random_points, dtype, tolerance):
    net, x = random_network((5, 6, 4, 3), members=4, dtype=dtype), random_points(4, 20, 5, dtype=dtype)
    together = outputs(net, x)
    for member in range(4):
        torch.testing.assert_close(outputs(net[member], x[member])[0], together[member], **tolerance)


@pytest.mark.parametrize("bias", [True, False])
def test_concatenate_undoes_the_cut(random_network, bias):
    net = random_network((3, 4, 2), members=5, bias=bias, activation="abs")
    assert equal(concatenate([net[:2], net[2], net[3:]]), net)
    assert equal(concatenate([net]), net)


@pytest.mark.parametrize(
    "other",
    [
        {"widths": (3, 5, 2)},
        {"activation": "abs"},
        {"activation": "leaky", "slope": 0.2},
        {"bias": False},
        {"widths": (3, 2)},
        {"dtype": torch.float32},
    ],
    ids=lambda other: next(iter(other)),
)
def test_stacks_of_different_architecture_are_refused(random_network, other):
    with pytest.raises(TutelageError, match="cannot be stacked"):
        concatenate([random_network((3, 4, 2)), random_network(**({"widths": (3, 4, 2)} | other))])


def test_nothing_to_concatenate_is_refused():
    with pytest.raises(TutelageError):
        concatenate([])


@pytest.mark.parametrize("activation", ["relu", "abs", "tanh"])
def test_a_slope_is_of_leaky_units_alone(activation):
    weights = torch.ones(1, 2, 3), torch.ones(1, 3, 1)
    with pytest.raises(TutelageError, match=f"slope=0.2 has no effect on {activation} units: leave it out, or use"):
        Network(weights, activation=activation, slope=0.2)
    assert Network(weights, activation="leaky", slope=0.2).slope == 0.2


def test_arrays_of_numpy_are_taken_with_a_memory_of_their_own():
    weights = np.ones((2, 3, 4)), np.ones((2, 4, 1))
    network = Network(weights, (np.zeros((2, 4)), np.zeros((2, 1))))
    weights[0][:] = 7
    assert network.dtype == torch.float64
    assert (network.weights[0] == 1).all()
    with pytest.raises(TutelageError, match="must be of type float16, bfloat16, float32, float64, got int64"):
        Network((np.ones((2, 3, 4), int),))
