"""Training with exits: Algorithm 6.1 by hand, the trace of temperatures, samples without labels, refusals."""

import copy

import pytest
import torch

from tutelage import draws
from tutelage.data import load_images
from tutelage.data.subsets import class_subset
from tutelage.errors import TutelageError
from tutelage.exits.inference import exit_accuracy
from tutelage.exits.multi_exit import MultiExit, multi_exit_conv, multi_exit_mlp, pooled_head
from tutelage.exits.objective import UNLABELLED, Annealing, constant, distillation, teacher_sets, teacher_shares
from tutelage.exits.tasks import sample_shares
from tutelage.exits.training import PAPER_SGD, ExitObjective, ExitTask, train_exits, train_side_by_side
from tutelage.training import Cosine, Drops, Training


def task(count=80, seed=0):
    source = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 6, generator=source)
    return x, (x[:, 0] + x[:, 1] * x[:, 2] > 0).long() + (x[:, 3] > 0.5).long()


def learning(epochs, batch=32, learning_rate=0.1, drops=(), **settings):
    schedule = Drops(at=drops, unit="epochs")
    settings = {"schedule": schedule, "optimiser": PAPER_SGD} | settings
    return Training(epochs=epochs, batch=batch, learning_rate=learning_rate, **settings)


def net(seed=0):
    return multi_exit_mlp(6, (12, 12, 12), 3, seed)


@pytest.mark.parametrize(("power", "reduction"), [(1, "mean"), (2, "mean"), (1, "sum")])
def test_one_step_is_the_algorithms(power, reduction):
    x, y = task(8)
    model = net()
    objective = ExitObjective(annealing=Annealing(2.0, limit=0.3), power=power, reduction=reduction)
    done = train_exits(model, x, y, learning(1, batch=8), objective=objective, seed=5)
    hand = copy.deepcopy(model)
    rows = draws.permutations(draws.keys([5], "exits-batches"), 8, 0)[0]
    optimiser = torch.optim.SGD(hand.parameters(), 0.1, 0.9, nesterov=True, weight_decay=1e-4)
    logits = hand(x[rows])
    loss = sum(torch.nn.functional.cross_entropy(z, y[rows]) for z in logits) / 3
    teacher = (logits[2] / 2).softmax(-1).detach()
    for z in logits[:2]:
        loss = loss - 2**power * (teacher * (z / 2).log_softmax(-1)).sum(-1).mean() / 3
    loss = 3 * loss if reduction == "sum" else loss
    loss.backward()
    optimiser.step()
    for a, b in zip(done.model.parameters(), hand.parameters(), strict=True):
        torch.testing.assert_close(a, b)
    assert done.losses == pytest.approx([loss.item()])
    assert float(done.trace.adjusted[0]) == pytest.approx(float(teacher.amax(-1).mean()))


def test_all_exits_learn_the_given_network_stays_and_a_seed_says_all():
    x, y = task()
    model = net()
    before = copy.deepcopy(model.state_dict())
    runs = [train_exits(model, x, y, learning(60, batch=16, drops=(40,)), seed=s) for s in (0, 0, 1)]
    assert all(torch.equal(before[k], v) for k, v in model.state_dict().items())
    right = [(z.argmax(-1) == y).double().mean() for z in runs[0].model(x)]
    assert min(right) > 0.9
    assert torch.equal(runs[0].trace.temperature, runs[1].trace.temperature)
    first, second, third = (next(run.model.parameters()) for run in runs)
    assert torch.equal(first, second)
    assert not torch.equal(first, third)
    assert not runs[0].model.training


def test_the_rate_follows_any_schedule():
    x, y = task()
    model = net()
    done = train_exits(model, x, y, learning(2, batch=16, schedule=Cosine()), objective=ExitObjective("none"))
    hand = copy.deepcopy(model)
    optimiser = torch.optim.SGD(hand.parameters(), 0.1, 0.9, nesterov=True, weight_decay=1e-4)
    rates = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 10)
    for epoch in range(2):
        for rows in draws.permutations(draws.keys([0], "exits-batches"), 80, epoch)[0].split(16):
            optimiser.zero_grad()
            (sum(torch.nn.functional.cross_entropy(z, y[rows]) for z in hand(x[rows])) / 3).backward()
            optimiser.step()
            rates.step()
    for a, b in zip(done.model.parameters(), hand.parameters(), strict=True):
        torch.testing.assert_close(a, b)


def test_c6_6_the_trace_rises_by_the_factor_exactly_where_confidence_is_above_the_limit():
    x, y = task()
    objective = ExitObjective(annealing=Annealing(limit=0.6))
    trace = train_exits(net(), x, y, learning(60, batch=16), objective=objective).trace
    ratio = trace.temperature[1:] / trace.temperature[:-1]
    rose = trace.adjusted[:-1] > 0.6
    assert rose.any()
    assert (~rose).any()
    torch.testing.assert_close(ratio, torch.where(rose, 1.05, 1.0).double())
    late = trace.by_epoch(60)
    assert late.temperature.shape == (60,)
    assert (late.adjusted[30:] <= 0.6 + 0.05).all()
    assert (trace.raw >= trace.adjusted - 1e-6).all()


def test_without_teachers_there_is_no_trace_and_unlabelled_samples_change_nothing():
    x, y = task()
    more = torch.cat([x, x + 1]), torch.cat([y, torch.full_like(y, UNLABELLED)])
    settings, alone = learning(2, batch=16), ExitObjective("none")
    plain, with_more = (train_exits(net(), *data, settings, objective=alone) for data in ((x, y), more))
    assert plain.trace is None
    assert plain.losses == with_more.losses


def test_unlabelled_samples_are_used_and_weigh_as_in_the_whole_data():
    x, y = task()
    y[20:] = UNLABELLED
    settings, objective = learning(3, batch=10), ExitObjective(annealing=constant(2.0))
    every, few = (train_exits(net(), x[:n], y[:n], settings, objective=objective).losses for n in (80, 20))
    assert every != few
    with torch.no_grad():
        logits = net()(x)
    each = distillation(torch.stack(list(logits)), teacher_shares(teacher_sets(3), logits[0]), 2.0)
    shares = sample_shares(20, 60, 20, 60)
    torch.testing.assert_close((shares.float() * each).sum(), each.mean())
    halves = sample_shares(10, 10, 20, 60)  # the mean over all batches of 10 and 10 is the mean over all
    pieces = [(halves.float() * torch.cat([each[:20][i : i + 10], each[20:][j : j + 10]])).sum()
              for i in (0, 10) for j in range(0, 60, 10)]  # fmt: skip
    torch.testing.assert_close(torch.stack(pieces).mean(), each.mean())


def test_samples_may_be_moved_and_epochs_are_told():
    x, y = task()
    told, moved = [], []

    def augment(batch, key, place):
        moved.append(place)
        return batch

    train_exits(net(), x, y, learning(2, batch=40), augment=augment, on_epoch=lambda e, m: told.append(e))
    assert told == [1, 2]
    assert moved == [0, 80]


def test_the_best_epoch_on_held_samples_is_kept():
    x, y = task(120)
    held = x[80:], y[80:]
    seen = []
    settings = learning(30, batch=16, learning_rate=1.0)
    kept = train_exits(
        net(), x[:80], y[:80], settings, held=held,
        on_epoch=lambda e, m: seen.append(float(exit_accuracy(m, *held).single.mean())),
    )  # fmt: skip
    assert max(seen) > seen[-1]  # or the test would say nothing
    assert kept.epoch == 1 + seen.index(max(seen))
    assert float(exit_accuracy(kept.model, *held).single.mean()) == max(seen)
    assert train_exits(net(), x[:80], y[:80], settings).epoch == 30


def tasks_of(device, dtype=torch.float64, mixed=False):
    """Three trainings that differ in size, teachers and labels."""
    x, y = task()
    x, y = x.to(device, dtype), y.to(device)
    partly = y.clone()
    partly[40:] = UNLABELLED
    return [
        ExitTask(
            net(seed).to(device, dtype), x, labels, learning(8, batch, mixed_precision=mixed), ExitObjective(who), seed
        )
        for seed, (labels, batch, who) in enumerate([(y, 16, "none"), (y, 10, "last"), (partly, 8, "later")])
    ]


def test_side_by_side_is_one_by_one():
    tasks = tasks_of("cpu")
    shares = []
    together = train_side_by_side(tasks, progress=shares.append)
    assert shares == pytest.approx([k / 24 for k in range(1, 25)])
    for one, job in zip(together, tasks, strict=True):
        alone = train_exits(job.model, job.x, job.y, job.settings, objective=job.objective, seed=job.seed)
        assert alone.losses == one.losses
        assert all(torch.equal(a, b) for a, b in zip(alone.model.parameters(), one.model.parameters(), strict=True))


def test_products_in_bfloat16_learn_too_and_keep_weights_in_full():
    full, mixed = (train_side_by_side(tasks_of("cpu", torch.float32, mixed)) for mixed in (False, True))
    for a, b in zip(full, mixed, strict=True):
        assert a.losses != b.losses
        assert a.losses == pytest.approx(b.losses, rel=0.05)
        assert next(b.model.parameters()).dtype == torch.float32


def test_c6_9_distillation_beats_exit_wise_training_at_the_first_exit_where_labels_are_few():
    """20 digits a class, four repeats: the mean of the paired differences is above 0."""
    x, y, test, test_y = load_images("digits").tensors()
    gains = []
    for seed in range(4):
        rows = class_subset(y, 20, held=0, seed=seed).train
        first = [
            float(exit_accuracy(
                train_exits(
                    multi_exit_conv(1, 10, width=8, seed=seed), x[rows], y[rows],
                    learning(40, batch=50, drops=(20, 30)), objective=ExitObjective(who), seed=seed,
                ).model, test, test_y,
            ).single[0])
            for who in ("last", "none")
        ]  # fmt: skip
        gains.append(first[0] - first[1])
    assert sum(gains) / len(gains) > 0


def test_soft_labels_do_not_drown_the_labels_of_a_network_without_batch_norm():
    """With the square of the temperature as its weight distillation lost a third of the accuracy of this network."""
    x, y, test, test_y = load_images("digits").tensors()

    def stage(channels, more):
        return torch.nn.Sequential(torch.nn.Conv2d(channels, more, 3, padding=1), torch.nn.ReLU())

    torch.manual_seed(0)
    heads = [pooled_head((c, 8, 8), 10) for c in (16, 16, 32)]
    model = MultiExit([stage(1, 16), stage(16, 16), stage(16, 32)], heads)
    exits = {
        name: exit_accuracy(train_exits(model, x, y, learning(12), objective=objective).model, test, test_y).single
        for name, objective in {"alone": ExitObjective("none"), "taught": ExitObjective()}.items()
    }
    assert (exits["taught"] > exits["alone"] - 0.03).all()


def test_a_reduction_that_does_not_exist_is_an_error():
    with pytest.raises(TutelageError, match="reduction must be 'mean' or 'sum', got 'max'"):
        ExitObjective(reduction="max")


@pytest.mark.parametrize("power", [-1, 3, float("nan")])
def test_a_power_of_the_temperature_outside_0_and_2_is_an_error(power):
    with pytest.raises(TutelageError, match="power"):
        ExitObjective(power=power)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
def test_recorded_steps_side_by_side_are_those_of_the_cpu():
    there, here = (train_side_by_side(tasks_of(device)) for device in ("cuda", "cpu"))
    for a, b in zip(there, here, strict=True):
        assert a.losses == pytest.approx(b.losses, rel=1e-6)
        assert (a.trace is None) == (b.trace is None)
        if a.trace:
            torch.testing.assert_close(a.trace.temperature, b.trace.temperature)
            torch.testing.assert_close(a.trace.raw, b.trace.raw)
        for p, q in zip(a.model.parameters(), b.model.parameters(), strict=True):
            torch.testing.assert_close(p.cpu(), q, rtol=1e-5, atol=1e-7)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
def test_batch_norms_and_mixed_precision_on_a_gpu():
    source = torch.Generator().manual_seed(0)
    x, y = torch.randn(64, 1, 8, 8, generator=source), torch.randint(3, (64,), generator=source)
    runs = {}
    for device, mixed in (("cpu", False), ("cuda", False), ("cuda", True)):
        job = ExitTask(multi_exit_conv(1, 3, width=8).to(device), x.to(device), y.to(device),
                       learning(12, batch=32, mixed_precision=mixed))  # fmt: skip
        runs[device, mixed] = train_side_by_side([job, job])
        assert runs[device, mixed][0].losses == pytest.approx(runs[device, mixed][1].losses, rel=1e-3)
    wanted = runs["cpu", False][0]
    for (_, mixed), (one, _) in runs.items():
        assert one.losses == pytest.approx(wanted.losses, rel=0.1 if mixed else 0.01)
        norm, reference = (m.stages[0][1] for m in (one.model, wanted.model))
        assert int(norm.num_batches_tracked) == int(reference.num_batches_tracked) == 24
        torch.testing.assert_close(norm.running_mean.cpu(), reference.running_mean, rtol=0.1, atol=0.05)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda x, y: train_exits(net(), x, torch.full_like(y, UNLABELLED), learning(1)), "there are 0"),
        (lambda x, y: train_exits(net(), x[:5], y[:5], learning(1, batch=8)), "there are 5"),
        (lambda x, y: train_exits(net(), x[:5], y[:4], learning(1, batch=2)), "5 samples have 4 labels"),
        (lambda x, y: train_exits(net(), x, y, learning(30, batch=8, learning_rate=1e6)), "diverged"),
        (lambda x, y: train_exits(net(), x, y, Training(steps=5)), "Training.steps=5 is not supported by train_exits"),
        (lambda x, y: train_exits(net(), x, y, learning(1, loss="mse")), "Training.loss='mse' .* use 'cross-entropy'"),
        (lambda x, y: train_exits(net(), x, y, learning(1, batch="all")), "Training.batch='all'"),
        (lambda x, y: train_exits(net(), x, y, learning(1)).trace.by_epoch(3), "not 3 epochs"),
        (lambda x, y: train_exits(net(), x, y, learning(1, optimiser={"kind": "adam"})), "use 'sgd'"),
        (lambda x, y: train_exits(net(), x / 0, y, learning(1)), "not finite"),
        (lambda x, y: train_exits(net(), x[:, :5], y, learning(1)), r"samples of shape \[5\]"),
        (lambda x, y: train_side_by_side([]), "at least one task"),
        (lambda x, y: train_exits(net().to("meta"), x, y, learning(1)), "on cpu and the network on meta"),
        (lambda x, y: train_exits(net(), x, y + 3, learning(1)), "labels must be from 0 to 2"),
        (lambda x, y: train_exits(net(), x, y + 0.7, learning(1)), "whole numbers, .* got float32"),
        (lambda x, y: exit_accuracy(net(), x, y + 0.7), "needs the class of every sample"),
        (lambda x, y: exit_accuracy(net(), x, torch.full_like(y, UNLABELLED)), "leave out those without a label"),
        (
            lambda x, y: train_side_by_side([ExitTask(net(), x, y, learning(e)) for e in (1, 2)]),
            "equally many epochs",
        ),
    ],
)
def test_what_cannot_be_is_said(wrong, said):
    with pytest.raises(TutelageError, match=said):
        wrong(*task())
