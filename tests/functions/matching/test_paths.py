"""Paths begin and end where they should, and the loss along them is never above that of a knot."""

from dataclasses import replace

import pytest
import torch

import tutelage as tt
from tutelage.functions import accuracy_along, barrier, connect, loss_along, straight, straight_after_matching
from tutelage.networks import Network, outputs


def teacher_of(units=3, inputs=5, members=2):
    draw = torch.Generator().manual_seed(units)

    def normal(*shape):
        return torch.randn(*shape, generator=draw, dtype=torch.float64)

    return Network(
        (normal(members, inputs, units), normal(members, units, 2)), (0.3 * normal(members, units), normal(members, 2))
    )


def solution(teacher, width, seed):
    """A student of no loss: teacher units shared by some of its own, in a random order, the rest without fan-out."""
    draw = torch.Generator().manual_seed(seed)
    members, inputs, m = teacher.weights[0].shape
    w = torch.randn(members, inputs, width, generator=draw, dtype=torch.float64)
    b = torch.randn(members, width, generator=draw, dtype=torch.float64)
    v = torch.zeros(members, width, teacher.outputs, dtype=torch.float64)
    for s in range(members):
        order = torch.randperm(width, generator=draw)
        copies = min(width - 1, m + 1)  # one teacher unit is found twice where there is room
        for place, unit in enumerate(order[:copies].tolist()):
            j, scale = place % m, 0.5 + torch.rand(1, generator=draw, dtype=torch.float64)
            w[s, :, unit], b[s, unit] = scale * teacher.weights[0][s, :, j], scale * teacher.biases[0][s, j]
            v[s, unit] = teacher.weights[1][s, j] / scale / (2 if j < copies - m else 1)
    return replace(teacher, weights=(w, v), biases=(b, teacher.biases[1]))


@pytest.mark.parametrize("width", [4, 5, 6, 9])
@pytest.mark.parametrize("taught", [True, False])
def test_two_exact_solutions_are_joined_without_loss(width, taught):
    """One free unit is enough (Tian 2020, App. E); the straight line has a hill."""
    teacher = teacher_of()
    points = torch.randn(2, 300, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for seed in range(4):
        ends = [solution(teacher, width, 2 * seed + k) for k in (0, 1)]
        path = connect(*ends, points, teacher if taught else None)
        for knot, end in ((path.knots[0], ends[0]), (path.knots[-1], ends[1])):
            assert all(torch.equal(a, b) for a, b in zip(knot.parameters, end.parameters, strict=True))
        labels = outputs(teacher, points)
        share, losses = loss_along(path, points, labels)
        assert losses.max() < 1e-20
        assert share[0].tolist() == [0, 0]
        assert share[-1].tolist() == [1, 1]
        assert loss_along(straight(*ends), points, labels)[1].amax(0).min() > 1e-3


@pytest.mark.parametrize("width", [4, 6])
def test_every_piece_moves_weights_without_fan_out_or_fan_out_alone(width):
    teacher = teacher_of()
    points = torch.randn(2, 300, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    path = connect(solution(teacher, width, 1), solution(teacher, width, 2), points, teacher)
    for before, after in zip(path.knots[:-1], path.knots[1:], strict=True):
        moved = (before.weights[0] != after.weights[0]).any(1) | (before.biases[0] != after.biases[0])
        assert not (moved & (before.weights[1] != 0).any(2)).any()
        assert not (moved & (after.weights[1] != 0).any(2)).any()
    assert [len(words) for words in path.what] == path.pieces.tolist()


def trained(seeds, width_factor, steps, dtype=torch.float32):
    teacher = tt.teachers.Levels(inputs=8, hidden=3, outputs=4).build(seeds, dtype=dtype)
    inputs = tt.inputs.Gaussian(std=1.5, train=400, evaluate=300).draw(teacher, seeds)
    ends = [
        tt.train(
            teacher,
            tt.students.SmallNormal(width_factor=width_factor, scale=0.1).build(teacher, [100 * k + s for s in seeds]),
            inputs, steps=steps, learning_rate=0.02, engine="stacked",
        ).students
        for k in (1, 2)
    ]  # fmt: skip
    return teacher, inputs, ends


def test_trained_students_are_joined_below_their_own_losses():
    """On the points the path was fitted on, no knot is above the ends, and nothing between knots is above them."""
    teacher, inputs, ends = trained(range(2), 4, 3_000)
    path = connect(*ends, inputs.train, teacher)
    labels = outputs(teacher, inputs.train)
    losses = loss_along(path, inputs.train, labels, steps=7)[1]
    knots = losses[::7]
    assert (losses.amax(0) <= knots.amax(0) * (1 + 1e-9)).all()
    assert (losses.amax(0) <= torch.maximum(losses[0], losses[-1]) * (1 + 1e-6)).all()
    for line in (straight(*ends), straight_after_matching(*ends), straight_after_matching(*ends, inputs.train)):
        assert (loss_along(line, inputs.train, labels)[1].amax(0) > losses.amax(0)).all()


def test_a_matched_line_ends_in_the_same_function():
    teacher, inputs, ends = trained(range(2), 2, 200)
    line = straight_after_matching(*ends, inputs.train)
    assert torch.allclose(
        outputs(line.knots[1], inputs.evaluate.double()), outputs(ends[1], inputs.evaluate).double(), atol=1e-4
    )
    assert teacher.members == line.knots[0].members


def test_with_labels_the_matched_line_is_the_one_that_a_barrier_measures():
    _, inputs, ends = trained(range(2), 2, 200)
    labels = outputs(ends[0], inputs.train)
    line = straight_after_matching(*ends, inputs.train, labels)
    measured = barrier(*ends, inputs.train, labels, steps=10)
    _, loss = loss_along(line, inputs.train, labels, steps=10)
    torch.testing.assert_close(loss, measured.matched)


def test_without_a_free_unit_there_is_no_path_unless_some_loss_is_allowed():
    teacher = teacher_of()
    order = [1, 2, 0]
    turned = replace(
        teacher,
        weights=(teacher.weights[0][:, :, order], teacher.weights[1][:, order]),
        biases=(teacher.biases[0][:, order], teacher.biases[1]),
    )
    points = torch.randn(2, 100, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    with pytest.raises(tt.TutelageError, match="needs all its 3 units"):
        connect(teacher, turned, points, teacher)
    path = connect(teacher, turned, points, teacher, excess=None)
    losses = loss_along(path, points, outputs(teacher, points))[1]
    assert losses.isfinite().all()
    assert losses.max() > losses[0].max()


def test_members_wait_at_their_end():
    teacher = teacher_of()
    points = torch.randn(2, 300, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    first = solution(teacher, 6, 1)
    second = solution(teacher, 6, 2)
    same = second.map(lambda a: a.clone())
    for a, b in zip(same.parameters, first.parameters, strict=True):
        a[1] = b[1]
    path = connect(first, same, points, teacher)
    alone = connect(first[1], same[1], points[1:], teacher[1])
    assert path.pieces[1] == alone.pieces[0]
    assert all(torch.equal(a[1], b[1]) for a, b in zip(path.knots[-1].parameters, same.parameters, strict=True))


def test_what_cannot_be_joined_is_refused():
    teacher = teacher_of()
    a = solution(teacher, 5, 1)
    points = torch.randn(2, 50, 5, dtype=torch.float64)
    with pytest.raises(tt.TutelageError, match="one architecture"):
        connect(a, solution(teacher, 6, 1), points)
    with pytest.raises(tt.TutelageError, match="give one of them"):
        connect(a, a, points, teacher, labels=outputs(teacher, points))
    with pytest.raises(tt.TutelageError, match="linear networks"):
        connect(replace(a, activation="linear"), replace(a, activation="linear"), points)
    with pytest.raises(tt.TutelageError, match="at least one row"):
        connect(a, a, points[:, :0])
    with pytest.raises(tt.TutelageError, match="first student has weights that are not finite"):
        connect(a.map(lambda x: x * torch.nan), a, points)
    with pytest.raises(tt.TutelageError, match="labels of shape"):
        loss_along(straight(a, a), points, points)
    with pytest.raises(tt.TutelageError, match="accuracy needs classes"):
        accuracy_along(straight(a, a), points, outputs(a, points))


@pytest.mark.parametrize("classes", [False, True])
def test_networks_of_any_depth_are_joined_by_a_bend(classes):
    """Two networks trained on one task: the loss on the bent path stays below that on the straight lines."""
    draw = torch.Generator().manual_seed(5)
    x = torch.randn(1, 400, 4, generator=draw)
    teacher = Network(tuple(torch.randn(1, a, b, generator=draw) / a**0.5 for a, b in ((4, 8), (8, 8), (8, 3))))
    values = outputs(teacher, x)
    labels = values.argmax(2) if classes else values
    ends = [_fitted(seed, x, labels) for seed in (0, 1)]
    path = connect(*ends, x, labels=labels, bend_steps=200)
    assert len(path.knots) == 3
    assert torch.equal(path.knots[0].weights[0], ends[0].weights[0].double())
    assert torch.allclose(outputs(path.knots[2], x.double()), outputs(ends[1], x).double(), atol=1e-4)
    highest = loss_along(path, x, labels)[1].max()
    assert highest < loss_along(straight(*ends), x, labels)[1].max()
    assert highest <= loss_along(straight(path.knots[0], path.knots[2]), x, labels)[1].max()
    if classes:
        assert accuracy_along(path, x, labels)[1].min() > 0.8


def _fitted(seed, x, labels):
    draw = torch.Generator().manual_seed(100 + seed)
    weights = [
        (torch.randn(1, a, b, generator=draw) / a**0.5).requires_grad_() for a, b in ((4, 16), (16, 16), (16, 3))
    ]
    optimiser = torch.optim.Adam(weights, 0.01)
    for _ in range(300):
        answers = outputs(Network(tuple(weights)), x)
        wrong = torch.nn.functional.cross_entropy(answers[0], labels[0]) if labels.ndim == 2 else None
        loss = (answers - labels).square().mean() if wrong is None else wrong
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return Network(tuple(w.detach() for w in weights))


@pytest.mark.parametrize("biases", [True, False])
@pytest.mark.parametrize("first_is_idle", [True, False])
def test_a_student_whose_units_are_all_idle_is_joined(random_net, biases, first_is_idle):
    one = random_net((2, 3, 2), 1, bias=0.3 if biases else 0)
    idle = one.map(torch.zeros_like)
    ends = (idle, one) if first_is_idle else (one, idle)
    points = torch.randn(20, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    path = connect(*ends, points)
    for end, knot in zip(ends, (path.knots[0], path.knots[-1]), strict=True):
        assert all(torch.equal(a, b) for a, b in zip(end.parameters, knot.parameters, strict=True))


def test_a_path_that_cannot_be_followed_is_an_error(random_net):
    one, points = random_net((2, 3, 2), 1), torch.ones(4, 2, dtype=torch.float64)
    with pytest.raises(tt.TutelageError, match="outputs at the points overflow"):
        connect(one.map(lambda a: a * 1e300), one, points)
    with pytest.raises(tt.TutelageError, match="excess must be a number, got 'x'"):
        connect(one, one, points, excess="x")
    path = connect(one, one.map(torch.zeros_like), points)
    for steps in (0, -1, None, float("nan")):
        with pytest.raises(tt.TutelageError, match="steps must be a whole number of at least 1, got"):
            loss_along(path, points, torch.zeros(4, 2), steps)
