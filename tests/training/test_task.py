"""Which rows each step sees: pure functions of a member's seed and the step."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage import TutelageError
from tutelage.training import Drops, Task, Training


def make_task(seeds, samples=40, **training):
    points = torch.zeros(len(seeds), samples, 2)
    return Task(points, torch.zeros(len(seeds), samples, 1), Training(steps=100, **training), tuple(seeds))


@pytest.mark.parametrize("sampling", ["replacement", "epochs"])
@given(
    seeds=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=6, unique=True),
    batch=st.integers(1, 40),
    cut=st.integers(1, 29),
)
def test_rows_depend_on_the_seed_and_the_step_alone(sampling, seeds, batch, cut):
    """Bit for bit the same alone or among others, in one go or in parts."""
    task = make_task(seeds, batch=batch, sampling=sampling)
    rows = task.rows(0, 30)
    alone = make_task(seeds[-1:], batch=batch, sampling=sampling)
    assert rows.shape == (len(seeds), 30, batch)
    assert torch.equal(rows[-1:], torch.cat([alone.rows(0, cut), alone.rows(cut, 30)], dim=1))


def test_with_replacement_every_row_is_equally_likely():
    rows = make_task([3], samples=10, batch=16).rows(0, 5000)
    counts = torch.bincount(rows.flatten(), minlength=10).double()
    expected = rows.numel() / 10
    assert ((counts - expected) ** 2 / expected).sum() < 33.7  # chi-square, 9 degrees of freedom, p = 1e-4


def test_an_epoch_sees_every_row_at_most_once():
    task = make_task([0, 1], samples=11, batch=3, sampling="epochs")
    for epoch in range(4):
        rows = task.rows(3 * epoch, 3 * epoch + 3).flatten(1)
        assert all(len(set(r)) == 9 for r in rows.tolist())
    assert not torch.equal(task.rows(0, 3), task.rows(3, 6))


def test_full_batches_see_every_row_in_order():
    assert torch.equal(make_task([5], samples=7, batch="all").rows(2, 4)[0, 1], torch.arange(7))


def test_rates_are_the_members_own_times_the_schedule():
    task = make_task([0, 1], learning_rate=(0.1, 0.2), schedule=Drops(at=(2,), factor=0.5))
    assert task.rates(1, 3).tolist() == [[0.1, 0.05], [0.2, 0.1]]


def test_some_members_keep_their_rows_rates_and_data():
    task = make_task([7, 8, 9], learning_rate=(0.1, 0.2, 0.3))
    some = task[[2, 0]]
    assert some.seeds == (9, 7)
    assert some.learning_rates == (0.3, 0.1)
    assert torch.equal(some.rows(0, 5), task.rows(0, 5)[[2, 0]])


def test_some_members_of_shared_points_still_share_them():
    points = torch.randn(1, 40, 2).expand(3, -1, -1)
    task = Task(points, torch.zeros(3, 40, 1), Training(steps=5, batch="all"), (7, 8, 9))
    some = task[[2, 0]]
    assert some.points.shape == (2, 40, 2)
    assert some.points.stride(0) == 0


def test_joined_tasks_keep_their_rows_rates_and_order():
    one, two = make_task([7, 8], learning_rate=0.1), make_task([9], learning_rate=(0.3,))
    both = Task.join([one, two])
    assert both.seeds == (7, 8, 9)
    assert both.learning_rates == (0.1, 0.1, 0.3)
    assert torch.equal(both.rows(0, 5), torch.cat([one.rows(0, 5), two.rows(0, 5)]))


def test_tasks_of_different_trainings_are_not_joined():
    with pytest.raises(TutelageError, match="different trainings"):
        Task.join([make_task([0]), make_task([1], batch=8)])


@pytest.mark.parametrize(
    ("training", "sentence"),
    [
        ({"learning_rate": (0.1, 0.2, 0.3)}, "'learning_rate' has 3 entries for 2 members"),
        ({"batch": 41, "sampling": "epochs"}, "a batch of 41 without replacement needs as many samples; there are 40"),
    ],
)
def test_what_does_not_fit_is_refused_before_any_work(training, sentence):
    with pytest.raises(TutelageError, match=sentence):
        make_task([0, 1], **training)


@pytest.mark.parametrize(
    "settings",
    [{"steps": 0}, {"steps": 5, "learning_rate": -0.1}, {"steps": 5, "learning_rate": float("nan")},
     {"steps": 5, "batch": 0}, {"steps": 5, "learning_rate": float("inf")}, {"steps": 5, "sampling": "sometimes"}],
)  # fmt: skip
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(TutelageError):
        Training(**settings)
