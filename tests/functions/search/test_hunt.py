"""The search for a witness: a short ascent from open boxes."""

import torch

from tutelage.functions.answers import Question
from tutelage.functions.domain import box
from tutelage.functions.search.hunt import Hunt
from tutelage.networks import Network


def test_a_short_ascent_leaves_the_box_it_begins_in():
    """Differences in the middles of boxes are small; steps along the gradient leave the boxes and find larger ones."""
    draw = torch.Generator().manual_seed(0)
    first = Network((torch.randn(1, 3, 6, generator=draw).double(), torch.randn(1, 6, 1, generator=draw).double()))
    second = first.map(torch.zeros_like)
    hunt = Hunt(first, second, box(-1, 1, dimension=3), Question(torch.full((1,), 1e9, dtype=torch.float64)))
    middles = 0.4 * torch.randn(40, 3, generator=draw, dtype=torch.float64).clamp(-2, 2)
    before = hunt.look(middles)
    largest = hunt.largest.clone()
    hunt.climb(middles, before, torch.full_like(middles, 0.25))
    assert hunt.largest > 1.2 * largest
