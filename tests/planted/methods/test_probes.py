"""Probes read a unit that is a sum of others, and a held-out half scores them."""

from dataclasses import replace

import numpy as np
import torch

from tutelage.measures import correlations
from tutelage.planted import METHODS, rewriting
from tutelage.planted.methods.probes import linear_probe


def test_a_unit_in_superposition_is_read(scene):
    students = rewriting.superposed(scene.teacher, scene.experiment.seeds)
    view = replace(scene.view("trained", 1, METHODS["linear-probe"]), network=students)
    answer = linear_probe(view, scene.seen)
    code = view.activations(scene.scoring) @ torch.as_tensor(answer.directions).mT
    rho = correlations(view.reference(scene.scoring), code).diagonal(dim1=1, dim2=2)
    assert (rho > 0.99).all()
    assert (np.asarray(answer.scores) > 0.98).all()


def test_noise_is_not_read():
    class Noise:
        def activations(self, points):
            return torch.randn(2, 100, 30, generator=torch.Generator().manual_seed(0))

        def reference(self, points):
            return torch.randn(2, 100, 3, generator=torch.Generator().manual_seed(1))

    assert (np.asarray(linear_probe(Noise(), torch.zeros(2, 100, 1)).scores) < 0.3).all()
