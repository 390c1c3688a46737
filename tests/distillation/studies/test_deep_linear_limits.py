"""Ends of flows against the closed forms, set by set and size by size."""

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from tutelage import draws
from tutelage.distillation import balanced_start, guaranteed, learned, limit
from tutelage.distillation.studies.deep_linear_limits import (
    FEW,
    TASK,
    DeepEnds,
    End,
    StartSigns,
    a_sign_will_do,
    deeper_is_farther,
    depth,
    draw,
    smaller_is_closer,
    within,
)
from tutelage.lab import Store, execute


@pytest.fixture(scope="module")
def ends():
    return depth(2, (0.1, 0.01), range(2))


def made_up(layers, scale, reached):
    values = np.full(2, reached)
    return End(layers, scale, values, values, 2 * values, values, values, values)


def test_ends_belong_to_their_length_and_set(ends):
    few = TASK.transfer(range(2), FEW)
    goal = learned(few)
    for one in ends:
        start = balanced_start(few, range(2), 2, one.scale)
        wanted = (limit(few, start.w, 2) - goal).norm(dim=1) / goal.norm(dim=1)
        assert np.allclose(one.predicted, wanted)
        assert np.allclose(one.reached, wanted, atol=1e-5)
        assert np.allclose(one.eps, guaranteed(start.scale, goal.norm(dim=1), 2) / goal.norm(dim=1))
        assert (one.off < 1e-5).all()
        assert (one.many < 1e-5).all()
    assert all((values < 1).all() for values in within.values(DeepEnds(ends, {})).values())


def test_claims_compare_lengths_and_depths():
    found = DeepEnds([made_up(2, 0.1, 0.4), made_up(2, 0.01, 0.2), made_up(3, 0.1, 0.5)], {0.1: np.array([0.0, 1.0])})
    assert {name: v.tolist() for name, v in smaller_is_closer.values(found).items()} == {
        "L = 2, |w(0)| = 0.01": [1.0, 1.0]
    }
    (values,) = deeper_is_farther.values(found).values()
    assert np.allclose(values, 0.1)
    assert a_sign_will_do.values(found)["|w(0)| = 0.1"].mean() == 0.5


def test_the_figure_holds_every_end(ends):
    found = DeepEnds(ends, {})
    assert len(draw(found).axes) == 2


def test_starts_without_a_sign_are_counted_as_by_hand(tmp_path):
    experiment = StartSigns(start=0.3, each=3, seeds=20)
    (result,) = execute([experiment], Store(tmp_path), device="cpu")
    few = TASK.transfer(range(20), FEW)
    by_hand = []
    for k in range(3):
        u = normalize(draws.normals(draws.keys([s + 20 * k for s in range(20)], "balanced 0"), few.dimension), dim=1)
        by_hand.append(
            [all(_loss(few, s, sign * 0.3 * u[s]) >= _loss(few, s, 0 * u[s]) for sign in (1, -1)) for s in range(20)]
        )
    assert 0 < np.mean(by_hand) < 1
    assert np.allclose(result["shortened"], np.mean(by_hand, axis=0))


def _loss(transfer, s, w):
    """Cross-entropy with the soft labels of set s."""
    x, y = transfer.x[s], torch.sigmoid(transfer.x[s] @ transfer.teacher.expand(len(transfer.x), -1)[s])
    return float((torch.nn.functional.softplus(x @ w) - y * (x @ w)).mean())
