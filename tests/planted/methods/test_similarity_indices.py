"""Canonical directions and what CKA rests on."""

from dataclasses import replace

import torch

from tutelage.measures import similarity
from tutelage.planted import METHODS
from tutelage.planted.methods.similarity_indices import cca, cka, svcca


def twins(scene):
    return scene.view("trained", 1, METHODS["cca"])


def test_canonical_correlations_are_those_of_the_directions(scene):
    view = twins(scene)
    for function, by in ((cca, "cca"), (svcca, "svcca")):
        answer = function(view, scene.seen)
        code = view.activations(scene.seen) @ answer.directions.mT
        kept = answer.scores > 1e-9
        # codes of unit variance without correlation
        covariance = torch.stack([torch.cov(c.T, correction=0) for c in code])
        alive = covariance.diagonal(dim1=1, dim2=2) > 0.5
        eye = torch.diag_embed(alive.double())
        assert torch.allclose(covariance, eye, atol=1e-6)
        assert (kept <= alive).all()
        wanted = similarity(view.activations(scene.seen), view.reference(scene.seen), by=by)
        assert torch.allclose(answer.scores.sum(1) / alive.sum(1), wanted, atol=0.02)


def test_a_twin_that_is_the_student_itself_correlates_fully(scene):
    view = twins(scene)
    answer = cca(replace(view, twins=view.network), scene.seen)
    alive = answer.scores > 1e-6
    assert torch.allclose(answer.scores[alive], torch.ones_like(answer.scores[alive]))


def test_a_unit_that_the_twin_lacks_lowers_the_similarity(scene):
    view = twins(scene)
    with_extra = METHODS["cka"]
    network = view.network
    w, b = network.weights, network.biases
    noise = torch.randn(3, w[0].shape[1], 1, dtype=torch.float64) * w[0].norm(dim=1, keepdim=True).amax(2, keepdim=True)
    wide = replace(
        network, weights=(torch.cat([w[0], noise], 2), torch.cat([w[1], w[1][:, :1]], 1)),
        biases=(torch.cat([b[0], b[0][:, :1]], 1), b[1]),
    )  # fmt: skip
    ranking = cka(replace(view, network=wide, twins=network), scene.seen).ranking
    assert with_extra.sees == "twins"
    assert (ranking.argmin(1) == wide.widths[1] - 1).all()
