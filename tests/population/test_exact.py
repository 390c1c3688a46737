"""The public loss, gradient and Hessian: networks and units, with and without biases, one teacher for all members."""

import pytest
import torch

import tutelage as tt
from tutelage.networks import Network
from tutelage.networks.forward import outputs
from tutelage.population import Units
from tutelage.population.expectations import units_of


def networks(bias: bool, activation: str = "relu", members: int = 2):
    """One teacher with 2 hidden units and students with 3, in 4 dimensions with 2 outputs, float64."""
    draw = torch.Generator().manual_seed(7)

    def one(count, hidden):
        shapes = (count, 4, hidden), (count, hidden, 2)
        weights = tuple(torch.randn(*s, generator=draw, dtype=torch.float64) for s in shapes)
        biases = tuple(torch.randn(count, n, generator=draw, dtype=torch.float64) for n in (hidden, 2))
        return Network(weights, biases if bias else None, activation)

    return one(1, 2), one(members, 3)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("activation", ["relu", "leaky", "abs"])
def test_the_loss_is_that_of_many_samples(bias, activation):
    teacher, students = networks(bias, activation)
    x = torch.randn(1, 400_000, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64).expand(2, -1, -1)
    square = (outputs(teacher.expand(2), x) - outputs(students, x)).square().sum(2) / 2
    mean, error = square.mean(1), square.std(1) / square.shape[1] ** 0.5
    assert ((tt.population.loss(teacher, students) - mean).abs() < 4 * error).all()


@pytest.mark.parametrize("bias", [False, True])
def test_the_gradient_has_the_form_of_the_students_and_is_that_of_differences(bias):
    teacher, students = networks(bias)
    found = tt.population.gradient(teacher, students)
    assert found.widths == students.widths
    for place, array in enumerate(students.parameters):
        direction = torch.randn(array.shape, generator=torch.Generator().manual_seed(place), dtype=torch.float64)

        def moved(step, place=place, direction=direction):
            arrays = [a + step * direction if i == place else a for i, a in enumerate(students.parameters)]
            return tt.population.loss(teacher, rebuilt(students, arrays))

        slope = (moved(1e-5) - moved(-1e-5)) / 2e-5
        along = (found.parameters[place] * direction).flatten(1).sum(1)
        torch.testing.assert_close(along, slope, rtol=1e-6, atol=1e-8)


def test_biases_of_0_have_derivatives_too():
    teacher, students = networks(True)
    still = Network(students.weights, tuple(torch.zeros_like(b) for b in students.biases))
    found = tt.population.gradient(teacher, still)
    raised = Network(still.weights, (still.biases[0] + 1e-5, still.biases[1]))
    lowered = Network(still.weights, (still.biases[0] - 1e-5, still.biases[1]))
    slope = (tt.population.loss(teacher, raised) - tt.population.loss(teacher, lowered)) / 2e-5
    torch.testing.assert_close(found.biases[0].sum(1), slope, rtol=1e-5, atol=1e-7)
    assert tt.population.hessian(teacher, still).shape == (2, 15, 15)


def rebuilt(network, arrays):
    layers = len(network.weights)
    return Network(tuple(arrays[:layers]), tuple(arrays[layers:]) or None, network.activation, network.slope)


@pytest.mark.parametrize("bias", [False, True])
def test_the_hessian_is_the_slope_of_the_gradient(bias):
    teacher, students = networks(bias)
    size = 4 + bias
    found = tt.population.hessian(teacher, students)
    assert found.shape == (2, 3 * size, 3 * size)
    step = 1e-5

    def first_layer(by):
        w = students.weights[0].clone()
        w[:, 1, 2] += by  # input 1 of unit 2
        moved = tt.population.gradient(teacher, rebuilt(students, [w, *students.parameters[1:]]))
        rows = moved.weights[0].mT
        if moved.biases is not None:
            rows = torch.cat([rows, moved.biases[0].unsqueeze(2)], 2)
        return rows.flatten(1)

    slope = (first_layer(step) - first_layer(-step)) / (2 * step)
    torch.testing.assert_close(found[:, 2 * size + 1], slope, rtol=1e-5, atol=1e-7)


def test_units_and_networks_give_the_same_numbers():
    teacher, students = networks(False)
    of_units = tt.population.gradient(units_of(teacher), units_of(students))
    assert isinstance(of_units, Units)
    of_networks = tt.population.gradient(teacher, students)
    assert torch.equal(of_units.w.mT, of_networks.weights[0])
    assert torch.equal(of_units.c, of_networks.weights[1])
    path = tt.population.flow(teacher, students, [0.0, 0.5])
    assert torch.equal(path.w, tt.population.flow(units_of(teacher), units_of(students), [0.0, 0.5]).w)


def test_one_teacher_serves_all_students():
    teacher, students = networks(True)
    assert torch.equal(tt.population.loss(teacher, students), tt.population.loss(teacher.expand(2), students))
    three = tt.networks.concatenate([teacher] * 3)
    with pytest.raises(tt.TutelageError, match="3 teachers for 2 students"):
        tt.population.loss(three, students)


def test_units_have_no_biases():
    teacher, students = networks(True)
    without = Network(students.weights, None)
    with pytest.raises(tt.TutelageError, match="pass two networks"):
        tt.population.loss(teacher, units_of(without))
