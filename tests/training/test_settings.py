"""One record of settings for all trainers: its lengths, its learning rates, and what a trainer does not support."""

import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.training import Constant, Drops, Sgd, Training, train
from tutelage.training.settings import Supported, given, set_rate


def test_the_length_is_in_steps_or_in_epochs():
    assert Training(steps=7).length(samples=100) == 7
    assert Training(epochs=3, batch=30).length(samples=100) == 9
    assert Training(epochs=3, batch="all").length(samples=100) == 3
    assert Training(epochs=0).length(samples=100) == 0
    for wrong, said in (
        ({}, "give 'steps' or 'epochs'"),
        ({"steps": 1, "epochs": 1}, "or 'epochs' in the training, not both"),
    ):
        with pytest.raises(TutelageError, match=said):
            Training(**wrong)


def test_epochs_draw_without_replacement_unless_told():
    assert Training(steps=1).sampling == "replacement"
    assert Training(epochs=1).sampling == "epochs"
    assert Training(epochs=1, sampling="replacement").sampling == "replacement"
    with pytest.raises(TutelageError, match="a batch of 16 without replacement needs as many samples; there are 10"):
        Training(epochs=1).length(samples=10)


def test_students_trained_for_epochs_take_their_steps(problem):
    p = problem()
    samples = p.inputs.train.shape[1]
    each = samples // 8
    common = {"batch": 8, "sampling": "epochs", "learning_rate": 0.05}
    epochs = Training(epochs=3, schedule=Drops(at=(1, 2), unit="epochs"), **common)
    steps = Training(steps=3 * each, schedule=Drops(at=(each, 2 * each)), **common)
    first, second = (train(p.teacher, p.students, p.inputs, settings).students for settings in (epochs, steps))
    assert all(torch.equal(a, b) for a, b in zip(first.parameters, second.parameters, strict=True))


def test_rates_are_those_of_the_schedule():
    settings = Training(epochs=3, learning_rate=0.5, schedule=Drops(at=(2,), factor=0.5, unit="epochs"))
    assert list(settings.rates(6, per_epoch=2)) == [0.5] * 4 + [0.25] * 2
    long = Training(steps=2500, learning_rate=0.5, schedule=Drops(at=(2000,), factor=0.5))
    assert list(long.rates(2500)) == [0.5] * 2000 + [0.25] * 500
    with pytest.raises(TutelageError, match="learning_rate must be one number, got 2"):
        list(Training(steps=1, learning_rate=(0.1, 0.2)).rates(1))


@pytest.mark.parametrize("rate", [0.1, torch.tensor(0.1)])
def test_the_rate_of_an_optimiser_is_set_where_it_is(rate):
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], rate)
    set_rate(0.25, optimiser)
    assert optimiser.param_groups[0]["lr"] == 0.25
    assert isinstance(optimiser.param_groups[0]["lr"], type(rate))


def test_what_a_trainer_does_not_support_is_named():
    trainer = Supported("sort", "steps", "replacement", schedules=("constant",), optimisers=("sgd",))
    trainer.check(Training(steps=3, schedule=Constant()))
    for wrong, said in (
        ({"steps": None, "epochs": 2}, "Training.epochs=2 is not supported by sort: use steps"),
        ({"batch": "all"}, "Training.batch='all' is not supported by sort: use a number"),
        (
            {"learning_rate": (1.0, 2.0)},
            r"Training.learning_rate=\(1.0, 2.0\) is not supported by sort: use one number",
        ),
        ({"sampling": "epochs"}, "Training.sampling='epochs' is not supported by sort: use 'replacement'"),
        ({"loss": "mse"}, "Training.loss='mse' is not supported by sort: leave loss out"),
        ({"schedule": {"kind": "cosine"}}, "Training.schedule='cosine' is not supported by sort: use 'constant'"),
        ({"optimiser": {"kind": "adam"}}, "Training.optimiser='adam' is not supported by sort: use 'sgd'"),
        ({"mixed_precision": True}, "Training.mixed_precision=True is not supported by sort: use False"),
    ):
        with pytest.raises(TutelageError, match=said):
            trainer.check(Training(**({"steps": 3} | wrong)))


def test_settings_are_given_as_one_or_by_name():
    record = Training(steps=3)
    assert given(record, {}, epochs=5) is record
    assert given(None, {"batch": 4}, epochs=5, learning_rate=0.5) == Training(epochs=5, batch=4, learning_rate=0.5)
    assert given(None, {"steps": 7}, epochs=5, batch=2) == Training(steps=7, batch=2)
    with pytest.raises(TutelageError, match="as settings or by name, not both: batch would be dropped"):
        given(record, {"batch": 4})


def test_an_optimiser_by_name_with_its_weight_decay_beside_it():
    assert Training(steps=1, optimiser="adam") == Training(steps=1, optimiser={"kind": "adam"})
    decayed = Training(steps=1, weight_decay=1e-4)
    assert decayed == Training(steps=1, optimiser={"kind": "sgd", "weight_decay": 1e-4})
    both = Training(steps=1, optimiser="adamw", weight_decay=0.0)
    assert both.optimiser.weight_decay == 0
    for twice in ({"kind": "sgd", "weight_decay": 0.1}, Sgd()):
        with pytest.raises(TutelageError, match="'weight_decay' is given twice"):
            Training(steps=1, optimiser=twice, weight_decay=1e-4)


@pytest.mark.parametrize(
    ("word", "usual"), [("lr", "learning_rate"), ("batch_size", "batch"), ("optimizer", "optimiser")]
)
def test_words_of_other_libraries_are_met_with_ours(word, usual):
    with pytest.raises(TutelageError, match=f"unknown setting of training '{word}'; did you mean '{usual}'"):
        Training(**{"steps": 1, word: 1})
