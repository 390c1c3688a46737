"""Teacher-aware points come in threes around the boundaries of the teacher's first layer."""

from dataclasses import replace

import pytest
import torch
from scipy import stats

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.training.inputs import Gaussian, TeacherAware
from tutelage.training.teachers import Levels

D, UNITS = 12, 5


def teacher_of(seeds, dtype=torch.float64, bias=-0.1, **settings):
    recipe = Levels(**({"inputs": D, "hidden": UNITS, "outputs": 2, "bias": bias or 0.0} | settings))
    teacher = recipe.build(seeds, dtype=dtype)
    return replace(teacher, biases=None) if bias is None else teacher


def triples(teacher, seeds, count=90, **settings):
    """On the plane, moved forward, moved back: three arrays [S, T, d], and the unit normals [S, T, d]."""
    x = TeacherAware(**({"std": 1.5, "train": count, "evaluate": 1} | settings)).draw(teacher, seeds).train
    turn = torch.arange(count // 3) % teacher.widths[1]
    return *x.unflatten(1, (-1, 3)).unbind(2), teacher.weights[0].mT[:, turn]


def along(x, normal):
    return (x * normal).sum(-1)


def test_a_third_of_the_points_lies_on_the_boundaries_of_a_teacher_without_biases(dtype):
    """Such a boundary passes through the origin, so that rescaling keeps points on it."""
    seeds = [0, 1, 2]
    on, forward, back, normal = triples(teacher_of(seeds, dtype, bias=None), seeds)
    rounding = 20 * torch.finfo(dtype).eps * 1.5 * D**0.5
    assert along(on, normal).abs().max() <= rounding
    assert along(forward, normal).min() > rounding
    assert along(back, normal).max() < -rounding


def test_the_moved_points_mirror_each_other_in_the_boundary(dtype):
    seeds = [0, 1, 2]
    on, forward, back, normal = triples(teacher_of(seeds, dtype, bias=None), seeds)
    mirrored = forward - 2 * along(forward, normal).unsqueeze(-1) * normal
    rounding = 20 * torch.finfo(dtype).eps * 1.5 * D**0.5
    assert (mirrored - back).abs().max() <= rounding
    middle = forward + back
    assert (middle / middle.norm(dim=-1, keepdim=True) - on / on.norm(dim=-1, keepdim=True)).abs().max() <= rounding


def test_moves_are_uniform_between_near_and_near_plus_spread():
    """The move is the length of the projected Gaussian point times the tangent of the angle it was turned by."""
    seeds, std, near, spread = [0, 1, 2], 1.5, 0.2, 0.6
    teacher = teacher_of(seeds, bias=None)
    on, forward, _, normal = triples(teacher, seeds, count=3000, std=std, near=near, spread=spread)
    gaussian = Gaussian(std=std, train=1000, evaluate=1).draw(teacher, seeds).train
    length = (gaussian - along(gaussian, normal).unsqueeze(-1) * normal).norm(dim=-1)
    toward = on / on.norm(dim=-1, keepdim=True)
    moves = length * along(forward, normal) / along(forward, toward) / std
    assert stats.kstest(moves.flatten().numpy(), "uniform", args=(near, spread)).pvalue > 1e-3


def test_without_spread_the_move_is_fixed_and_nothing_moves_for_zero():
    on, forward, back, _ = triples(teacher_of([0], bias=None), [0], near=0.0, spread=0.0)
    torch.testing.assert_close(forward, on, rtol=0, atol=1e-13)
    torch.testing.assert_close(back, on, rtol=0, atol=1e-13)


def test_points_start_from_the_plane_shifted_by_the_bias(dtype):
    """Where w x + b = 0 with b < 0, w x > 0, and rescaling keeps the sign; with b > 0 the other way."""
    for bias in (-0.1, 0.3):
        on, _, _, normal = triples(teacher_of([0, 1], dtype, bias=bias), [0, 1])
        assert (along(on, normal) * -bias > 0).all()


def test_the_boundary_passes_through_the_points_before_rescaling():
    """The Gaussian point less its distance from the plane, times a positive number, is the point."""
    seeds, bias = [0, 1], -0.4
    teacher = teacher_of(seeds, bias=bias)
    on, _, _, normal = triples(teacher, seeds)
    x = Gaussian(std=1.5, train=30, evaluate=1).draw(teacher, seeds).train
    foot = x - (along(x, normal) + bias).unsqueeze(-1) * normal
    torch.testing.assert_close(along(foot, normal) + bias, torch.zeros(2, 30, dtype=torch.float64), rtol=0, atol=1e-14)
    torch.testing.assert_close(on, foot * (1.5 * D**0.5 / foot.norm(dim=-1, keepdim=True)), rtol=0, atol=1e-13)


def test_the_length_of_the_weights_does_not_matter(dtype):
    """A unit's boundary stays when its weights and its bias are both multiplied."""
    teacher, distribution = teacher_of([0, 1], dtype), TeacherAware(train=60, evaluate=1)
    (first, second), (b, c) = teacher.weights, teacher.biases
    scaled = Network((3 * first, second), (3 * b, c))
    close = 50 * torch.finfo(dtype).eps * D**0.5
    torch.testing.assert_close(
        distribution.draw(scaled, [0, 1]).train, distribution.draw(teacher, [0, 1]).train, rtol=0, atol=close
    )


@pytest.mark.parametrize("bias", [-0.1, None])
def test_every_point_has_length_std_times_the_root_of_d(dtype, bias):
    for x in triples(teacher_of([0, 1], dtype, bias=bias), [0, 1])[:3]:
        torch.testing.assert_close(x.norm(dim=-1), torch.full((2, 30), 1.5 * D**0.5, dtype=dtype), rtol=1e-6, atol=0)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 16])
def test_any_number_of_points_is_possible(dtype, count):
    """Also those that cut a triple, or leave units without a turn."""
    x = TeacherAware(train=count, evaluate=1).draw(teacher_of([0, 1], dtype), [0, 1]).train
    assert x.shape == (2, count, D)
    assert x.isfinite().all()


def test_members_see_the_boundaries_of_their_own_teacher():
    seeds = [0, 1, 2]
    teacher = teacher_of(seeds, bias=None)
    on, _, _, _ = triples(teacher, seeds)
    foreign = teacher.weights[0].roll(1, dims=0).mT[:, torch.arange(30) % UNITS]
    assert along(on, foreign).abs().mean() > 0.1


def test_every_unit_takes_its_turn():
    on, _, _, _ = triples(teacher := teacher_of([0], bias=None), [0])
    touched = (on[0] @ teacher.weights[0][0]).abs() < 1e-12
    assert (touched.sum(0) >= 6).all()


def test_a_deep_teacher_gives_the_boundaries_of_its_first_layer():
    teacher = teacher_of([0], bias=None, hidden=(UNITS, 3))
    on, _, _, normal = triples(teacher, [0])
    assert along(on, normal).abs().max() < 1e-13


def test_evaluation_points_stay_gaussian(dtype):
    teacher = teacher_of([0, 1], dtype)
    aware, plain = (
        distribution(std=1.5, train=3, evaluate=40).draw(teacher, [0, 1]) for distribution in (TeacherAware, Gaussian)
    )
    assert torch.equal(aware.evaluate, plain.evaluate)


def test_moves_do_not_follow_the_points():
    """The stream of the moves is one of its own: uncorrelated with the Gaussian points they start from."""
    moves = draws.uniforms(draws.keys([0], "train-offset"), 20_000)[0]
    starts = draws.uniforms(draws.keys([0], "train"), 20_000)[0]
    assert torch.corrcoef(torch.stack([moves, starts]))[0, 1].abs() < 5 / 20_000**0.5


@pytest.mark.parametrize("bias", [0.0, None])
def test_one_input_without_a_bias_is_refused_instead_of_giving_nan(dtype, bias):
    """The boundary is then the origin itself, which has no direction to be rescaled along."""
    teacher = teacher_of([0, 1], dtype, bias=bias, inputs=1, hidden=1)
    with pytest.raises(TutelageError):
        TeacherAware(train=6, evaluate=1).draw(teacher, [0, 1])


def test_one_input_with_a_bias_is_possible(dtype):
    x = TeacherAware(std=2.0, train=6, evaluate=1).draw(teacher_of([0, 1], dtype, inputs=1, hidden=2), [0, 1]).train
    torch.testing.assert_close(
        x.abs(), torch.full((2, 6, 1), 2.0, dtype=dtype), rtol=2 * torch.finfo(dtype).eps, atol=0
    )


def test_evaluation_points_are_built_like_training_points_when_told(dtype):
    teacher = teacher_of([0, 1], dtype, bias=None)
    distribution = TeacherAware(std=1.5, train=90, evaluate=91, evaluate_aware=True)
    inputs = distribution.draw(teacher, [0, 1])
    normal = teacher.weights[0].mT[:, torch.arange(31) % UNITS]
    assert inputs.evaluate.shape == (2, 91, D)
    assert along(inputs.evaluate[:, ::3], normal).abs().max() <= 20 * torch.finfo(dtype).eps * 1.5 * D**0.5
    assert not torch.isclose(inputs.evaluate[:, :90], inputs.train).all(-1).any()


def test_building_evaluation_points_around_the_teacher_leaves_training_points_alone():
    teacher = teacher_of([0, 1])
    plain, aware = (
        TeacherAware(train=30, evaluate=30, evaluate_aware=told).draw(teacher, [0, 1]) for told in (False, True)
    )
    assert torch.equal(plain.train, aware.train)


def test_united_sets_keep_the_gaussian_points_and_the_moved_ones(dtype):
    """Every third point is that of the Gaussian set; the moved points are those of the other construction."""
    seeds = [0, 1, 2]
    teacher = teacher_of(seeds, dtype)
    apart, united = (triples(teacher, seeds, united=united) for united in (False, True))
    gaussian = Gaussian(std=1.5, train=30, evaluate=1).draw(teacher, seeds).train
    assert torch.equal(united[0], gaussian)
    assert torch.equal(united[1], apart[1])
    assert torch.equal(united[2], apart[2])
