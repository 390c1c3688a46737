"""Using exits: accuracies by hand, budgets, ensembles, leaving early, times, and a program that needs torch alone."""

import subprocess
import sys
from itertools import islice

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from tutelage.errors import TutelageError
from tutelage.exits.attached_exits import with_exits
from tutelage.exits.inference import (
    best_exits,
    early_exit,
    exit_accuracy,
    exit_times,
    exit_within,
    running_ensemble,
    save_exit,
)
from tutelage.exits.msdnet import CIFAR, MSDNet
from tutelage.exits.multi_exit import MultiExit, multi_exit_conv


@pytest.fixture
def net():
    torch.manual_seed(0)
    return multi_exit_conv(1, 5, blocks=3, width=4).eval(), torch.randn(20, 1, 8, 8), torch.arange(20) % 5


@pytest.mark.parametrize("top", [1, 2])
def test_accuracies_are_those_counted_by_hand(net, top):
    model, x, y = net
    found = exit_accuracy(model, x, y, top)
    p = [z.softmax(-1) for z in model(x)]
    for m in range(3):
        for values, q in ((found.single, p[m]), (found.ensemble, sum(p[: m + 1]) / (m + 1))):
            right = sum(int(y[i]) in q[i].topk(top).indices.tolist() for i in range(20))
            assert float(values[m]) == pytest.approx(right / 20)
    assert found.agreement.diagonal().tolist() == [1, 1, 1]
    assert float(found.agreement[0, 2]) == pytest.approx(float((p[0].argmax(1) == p[2].argmax(1)).double().mean()))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_c6_7_budget_mode_never_gets_worse_on_validation_and_agrees_with_costs(accuracy):
    best = best_exits(accuracy)
    chosen = [accuracy[m - 1] for m in best]
    assert chosen == sorted(chosen)
    assert all(m <= available for available, m in enumerate(best, 1))
    for available, m in enumerate(best, 1):
        assert exit_within(available, range(1, len(accuracy) + 1), accuracy) == m


def test_c6_7_the_ensemble_of_one_is_the_first_exit(net):
    model, x, y = net
    ensembles = list(running_ensemble(model, x))
    torch.testing.assert_close(ensembles[0], model.at(x, 1).softmax(-1))
    torch.testing.assert_close(ensembles[2], sum(z.softmax(-1) for z in model(x)) / 3)
    found = exit_accuracy(model, x, y)
    assert found.single[0] == found.ensemble[0]


@pytest.mark.parametrize("threshold", [0.01, 0.3, 1.0])
def test_samples_leave_where_they_are_sure_and_later_stages_see_the_rest_alone(net, threshold):
    model, x, _ = net
    seen = []
    hooks = [stage.register_forward_hook(lambda m, i, out: seen.append(len(out))) for stage in model.stages]
    found = early_exit(model, x, threshold)
    for hook in hooks:
        hook.remove()
    p = torch.stack([z.softmax(-1) for z in model(x)])
    sure = p.amax(-1) >= threshold
    sure[-1] = True
    first = sure.int().argmax(0)
    assert torch.equal(found.exit_number, first + 1)
    torch.testing.assert_close(found.probabilities, p[first, torch.arange(20)])
    assert seen == [n for n in (int((first >= m).sum()) for m in range(3)) if n]


def test_samples_of_several_scales_leave_together():
    net = MSDNet((2, 4), (2, 4), 4, (2, 4), (2, 2), head=4).build(3).eval()
    x = torch.randn(4, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    sure = net.at(x, 1).softmax(-1).amax(1)
    middle = float(sure.detach().sort().values[1:3].mean())
    assert torch.equal(early_exit(net, x, middle).exit_number, torch.where(sure > middle, 1, 2))


def test_c6_8_times_are_of_every_exit_and_repeat_and_rise_within_a_pass(net):
    model, x, _ = net
    model.train()
    times = exit_times(model, x[:1], repeats=4, warm_up=1)
    assert times.budget.shape == times.anytime.shape == (4, 3)
    assert (times.budget > 0).all()
    assert (times.anytime.diff(dim=1) > 0).all()
    assert model.training


RUN = """
import sys
class Blocked:
    def find_spec(self, name, *rest):
        if name.split(".")[0] == "tutelage":
            raise ImportError(name)
sys.meta_path.insert(0, Blocked())
import torch
program = torch.export.load(sys.argv[1]).module()
x, wanted = torch.load(sys.argv[2])
torch.testing.assert_close(program(x), wanted)
torch.testing.assert_close(program(x[:1]), wanted[:1], rtol=1e-4, atol=1e-5)
print(any(name.startswith("tutelage") for name in sys.modules), len(x))
"""


@pytest.mark.parametrize(
    "build", [lambda: multi_exit_conv(3, 5, blocks=3, width=4), lambda: CIFAR.build(10, seed=None)]
)
def test_c6_8_an_exit_alone_costs_no_more_than_all_up_to_it_and_later_ones_cost_more(build):
    """Counted in operations, which no busy machine can change."""
    model, x = build().eval(), torch.zeros(1, 3, 32, 32)

    def operations(call):
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            call()
        return counter.get_total_flops()

    alone = [operations(lambda m=m: model.at(x, m)) for m in range(1, model.exits + 1)]
    together = [operations(lambda m=m: list(islice(running_ensemble(model, x), m))) for m in range(1, model.exits + 1)]
    assert alone[0] == together[0]
    assert all(a < t for a, t in zip(alone[1:], together[1:], strict=True))
    assert alone == sorted(set(alone))
    assert together == sorted(set(together))


def test_a_saved_exit_runs_where_this_package_is_not(net, tmp_path):
    model, x, _ = net
    path = save_exit(model.train(), 2, x[:1], tmp_path / "exit.pt2")
    assert model.training
    with torch.no_grad():
        torch.save((x, model.eval().at(x, 2)), tmp_path / "wanted.pt")
    done = subprocess.run([sys.executable, "-c", RUN, path, tmp_path / "wanted.pt"], capture_output=True, text=True,
                          cwd=tmp_path, timeout=120)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["False", "20"]


def test_an_exit_of_ones_own_network_is_saved_without_its_later_layers(tmp_path):
    module = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 50), nn.ReLU(), nn.Linear(50, 3))
    x = torch.randn(5, 4)
    model = with_exits(module, ["1"], x)
    program = torch.export.load(save_exit(model, 1, x, tmp_path / "exit.pt2"))
    assert sum(p.numel() for p in program.parameters()) == 4 * 6 + 6 + 6 * 3 + 3
    torch.testing.assert_close(program.module()(x), model.at(x, 1))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda m, x, y: exit_within(0.5, [1.0, 2.0], [0.7, 0.8]), "below the cheapest exit, which costs 1"),
        (lambda m, x, y: exit_within(0.5, [1.0], [0.7, 0.8]), "1 costs and 2 accuracies"),
        (lambda m, x, y: best_exits([]), "no exit"),
        (lambda m, x, y: early_exit(m, x, 0.0), "threshold must lie"),
        (lambda m, x, y: exit_accuracy(m, x, y[:3]), "20 samples and 3 labels"),
        (lambda m, x, y: exit_accuracy(m, x, y, top=6), "top must be from 1 to 5"),
        (lambda m, x, y: exit_times(m, x, repeats=0), "repeats must be at least 1"),
        (lambda m, x, y: save_exit(m, 9, x, "unused"), "exit must be from 1 to 3, got 9"),
        (lambda m, x, y: save_exit(m, 1, x[:, :, 0, 0], "unused"), "cannot be exported"),
    ],
)
def test_what_cannot_be_is_said(net, wrong, said):
    with pytest.raises(TutelageError, match=said):
        wrong(*net)


def test_a_state_without_an_axis_of_samples_is_refused():
    class Handing(nn.Module):
        def forward(self, x):
            return x, torch.ones(())

    class First(nn.Module):
        def forward(self, state):
            return state[0]

    model = MultiExit([Handing(), First()], [First(), nn.Identity()])
    with pytest.raises(TutelageError, match="without an axis of samples"):
        early_exit(model, torch.tensor([[0.0, 9.0], [0.0, 0.0]]), 0.9)
