"""The usual augmentation of small images, on their device: shifted by up to four pixels, flipped half the time."""

import torch
from torch import Tensor

from tutelage import draws


def shifted_and_flipped(images: Tensor, key: Tensor, start: int = 0, margin: int = 4, flip: bool = True) -> Tensor:
    """Images moved by up to ``margin`` pixels either way, zeros moving in, and mirrored with probability one half.

    images [S, B, C, H, W] or, of one member, [B, C, H, W]; key: one stream of draws per member, int64 [S]. Image i uses
    draws 3 (start + i) and the two after it, so that what happens to it does not depend on its batch.
    """
    if images.ndim == 4:
        return shifted_and_flipped(images.unsqueeze(0), key, start, margin, flip)[0]
    members, count, _, height, width = images.shape
    u = draws.uniforms(key, 3 * count, start=3 * start).view(members * count, 3)
    shifts = (u[:, :2] * (2 * margin + 1)).floor().to(torch.int64)
    columns = torch.arange(width, device=images.device).expand(members * count, -1)
    if flip:
        columns = torch.where(u[:, 2:] < 0.5, width - 1 - columns, columns)
    rows = torch.arange(height, device=images.device) + shifts[:, :1]
    padded = torch.nn.functional.pad(images.flatten(0, 1), (margin,) * 4)
    which = torch.arange(members * count, device=images.device)[:, None, None]
    moved = padded.permute(0, 2, 3, 1)[which, rows[:, :, None], (columns + shifts[:, 1:])[:, None, :]]
    return moved.permute(0, 3, 1, 2).unflatten(0, (members, count))
