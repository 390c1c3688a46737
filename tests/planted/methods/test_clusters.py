"""Units that were made twins are grouped."""

from dataclasses import replace

import numpy as np
import torch

from tutelage.planted import METHODS, rewriting
from tutelage.planted.methods.clusters import kmeans_activations, kmeans_weights


def test_copies_are_in_one_group(scene):
    split = rewriting.with_duplicates(scene.teacher, scene.experiment.seeds)
    view = replace(scene.view("trained", 1, METHODS["kmeans-weights"]), network=split)
    for function in (kmeans_weights, kmeans_activations):
        answer = function(view, scene.seen)
        groups = np.asarray(answer.groups)
        m = scene.teacher.widths[1]
        assert (groups[:, :m] == groups[:, m:]).all()
        assert (np.asarray(answer.count) == groups.max(1) + 1).all()


def test_the_tightest_group_is_the_surest():
    class Stub:
        def incoming(self):
            near, far = [[1.0, 0.0], [1.0, 0.01]], [[0.0, 1.0], [0.4, 1.0], [-1.0, 0.0], [-1.0, 0.1]]
            return torch.tensor([near + far])

    answer = kmeans_weights(Stub(), None)
    groups, scores = np.asarray(answer.groups)[0], np.asarray(answer.scores)[0]
    assert groups[0] == groups[1] == scores.argmax()
