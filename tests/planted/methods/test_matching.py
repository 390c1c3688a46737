"""Matching: copies of the teacher are matched, and the stated probability is that of the normal approximation."""

from dataclasses import replace

import numpy as np
import torch
from scipy.stats import norm

from tutelage.planted import METHODS, rewriting
from tutelage.planted.answer import candidates
from tutelage.planted.methods.matching import max_correlation, weight_matching
from tutelage.planted.scores import score
from tutelage.planted.truth import truth


def scored(scene, function, students):
    view = replace(scene.view("trained", 1, METHODS["max-correlation"]), network=students)
    known = truth(scene.teacher, students, scene.scoring)
    answer = candidates(function(view, scene.seen), view, "mine")
    return score(answer, known, scene.scoring, scene.experiment.seeds)


def test_a_copy_of_the_teacher_is_matched_unit_by_unit(scene):
    copy = rewriting.scaled(rewriting.permuted(scene.teacher, scene.experiment.seeds), scene.experiment.seeds)
    for function in (max_correlation, weight_matching):
        values = scored(scene, function, copy)
        assert (values["recall"] == 1).all()
        assert (values["average_precision"] == 1).all()


def test_weights_are_assigned_one_to_one(scene):
    view = scene.view("trained", 1, METHODS["weight-matching"])
    answer = weight_matching(view, scene.seen)
    for member in range(view.members):
        first = answer.scores[member].argsort(descending=True)[: view.teacher.widths[1]]
        assert sorted(answer.similarity[member, first].argmax(1).tolist()) == list(range(view.teacher.widths[1]))


def test_probabilities_and_intervals_are_those_of_fishers_transformation(scene):
    view = scene.view("trained", 1, METHODS["max-correlation"])
    answer = max_correlation(view, scene.seen)
    r, n = answer.similarity.amax(2).numpy(), scene.seen.shape[1]
    z, spread = np.arctanh(r), (n - 3) ** -0.5
    usual = r < 1 - 1e-9
    assert np.allclose(
        answer.probabilities.numpy()[usual], norm.cdf(z - np.arctanh(0.95), scale=spread)[usual], atol=1e-6
    )
    assert np.allclose(answer.intervals.numpy()[..., 1][usual], np.tanh(z + norm.ppf(0.975) * spread)[usual], atol=1e-6)


def test_the_interval_of_one_correlation_holds_it_as_often_as_it_says():
    """Two normal variables of correlation 0.6, one candidate: nothing is chosen as the largest."""
    draw = torch.Generator().manual_seed(1)
    x = torch.randn(2_000, 60, 2, generator=draw, dtype=torch.float64)
    pair = torch.stack([x[..., 0], 0.6 * x[..., 0] + 0.8 * x[..., 1]], 2)

    class Stub:
        def activations(self, points):
            return pair[..., :1]

        def reference(self, points):
            return pair[..., 1:]

    ends = torch.as_tensor(max_correlation(Stub(), pair).intervals)[:, 0]
    held = ((ends[:, 0] <= 0.6) & (ends[:, 1] >= 0.6)).double().mean().item()
    assert abs(held - 0.95) < 4 * (0.95 * 0.05 / 2_000) ** 0.5
