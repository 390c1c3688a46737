"""Lemma 2 of Tian 2020: what no batch shows, no sample has."""

import itertools

import pytest
import torch

from tutelage.specialisation.certificates import zero_gradient
from tutelage.specialisation.certificates.scene import scenes
from tutelage.specialisation.certificates.zero_gradient import _worst_batch


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
    assert certificate.verdict == "vacuous"  # any network has a gradient below 1e9
    for part in certificate.parts:
        assert part.conclusion.holds
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


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("theorem", ["zero-gradient", "alignment"])
def test_in_half_precision_rounding_allows_so_much_that_nothing_is_said(build, one, dtype, theorem):
    b = build(3)
    teacher = b.teacher(inputs=3, hidden=4)
    noisy = teacher.map(lambda w: w + w.abs().mean() * torch.randn_like(w))
    verdict = one(theorem, teacher.to(dtype=dtype), noisy.to(dtype=dtype), b.points(200, 3)).verdict
    assert verdict in ("vacuous", "not applicable")


def test_large_weights_that_cancel_do_not_make_a_gradient_zero(build, one):
    b = build(4)
    teacher, points = b.teacher(), b.points(60, 3)
    huge = b.cancelling(teacher)  # two units with one boundary whose fan-outs cancel
    huge = type(huge)(tuple(w.clone() for w in huge.weights), huge.biases)
    huge.weights[1][:, -2:] *= 1e30
    certificate = one("zero-gradient", teacher, huge, points)
    assert certificate.verdict == "vacuous"
    assert "untrained" in str(certificate)


def test_single_precision_still_says_something(build, one):
    b = build(5)
    teacher = b.teacher()
    copy = b.permuted(teacher)
    certificate = one("zero-gradient", teacher.to(dtype=torch.float32), copy.to(dtype=torch.float32), b.points(60, 3))
    assert certificate.verdict == "holds"


@pytest.mark.parametrize("tolerance", [float("nan"), -1.0])
def test_a_tolerance_is_a_number_of_at_least_zero(build, one, tolerance):
    b = build(6)
    teacher = b.teacher()
    with pytest.raises(ValueError, match="tolerance must be a number"):
        one("zero-gradient", teacher, teacher, b.points(20, 3), tolerance=tolerance)


@pytest.mark.parametrize("deeper", [(), (4,), (5, 3)])
@pytest.mark.parametrize("activation", ["relu", "leaky"])
def test_it_holds_for_any_depth_and_widths(build, one, deeper, activation):
    b = build(2)
    teacher = b.teacher(deeper=deeper, activation=activation)
    student = b.teacher(hidden=6, deeper=tuple(n + 2 for n in deeper), activation=activation)
    certificate = one("lemma-1", teacher, student, b.points(50, 3))
    assert certificate.verdict == "holds"
    assert [part.about for part in certificate.parts] == [f"layer {i}" for i in range(1, len(deeper) + 3)]


def test_a_wrong_gradient_fails_and_the_text_says_what_that_would_mean(build, one, monkeypatch):
    def wrong(*arguments):
        return right(*arguments) + 1e-3

    right = zero_gradient.recursive_gradient
    monkeypatch.setattr(zero_gradient, "recursive_gradient", wrong)
    b = build()
    certificate = one("lemma-1", b.teacher(), b.teacher(), b.points(20, 3))
    assert certificate.verdict == "fails"
    assert "would refute the theorem" in str(certificate)


def test_many_members_and_few_samples_at_a_time_give_the_same(build, one, monkeypatch):
    b = build()
    teacher, student, points = b.teacher(deeper=(3,)), b.teacher(deeper=(3,)), b.points(40, 3)
    whole = one("lemma-1", teacher, student, points, samples=30)
    assert whole.settings == {"samples": 30}
    assert torch.tensor([p.conclusion.value for p in whole.parts]).max() < 1e-12
