"""Labelled points and the distributions they are drawn from."""

import pytest
import torch

from tutelage.errors import TutelageError
from tutelage.margins.datasets import LAWS, LabelledPoints, clashing, cones, half_spaces, orthants
from tutelage.margins.max_margin import max_margins
from tutelage.margins.orthogonal import separability


@pytest.mark.parametrize("distribution", LAWS.values())
def test_a_member_depends_on_its_seed_alone(distribution):
    many, one = distribution([3, 4, 5], count=16), distribution([4], count=16)
    assert torch.equal(many.x[1:2], one.x)
    assert torch.equal(many.y[1:2], one.y)


@pytest.mark.parametrize("distribution", [orthants, cones, half_spaces])
def test_a_larger_set_begins_with_the_smaller(distribution):
    assert torch.equal(distribution([1], count=40).x[:, :16], distribution([1], count=16).x)


def test_orthants_are_those_of_the_seed():
    data = orthants(range(40))
    z = 1.0 - 2 * (torch.arange(20) % 2).double()
    assert (data.x @ z >= 0).all()
    assert (data.x.sign() == data.y.unsqueeze(2)).all()
    share = (data.y > 0).double().mean(1)
    assert abs(float(share.mean()) - 0.5) < 4 * 0.5 / (40 * 500) ** 0.5
    square = data.x.square().mean()  # |g|^2 is unchanged by the rejection, which is symmetric in sign of x.z
    assert abs(float(square) - 1) < 4 * (2 / data.x.numel()) ** 0.5


def test_separable_laws_are_separable_and_the_others_are_not():
    assert separability(orthants(range(20), count=60)).holds.all()
    assert separability(cones(range(50))).holds.all()
    assert not separability(half_spaces(range(50))).holds.any()
    max_margins(half_spaces(range(50)))  # linearly separable
    with pytest.raises(TutelageError, match="no max-margin vector"):
        max_margins(clashing([0]))


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], [1, 2], "labels are"),
        ([[1.0, 0.0], [0.0, 1.0]], [0, 1], "labels are"),
        ([[1.0, 0.0], [0.0, 1.0]], [1, 1], "no sample with the label -1"),
        ([[1.0, 0.0], [0.0, 0.0]], [1, -1], "sample 1 of set 0 is the zero vector"),
        ([[1.0, 0.0], [0.0, 1e160]], [1, -1], r"sample 1 of set 0 has a largest entry of 1.0e\+160"),
        ([[1e-160, 0.0], [0.0, 1.0]], [1, -1], "sample 0 of set 0 has a largest entry of 1.0e-160"),
        ([[1.0, 0.0], [0.0, float("nan")]], [1, -1], "not finite"),
        ([[1.0, 0.0], [0.0, 1.0]], [1, -1, 1], "wanted points"),
    ],
)
def test_bad_data_are_refused(x, y, words):
    with pytest.raises(TutelageError, match=words):
        LabelledPoints(torch.tensor(x, dtype=torch.float64), torch.tensor(y))


def test_bad_sizes_are_refused():
    for distribution, options in ((cones, {"half_angle": 50}), (cones, {"count": 1}), (clashing, {"count": 5})):
        with pytest.raises(TutelageError):
            distribution([0], **options)


def test_points_from_arrays_and_lists():
    x, y = [[1.0, 0.0], [-1.0, 0.5]], [1, -1]
    for data in (LabelledPoints(x, y), LabelledPoints(torch.tensor(x).numpy(), torch.tensor(y).numpy())):
        assert (data.members, data.count, data.dimension) == (1, 2, 2)
    with pytest.raises(TutelageError, match="points x must be a tensor or an array of numbers, got str"):
        LabelledPoints("x", y)


@pytest.mark.parametrize("margin", [1e9, -1.0, float("nan")])
def test_a_margin_beyond_all_points_is_an_error_and_no_endless_search(margin):
    with pytest.raises(TutelageError, match="margin must lie between 0 and 3"):
        half_spaces([0], margin=margin)


@pytest.mark.parametrize("distribution", LAWS.values())
def test_sizes_are_whole_numbers(distribution):
    for name, value in (("dimension", 0), ("dimension", 2.5), ("count", 16.5), ("count", 0)):
        with pytest.raises(TutelageError, match=f"{name} must be a whole number of at least"):
            distribution([0], **{"dimension": 2, name: value})
    assert torch.equal(distribution([0], count=16.0).x, distribution([0], count=16).x)


def test_no_seed_is_an_error():
    with pytest.raises(TutelageError, match="at least one seed"):
        orthants([])
