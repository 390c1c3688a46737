"""Channels that do nothing go from convolutional modules, and the function stays."""

import copy

import pytest
import torch
from tests.functions.matching.test_channels import MAKERS, POINTS, ResNet, lenet, made
from torch import nn
from torch.nn import functional

from tutelage.functions import prune_channels
from tutelage.functions.matching._channel_groups import channel_groups


def without(module, group, channels):
    """The module with some channels of a group set to 0 wherever they are made."""
    state = module.state_dict()
    for name, axis in group.axes:
        if axis == 0 and not name.endswith("running_var"):
            array = state[name]
            array.reshape(group.size, -1)[channels] = 0
    module.load_state_dict(state)


@pytest.mark.parametrize("kind", sorted(MAKERS))
@pytest.mark.parametrize("seed", range(3))
def test_silent_channels_go_and_nothing_changes(kind, seed):
    module = made(kind, seed)
    draw = torch.Generator().manual_seed(seed)
    gone = {}
    for group in channel_groups(module):
        chosen = sorted(torch.randperm(group.size, generator=draw)[: 1 + group.size // 3].tolist())
        without(module, group, chosen)
        gone[group.name] = tuple(chosen)
    found = prune_channels(module)
    assert found.removed == gone
    assert torch.allclose(found.module(POINTS), module(POINTS), atol=1e-12)
    assert found.weights[1] < found.weights[0]
    assert found.weights[1] == sum(p.numel() for p in found.module.parameters())


def test_nothing_goes_from_a_network_that_uses_all():
    module = made("resnet", 0)
    found = prune_channels(module)
    assert not found.removed
    assert found.weights[0] == found.weights[1]


def test_a_filter_that_is_never_active_goes_and_one_that_is_always_on_stays():
    module = lenet().eval()
    with torch.no_grad():
        module[0].weight[:2] = 0
        module[0].bias[0], module[0].bias[1] = -1, 1
    found = prune_channels(module)
    assert found.removed == {"0": (0,)}
    points = POINTS.float()
    assert torch.allclose(found.module(points), module(points), atol=1e-6)


def test_channels_that_nothing_listens_to_go():
    module = lenet().eval()
    with torch.no_grad():
        module[6].weight.view(7, 8, 4)[:, 3] = 0
    found = prune_channels(module)
    assert found.removed == {"3": (3,)}
    assert found.module[6].in_features == 7 * 4
    points = POINTS.float()
    assert torch.allclose(found.module(points), module(points), atol=1e-6)


def test_a_skip_connection_keeps_what_one_of_its_sides_uses():
    module = ResNet().double().eval()
    with torch.no_grad():
        module.first.norm_two.weight[2] = 0
        module.first.norm_two.bias[2] = 0
    assert not prune_channels(module).removed


def test_batch_norms_that_send_a_constant_below_zero():
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 2, 3)).double().eval()
    with torch.no_grad():
        module[0].weight[1], module[0].bias[1], module[1].bias[1] = 0, 0, -0.1
        module[1].weight[2], module[1].bias[2] = 0, 0.2
    found = prune_channels(module)
    assert found.removed == {"0": (1,)}
    assert torch.allclose(found.module(POINTS), module(POINTS), atol=1e-12)


def test_one_channel_stays_where_all_could_go():
    module = lenet().eval()
    before = copy.deepcopy(module)
    with torch.no_grad():
        module[3].weight.zero_(), module[3].bias.zero_()
    found = prune_channels(module)
    assert found.module[3].out_channels == 1
    assert torch.allclose(found.module(POINTS.float()), module(POINTS.float()))
    assert before[3].out_channels == module[3].out_channels


class PooledBy(nn.Module):
    def __init__(self, pool):
        super().__init__()
        self.first, self.second, self.pool = nn.Conv2d(1, 4, 3), nn.Conv2d(4, 2, 2), pool

    def forward(self, x):
        return self.second(self.pool(torch.relu(self.first(x)), 2))


@pytest.mark.parametrize("pool", [torch.max_pool2d, functional.max_pool2d, functional.adaptive_max_pool2d])
def test_functions_that_pool_are_followed(pool):
    net = PooledBy(pool)
    with torch.no_grad():
        net.first.weight[1].zero_()
        net.first.bias[1].fill_(-0.5)
    found = prune_channels(net)
    assert found.removed == {"first": (1,)}
    x = torch.randn(3, 1, 8, 8)
    assert torch.allclose(found.module(x), net(x), atol=1e-6)


def with_silent_first(*rest, bias=-0.5):
    """A convolution whose channel 1 is a constant, and what follows it."""
    net = nn.Sequential(nn.Conv2d(3, 4, 3), *rest).eval()
    with torch.no_grad():
        net[0].weight[1], net[0].bias[1] = 0, bias
    return net


def test_a_batch_norm_behind_a_flattening():
    net = with_silent_first(nn.ReLU(), nn.Flatten(), nn.BatchNorm1d(4 * 64), nn.ReLU(), nn.Linear(4 * 64, 2))
    with torch.no_grad():
        net[3].bias[64:128] = -0.25
    found = prune_channels(net)
    assert found.removed == {"0": (1,)}
    assert found.module[3].num_features == 3 * 64
    assert torch.allclose(found.module(POINTS.float()), net(POINTS.float()), atol=1e-6)
    net[3].bias.data[70] = 0.25  # one place of the channel is no longer silent
    assert not prune_channels(net).removed


class Two(nn.Module):
    """Convolutions of which two results are combined, or handed on both."""

    def __init__(self, end):
        super().__init__()
        self.one, self.two, self.last, self.end = nn.Conv2d(3, 4, 3), nn.Conv2d(3, 4, 3), nn.Conv2d(4, 2, 3), end
        with torch.no_grad():
            for layer, bias in ((self.one, -0.5), (self.two, 0.5)):
                layer.weight[1], layer.bias[1] = 0, bias

    def forward(self, x):
        return self.end(self, x)


def test_channels_that_leave_the_module_beside_others_stay():
    def end(net, x):
        hidden = torch.relu(net.one(x))
        return hidden, net.last(hidden)

    assert not prune_channels(Two(end)).removed


def test_a_difference_is_no_sum():
    def end(net, x):  # 0.5 + -0.5 is 0, and this is 0.5 - -0.5
        return net.last(torch.relu(torch.add(net.two(x), net.one(x), alpha=-1)))

    assert not prune_channels(Two(end)).removed


def test_a_sum_of_constants_that_rounding_may_lift_above_zero_stays():
    # What the batch norm makes of the constant is rounded, and so is the bias that takes it away again.
    class Sum(Two):
        def __init__(self):
            super().__init__(None)
            self.norm = nn.BatchNorm2d(4)
            self.double()
            with torch.no_grad():
                norm = self.norm
                norm.running_mean[1], norm.running_var[1], norm.weight[1] = 0.2, 0.3, 0.7
                constant = (self.one.bias - norm.running_mean) / (norm.running_var + norm.eps).sqrt() * norm.weight
                self.two.bias[1] = -constant[1]

        def forward(self, x):
            return self.last(torch.relu(self.norm(self.one(x)) + self.two(x)))

    assert not prune_channels(Sum().eval()).removed


def test_half_precision_rounds_more():
    net = with_silent_first(nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 2, 3), bias=1.0)
    with torch.no_grad():  # the constant is -1e-3, of terms of size 1
        net[1].running_var[1], net[1].eps, net[1].bias[1] = 1.0, 0.0, -1.001
    assert prune_channels(net).removed == {"0": (1,)}
    assert not prune_channels(net.half()).removed
