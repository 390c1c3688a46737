import pytest
import torch

from tutelage import deadline
from tutelage.deadline import NEVER, Deadline, OutOfTime
from tutelage.functions.interruptible import LARGE, interruptible


def matrix(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize(
    "product",
    [
        lambda a, b: a @ b,
        lambda a, b: a.expand(3, -1, -1) @ b.expand(3, -1, -1),
        lambda a, b: torch.addmm(a[:, :40] + 1, a, b),
        lambda a, b: torch.addmm(b[0], a, b),
        lambda a, b: torch.einsum("soi,sic->soc", a[None], b[None]),
        lambda a, b: torch.cdist(a, a, compute_mode="donot_use_mm_for_euclid_dist"),
        lambda a, b: a @ b[:, 0],
    ],
)
def test_products_in_pieces_are_the_products(product, monkeypatch):
    monkeypatch.setattr(deadline, "PIECE", 10_000)
    a, b = matrix(70, 60), matrix(60, 40, seed=1)
    with interruptible(NEVER, LARGE):
        pieces = product(a, b)
    assert torch.allclose(pieces, product(a, b), rtol=1e-12, atol=1e-12)


def test_gradients_pass_through_pieces(monkeypatch):
    monkeypatch.setattr(deadline, "PIECE", 10_000)
    a, b = matrix(70, 60).requires_grad_(), matrix(60, 40, seed=1)
    with interruptible(NEVER, LARGE):
        (slope,) = torch.autograd.grad((a @ b).square().sum(), a)
    assert torch.allclose(slope, 2 * (a @ b) @ b.T)


def test_a_long_product_is_left_at_the_limit():
    a = matrix(3000, 3000)

    def power(a):
        with interruptible(Deadline(0.2), LARGE):
            for _ in range(1000):
                a = a @ a / 100

    with pytest.raises(OutOfTime):  # without the limit, an hour
        power(a)


def test_small_networks_are_left_alone():
    with interruptible(Deadline(0), LARGE - 1):
        assert (matrix(2, 2) @ matrix(2, 2)).shape == (2, 2)
