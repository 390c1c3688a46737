"""Chance is drawn from the seed of a member."""

from dataclasses import replace

import torch

from tutelage.planted import METHODS
from tutelage.planted.methods.reference import random


def test_a_random_ranking_belongs_to_the_seed(scene):
    view = scene.view("trained", 1, METHODS["random"])
    both = random(view, scene.seen).ranking
    alone = random(replace(view, network=view.network[1], seeds=view.seeds[1:2]), scene.seen).ranking
    assert torch.equal(both[1:2], alone)
    assert not torch.equal(both[0], both[1])
