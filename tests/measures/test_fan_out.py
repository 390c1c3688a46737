"""Fan-out norms against the per-sample matrices they summarise."""

import pytest
import torch

from tutelage.measures import Snapshot
from tutelage.measures import fan_out as fan_out_module
from tutelage.measures.fan_out import fan_out, fan_out_norms, strength
from tutelage.networks import beta, forward
from tutelage.networks import fan_out as fan_out_matrices


@pytest.mark.parametrize("widths", [(5, 4, 3), (5, 4, 6, 3), (4, 3, 5, 4, 2)])
def test_norms_are_the_root_mean_of_beta_at_every_layer(problem, widths, monkeypatch):
    """sqrt(E beta_kk), also when the samples are worked through a few at a time."""
    monkeypatch.setattr(fan_out_module, "_ELEMENTS", 200)
    p = problem(widths=widths)
    activity = forward(p.students, p.inputs.evaluate)
    wanted = []
    for layer in range(1, p.students.depth):
        b = beta(fan_out_matrices(p.students, activity, layer))
        diagonal = torch.diagonal(b, dim1=-2, dim2=-1)[..., : p.students.widths[layer]]
        wanted.append(diagonal.mean(1).sqrt())
    torch.testing.assert_close(fan_out_norms(p.students, activity), torch.cat(wanted, dim=1))


def test_two_layers_need_no_samples(problem, dtype):
    p = problem(dtype=dtype)
    s = Snapshot(p.teacher, p.students, p.inputs.train, p.inputs.evaluate)
    assert torch.equal(fan_out(s), p.students.weights[1].norm(dim=2))
    assert torch.equal(strength(s), p.teacher.weights[1].norm(dim=2))
