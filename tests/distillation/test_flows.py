"""Flow, its own equation, and small steps of descent lead the same way."""

import pytest
import torch

from tutelage.distillation.deep import balanced_start, limit
from tutelage.distillation.flows import descent, flow, induced_flow, settle
from tutelage.distillation.tasks import Isotropic
from tutelage.errors import TutelageError
from tutelage.networks import Network


@pytest.fixture(scope="module")
def few():
    return Isotropic(6).transfer(range(3), 3)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_layers_and_product_agree_and_so_do_small_steps(few, layers):
    start = balanced_start(few, range(3), layers, scale=0.05, width=4)
    times = [0.0, 1.0, 5.0]
    whole, product = flow(few, start.network, times), induced_flow(few, start.w, layers, times)
    assert (whole.w - product.w).abs().max() < 1e-8
    steps = descent(few, start.network, [0, 1000, 5000], 1e-3)
    assert (steps.w - product.w).abs().max() < 2e-3
    assert steps.times == pytest.approx(times)
    assert torch.equal(whole.network(1).weights[0], whole.weights[0][1])
    assert (whole.loss()[1:] < whole.loss()[:-1]).all()


def test_layer_slopes_are_those_of_automatic_differentiation(few):
    draw = torch.Generator().manual_seed(0)
    layers = [
        torch.randn(3, a, b, generator=draw, dtype=torch.float64).requires_grad_() for a, b in ((6, 4), (4, 2), (2, 1))
    ]
    loss = few.loss((layers[0] @ layers[1] @ layers[2]).squeeze(2)).sum()
    wanted = torch.autograd.grad(loss, layers)
    start = Network(tuple(w.detach() for w in layers), activation="linear")
    moved = descent(few, start, [1], 0.5)
    for old, new, slope in zip(start.weights, moved.weights, wanted, strict=True):
        assert torch.allclose(new[0], old - 0.5 * slope, atol=1e-12)


def test_a_member_does_not_depend_on_its_neighbours(few):
    start = balanced_start(few, range(3), 2).w
    all_of_them, alone = induced_flow(few, start, 2, [10.0]), induced_flow(few[[1]], start[[1]], 2, [10.0])
    assert torch.allclose(all_of_them.w[:, 1], alone.w[:, 0], atol=1e-9)


def test_settled_students_are_at_their_limit(few):
    start = balanced_start(few, range(3), 3).w
    w, took = settle(few, start, 3)
    assert ((w - limit(few, start, 3)).norm(dim=1) <= 1e-8).all()
    assert (took > 1).all()
    coarse, _ = settle(few, start, 3, tolerance=1e-5, relative=1e-8)
    off = (coarse - limit(few, start, 3)).norm(dim=1)
    assert ((off > 1e-12) & (off <= 1e-5)).all()
    with pytest.raises(TutelageError, match="it is slow"):
        settle(few, start, 3, longest=1.0)


def test_what_is_refused(few):
    start = balanced_start(few, range(3), 2).network
    with pytest.raises(TutelageError, match="do not fit"):
        flow(few[:2], start, [1.0])
    with pytest.raises(TutelageError, match="float64"):
        flow(few, start.to(dtype=torch.float32), [1.0])
    with pytest.raises(TutelageError, match="must grow"):
        descent(few, start, [5, 3])
    with pytest.raises(TutelageError, match="positive"):
        descent(few, start, [5], 0.0)
    with pytest.raises(TutelageError, match="stays there"):
        induced_flow(few, torch.zeros(3, 6, dtype=torch.float64), 2, [1.0])
    with pytest.raises(TutelageError, match="wanted a start"):
        induced_flow(few, torch.zeros(3, 5, dtype=torch.float64), 1, [1.0])
    with pytest.raises(TutelageError, match="no layers"):
        induced_flow(few, torch.zeros(3, 6, dtype=torch.float64), 1, [1.0]).network(0)


def test_the_default_rate_is_stable(few):
    course = descent(few, balanced_start(few, range(3), 1).network, [0, 50, 2000])
    assert (course.loss()[1:] < course.loss()[:-1]).all()
    with pytest.raises(TutelageError, match="diverged"):
        descent(few, balanced_start(few, range(3), 3).network, [2000], 1e6)
