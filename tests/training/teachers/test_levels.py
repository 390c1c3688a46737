"""Teachers of a few levels: their columns, strengths, biases and independence, as Tian 2020 and Tian 2019 describe
them.
"""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tutelage.errors import TutelageError
from tutelage.networks import forward, outputs
from tutelage.training.inputs import CorrelatedGaussian, Gaussian, StudentT
from tutelage.training.teachers import Levels

DEFAULT = (-0.5, -0.25, 0.0, 0.25, 0.5)


def levels(**settings):
    return Levels(**({"inputs": 10, "hidden": 6, "outputs": 4} | settings))


def build(seeds=(0, 1, 2), distribution=None, dtype=torch.float64, **settings):
    return levels(**settings).build(seeds, distribution, dtype)


def equal(one, other):
    return all(torch.equal(a, b) for a, b in zip(one.parameters, other.parameters, strict=True))


def is_any_of(values, allowed):
    distance = (values.unsqueeze(-1) - torch.tensor(allowed, dtype=torch.float64)).abs().amin(-1)
    return bool((distance < 1e-12).all())


def cosines(columns):
    """Between different columns of one member: [S, rows, columns] of length 1 -> [S, columns, columns]."""
    return columns.mT @ columns - 2 * torch.eye(columns.shape[2], dtype=columns.dtype)


def test_shapes_precision_and_activation(dtype):
    teacher = build(dtype=dtype, hidden=(6, 5), activation="leaky", slope=0.2)
    assert (teacher.members, teacher.widths) == (3, (10, 6, 5, 4))
    assert (teacher.dtype, teacher.activation, teacher.slope) == (dtype, "leaky", 0.2)
    assert {p.dtype for p in teacher.parameters} == {dtype}


def test_float32_is_what_one_gets_unasked():
    assert levels().build([0]).dtype == torch.float32


def test_one_hidden_layer_may_be_a_number():
    assert levels(hidden=6) == levels(hidden=(6,)) == levels(hidden=[6])


@pytest.mark.parametrize("hidden", [(6,), (20, 7, 9)])
def test_columns_of_hidden_layers_have_length_one(hidden):
    for w in build(hidden=hidden).weights[:-1]:
        torch.testing.assert_close(w.norm(dim=1), torch.ones_like(w[:, 0]), rtol=0, atol=1e-14)


def test_entries_of_hidden_layers_are_levels_before_scaling():
    """Relative to the largest of its column, an entry is 0, a half or 1."""
    for w in build(seeds=range(20), hidden=(6, 5)).weights[:-1]:
        assert is_any_of(w / w.abs().amax(1, keepdim=True), [-1.0, -0.5, 0.0, 0.5, 1.0])


def test_entries_of_the_top_layer_are_levels_themselves(dtype):
    top = build(seeds=range(20), dtype=dtype, polarity=0.0).weights[-1]
    assert set(top.unique().tolist()) == set(DEFAULT)


def test_other_levels_may_be_given():
    teacher = build(seeds=range(20), levels=(0.3, 1.0, -0.7))
    assert set(teacher.weights[1].unique().tolist()) == {0.3, 1.0, -0.7}
    hidden = teacher.weights[0]
    assert is_any_of(hidden / hidden.abs().amax(1, keepdim=True), [1.0, -1.0, 0.3, -0.7, 0.7, 0.3 / 0.7, -0.3 / 0.7])


def test_levels_are_equally_likely():
    top = build(seeds=range(20), hidden=40, outputs=50).weights[-1]
    counts = [int((top == level).sum()) for level in DEFAULT]
    assert sum(counts) == top.numel()
    assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize(("inputs", "hidden"), [(1, 1), (1, 2), (2, 4), (2, 10), (3, 30), (10, 6)])
def test_no_two_columns_are_parallel(inputs, hidden):
    """With few inputs most first draws repeat a direction, or are zero, and must be drawn again."""
    teacher = build(seeds=range(60), inputs=inputs, hidden=hidden)
    assert cosines(teacher.weights[0]).max() < 1 - 1e-3


def test_no_two_columns_are_parallel_in_deeper_layers():
    for w in build(seeds=range(40), hidden=(2, 8, 3, 20)).weights[:-1]:
        assert cosines(w).max() < 1 - 1e-3


def test_columns_of_different_levels_may_point_the_same_way_only_once():
    """[1/4, 1/4] and [1/2, 1/2] are distinct levels and one direction: two levels in two dimensions leave three."""
    w = build(seeds=range(60), inputs=2, hidden=3, levels=(0.25, 0.5)).weights[0]
    assert cosines(w).max() < 1 - 1e-3


@pytest.mark.parametrize("outputs", [1, 2])
def test_every_unit_has_a_fan_out(outputs):
    strength = build(seeds=range(60), outputs=outputs).weights[-1].norm(dim=2)
    assert strength.min() >= 0.25


@pytest.mark.parametrize("polarity", [0.5, 1.0, 2.5])
@pytest.mark.parametrize("hidden", [(6,), (5, 6)])
def test_strengths_fall_as_the_power_of_the_rank(polarity, hidden):
    """Against the teacher of the same seed and polarity 0, row j is divided by j^p, nothing else (Tian 2020, eq.
    10).
    """
    weak, even = build(hidden=hidden, polarity=polarity), build(hidden=hidden, polarity=0.0)
    rank = torch.tensor([j**polarity for j in range(1, 7)], dtype=torch.float64).view(1, 6, 1)
    torch.testing.assert_close(weak.weights[-1], even.weights[-1] / rank, rtol=1e-15, atol=0)
    assert all(torch.equal(a, b) for a, b in zip(weak.weights[:-1], even.weights[:-1], strict=True))
    assert all(torch.equal(a, b) for a, b in zip(weak.biases, even.biases, strict=True))


def test_each_member_may_have_its_own_polarity():
    mixed = build(seeds=(7, 8, 9), polarity=(0.0, 1.0, 2.5))
    for member, (seed, polarity) in enumerate([(7, 0.0), (8, 1.0), (9, 2.5)]):
        assert equal(mixed[member], build(seeds=(seed,), polarity=polarity))


def test_a_wrong_number_of_polarities_is_refused_with_both_counts():
    with pytest.raises(TutelageError, match="'polarity' has 2 entries for 3 members"):
        build(polarity=(0.0, 1.0))


@pytest.mark.parametrize("bias", [-0.1, 0.0, 0.7])
@pytest.mark.parametrize("output_bias", [-0.1, 0.3])
@pytest.mark.parametrize("hidden", [(6,), (6, 5)])
def test_biases_are_what_was_asked(bias, output_bias, hidden):
    *lower, top = build(bias=bias, output_bias=output_bias, hidden=hidden).biases
    assert all((b == bias).all() for b in lower)
    assert (top == output_bias).all()


@pytest.mark.parametrize("hidden", [(12,), (14, 12), (16, 14, 12)])
@pytest.mark.parametrize(
    "distribution", [Gaussian(std=10.0), CorrelatedGaussian(correlation=0.8), StudentT(freedom=3.0)]
)
@pytest.mark.parametrize("activation", ["relu", "leaky"])
def test_the_median_bias_lets_half_the_inputs_through_every_unit(hidden, distribution, activation):
    """The share has the errors of a median over 4,096 points and of a share over 10,000: five of both together."""
    seeds = (0, 1)
    teacher = build(seeds, distribution, inputs=20, hidden=hidden, bias="median", activation=activation)
    points = distribution.model_copy(update={"train": 10_000, "evaluate": 1}).draw(teacher, seeds).train
    for feature in forward(teacher, points).features[1:-1]:
        share = (feature > 0).double().mean(1)
        assert (share - 0.5).abs().max() < 5 * 0.5 * (1 / 4096 + 1 / 10_000) ** 0.5


def test_the_median_leaves_weights_and_output_bias_as_they_are():
    median, fixed = build(distribution=Gaussian(), bias="median", hidden=(6, 5)), build(hidden=(6, 5))
    assert all(torch.equal(a, b) for a, b in zip(median.weights, fixed.weights, strict=True))
    assert torch.equal(median.biases[-1], fixed.biases[-1])


def test_the_median_needs_a_law():
    with pytest.raises(TutelageError, match="needs the distribution of its inputs"):
        build(bias="median")


@pytest.mark.parametrize(
    ("settings", "columns"),
    [
        ({"inputs": 1, "hidden": 3}, "3 distinct columns of 1"),
        ({"inputs": 2, "hidden": 17}, "17 distinct columns of 2"),
        ({"inputs": 5, "hidden": 2, "levels": (0.5,)}, "2 distinct columns of 5"),
        ({"inputs": 5, "hidden": (4, 1, 3)}, "3 distinct columns of 1"),
    ],
)
def test_more_directions_than_there_are_is_refused_with_a_way_out(settings, columns):
    with pytest.raises(TutelageError, match=f"{columns} entries cannot be drawn .* fewer units"):
        build(**settings)


def test_all_the_directions_there_are_can_be_had():
    """Five levels in two dimensions point in 16 directions: a teacher of 16 units exists, whatever its seed."""
    w = build(seeds=range(60), inputs=2, hidden=16).weights[0]
    assert cosines(w).max() < 1 - 1e-3


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"inputs": 0}, "inputs"),
        ({"hidden": ()}, "hidden"),
        ({"hidden": (3, 0)}, "hidden"),
        ({"outputs": -1}, "outputs"),
        ({"polarity": -1.0}, "polarity"),
        ({"polarity": (1.0, float("nan"))}, "polarity"),
        ({"levels": ()}, "levels"),
        ({"levels": (0.0, 0.0)}, "at least one level must differ from 0"),
        ({"levels": (1.0, float("inf"))}, "levels"),
        ({"bias": "mean"}, "bias"),
        ({"bias": float("nan")}, "bias"),
        ({"output_bias": float("inf")}, "output_bias"),
        ({"activation": "swish"}, "activation"),
        ({"slope": 1.0}, "slope"),
        ({"polarities": 1.0}, "did you mean 'polarity'"),
    ],
)
def test_settings_out_of_range_are_refused_by_name(settings, name):
    with pytest.raises(TutelageError, match=name):
        levels(**settings)


@pytest.mark.parametrize(
    "settings",
    [{}, {"inputs": 2, "hidden": 9}, {"hidden": (5, 4), "bias": "median"}, {"polarity": 1.3}],
    ids=["plain", "redrawn", "median", "polar"],
)
@given(seeds=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=6), data=st.data())
def test_a_teacher_does_not_depend_on_its_neighbours(settings, seeds, data):
    member = data.draw(st.integers(0, len(seeds) - 1))
    together, alone = (build(part, Gaussian(), **settings) for part in (seeds, [seeds[member]]))
    assert equal(together[member], alone)


@pytest.mark.parametrize("settings", [{"polarity": 1.5}, {"hidden": (7, 5), "bias": "median"}])
def test_a_float32_teacher_is_the_rounded_float64_one(settings):
    single = build(distribution=Gaussian(), dtype=torch.float32, **settings)
    assert equal(single, build(distribution=Gaussian(), **settings).to(dtype=torch.float32))


def test_teachers_of_different_seeds_differ():
    teacher = build(seeds=range(10), inputs=20)
    for w in teacher.weights:
        assert len(torch.unique(w.flatten(1), dim=0)) == 10


def test_layers_are_drawn_apart():
    first, second, _ = build(inputs=8, hidden=(8, 8)).weights
    assert not torch.equal(first, second)


def test_standardised_outputs_have_mean_0_and_deviation_1():
    distribution = Gaussian(std=10.0, train=20_000)
    plain = Levels(inputs=12, hidden=(8, 6), outputs=4, bias="median", polarity=1.0)
    teacher = plain.model_copy(update={"standardised": True}).build(range(3), distribution, torch.float64)
    y = outputs(teacher, distribution.draw(teacher, range(3)).train)
    assert y.mean(1).abs().max() < 0.1  # 4,096 points fix the mean to 1/64
    assert (y.std(1) - 1).abs().max() < 0.1
    before = plain.build(range(3), distribution, torch.float64)
    assert all(torch.equal(a, b) for a, b in zip(teacher.weights[:-1], before.weights[:-1], strict=True))
    with pytest.raises(TutelageError, match="standardised outputs needs the distribution"):
        Levels(inputs=12, hidden=8, outputs=4, standardised=True).build(range(3))
