"""A teacher from labelled data is a stationary point of its own objective."""

import pytest
import torch

from tutelage.distillation.teachers import logistic_teacher
from tutelage.errors import TutelageError


def test_the_gradient_vanishes_and_the_classes_are_told_apart():
    draw = torch.Generator().manual_seed(0)
    labels = torch.arange(200) % 2
    x = torch.randn(200, 6, generator=draw) + 2 * (2 * labels - 1).unsqueeze(1) * torch.eye(1, 6)
    w = logistic_teacher(x, labels, penalty=0.5)
    signs = 2 * labels.double() - 1
    pull = torch.sigmoid(-signs * (x.double() @ w)) * signs
    assert (0.5 * w - pull @ x.double()).abs().max() < 1e-4
    assert ((x.double() @ w >= 0) == labels.bool()).double().mean() > 0.95


def test_what_is_refused():
    with pytest.raises(TutelageError, match="labels 0 and 1"):
        logistic_teacher(torch.ones(3, 2), torch.ones(3))
    with pytest.raises(TutelageError, match="a label each"):
        logistic_teacher(torch.ones(3, 2), torch.ones(4))
