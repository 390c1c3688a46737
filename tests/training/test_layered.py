"""Layered networks learn as torch's would, and no member depends on its neighbours."""

import pytest
import torch
from torch import nn

from tutelage import draws
from tutelage.data.augmentation import shifted_and_flipped
from tutelage.errors import TutelageError
from tutelage.networks.layered import Architecture, Conv, Dense, Layered
from tutelage.training import Cosine, Sgd, Training
from tutelage.training.layered import accuracy, fit, member_losses

PLAN = Architecture((1, 6, 6), (Conv(4), Conv(3, stride=2), Dense(5)), 3, norm="before")


def learning(loss="cross-entropy", optimiser=Sgd(momentum=0.9), schedule=Cosine(), **settings):  # noqa: B008  (frozen)
    optimiser = {"kind": optimiser} if isinstance(optimiser, str) else optimiser
    return Training(loss=loss, optimiser=optimiser, schedule=schedule, **settings)


def task(count=60):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(count, 1, 6, 6, generator=generator)
    return x, (x.mean((1, 2, 3)) * 20).clamp(-1, 1).round().long() + 1


@pytest.mark.parametrize("loss", ["mse", "cross-entropy"])
@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_a_member_alone_is_the_same_member(loss, optimiser):
    x, y = task()
    x = x.double()
    labels = nn.functional.one_hot(y, 3).double()[None] if loss == "mse" else y
    settings = learning(epochs=3, batch=16, loss=loss, optimiser=optimiser, learning_rate=0.01)

    def trained(seeds):
        model = Layered(PLAN, seeds).double()
        return model, fit(model, x, labels, settings, augment=lambda b, k, i: shifted_and_flipped(b, k, i, margin=1))

    together, many = trained([3, 8, 5])
    alone, few = trained([8])
    torch.testing.assert_close(many[:, 1:2], few, rtol=1e-9, atol=1e-11)
    for name, value in alone.state_dict().items():
        torch.testing.assert_close(together.state_dict()[name][1:2], value, rtol=1e-6, atol=1e-7, msg=name)


def test_the_steps_are_those_of_torch():
    x, y = task()
    plan = Architecture((1, 6, 6), (Conv(4), Dense(5)), 3)
    model, settings = Layered(plan, [2]), learning(
        epochs=2, batch=20, learning_rate=0.05, schedule={"kind": "constant"},
        optimiser=Sgd(momentum=0.9, weight_decay=0.01),
    )  # fmt: skip
    twin = nn.Sequential(
        nn.Conv2d(1, 4, 3, 1, 1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 5),
        nn.ReLU(),
        nn.Linear(5, 3),
    )
    for place, layer in enumerate((0, 4, 6)):
        w = model.weights[place][0].detach()
        twin[layer].weight.data = (w if w.ndim == 4 else w.T).clone()
        twin[layer].bias.data.zero_()
    fit(model, x, y, settings)
    optimiser = torch.optim.SGD(twin.parameters(), 0.05, 0.9, weight_decay=0.01)
    for epoch in range(2):
        for rows in draws.permutations(draws.keys([2], "layered-batches"), 60, epoch)[0].split(20):
            optimiser.zero_grad()
            nn.functional.cross_entropy(twin(x[rows]), y[rows]).backward()
            optimiser.step()
    torch.testing.assert_close(model(x)[0], twin(x), rtol=1e-4, atol=1e-5)


def test_it_learns_and_tells_of_every_epoch():
    x, y = task(300)
    model, told = Layered(PLAN, range(2)), []
    losses = fit(
        model,
        x,
        y,
        learning(epochs=12, batch=30, learning_rate=0.05),
        on_epoch=lambda e, m: told.append((e, m.training)),
    )
    assert told == [(e, False) for e in range(13)]
    assert (losses[-1] < 0.6 * losses[0]).all()
    assert (accuracy(model.eval(), x, y, batch=70) > 0.6).all()


def test_a_teacher_labels_the_augmented_points():
    x, _ = task()
    teacher = Layered(PLAN, [7, 7]).eval()
    student = Layered(PLAN, [1, 2])
    before = member_losses(student.eval()(x), teacher(x).detach(), "mse")
    with torch.no_grad():
        fit(Layered(PLAN, [0]), x, torch.zeros(60).long(), learning(epochs=0, batch=10))
    fit(
        student, x, torch.empty(0), learning(epochs=30, batch=20, loss="mse", optimiser="adam", learning_rate=0.01),
        teach=lambda batch: teacher(batch).detach(),
    )  # fmt: skip
    after = member_losses(student.eval()(x), teacher(x).detach(), "mse")
    assert (after < 0.5 * before).all()


def test_losses_are_torchs():
    out, classes = torch.randn(2, 5, 4), torch.randint(0, 4, (2, 5))
    for s in range(2):
        wanted = nn.functional.cross_entropy(out[s], classes[s])
        torch.testing.assert_close(member_losses(out, classes, "cross-entropy")[s], wanted)
        soft = torch.randn(2, 5, 4).softmax(-1)
        torch.testing.assert_close(
            member_losses(out, soft, "cross-entropy")[s], nn.functional.cross_entropy(out[s], soft[s])
        )


def test_bad_fits_are_refused():
    x, y = task()
    with pytest.raises(TutelageError, match="a batch of 100 without replacement needs as many samples"):
        fit(Layered(PLAN, [0]), x, y, learning(epochs=1, batch=100))
    with pytest.raises(TutelageError, match=r"members \[0\] diverged in epoch 1"):
        fit(
            Layered(Architecture((1, 6, 6), (Dense(4),), 3, pool=False), [0]),
            x,
            1e30 * torch.randn(1, 60, 3),
            learning(epochs=1, batch=10, loss="mse", learning_rate=10),
        )
    for wrong, said in (
        ({"epochs": None, "steps": 5}, "Training.steps=5 is not supported by fit: use epochs"),
        ({"learning_rate": (0.1, 0.2)}, "use one number"),
        ({"loss": "soft-cross-entropy"}, "use 'mse' or 'cross-entropy' or 'binary-cross-entropy'"),
        ({"sampling": "replacement"}, "Training.sampling='replacement' is not supported by fit: use 'epochs'"),
        ({"mixed_precision": True}, "Training.mixed_precision=True is not supported by fit: use False"),
    ):
        with pytest.raises(TutelageError, match=said):
            fit(Layered(PLAN, [0]), x, y, learning(**({"epochs": 1, "batch": 10} | wrong)))


def test_binary_cross_entropy_is_that_of_one_output():
    outputs, y = torch.randn(2, 7, 1, dtype=torch.float64), torch.tensor([[0, 1, 1, 0, 1, 0, 0]] * 2)
    wanted = nn.functional.binary_cross_entropy_with_logits(outputs[..., 0], y.double(), reduction="none").mean(1)
    torch.testing.assert_close(member_losses(outputs, y, "binary-cross-entropy"), wanted)
    with pytest.raises(TutelageError, match="one output"):
        member_losses(outputs.expand(-1, -1, 2), y, "binary-cross-entropy")


def test_one_output_learns_two_classes():
    x, y = task(300)
    y = (x[:, 0, 2, 2] > 0).long()
    model = Layered(Architecture((1, 6, 6), (Conv(4), Dense(8)), 1, pool=False), range(2))
    fit(model, x, y, learning(epochs=15, batch=30, loss="binary-cross-entropy", optimiser="adam", learning_rate=0.01))
    assert (accuracy(model, x, y, batch=70) > 0.9).all()
