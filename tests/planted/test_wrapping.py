"""A method for one torch module and a data loader is a method for a stack of students."""

import pytest
import torch

from tutelage import TutelageError
from tutelage.planted import METHODS, MethodAnswer, for_modules


def loudest(module, loader, layer):
    """Units by the deviation of their activation."""
    inside = module[: 2 * layer]
    return MethodAnswer(ranking=torch.cat([inside(x) for x, _ in loader]).std(0), count=3)


def test_it_gives_the_answer_of_the_stacked_method(scene):
    view = scene.view("trained", 1, METHODS["pca"])
    answer = for_modules(loudest, batch=37)(view, scene.seen)
    assert torch.allclose(torch.as_tensor(answer.ranking), view.activations(scene.seen).std(1))
    assert answer.count.tolist() == [3, 3, 3]


def test_the_loader_has_inputs_and_labels(scene):
    view = scene.view("trained", 1, METHODS["pca"])
    seen = []

    def look(module, loader, layer):
        seen.append([torch.cat(parts) for parts in zip(*loader, strict=True)])
        return MethodAnswer(ranking=torch.zeros(12))

    for_modules(look)(view, scene.seen)
    assert all(torch.equal(x, scene.seen[i]) and torch.equal(y, view.labels[i]) for i, (x, y) in enumerate(seen))


def test_answers_that_do_not_fit_together(scene):
    view = scene.view("trained", 1, METHODS["pca"])
    sizes = iter((12, 11, 12))
    with pytest.raises(TutelageError, match="the ranking of single networks must all have one shape"):
        for_modules(lambda *_: MethodAnswer(ranking=torch.zeros(next(sizes))))(view, scene.seen)
    with pytest.raises(TutelageError, match=r"must return tutelage\.planted\.MethodAnswer, got float"):
        for_modules(lambda *_: 1.0)(view, scene.seen)
