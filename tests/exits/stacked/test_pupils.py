import copy

import pytest
import torch

from tutelage.exits._pupil import Pupil
from tutelage.exits.msdnet import MSDNet
from tutelage.exits.multi_exit import multi_exit_conv
from tutelage.exits.objective import UNLABELLED, Annealing, teacher_sets, teacher_shares, training_goal
from tutelage.exits.stacked.pupils import Pupils, Seat, can_stack, stackable
from tutelage.exits.tasks import PAPER_SGD, ExitObjective, batches
from tutelage.training import Drops, Training
from tutelage.training.optimisers import Adam, Sgd

SMALL = MSDNet((6, 12), (6, 12), 2, (1, 2), (4, 4), head=20)
SETTINGS = Training(
    epochs=2, batch=2, learning_rate=0.01, schedule=Drops(at=(1,), unit="epochs"), optimiser=PAPER_SGD
)  # fmt: skip
OBJECTIVE = ExitObjective("last", Annealing(2.0, limit=0.1), power=2)


@pytest.mark.parametrize("taught", [False, True])
def test_goals_of_stacked_networks_are_those_of_each(taught):
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(3, 4, 5, 6, generator=generator, dtype=torch.float64).requires_grad_()
    y = torch.randint(0, 6, (3, 5), generator=generator)
    y[:, 3:] = UNLABELLED
    shares = teacher_shares(teacher_sets(4, "last"), z) if taught else None
    weights = torch.tensor([0.1, 0.1, 0.1, 0.35, 0.35], dtype=torch.float64)
    temperature = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    stacked = torch.vmap(lambda z, y, t: training_goal(z, y, shares, t, 2.0, weights))(z, y, temperature)
    for member in range(3):
        alone = training_goal(z[member], y[member], shares, temperature[member], 2.0, weights)
        for one, all_of_them in zip(alone, stacked, strict=True):
            assert torch.allclose(one, all_of_them[member], atol=1e-12)


MIXED = SETTINGS.model_copy(update={"mixed_precision": True})


def _frozen(model):
    next(model.parameters()).requires_grad_(False)
    return model


def _another_norm(model):
    next(part for part in model.modules() if isinstance(part, torch.nn.BatchNorm2d)).eps = 0.5
    return model


def test_an_msdnet_on_a_gpu_alone_is_stacked():
    model, x = SMALL.build(10, seed=None), torch.zeros(4, 3, 16, 16)
    assert stackable(model, x.shape[1:], MIXED, 10_000)
    assert not can_stack(model, x, MIXED, 10_000)  # on the host
    assert not can_stack(model, "images in a file", MIXED, 10_000)


@pytest.mark.parametrize(
    ("change", "settings", "steps"),
    [
        (lambda model: model, MIXED, 10),
        (lambda model: model, SETTINGS, 10_000),
        (lambda model: model, MIXED.model_copy(update={"optimiser": Sgd(momentum=0.9)}), 10_000),
        (lambda model: model, MIXED.model_copy(update={"optimiser": PAPER_SGD.model_copy(update={"l1": 0.1})}), 10_000),
        (lambda model: model, MIXED.model_copy(update={"optimiser": Adam()}), 10_000),
        (lambda model: model.double(), MIXED, 10_000),
        (_frozen, MIXED, 10_000),
        (_another_norm, MIXED, 10_000),
        (lambda model: multi_exit_conv(3, 10, width=4, seed=0), MIXED, 10_000),
    ],
    ids=["short", "float32", "no Nesterov", "l1", "Adam", "float64", "frozen", "another norm", "no MSDNet"],
)
def test_other_trainings_are_not_stacked(change, settings, steps):
    assert not stackable(change(SMALL.build(10, seed=None)), (3, 16, 16), settings, steps)


@pytest.mark.parametrize("unlabelled", [0, 3])
def test_seats_train_like_networks_alone_in_double_precision(device, unlabelled):
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(2, 4 + unlabelled, 3, 16, 16, generator=generator).to(device)
    y = (torch.arange(4 + unlabelled) % 3).to(device)
    y[4:] = UNLABELLED
    models = [SMALL.build(3, seed=seed).to(device) for seed in range(2)]
    own = [batches(x[member], y, 2, True, member) for member in range(2)]
    twice = [batches(x[member].double(), y, 2, True, member) for member in range(2)]
    sets = teacher_sets(2, "last")
    alone = [Pupil(copy.deepcopy(models[m]).double(), twice[m], SETTINGS, OBJECTIVE, sets) for m in range(2)]
    stack = Pupils(models, own[0], (3, 16, 16), SETTINGS, OBJECTIVE, sets, torch.float32)
    seats = [Seat(stack, member, model) for member, model in enumerate(models)]
    for epoch, rate in enumerate(list(SETTINGS.rates(4, 2))[::2]):
        for pupils in (alone, seats):
            for member, pupil in enumerate(pupils):
                with pupil.at_work():
                    rows = own[member].rows(epoch, 0, 2)
                    samples = x[member][rows]
                    pupil.prepare(samples.double() if pupils is alone else samples, y[rows], 2)
            for _ in range(2):
                for pupil in pupils:
                    with pupil.at_work():
                        pupil.advance(rate)
    for one, seat in zip(alone, seats, strict=True):
        wanted, found = one.state(), seat.state()
        assert wanted.keys() == found.keys()
        assert torch.allclose(one.seen, seat.seen, rtol=1e-5)
        for name, value in wanted.items():
            assert (value - found[name]).double().norm() <= 1e-4 * value.double().norm() + 1e-7, name


def test_a_training_goes_on_from_a_state(device):
    x, y = torch.randn(2, 3, 16, 16).to(device), torch.arange(2, device=device)
    models = [SMALL.build(3, seed=seed).to(device) for seed in range(2)]
    own, sets = batches(x, y, 2, True, 0), teacher_sets(2, "last")

    def fresh():
        stack = Pupils(models, own, (3, 16, 16), SETTINGS, OBJECTIVE, sets, torch.float32)
        return [Seat(stack, member, model) for member, model in enumerate(models)]

    def train(seats, steps):
        for _ in range(steps):
            for seat in seats:
                with seat.at_work():
                    seat.prepare(x.unsqueeze(0), y.unsqueeze(0), 1)
            for seat in seats:
                with seat.at_work():
                    seat.advance(0.1)
        return [{name: value.cpu().clone() for name, value in seat.state().items()} for seat in seats]

    first = fresh()
    middle = train(first, 1)
    wanted = train(first, 1)
    second = fresh()
    for seat, state in zip(second, middle, strict=True):
        with seat.at_work():
            seat.restore(state)
    found = train(second, 1)
    for one, two in zip(wanted, found, strict=True):
        assert all(torch.equal(one[name], two[name]) for name in one)
    assert first[1].finished().heads[0].body[-1].weight.device.type == device.type
