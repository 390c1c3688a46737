"""Permutations, scales, splits and strangers are found for what they are, in every precision and by every measure."""

import itertools
from dataclasses import replace

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

import tutelage as tt
from tutelage.functions import match
from tutelage.functions.matching.matching import onto
from tutelage.measures import CLASSES
from tutelage.networks import Network, outputs
from tutelage.networks.activations import slope_of


def random_network(draw, widths, members=2, activation="relu"):
    def normal(*shape):
        return torch.randn(*shape, generator=draw, dtype=torch.float64)

    pairs = list(itertools.pairwise(widths))
    weights = tuple(normal(members, a, b) / a**0.5 for a, b in pairs)
    return Network(weights, tuple(0.3 * normal(members, b) for _, b in pairs), activation, slope_of(activation, 0.1))


def split(network, draw, copies):
    """Every hidden unit ``copies`` times, with random positive scales and shares of the fan-out, in a random order.

    Returns the wider network of the same function and which unit each of its units is a copy of.
    """
    weights, biases, origin = list(network.weights), list(network.biases), []
    for layer in range(network.depth - 1):
        n = weights[layer].shape[2]
        of = torch.arange(n).repeat(copies)[torch.randperm(n * copies, generator=draw)]
        scale = 0.5 + torch.rand(n * copies, generator=draw, dtype=torch.float64)
        share = 0.2 + torch.rand(n * copies, generator=draw, dtype=torch.float64)
        share = share / torch.zeros(n, dtype=torch.float64).index_add(0, of, share)[of]
        weights[layer], biases[layer] = weights[layer][:, :, of] * scale, biases[layer][:, of] * scale
        weights[layer + 1] = weights[layer + 1][:, of] * (share / scale).unsqueeze(1)
        origin.append(of)
    return replace(network, weights=tuple(weights), biases=tuple(biases)), origin


@pytest.mark.parametrize("by", ["weights", "activations", "both"])
@pytest.mark.parametrize("activation", ["relu", "leaky", "abs"])
@given(seed=st.integers(0, 10_000), copies=st.integers(1, 3), depth=st.integers(1, 3))
def test_split_and_permuted_units_are_matched_to_their_origin(by, activation, seed, copies, depth):
    draw = torch.Generator().manual_seed(seed)
    teacher = random_network(draw, (*(8, 7, 6, 5)[: depth + 1], 4), activation=activation)
    student, origin = split(teacher, draw, copies)
    points = torch.randn(200, 8, generator=draw, dtype=torch.float64)
    assert torch.allclose(outputs(student, points), outputs(teacher, points), atol=1e-12)
    if by != "weights":  # what never fires on the points cannot be told apart there
        assume(all((f != 0).any(1).all() for f in tt.networks.forward(student, points).features[1:-1]))
    found = match(teacher, student, points, by)
    for teacher_of, of in zip(found.teacher_of, origin, strict=True):
        assert (teacher_of == of).all()
    if by == "weights":
        assert found.residual.max() < 1e-12
        assert found.leftover.max() == 0
        assert all(r.all() for r in found.recovered)


def test_a_one_to_one_matching_puts_units_in_the_teachers_order():
    draw = torch.Generator().manual_seed(1)
    teacher = random_network(draw, (5, 6, 7, 3))
    student, _origin = split(teacher, draw, 1)
    found = match(teacher, student)
    ordered = found.reorder(student)
    points = torch.randn(50, 5, generator=draw, dtype=torch.float64)
    assert torch.allclose(outputs(ordered, points), outputs(student, points), atol=1e-12)
    for layer in (0, 1):
        assert (match(teacher, ordered).teacher_of[layer] == torch.arange(6 + layer)).all()
        assert torch.allclose(found.scale[layer] > 0, torch.tensor(True))
    cosine = torch.nn.functional.cosine_similarity(ordered.weights[0], teacher.weights[0], dim=1)
    assert torch.allclose(cosine, torch.ones_like(cosine))


def test_scales_are_those_that_were_put_in():
    draw = torch.Generator().manual_seed(2)
    teacher = random_network(draw, (4, 5, 2), members=1)
    times = torch.tensor([0.5, 1.0, 2.0, 3.0, 4.0], dtype=torch.float64)
    student = replace(
        teacher,
        weights=(teacher.weights[0] * times, teacher.weights[1] / times.unsqueeze(1)),
        biases=(teacher.biases[0] * times, teacher.biases[1]),
    )
    points = torch.randn(100, 4, generator=draw, dtype=torch.float64)
    for by in ("weights", "activations"):
        assert torch.allclose(match(teacher, student, points, by).scale[0], times)


def test_a_stranger_is_unmatched_and_left_over():
    draw = torch.Generator().manual_seed(3)
    teacher = random_network(draw, (6, 3, 2), members=1)
    w = torch.cat([teacher.weights[0], torch.randn(1, 6, 1, generator=draw, dtype=torch.float64)], dim=2)
    v = torch.cat([teacher.weights[1], torch.full((1, 1, 2), 0.7, dtype=torch.float64)], dim=1)
    b = torch.cat([teacher.biases[0], torch.zeros(1, 1, dtype=torch.float64)], dim=1)
    found = match(teacher, replace(teacher, weights=(w, v), biases=(b, teacher.biases[1])))
    assert found.teacher_of[0].tolist() == [[0, 1, 2, -1]]
    assert found.residual.max() < 1e-12
    expected = w[0, :, 3].norm() * v[0, 3].norm()
    whole = torch.cat([teacher.weights[1] * teacher.weights[0].norm(dim=1).unsqueeze(2), teacher.biases[1][:, None]], 1)
    assert torch.allclose(found.leftover[0, 1], expected / whole.norm())


def test_classes_by_weights_and_by_points(problem, dtype):
    p = problem(dtype=dtype)
    w, v, b = p.teacher.weights[0], p.teacher.weights[1], p.teacher.biases[0]
    student = Network(
        (torch.cat([w, 2 * w[..., :1] + 0.01 * w[..., 1:2], w[..., 3:]], 2), torch.cat([v, v[:, :1], 0 * v[:, 3:]], 1)),
        (torch.cat([b, 2 * b[:, :1], b[:, 3:] - 1e3], 1), p.teacher.biases[1]),
    )
    names = [CLASSES[c] for c in match(p.teacher, student).classes[0][0]]
    assert names == ["specialised"] * 4 + ["duplicate", "idle"]
    seen = match(p.teacher, student, p.inputs.evaluate).classes[0]
    assert [CLASSES[c] for c in seen[0]] == ["specialised"] * 4 + ["duplicate", "dead"]


def test_a_larger_stack_is_its_members():
    draw = torch.Generator().manual_seed(4)
    teacher = random_network(draw, (5, 4, 4, 2), members=3)
    student = random_network(draw, (5, 6, 7, 2), members=3)
    together = match(teacher, student, threshold=0.3)
    for s in range(3):
        alone = match(teacher[s], student[s], threshold=0.3)
        assert torch.equal(together.teacher_of[1][s], alone.teacher_of[1][0])
        assert torch.allclose(together.residual[s], alone.residual[0])


def test_the_pairs_of_an_assignment_have_the_largest_total_similarity():
    """Against all permutations."""
    from itertools import permutations

    draw = torch.Generator().manual_seed(5)
    teacher, student = (random_network(draw, (4, 5, 2), members=1) for _ in range(2))
    found = match(teacher, student)
    similarity = found.similarity[0][0]
    best = max(sum(similarity[j, k] for k, j in enumerate(order)) for order in permutations(range(5)))
    got = sum(similarity[j, k] for k, j in enumerate(found.teacher_of[0][0].tolist()))
    assert torch.allclose(got, best)


def test_onto_is_a_row_of_one_one_or_none():
    assert onto(torch.tensor([[2, -1, 0]]), 3).sum(2).tolist() == [[1, 0, 1]]


def test_what_cannot_be_matched_is_refused():
    draw = torch.Generator().manual_seed(6)
    teacher = random_network(draw, (4, 3, 2))
    points = torch.randn(10, 4, dtype=torch.float64, generator=draw)
    with pytest.raises(tt.TutelageError, match="4 and 5 inputs"):
        match(teacher, random_network(draw, (5, 3, 2)))
    with pytest.raises(tt.TutelageError, match="2 and 3 layers"):
        match(teacher, random_network(draw, (4, 3, 3, 2)))
    with pytest.raises(tt.TutelageError, match="same activation, got relu and leaky with slope"):
        match(teacher, replace(teacher, activation="leaky"))
    with pytest.raises(tt.TutelageError, match="linear networks"):
        match(replace(teacher, activation="linear"), replace(teacher, activation="linear"))
    with pytest.raises(tt.TutelageError, match="needs points"):
        match(teacher, teacher, by="activations")
    with pytest.raises(tt.TutelageError, match="got 'names'"):
        match(teacher, teacher, points, by="names")
    with pytest.raises(tt.TutelageError, match="at least one row"):
        match(teacher, teacher, points[:0])
    with pytest.raises(tt.TutelageError, match="not finite"):
        match(teacher, teacher.map(lambda a: a * torch.nan))
    bare = replace(teacher, weights=(teacher.weights[0] * torch.tensor([1.0, 0.0, 1.0]), teacher.weights[1]))
    with pytest.raises(tt.TutelageError, match="unit 1 of layer 1 of teacher 0 has no incoming weights"):
        match(bare, teacher)
    with pytest.raises(tt.TutelageError, match="not matched one to one"):
        match(teacher, random_network(draw, (4, 6, 2))).reorder(random_network(draw, (4, 6, 2)))


def test_a_student_unit_without_weights_matches_nothing():
    draw = torch.Generator().manual_seed(7)
    teacher = random_network(draw, (4, 3, 2), members=1)
    w = torch.cat([teacher.weights[0], torch.zeros(1, 4, 1, dtype=torch.float64)], dim=2)
    v = torch.cat([teacher.weights[1], torch.ones(1, 1, 2, dtype=torch.float64)], dim=1)
    b = torch.cat([teacher.biases[0], torch.ones(1, 1, dtype=torch.float64)], dim=1)
    found = match(teacher, replace(teacher, weights=(w, v), biases=(b, teacher.biases[1])))
    assert found.teacher_of[0].tolist() == [[0, 1, 2, -1]]
