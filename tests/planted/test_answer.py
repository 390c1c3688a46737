"""Answers: every form becomes candidates, and what does not fit is one sentence."""

import pytest
import torch

from tutelage import TutelageError
from tutelage.planted import MethodAnswer
from tutelage.planted.answer import candidates
from tutelage.planted.registry import METHODS


@pytest.fixture
def view(scene):
    return scene.view("trained", 1, METHODS["pca"])


def test_every_form_is_a_number_on_every_input(scene, view):
    s, n, d = view.members, view.units, view.network.inputs
    f = view.activations(scene.scoring).double()
    v, w = torch.randn(s, 3, n, dtype=torch.float64), torch.randn(s, 3, d, dtype=torch.float64)
    groups = torch.arange(n).expand(s, n) // 2
    for answer, wanted in [
        (MethodAnswer(directions=v), f @ v.mT),
        (MethodAnswer(input_directions=w), scene.scoring @ w.mT),
        (MethodAnswer(directions=v, rectified=True, offsets=torch.ones(s, 3)), torch.relu(f @ v.mT - 1)),
        (MethodAnswer(groups=groups), f.unflatten(2, (-1, 2)).mean(3)),
        (MethodAnswer(ranking=f.mean(1)), f),
        (MethodAnswer(similarity=torch.randn(s, n, 4)), f),
    ]:
        assert torch.allclose(candidates(answer, view, "mine").activity(scene.scoring), wanted)


def test_default_scores_are_those_of_the_form(view):
    similarity = torch.rand(view.members, view.units, 4, dtype=torch.float64)
    assert torch.equal(candidates(MethodAnswer(similarity=similarity), view, "mine").scores, similarity.amax(2))
    assert torch.equal(candidates(MethodAnswer(ranking=similarity[..., 0]), view, "mine").scores, similarity[..., 0])


def test_units_are_named_by_a_method_that_sees_the_teacher(scene, view):
    similarity = torch.rand(view.members, view.units, 4)
    seeing = scene.view("trained", 1, METHODS["max-correlation"])
    assert candidates(MethodAnswer(similarity=similarity), view, "mine").named is None
    assert torch.equal(candidates(MethodAnswer(similarity=similarity), seeing, "mine").named, similarity.argmax(2))


def test_groups_without_units_are_padding(view):
    groups = torch.full((view.members, view.units), 2)
    scores = candidates(MethodAnswer(groups=groups, scores=torch.ones(view.members, 3)), view, "mine").scores
    assert torch.isfinite(scores).tolist() == [[False, False, True]] * view.members


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ([1, 2], "the method 'mine' returned list: return a tutelage.planted.MethodAnswer"),
        (MethodAnswer(), "the method 'mine' gave none of directions"),
        (MethodAnswer(ranking=1, groups=1), "gave groups and ranking of"),
        (
            MethodAnswer(ranking=torch.ones(2, 2)),
            r"the ranking of the method 'mine' must have shape \[3, 12\], got \[2, 2\]",
        ),
        (MethodAnswer(directions=torch.ones(3, 0, 12)), r"must have shape \[3, K, 12\], got \[3, 0, 12\]"),
        (MethodAnswer(ranking=torch.full((3, 12), torch.nan)), "must be finite, got 36 that are not: replace them"),
        (MethodAnswer(ranking=[["a"] * 12] * 3), "are no array of numbers"),
        (MethodAnswer(ranking=torch.ones(3, 12), probabilities=2 * torch.ones(3, 12)), "must lie between 0 and 1"),
        (MethodAnswer(ranking=torch.ones(3, 12), intervals=torch.ones(3, 12)), r"must have shape \[3, 12, 2\]"),
        (
            MethodAnswer(ranking=torch.ones(3, 12), count=torch.ones(4)),
            r"count of the method 'mine' must have shape \[3\]",
        ),
    ],
)
def test_what_does_not_fit(view, answer, sentence):
    with pytest.raises(TutelageError, match=sentence):
        candidates(answer, view, "mine")


def test_input_directions_are_for_the_first_layer(view):
    from dataclasses import replace

    with pytest.raises(TutelageError, match="for the first hidden layer"):
        candidates(MethodAnswer(input_directions=torch.ones(3, 1, 6)), replace(view, layer=2), "mine")
