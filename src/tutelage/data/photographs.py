"""The usual augmentation of photographs, on their device: a random part of the picture, mirrored, its colours changed.

A part of 8 to 100 % of the area with sides between 3:4 and 4:3 (Szegedy et al. 2015) is scaled to the size wanted;
brightness, contrast and saturation each change by up to 40 %, in this order; light of a random colour along the
principal axes of ImageNet's colours is added (Krizhevsky et al. 2012). As in Phuong 2021, section 6.4.
"""

import math

import torch
from torch import Tensor

from tutelage import draws

AREA, SIDES = (0.08, 1.0), (3 / 4, 4 / 3)
GREY = (0.299, 0.587, 0.114)
LIGHT = (0.2175, 0.0188, 0.0045)
"""Eigenvalues of the covariance of ImageNet's colours, each from 0 to 1."""
AXES = ((-0.5675, 0.7192, 0.4009), (-0.5808, -0.0045, -0.8140), (-0.5836, -0.6948, 0.4203))
"""Its eigenvectors, in columns; rows are red, green and blue."""

_DRAWS = 11  # of one picture


class Photographs:
    """Called as ``augment(samples [1, B, C, H, W], key [1], start)``; gives [1, B, C, size, size].

    mean, deviation [C]: what standardised the samples; colours change before standardisation. jitter: the largest
    relative change; light: the deviation of the factors that LIGHT is multiplied by.
    """

    def __init__(self, size: int, mean: Tensor, deviation: Tensor, jitter: float = 0.4, light: float = 0.1) -> None:
        self.size, self.jitter, self.light = size, jitter, light
        self.mean, self.deviation = (part.view(1, 3, 1, 1) for part in (mean, deviation))

    def __call__(self, images: Tensor, key: Tensor, start: int = 0) -> Tensor:
        batch = images.flatten(0, 1)
        u = draws.uniforms(key, _DRAWS * len(batch), _DRAWS * start).view(len(batch), _DRAWS).to(batch.dtype)
        parts = random_parts(batch, u[:, :5], self.size)
        plain = parts * self.deviation + self.mean
        coloured = recoloured(plain, 1 + self.jitter * (2 * u[:, 5:8] - 1))
        normal = draws.normal_quantile(u[:, 8:].double().clamp(1e-9, 1 - 1e-9)).to(batch)
        added = (self.light * normal * normal.new_tensor(LIGHT)) @ normal.new_tensor(AXES).T
        return ((coloured + added[:, :, None, None] - self.mean) / self.deviation).unsqueeze(0)


def random_parts(images: Tensor, u: Tensor, size: int) -> Tensor:
    """A part of every picture, scaled: [B, C, H, W], uniform draws [B, 5] (area, sides, place twice, mirror)."""
    height, width = images.shape[2:]
    area = AREA[0] + (AREA[1] - AREA[0]) * u[:, 0]
    low, high = (math.log(side) for side in SIDES)
    ratio = (low + (high - low) * u[:, 1]).exp()
    tall = (area * height * width / ratio).sqrt().clamp(1, height) / height
    wide = (area * height * width * ratio).sqrt().clamp(1, width) / width
    place = torch.stack([(2 * u[:, 2] - 1) * (1 - wide), (2 * u[:, 3] - 1) * (1 - tall)], 1)
    mirror = torch.where(u[:, 4] < 0.5, -1.0, 1.0).to(wide)
    zero = torch.zeros_like(wide)
    moves = torch.stack(
        [torch.stack([mirror * wide, zero, place[:, 0]], 1), torch.stack([zero, tall, place[:, 1]], 1)], 1
    )
    grid = torch.nn.functional.affine_grid(moves, [len(images), images.shape[1], size, size], align_corners=False)
    return torch.nn.functional.grid_sample(images, grid, mode="bilinear", padding_mode="border", align_corners=False)


def recoloured(images: Tensor, factors: Tensor) -> Tensor:
    """Brightness, contrast and saturation times a factor each: [B, 3, H, W], [B, 3]; a factor of 1 changes nothing."""
    bright, contrast, saturation = (factors[:, i].view(-1, 1, 1, 1) for i in range(3))
    weights = images.new_tensor(GREY).view(1, 3, 1, 1)
    images = bright * images
    middle = (images * weights).sum(1, keepdim=True).mean((2, 3), keepdim=True)
    images = middle + contrast * (images - middle)
    grey = (images * weights).sum(1, keepdim=True)
    return grey + saturation * (images - grey)
