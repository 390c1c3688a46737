"""Channels of convolutional modules are matched through skip connections, and the function stays as it was."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

import tutelage as tt
from tutelage import TutelageError
from tutelage.functions import match_channels
from tutelage.functions.matching._channel_groups import channel_groups
from tutelage.functions.matching.channels import reordered
from tutelage.functions.matching.module_lines import between, remeasured


class Block(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.one, self.norm_one = nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after)
        self.two, self.norm_two = nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after)
        self.short = nn.Conv2d(before, after, 1, stride) if before != after else nn.Identity()

    def forward(self, x):
        y = functional.relu(self.norm_one(self.one(x)))
        return functional.relu(self.norm_two(self.two(y)) + self.short(x))


class ResNet(nn.Module):
    """A stem, a block without and one with a convolution on its skip connection, and a linear layer."""

    def __init__(self, channels=6):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, channels, 3, 1, 1), nn.BatchNorm2d(channels)
        self.first, self.second = Block(channels, channels, 1), Block(channels, 2 * channels, 2)
        self.end = nn.Linear(2 * channels, 5)

    def forward(self, x):
        x = self.second(self.first(functional.relu(self.norm(self.stem(x)))))
        return self.end(x.mean((2, 3)))


def lenet():
    return nn.Sequential(
        nn.Conv2d(3, 6, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 8, 3), nn.ReLU(), nn.Flatten(),
        nn.Linear(8 * 4, 7), nn.Tanh(), nn.Linear(7, 4),
    )  # fmt: skip


class Depthwise(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.each, self.down = nn.Conv2d(3, 6, 1), nn.Conv2d(6, 6, 3, groups=6), nn.Conv2d(6, 4, 1)
        self.end = nn.Linear(4 * 64, 3)

    def forward(self, x):
        x = self.down(functional.relu6(self.each(torch.relu(self.up(x)))))
        return self.end(x.view(x.size(0), -1))


MAKERS = {"resnet": ResNet, "lenet": lenet, "depthwise": Depthwise}


def made(kind, seed):
    torch.manual_seed(seed)
    module = MAKERS[kind]()
    for part in module.modules():  # batch norms that do something
        if isinstance(part, nn.BatchNorm2d):
            part.running_mean.normal_()
            part.running_var.uniform_(0.5, 2)
            nn.init.normal_(part.weight)
            nn.init.normal_(part.bias)
    return module.double().eval()


def shuffled(module, seed):
    """The same function with the channels of every group in a random order, and those orders."""
    groups, draw = channel_groups(module), torch.Generator().manual_seed(seed)
    orders = [torch.randperm(g.size, generator=draw) for g in groups]
    other = copy.deepcopy(module)
    other.load_state_dict(reordered(module.state_dict(), groups, orders))
    return other


POINTS = torch.randn(40, 3, 10, 10, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("kind", sorted(MAKERS))
@pytest.mark.parametrize("seed", range(3))
def test_any_order_of_a_group_is_the_same_function(kind, seed):
    module = made(kind, seed)
    other = shuffled(module, seed)
    assert any(not torch.equal(a, b) for a, b in zip(module.parameters(), other.parameters(), strict=True))
    assert torch.allclose(module(POINTS), other(POINTS), atol=1e-10)


@pytest.mark.parametrize("by", ["weights", "activations"])
@pytest.mark.parametrize("kind", sorted(MAKERS))
@pytest.mark.parametrize("seed", range(3))
def test_shuffled_channels_are_put_back(kind, seed, by):
    module = made(kind, seed)
    found = match_channels(module, shuffled(module, seed + 50), POINTS, by=by)
    assert found.by == by
    if by == "weights":
        for name, array in found.module.state_dict().items():
            assert torch.equal(array, module.state_dict()[name]), name
    assert torch.allclose(found.module(POINTS), module(POINTS), atol=1e-10)


def test_channels_of_a_skip_connection_move_together():
    groups = {g.name: g for g in channel_groups(ResNet())}
    assert sorted(groups) == ["first.one", "second.one", "second.two", "stem"]
    assert {name for name, _ in groups["stem"].axes} >= {"stem.weight", "first.two.weight", "first.norm_two.bias"}
    assert ("second.short.weight", 1) in groups["stem"].axes
    assert ("second.short.weight", 0) in groups["second.two"].axes


def test_matching_trained_like_networks_lowers_their_distance():
    """Noise on top of a shuffle: the match is still nearer than the shuffled one."""
    module = made("resnet", 0)
    other = shuffled(module, 1)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter += 0.02 * torch.randn_like(parameter)
    found = match_channels(module, other).module

    def apart(a):
        return sum((p - q).square().sum() for p, q in zip(module.parameters(), a.parameters(), strict=True)).item()

    assert apart(found) < 0.2 * apart(other)


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        return self.c(self.b(torch.relu(self.b(torch.relu(self.a(x))))))


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (lenet(), nn.Sequential(nn.Linear(3, 2)), "one architecture"),
        (nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 2)), None, "LayerNorm"),
        (nn.Sequential(nn.Conv2d(4, 4, 1), nn.Conv2d(4, 4, 1, groups=2), nn.Conv2d(4, 2, 1)), None, "2 groups"),
        (Shared(), None, "two places"),
    ],
)
def test_what_cannot_be_matched_is_said(first, second, told):
    with pytest.raises(TutelageError, match=told):
        match_channels(first, copy.deepcopy(first) if second is None else second)


def test_activations_need_points():
    with pytest.raises(TutelageError, match="needs points"):
        match_channels(lenet(), lenet(), by="activations")


LABELS = torch.randint(5, (40,), generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize("by", ["weights", "activations", "best"])
def test_the_barrier_to_a_shuffled_module_is_gone_once_matched(by):
    module = made("resnet", 0)
    wanted = module(POINTS).detach()  # the loss is 0 at both ends
    found = tt.barrier(module, shuffled(module, 3), POINTS, wanted, by=by, steps=4)
    assert found.height("loss").item() > 0.01
    assert found.height("matched").item() < 1e-9
    assert found.loss.shape == (5, 1)
    assert torch.allclose(found.second(POINTS), module(POINTS), atol=1e-10)


def test_repair_measures_the_batch_norms_again():
    one, other = made("resnet", 0), made("resnet", 1)
    found = tt.barrier(one, other, POINTS, LABELS, by="weights", repair=True, steps=2)
    half = remeasured(between(one, found.second, 0.5), (POINTS,))
    assert found.repaired[1].item() == pytest.approx(functional.cross_entropy(half(POINTS), LABELS).item())
    seen = half.norm(half.stem(POINTS))  # standardised on these points, but for weight and bias
    mean, deviation = seen.mean((0, 2, 3)), seen.std((0, 2, 3))
    assert torch.allclose(mean, half.norm.bias, atol=1e-6)
    assert torch.allclose(deviation, half.norm.weight.abs(), rtol=1e-3)


def test_numbers_as_labels_and_what_does_not_fit():
    one, other = lenet(), lenet()
    points, wanted = POINTS.float(), torch.randn(40, 4)
    found = tt.barrier(one, other, points, wanted, by="weights", steps=2)
    assert found.accuracy is None
    assert found.loss[0].item() == pytest.approx(((one(points) - wanted) ** 2).sum(1).mean().item() / 2, rel=1e-5)
    for labels, options, told in (
        (wanted[:3], {}, "each of 40 images, got 3"),
        (wanted[:, :2], {}, "do not fit outputs"),
        (LABELS, {}, "from 0 to 3"),
        (LABELS, {"by": "both"}, "got 'both'"),
        (LABELS, {"repair": True}, "have none"),
    ):
        with pytest.raises(TutelageError, match=told):
            tt.barrier(one, other, points, labels, **options)


def test_images_of_another_shape_are_one_sentence():
    with pytest.raises(TutelageError, match=r"do not take images of shape \[1, 10, 10\]"):
        tt.barrier(lenet(), lenet(), POINTS[:, :1].float(), LABELS)
