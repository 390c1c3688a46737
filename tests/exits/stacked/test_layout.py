import pytest
import torch

from tutelage.exits.msdnet import CIFAR, IMAGENET, MSDNet
from tutelage.exits.multi_exit import multi_exit_conv, multi_exit_mlp
from tutelage.exits.stacked.layout import layout

SMALL = MSDNet((6, 12), (6, 12), 3, (2, 3), (4, 4), head=20)
SHAPES = {"small": (SMALL, 16), "cifar": (CIFAR, 32)}


@pytest.mark.parametrize("name", SHAPES)
def test_each_parameter_has_a_place_of_its_own_and_keeps_its_shape(name):
    shape, side = SHAPES[name]
    model = shape.build(10, seed=None)
    plan = layout(model, (3, side, side))
    numbers = torch.arange(2 * plan.size).view(2, -1)
    places = plan.parameters(numbers, 1)
    wanted = dict(model.named_parameters())
    assert {k: v.shape for k, v in places.items()} == {k: v.shape for k, v in wanted.items()}
    taken = torch.cat([place.flatten() for place in places.values()])
    assert len(taken) == len(taken.unique()) == sum(p.numel() for p in wanted.values())
    assert taken.min() >= plan.size  # the second network's own


def test_maps_have_the_channels_and_sides_of_what_the_network_computes():
    model = SMALL.build(10, seed=None).eval()
    plan = layout(model, (3, 16, 16))
    computed = {}
    names = {part: name for name, part in model.named_modules()}
    for part in model.modules():
        if isinstance(part, torch.nn.Conv2d):
            part.register_forward_hook(lambda own, x, y: computed.update({names[own]: (x[0].shape, y.shape)}))
    model(torch.zeros(1, 3, 16, 16))
    assert sorted(computed) == sorted(one.conv for _, one in plan.convolutions())
    for unit, one in plan.convolutions():
        read, given = computed[one.conv]
        assert tuple(read[1:]) == (unit.inputs, plan.maps[unit.source].side, plan.maps[unit.source].side)
        assert tuple(given[1:]) == (one.outputs, plan.maps[unit.into].side, plan.maps[unit.into].side)


@pytest.mark.parametrize("name", SHAPES)
def test_channels_are_written_once_and_the_last_reader_of_shared_maps_reads_all(name):
    shape, side = SHAPES[name]
    plan = layout(shape.build(10, seed=None), (3, side, side))
    written = {number: [False] * maps.channels for number, maps in enumerate(plan.maps)}
    reads = {number: [0] * maps.channels for number, maps in enumerate(plan.maps)}
    written[0] = [True] * 3
    for unit in plan.units:
        assert all(written[unit.source][unit.begin : unit.end])
        assert unit.outputs == sum(one.outputs for one in unit.convolutions)
        for channel in range(unit.first, unit.first + unit.outputs):
            assert not written[unit.into][channel]
            written[unit.into][channel] = True
        for channel in range(unit.begin, unit.end):
            reads[unit.source][channel] += 1
    for number, maps in enumerate(plan.maps):
        assert all(written[number])
        assert maps.shared == (max(reads[number]) > 1)
        assert min(reads[number]) >= (number != plan.top)  # or a gradient would be left out
        if maps.shared:
            assert (maps.last.begin, maps.last.end) == (0, maps.channels)
            assert maps.last is [unit for unit in plan.units if unit.source == number][-1]


@pytest.mark.parametrize("unit_kind", ["plain", "taps", "columns"])
def test_weights_in_torch_order_are_a_view(unit_kind):
    plan = layout(SMALL.build(10, seed=None), (3, 16, 16))
    unit = next(unit for unit in plan.units if unit.kind == unit_kind)
    numbers = torch.zeros(plan.size)
    one = unit.convolutions[-1]
    weight = torch.randn(unit.as_torch(numbers, one).shape)
    unit.as_torch(numbers, one).copy_(weight)
    own = numbers[unit.weight : unit.gamma].view(unit.rows, unit.stride)[:, : unit.columns]
    x = torch.randn(unit.inputs, 5)
    if unit.kind == "plain":
        assert len(unit.convolutions) == 2
        assert torch.equal(own[one.first :] @ x, weight[:, :, 0, 0] @ x)
    elif unit.kind == "taps":  # tap, then output
        assert torch.allclose((own @ x).view(9, unit.outputs, 5)[5], weight[:, :, 1, 2] @ x)
    else:  # tap, then input
        assert torch.equal(own.unflatten(1, (9, unit.inputs))[:, 7], weight[:, :, 2, 1])


def test_networks_of_another_kind_have_no_layout():
    assert layout(multi_exit_mlp(12, (5,), 3), (3, 2, 2)) is None
    assert layout(multi_exit_conv(3, 10), (3, 32, 32)) is None
    assert layout(IMAGENET.build(10, seed=None), (3, 224, 224)) is None
    assert layout(SMALL.build(10, seed=None), (3, 32, 32)) is None  # its heads would end with 4 x 4 pixels
    assert layout(SMALL.build(10, seed=None), (3, 16, 8)) is None


def test_batch_norms_that_are_not_alike_have_no_layout():
    for change in ({"momentum": None}, {"momentum": 0.2}, {"eps": 1e-3}):
        model = SMALL.build(10, seed=None)
        norm = next(part for part in model.modules() if isinstance(part, torch.nn.BatchNorm2d))
        for name, value in change.items():
            setattr(norm, name, value)
        assert layout(model, (3, 16, 16)) is None
