"""Networks with exits under way: what they are given at a time, and which of them share a stack."""

import torch

from tutelage.exits import _courses
from tutelage.exits.multi_exit import multi_exit_mlp
from tutelage.exits.objective import UNLABELLED
from tutelage.exits.training import PAPER_SGD, ExitObjective, ExitTask, train_side_by_side
from tutelage.training import Training


def test_how_many_batches_are_gathered_at_a_time_changes_nothing(monkeypatch):
    x = torch.randn(80, 6, generator=torch.Generator().manual_seed(0))
    settings = Training(epochs=2, batch=8, learning_rate=0.1, optimiser=PAPER_SGD)
    runs = []
    for numbers, ahead in ((2**27, 10), (2 * 8 * 6, 2), (1, 1)):
        monkeypatch.setattr(_courses, "_NUMBERS", numbers)
        task = ExitTask(multi_exit_mlp(6, (5, 5), 2, 0), x, (x[:, 0] > 0).long(), settings)
        assert min(_courses.ExitCourse(task, None).ahead, 10) == ahead
        runs.append(train_side_by_side([task])[0])
    for run in runs[1:]:
        assert run.losses == runs[0].losses
        assert all(map(torch.equal, run.model.state_dict().values(), runs[0].model.state_dict().values()))


def test_networks_that_differ_only_in_data_and_seed_share_a_stack(monkeypatch):
    """The stacks are not built: which networks would be in them is recorded."""
    stacks = []

    class Recorded:
        def __init__(self, models, batch, shape, settings, objective, sets):
            stacks.append((len(models), batch.width, any(sets)))

    monkeypatch.setattr(_courses, "can_stack", lambda *_: True)
    monkeypatch.setattr(_courses, "Pupils", Recorded)
    x, y = torch.zeros(6, 8), torch.tensor([0, 1, 0, 1, UNLABELLED, UNLABELLED])
    settings = Training(epochs=1, batch=2, learning_rate=0.1, optimiser=PAPER_SGD)
    courses = [
        _courses.ExitCourse(ExitTask(multi_exit_mlp(8, (5, 5), 2, seed), x[:n], y[:n], settings, objective, seed), None)
        for objective in (ExitObjective("none"), ExitObjective("last"))
        for n in (4, 6)
        for seed in range(2)
    ]
    _courses.seat(courses)
    assert stacks == [(2, 2, False), (2, 2, False), (2, 2, True), (2, 4, True)]
    assert [course.pupil.member for course in courses] == [0, 1] * 4
