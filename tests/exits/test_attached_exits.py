"""Exits in a network of one's own: same function, early stop, shared weights, refusals."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

from tutelage.errors import TutelageError
from tutelage.exits.attached_exits import with_exits


class Residual(nn.Module):
    """Skips over the places where it is cut, so that more than the exit's value has to be handed on."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = (nn.Conv2d(c, 4, 3, padding=1) for c in (1, 4, 4))
        self.norm, self.top = nn.BatchNorm2d(4), nn.Linear(4, 3)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x):
        a = self.norm(self.first(x)).relu()
        b = self.second(a)
        c = self.third(b.relu() + a)
        return self.top((c + self.scale * a + x).mean((2, 3)))


class Dropping(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        return self.b(functional.dropout(self.a(x), training=self.training))


class Choosing(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x):
        return self.a(x) if x.sum() > 0 else x


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x):
        return self.a(self.a(x))


class Branching(nn.Module):
    """Works on a branch before the exit that only the output needs."""

    def __init__(self):
        super().__init__()
        self.branch, self.trunk, self.top = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        aside = self.branch(x)
        return self.top(self.trunk(x) + aside)


def counted(module, names, act):
    seen = []
    parts = dict(module.named_modules())
    hooks = [parts[name].register_forward_hook(lambda *_, name=name: seen.append(name)) for name in names]
    act()
    for hook in hooks:
        hook.remove()
    return seen


def test_the_last_exit_is_the_network_itself_in_both_modes():
    torch.manual_seed(0)
    module, x = Residual(), torch.randn(5, 1, 6, 6)
    net = with_exits(module, ["first", "second"], x)
    assert net.exits == 3
    assert net.training
    torch.testing.assert_close(net(x)[-1], module(x))
    module.eval()
    net.eval()
    torch.testing.assert_close(net.at(x, 3), module(x))
    features = module.second(module.norm(module.first(x)).relu())
    torch.testing.assert_close(net.at(x, 2), net.heads[1].head(features))


def test_the_pass_stops_at_the_named_layer_and_weights_are_shared():
    module, x = Residual(), torch.randn(5, 1, 6, 6)
    net = with_exits(module, ["first", "second"], x)
    assert counted(module, ["first", "second", "third", "top"], lambda: net.at(x, 2)) == ["first", "second"]
    assert counted(module, ["first", "norm", "second"], lambda: net.at(x, 1)) == ["first"]
    net(x)[-1].sum().backward()
    assert module.first.weight.grad.abs().sum() > 0
    assert module.scale.grad.abs().sum() > 0


def test_what_only_later_exits_need_waits_for_them():
    module, x = Branching(), torch.randn(3, 4)
    net = with_exits(module, ["trunk"], x)
    assert counted(module, ["branch", "trunk", "top"], lambda: net.at(x, 1)) == ["trunk"]
    assert counted(module, ["branch", "trunk", "top"], lambda: net.at(x, 2)) == ["trunk", "branch", "top"]
    torch.testing.assert_close(net.at(x, 2), module(x))


def test_a_layer_on_both_sides_of_a_cut_stays_one_layer_in_a_copy():
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.both, self.cut, self.top = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2)

        def forward(self, x):
            return self.top(self.both(self.cut(self.both(x)).relu()))

    module, x = Shared(), torch.randn(3, 4)
    net = copy.deepcopy(with_exits(module, ["cut"], x))
    assert len(list(net.parameters())) == len(list(module.parameters())) + 2  # and the head's
    torch.testing.assert_close(net.at(x, 2), module(x))
    with torch.no_grad():
        net.stages[0].piece.both.weight.zero_()
    assert not net.stages[1].piece.both.weight.any()
    assert module.both.weight.any()


def test_heads_and_classes_of_ones_own():
    backbone = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 7))
    own = with_exits(backbone, ["1"], torch.zeros(2, 4), heads=[nn.Linear(6, 2)], own_output=False)
    assert own(torch.zeros(2, 4))[0].shape == (2, 2)
    assert with_exits(backbone, ["0", "2"], torch.zeros(2, 4), classes=3, own_output=False).exits == 2


def test_heads_have_the_precision_of_the_backbone(dtype):
    backbone = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3)).to(dtype)
    network = with_exits(backbone, ["1"], torch.zeros(2, 4, dtype=dtype))
    assert {parameter.dtype for parameter in network.parameters()} == {dtype}
    assert all(z.dtype == dtype for z in network(torch.zeros(2, 4, dtype=dtype)))


def test_a_nested_layer_is_a_layer():
    inner = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    net = with_exits(nn.Sequential(inner, nn.Sequential(nn.Linear(4, 4), nn.ReLU()), nn.Linear(4, 2)), ["0", "1.0"],
                     torch.zeros(1, 4))  # fmt: skip
    assert len(net(torch.zeros(1, 4))) == 3


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: with_exits(Residual(), ["frist"], torch.zeros(1, 1, 6, 6)), "did you mean 'first'"),
        (lambda: with_exits(Residual(), [], torch.zeros(1, 1, 6, 6)), "at least one"),
        (lambda: with_exits(Residual(), ["second", "first"], torch.zeros(1, 1, 6, 6)), "in the order first, second"),
        (lambda: with_exits(Residual(), ["first"], torch.zeros(1, 2, 6, 6)), "cannot take the example"),
        (lambda: with_exits(Dropping(), ["a"], torch.zeros(1, 4)), "stay in training mode"),
        (lambda: with_exits(Choosing(), ["a"], torch.zeros(1, 4)), "cannot be cut"),
        (lambda: with_exits(Twice(), ["a"], torch.zeros(1, 4)), "runs 2 times"),
        (lambda: with_exits(Residual(), ["first"], torch.zeros(1, 1, 6, 6), heads=[]), "got 0 for 1 layers"),
        (lambda: with_exits(Residual(), ["first"], torch.zeros(1, 1, 6, 6), own_output=False), "how many classes"),
        (lambda: with_exits(nn.Sequential(nn.ReLU(), nn.ReLU()), ["0"], torch.zeros(1, 1, 2, 2)), "row of logits"),
        (lambda: with_exits(nn.Bilinear(2, 2, 2), ["a"], torch.zeros(1, 2)), "unknown layer 'a'"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said(make, said):
    with pytest.raises(TutelageError, match=said):
        make()
