"""Augmentation of photographs: parts where they should be, colours by hand, nothing where nothing is asked."""

import pytest
import torch

from tutelage import draws
from tutelage.data.photographs import AREA, AXES, GREY, LIGHT, SIDES, Photographs, random_parts, recoloured

MEAN, DEVIATION = torch.tensor([0.4, 0.5, 0.6]), torch.tensor([0.2, 0.25, 0.3])


def ramps(count, side=32):
    """Pictures whose first channel is the column and second the row of a pixel, from 0 to 1 at the outer edges."""
    line = (torch.arange(side) + 0.5) / side
    columns, rows = line.expand(side, side), line[:, None].expand(side, side)
    return torch.stack([columns, rows, torch.zeros(side, side)]).expand(count, 3, side, side).contiguous()


def test_the_whole_picture_and_its_mirror():
    x = ramps(2)
    u = torch.tensor([[1.0, 0.5, 0.5, 0.5, 0.9], [1.0, 0.5, 0.5, 0.5, 0.1]])
    same, mirrored = random_parts(x, u, 32)
    torch.testing.assert_close(same, x[0])
    torch.testing.assert_close(mirrored, x[1].flip(-1))


def test_parts_have_the_areas_sides_and_places_that_were_drawn():
    u = draws.uniforms(draws.keys([0], "parts"), 5 * 400).view(400, 5).float()
    parts = random_parts(ramps(400, 64), u, 16)
    width = (parts[:, 0, :, -1] - parts[:, 0, :, 0]).abs().mean(1) * 16 / 15
    height = (parts[:, 1, -1] - parts[:, 1, 0]).mean(1) * 16 / 15
    inner = (width < 0.95) & (height < 0.95)
    wanted = AREA[0] + (AREA[1] - AREA[0]) * u[:, 0]
    assert inner.sum() > 200
    torch.testing.assert_close((width * height)[inner], wanted[inner], rtol=0.05, atol=0.01)
    ratio = (width / height)[inner]
    assert ratio.min() > SIDES[0] * 0.95
    assert ratio.max() < SIDES[1] * 1.05
    assert parts[:, :2].min() >= 0
    assert parts[:, :2].max() <= 1
    mirrored = parts[:, 0, 0, 0] > parts[:, 0, 0, -1]
    assert torch.equal(mirrored, u[:, 4] < 0.5)


def test_colours_by_hand():
    x = torch.rand(1, 3, 4, 4, dtype=torch.float64)
    weights = torch.tensor(GREY, dtype=torch.float64).view(1, 3, 1, 1)
    one = torch.ones(1, 3, dtype=torch.float64)
    torch.testing.assert_close(recoloured(x, one), x)
    torch.testing.assert_close(recoloured(x, one * torch.tensor([1.3, 1, 1])), 1.3 * x)
    flat = recoloured(x, one * torch.tensor([1.0, 0.0, 1.0]))
    torch.testing.assert_close(flat, torch.full_like(x, float((x * weights).sum(1).mean())))
    grey = recoloured(x, one * torch.tensor([1.0, 1.0, 0.0]))
    torch.testing.assert_close(grey, (x * weights).sum(1, keepdim=True).expand_as(x))


def test_the_light_added_has_the_axes_covariance():
    key = draws.keys([3], "light")
    x = ((ramps(1).expand(6000, -1, -1, -1)[:, :, :2, :2] * 0 + 0.5) - MEAN.view(3, 1, 1)) / DEVIATION.view(3, 1, 1)
    out = Photographs(2, MEAN, DEVIATION, jitter=0.0, light=0.5)(x.unsqueeze(0), key)[0]
    added = (out * DEVIATION.view(3, 1, 1) + MEAN.view(3, 1, 1) - 0.5)[:, :, 0, 0].double()
    axes, spread = torch.tensor(AXES).double(), 0.5 * torch.tensor(LIGHT).double()
    wanted = axes @ torch.diag(spread**2) @ axes.T
    standard_error = (added.T @ added / len(added)).diagonal().max() * (2 / len(added)) ** 0.5
    assert ((added.T @ added / len(added) - wanted).abs() < 5 * standard_error).all()


def test_what_happens_to_a_picture_does_not_depend_on_its_batch():
    augment, key = Photographs(8, MEAN, DEVIATION), draws.keys([1], "moves")
    x = torch.randn(1, 6, 3, 12, 12)
    together = augment(x, key, 10)
    assert together.shape == (1, 6, 3, 8, 8)
    torch.testing.assert_close(augment(x[:, 4:], key, 14), together[:, 4:])
    assert not torch.allclose(augment(x, key, 16), together)


def test_axes_are_nearly_orthonormal():
    axes = torch.tensor(AXES)
    assert (axes @ axes.T - torch.eye(3)).abs().max() == pytest.approx(0, abs=2e-3)
