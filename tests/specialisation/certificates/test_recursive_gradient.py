"""Lemma 1 of both seeds: an identity, so it holds for every pair of networks."""

import pytest
import torch

from tutelage.specialisation.certificates import recursive_gradient


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

    right = recursive_gradient.recursive_gradient
    monkeypatch.setattr(recursive_gradient, "recursive_gradient", wrong)
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
