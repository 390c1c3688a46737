"""Networks with exits: an exit alone costs what it costs, and starts depend on the seed alone."""

from collections import Counter
from itertools import islice

import pytest
import torch
from torch import nn

from tutelage.errors import TutelageError
from tutelage.exits.multi_exit import MultiExit, initialised, multi_exit_conv, multi_exit_mlp, pooled_head


def calls(module, act):
    """How often every leaf of a module ran while ``act`` did."""
    seen = Counter()
    hooks = [
        part.register_forward_hook(lambda *_, name=name: seen.update([name]))
        for name, part in module.named_modules()
        if not list(part.children())
    ]
    act()
    for hook in hooks:
        hook.remove()
    return seen


@pytest.fixture(params=["conv", "mlp"])
def net(request):
    torch.manual_seed(0)
    if request.param == "conv":
        return multi_exit_conv(1, 5, blocks=3, width=4, halve=(2,)).eval(), torch.randn(2, 1, 8, 8)
    return multi_exit_mlp(64, (6, 5, 4), 5), torch.randn(2, 1, 8, 8)


def test_an_exit_alone_equals_the_same_exit_among_all(net):
    model, x = net
    every = model(x)
    assert [tuple(logits.shape) for logits in every] == [(2, 5)] * model.exits
    for m in range(1, model.exits + 1):
        assert torch.equal(model.at(x, m), every[m - 1])
        assert torch.equal(model.cut(m)(x), every[m - 1])


def test_an_exit_runs_no_later_stage_and_no_other_head(net):
    model, x = net
    for m in range(1, model.exits + 1):
        by_hand = calls(model, lambda m=m: model.cut(m)(x))
        assert calls(model, lambda m=m: model.at(x, m)) == by_hand
        assert {name.split(".")[1] for name in by_hand if name.startswith("heads")} == {str(m - 1)}
        assert max(int(name.split(".")[1]) for name in by_hand if name.startswith("stages")) == m - 1
        assert set(by_hand.values()) == {1}


def test_anytime_stops_where_the_caller_stops(net):
    model, x = net
    seen = calls(model, lambda: list(islice(model.anytime(x), 2)))
    assert {name.split(".")[1] for name in seen} == {"0", "1"}


def test_a_start_depends_on_its_seed_alone():
    a, b, c = (multi_exit_conv(1, 5, seed=seed) for seed in (3, 3, 4))
    for p, q in zip(a.parameters(), b.parameters(), strict=True):
        assert torch.equal(p, q)
    assert not torch.equal(a.stages[0][0].weight, c.stages[0][0].weight)
    weight = multi_exit_conv(1, 5, width=64).stages[1][0].weight
    assert weight.std().item() == pytest.approx((2 / (9 * 64)) ** 0.5, rel=0.02)


def test_biases_of_convolutions_start_at_zero():
    assert not initialised(nn.Conv2d(1, 2, 3), 0).bias.any()


def test_heads_for_pictures_tokens_and_rows():
    for shape in ((3, 5, 5), (7, 3), (3,)):
        assert pooled_head(shape, 4)(torch.zeros(2, *shape)).shape == (2, 4)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: multi_exit_conv(1, 5).at(torch.zeros(1, 1, 8, 8), 0), "exit must be from 1 to 4, got 0"),
        (lambda: multi_exit_conv(1, 5).cut(5), "exit must be from 1 to 4, got 5"),
        (lambda: MultiExit([nn.Identity()], []), "0 heads for 1 stages"),
        (lambda: multi_exit_mlp(3, (), 2), "0 stages"),
        (lambda: multi_exit_mlp(3, (0,), 2), "at least 1, got 0"),
        (lambda: multi_exit_conv(1, 5, blocks=2, halve=(3,)), "halve must name blocks from 1 to 2"),
        (lambda: pooled_head((1, 2, 3, 4), 2), "no standard head"),
    ],
)
def test_what_cannot_be_is_said(wrong, said):
    with pytest.raises(TutelageError, match=said):
        wrong()
