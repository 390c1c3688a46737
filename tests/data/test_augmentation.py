import torch

from tutelage import draws
from tutelage.data.augmentation import shifted_and_flipped


def by_hand(image, down, right, mirrored, margin):
    """One image, moved and mirrored pixel by pixel."""
    out = torch.zeros_like(image)
    _, height, width = image.shape
    for i in range(height):
        for j in range(width):
            a, b = i + down, (width - 1 - j if mirrored else j) + right
            if 0 <= a < height and 0 <= b < width:
                out[:, i, j] = image[:, a, b]
    return out


def test_every_image_is_shifted_and_flipped_by_its_own_draws():
    images = torch.randn(40, 2, 6, 5)
    key = draws.keys([3], "augmentation")
    moved = shifted_and_flipped(images, key, start=7, margin=2)
    u = draws.uniforms(key, 3 * 47).view(-1, 3)[7:]
    for i in range(40):
        down, right = (int(v * 5) - 2 for v in u[i, :2])
        assert torch.equal(moved[i], by_hand(images[i], down, right, bool(u[i, 2] < 0.5), 2))


def test_what_happens_to_an_image_does_not_depend_on_its_batch():
    images = torch.randn(10, 1, 4, 4)
    key = draws.keys([0], "augmentation")
    whole = shifted_and_flipped(images, key)
    assert torch.equal(whole[4:], shifted_and_flipped(images[4:], key, start=4))


def test_no_margin_and_no_flip_changes_nothing():
    images = torch.randn(3, 1, 4, 4)
    assert torch.equal(shifted_and_flipped(images, draws.keys([0], "a"), margin=0, flip=False), images)


def test_members_have_streams_of_their_own():
    images, key = torch.randn(3, 8, 2, 5, 4), draws.keys([4, 9, 2], "augmentation")
    together = shifted_and_flipped(images, key, start=2, margin=1)
    for s in range(3):
        assert torch.equal(together[s], shifted_and_flipped(images[s], key[s : s + 1], start=2, margin=1))
