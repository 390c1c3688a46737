"""The usual augmentation of small images, on their device: shifted by up to four pixels, flipped half the time."""

import torch
from torch import Tensor

from tutelage import draws


def shifted_and_flipped(images: Tensor, key: Tensor, start: int = 0, margin: int = 4, flip: bool = True) -> Tensor:
    """Images moved by up to ``margin`` pixels either way, zeros moving in, and mirrored with probability one half.

    images [B, C, H, W]; key: one stream of draws, int64 [1]; image i uses draws 3 (start + i) and the two after it, so
    that what happens to it does not depend on its batch.
    """
    count, _, height, width = images.shape
    u = draws.uniforms(key, 3 * count, start=3 * start).view(count, 3)
    shifts = (u[:, :2] * (2 * margin + 1)).floor().to(torch.int64) - margin
    mirrored = (u[:, 2] < 0.5) if flip else torch.zeros(count, dtype=torch.bool, device=images.device)
    rows = torch.arange(height, device=images.device) + shifts[:, :1] + margin
    columns = torch.arange(width, device=images.device)
    columns = torch.where(mirrored[:, None], width - 1 - columns, columns) + shifts[:, 1:] + margin
    padded = torch.nn.functional.pad(images, (margin,) * 4)
    which = torch.arange(count, device=images.device)[:, None, None]
    return padded.permute(0, 2, 3, 1)[which, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
