"""Lemma 2 of seed 000: what no batch shows, no sample has."""

import itertools

import pytest
import torch

from tutelage.certificates.scene import scenes
from tutelage.certificates.zero_gradient import _worst_batch


@pytest.mark.parametrize("deeper", [(), (4,)])
def test_it_holds_for_a_copy(build, one, deeper):
    b = build(1)
    teacher = b.teacher(deeper=deeper)
    certificate = one("zero-gradient", teacher, b.idle(b.permuted(teacher)), b.points(60, 3))
    assert certificate.verdict == "holds"
    assert len(certificate.parts) == len(deeper) + 2


def test_the_worst_batch_is_found(build):
    b = build(2)
    g, f = b.normal(2, 7, 2), b.normal(2, 7, 3)
    u = g.unsqueeze(3) * f.unsqueeze(2)
    batches = list(itertools.combinations(range(7), 3))
    brute = torch.stack([u[:, list(batch)].mean(1).abs().amax((1, 2)) for batch in batches]).amax(0)
    assert torch.allclose(_worst_batch(g, f, 3), brute)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("batch", [1, 2, 5])
def test_with_any_tolerance_a_sample_has_at_most_twice_the_batch(build, one, seed, batch):
    b = build(seed)
    certificate = one("zero-gradient", b.teacher(), b.teacher(), b.points(12, 3), batch=batch, tolerance=1e9)
    assert certificate.verdict == "holds"
    for part in certificate.parts:
        assert part.conclusion.value <= (2 * batch - 1) * part.conditions[0].value * (1 + 1e-12)


def test_conditions_are_missed_by_name_and_networks_without_biases_are_understood(build, one):
    b = build()
    teacher, points = b.teacher(), b.points(12, 3)
    assert one("zero-gradient", teacher, b.teacher(), points, batch=4).unmet == ("largest gradient of any batch",)
    assert one("zero-gradient", teacher, teacher, points, batch=12).unmet == (
        "there are more samples than a batch holds",
    )
    plain = [type(net)(net.weights, None) for net in (teacher, b.teacher())]
    scene = next(scenes(*plain, points))
    part = one("zero-gradient", *plain, points, batch=4, tolerance=1e9).parts[0]
    expected = (scene.gradients[0].abs().amax(2) * points.abs().amax(1)).max()
    assert part.conclusion.value == pytest.approx(float(expected))
