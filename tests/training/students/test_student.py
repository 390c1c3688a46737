"""Students start from their own seeds, with the scale and width their recipe names."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import tutelage as tt
from tutelage.errors import TutelageError
from tutelage.training.students import SmallNormal, Student, UniformFanIn

RECIPES = [SmallNormal, UniformFanIn]


def equal(one, other):
    return all(torch.equal(a, b) for a, b in zip(one.parameters, other.parameters, strict=True))


@pytest.mark.parametrize(
    ("width_factor", "teacher", "expected"),
    [
        (1, (100, 10, 50), (100, 10, 50)),
        (5, (100, 10, 50), (100, 50, 50)),
        (2, (7, 3, 4, 5, 2), (7, 6, 8, 10, 2)),
        (1.5, (9, 4, 5), (9, 6, 5)),
        (1.3, (9, 3, 5), (9, 4, 5)),
        (3, (9, 5), (9, 5)),
    ],
)
def test_only_hidden_layers_are_widened(width_factor, teacher, expected):
    assert SmallNormal(width_factor=width_factor).widths(teacher) == expected


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("bias", [True, False])
def test_students_fit_their_teacher(random_network, dtype, recipe, bias):
    teacher = random_network((6, 3, 4, 2), members=5, bias=not bias, dtype=dtype)
    students = recipe(width_factor=2, bias=bias, activation="leaky", slope=0.2).build(teacher, range(5))
    assert (students.members, students.widths) == (5, (6, 6, 8, 2))
    assert (students.dtype, students.activation, students.slope) == (dtype, "leaky", 0.2)
    assert (students.biases is not None) == bias


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_choice_of_bias_does_not_move_the_weights(random_network, recipe):
    teacher = random_network((6, 3, 2), members=2)
    with_bias, without = (recipe(bias=bias).build(teacher, [3, 4]) for bias in (True, False))
    assert all(torch.equal(a, b) for a, b in zip(with_bias.weights, without.weights, strict=True))


@pytest.mark.parametrize("recipe", RECIPES)
@given(seeds=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=5), data=st.data())
def test_a_student_does_not_depend_on_its_neighbours(random_network, recipe, seeds, data):
    member = data.draw(st.integers(0, len(seeds) - 1))
    teacher = random_network((6, 3, 4, 2), members=1, dtype=torch.float32)
    together, alone = (recipe(width_factor=2).build(teacher, part) for part in (seeds, seeds[member : member + 1]))
    assert equal(together[member], alone)


@pytest.mark.parametrize("recipe", RECIPES)
def test_students_of_different_seeds_and_layers_differ(random_network, recipe):
    students = recipe().build(random_network((4, 4, 4)), [0, 1])
    first, second = students.weights
    assert not (first[0] == first[1]).any()
    assert not (first / first.std() == second / second.std()).any()


@pytest.mark.parametrize("recipe", RECIPES)
def test_float32_students_are_float64_ones_to_its_precision(random_network, recipe):
    """Two roundings at most: of the draw, and of its product with the scale."""
    single, double = (
        recipe().build(random_network((6, 3, 2), dtype=d), [0, 1]) for d in (torch.float32, torch.float64)
    )
    for a, b in zip(single.parameters, double.parameters, strict=True):
        torch.testing.assert_close(a.double(), b, rtol=2.0**-23, atol=0)


@pytest.mark.parametrize(
    "settings",
    [{"width_factor": 0.5}, {"slope": 1.0}, {"activation": "swish"}, {"scale": 0}, {"scale": -1}, {"width": 3}],
)
def test_settings_out_of_range_are_refused_by_name(settings):
    with pytest.raises(TutelageError, match=next(iter(settings))):
        SmallNormal(**settings)


def test_recipes_are_found_by_their_kind():
    assert Student.parse({"kind": "small-normal", "width_factor": 3}) == SmallNormal(width_factor=3)
    assert Student.parse({"kind": "uniform-fan-in"}) == UniformFanIn()


def test_widths_are_given_one_way():
    with pytest.raises(TutelageError, match="'width_factor' has no effect where 'hidden' gives the widths"):
        SmallNormal(hidden=4, width_factor=3)
    assert SmallNormal(hidden=4, width_factor=1).widths((5, 3, 2)) == (5, 4, 2)


def test_a_head_beyond_single_precision_is_infinite():
    teacher = tt.teachers.Levels(inputs=4, hidden=[3], outputs=2).build((0,), tt.inputs.Gaussian(), torch.float32)
    assert tt.students.SmallNormal(head=1e150).build(teacher, (0,)).weights[-1].isinf().all()
