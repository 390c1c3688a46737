"""Every distribution draws each member's points from its own seed, training and evaluation apart."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tutelage.errors import TutelageError
from tutelage.training.inputs import (
    CorrelatedGaussian,
    Distribution,
    Gaussian,
    GaussianCovariance,
    HiddenManifold,
    Hypercube,
    Mixture,
    PointsFile,
    Sphere,
    StudentT,
    TeacherAware,
    Uniform,
)
from tutelage.training.inputs.sparse_features import SparseFeatures
from tutelage.training.teachers import Levels

LAWS = [Gaussian, Uniform, Sphere, CorrelatedGaussian, StudentT, TeacherAware]
LAWS += [GaussianCovariance, HiddenManifold, Hypercube, Mixture, SparseFeatures]
NEEDED = {GaussianCovariance: {"decay": 0.5}, HiddenManifold: {"fold": "tanh"}, SparseFeatures: {"sparsity": 0.0}}
"""Settings without a default, and such that coordinates are not a few numbers."""
DIMENSION = 50


def teacher_of(seeds, dtype=torch.float64, dimension=DIMENSION):
    return Levels(inputs=dimension, hidden=4, outputs=2).build(seeds, dtype=dtype)


def draw(distribution, seeds, dtype=torch.float64, **settings):
    needed = NEEDED.get(distribution, {})
    return distribution(**({"train": 20, "evaluate": 15} | needed | settings)).draw(teacher_of(seeds, dtype), seeds)


def test_every_law_is_tried_here():
    assert {
        distribution for distribution in Distribution.kinds.values() if distribution.__module__.startswith("tutelage.")
    } == {*LAWS, PointsFile}  # a file has no streams: see test_own_experiment.py


@pytest.mark.parametrize("distribution", LAWS)
def test_shapes_precision_and_seeds(distribution, dtype):
    inputs = draw(distribution, range(3, 6), dtype)
    assert inputs.train.shape == (3, 20, DIMENSION)
    assert inputs.evaluate.shape == (3, 15, DIMENSION)
    assert inputs.train.dtype == inputs.evaluate.dtype == dtype
    assert inputs.seeds == (3, 4, 5)
    assert inputs.train.isfinite().all()
    assert inputs.evaluate.isfinite().all()


@pytest.mark.parametrize("distribution", LAWS)
@pytest.mark.parametrize("count", [1, 2, 7, 100])
def test_a_larger_set_begins_with_the_smaller_one(distribution, dtype, count):
    small = draw(distribution, [0, 1], dtype, train=count, evaluate=count)
    large = draw(distribution, [0, 1], dtype, train=101, evaluate=103)
    assert torch.equal(small.train, large.train[:, :count])
    assert torch.equal(small.evaluate, large.evaluate[:, :count])


@pytest.mark.parametrize("distribution", LAWS)
@given(seeds=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=5), data=st.data())
def test_points_do_not_depend_on_the_neighbours(distribution, seeds, data):
    member = data.draw(st.integers(0, len(seeds) - 1))
    together, alone = draw(distribution, seeds), draw(distribution, [seeds[member]])
    assert torch.equal(together.train[member], alone.train[0])
    assert torch.equal(together.evaluate[member], alone.evaluate[0])


@pytest.mark.parametrize("distribution", [law for law in LAWS if law is not Hypercube])
def test_members_and_the_two_sets_have_no_number_in_common(distribution):
    inputs = draw(distribution, range(3))
    numbers = torch.cat([inputs.train, inputs.evaluate], dim=1).flatten()
    # rescaled mirror points of a teacher-aware set may share a coordinate where the boundary is parallel to an axis,
    # and sums of features two coordinates that all units of the teacher weigh alike
    around = distribution in (TeacherAware, SparseFeatures)
    least = 0.7 * numbers.numel() if around else numbers.numel()
    assert len(numbers.unique()) >= least


@pytest.mark.parametrize("distribution", LAWS)
def test_shared_points_are_one_set_that_of_the_first_seed(distribution, dtype):
    shared, own = draw(distribution, [5, 6, 7], dtype, shared=True), draw(distribution, [5, 6, 7], dtype)
    for repeated, apart in ((shared.train, own.train), (shared.evaluate, own.evaluate)):
        assert repeated.stride(0) == 0
        assert torch.equal(repeated, apart[:1].expand_as(apart))
    assert shared.seeds == (5, 6, 7)


@pytest.mark.parametrize("distribution", LAWS)
def test_float32_points_are_float64_ones_to_its_precision(distribution):
    """A handful of roundings, relative to the largest coordinate of the point."""
    seeds = [0, 1]
    teacher = teacher_of(seeds, torch.float32)
    single, double = (
        distribution(train=40, evaluate=40, **NEEDED.get(distribution, {})).draw(teacher.to(dtype=d), seeds)
        for d in (torch.float32, torch.float64)
    )
    for a, b in ((single.train, double.train), (single.evaluate, double.evaluate)):
        scale = b.abs().amax(-1, keepdim=True)
        assert ((a.double() - b).abs() <= 16 * torch.finfo(torch.float32).eps * scale).all()


@pytest.mark.parametrize("name", ["train", "evaluate"])
@pytest.mark.parametrize("count", [0, -1, 1.5])
def test_a_number_of_points_that_is_none_is_refused_by_name(name, count):
    with pytest.raises(TutelageError, match=name):
        Gaussian(**{name: count})


@pytest.mark.parametrize("unused", [{"clusters": 3}, {"distance": 2.0}, {"seed": 1}])
def test_settings_of_drawn_centres_beside_given_ones_are_refused(unused):
    with pytest.raises(TutelageError, match="has no effect where 'centres' are given"):
        Mixture(centres=((0.0, 1.0), (1.0, 0.0)), **unused)
    assert Mixture.parse(Mixture(centres=((0.0, 1.0),)).model_dump()).centres == ((0.0, 1.0),)
