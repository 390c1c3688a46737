"""Any two torch modules: the correlations are those of their activations, whatever the layers are."""

import itertools

import numpy as np
import pytest
import torch
from torch import nn

from tutelage.errors import TutelageError
from tutelage.measures import correlations, match_modules


def mlp(*widths, seed=0):
    torch.manual_seed(seed)
    layers = []
    for a, b in itertools.pairwise(widths[:-1]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(*widths[-2:]))


def conv(channels, seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(1, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(channels * 9, 4),
    )  # fmt: skip


def test_layers_are_matched_in_order_and_by_name():
    teacher, student, x = mlp(6, 4, 5, 2), mlp(6, 9, 7, 2, seed=1), torch.randn(300, 6)
    matches = match_modules(teacher, student, x.split(128))
    assert [(m.teacher, m.student, m.samples) for m in matches] == [("1", "1", 300), ("3", "3", 300)]
    for match, depth in zip(matches, (2, 4), strict=True):
        wanted = correlations(teacher[:depth](x)[None], student[:depth](x)[None])[0]
        assert np.allclose(match.correlation, wanted.detach().numpy(), atol=1e-5)
    (crossed,) = match_modules(teacher, student, x, layers=[("3", "1")])
    wanted = correlations(teacher[:4](x)[None], student[:2](x)[None])[0].detach().numpy()
    assert np.allclose(crossed.correlation, wanted, atol=1e-5)


def test_a_copy_with_its_units_in_another_order_is_found():
    teacher, student = mlp(6, 5, 2), mlp(6, 8, 2, seed=1)
    place = [7, 0, 3, 2, 5]
    with torch.no_grad():
        student[0].weight[place], student[0].bias[place] = 3 * teacher[0].weight, 3 * teacher[0].bias
    (match,) = match_modules(teacher, student, torch.randn(500, 6))
    assert match.best_student.tolist() == place
    assert match.recovered.all()
    assert match.rho_mean > 0.999
    assert "5 of 5 teacher units found" in str(match)


def test_pixels_are_samples_and_modes_and_activations_are_left_alone():
    teacher, student = conv(3), conv(4, seed=1)
    teacher.train()
    x = torch.randn(10, 1, 6, 6)
    matches = match_modules(teacher, student, x)
    assert [m.samples for m in matches] == [10 * 36, 10 * 9]
    assert teacher.training
    assert all(layer.training for layer in teacher)
    teacher.eval()
    student.eval()
    a, b = (m[:3](x).permute(0, 2, 3, 1).reshape(1, -1, c) for m, c in ((teacher, 3), (student, 4)))
    assert np.allclose(matches[0].correlation, correlations(a, b)[0].detach().numpy(), atol=1e-5)


def test_constant_units_are_named_and_dead_layers_refused():
    teacher, student, x = mlp(3, 4, 2), mlp(3, 4, 2, seed=1), torch.randn(50, 3)
    with torch.no_grad():
        student[0].weight[2], student[0].bias[2] = 0, -1
    (match,) = match_modules(teacher, student, x)
    assert match.idle_student == (2,)
    assert np.isfinite(match.correlation).all()
    with torch.no_grad():
        student[0].weight.zero_()
        student[0].bias.fill_(-1)
    with pytest.raises(TutelageError, match="every unit of the layer '1' of the student is constant"):
        match_modules(teacher, student, x)


class Odd(nn.Module):
    def __init__(self):
        super().__init__()
        self.act, self.lstm, self.unused = nn.ReLU(), nn.LSTM(3, 4), nn.ReLU()

    def forward(self, x):
        return self.lstm(self.act(self.act(x)))[0]


def test_what_cannot_be_watched_is_named():
    plain, x = mlp(3, 4, 2), torch.randn(5, 3)
    for layers, message in (
        ([("1", "lstm")], r"'lstm' \(LSTM\) of the student gives no tensor"),
        ([("1", "act")], "'act' of the student runs more than once"),
        ([("1", "unused")], "'unused' of the student did not run"),
        ([("1", "relu")], "unknown layer of the student 'relu'"),
        ([], "no layers were named"),
        (None, r"'act' of the student runs more"),
    ):
        with pytest.raises(TutelageError, match=message):
            match_modules(plain, Odd(), x, layers)
    with pytest.raises(TutelageError, match="the teacher has 1 activation layers"):
        match_modules(plain, mlp(3, 4, 4, 2), x)
    with pytest.raises(TutelageError, match=r"student cannot take inputs of shape \[5, 3\]"):
        match_modules(plain, mlp(4, 4, 2), x)
    with pytest.raises(TutelageError, match="no activation layers"):
        match_modules(nn.Linear(3, 2), plain, x)
    with pytest.raises(TutelageError, match="feature maps of one size"):
        match_modules(conv(3), conv(3), torch.randn(2, 1, 6, 6), layers=[("2", "5")])
    with pytest.raises(TutelageError, match="at least one batch"):
        match_modules(plain, plain, [])


def test_a_loader_of_points_with_labels_is_read_like_its_points():
    draw = torch.Generator().manual_seed(0)
    x, y = torch.randn(40, 6, generator=draw), torch.zeros(40)
    teacher, student = (nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 2)) for _ in range(2))
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=8)
    (whole,), (loaded,), (several,) = (match_modules(teacher, student, b) for b in (x, loader, list(x.split(8))))
    assert whole.samples == loaded.samples == 40
    np.testing.assert_array_equal(loaded.correlation, several.correlation)
    np.testing.assert_allclose(loaded.correlation, whole.correlation, atol=1e-5)


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        (torch.zeros(6), r"batches must have shape .*, got \[6\]"),
        (iter(torch.zeros(4, 6)), r"batch 0 of batches has shape \[6\].*pass the tensor itself"),
        ([{"x": torch.zeros(4, 6)}], "batch 0 of batches must be a tensor .*, got dict"),
        (7, "must be a tensor or a loader"),
    ],
)
def test_what_is_no_batch_is_named(batches, message):
    teacher = nn.Sequential(nn.Linear(6, 5), nn.ReLU())
    with pytest.raises(TutelageError, match=message):
        match_modules(teacher, teacher, batches)
