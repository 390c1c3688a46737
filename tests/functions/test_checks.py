"""What every operation refuses, in one sentence."""

import pytest
import torch
from torch import nn

import tutelage as tt
from tutelage.functions.checks import Deadline, as_network, bias, in_double, points_for, same_function_space
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
    with pytest.raises(tt.TutelageError, match="seconds must be at least 0, got nan"):
        Deadline(float("nan"))
