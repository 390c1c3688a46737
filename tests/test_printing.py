"""Whatever a user gets back prints as a short summary with shapes, never as tensors."""

import importlib
import inspect
from dataclasses import fields, is_dataclass

import pytest
import torch

import tutelage as tt
from tutelage.functions import box, enumerate_regions, straight
from tutelage.networks import Network
from tutelage.printing import describe


def public_results():
    """Public dataclasses with a field that holds arrays, networks or other results."""
    found = {}
    for package in tt._PACKAGES:
        module = importlib.import_module(f"tutelage.{package}")
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if inspect.isclass(value) and is_dataclass(value) and _holds_arrays(value):
                found[f"{value.__module__}.{name}"] = value
    return found


def _holds_arrays(cls):
    types = [str(f.type) for f in fields(cls) if "Callable" not in str(f.type)]
    return any(word in text for text in types for word in ("Tensor", "ndarray", "networks.network.Network"))


RESULTS = public_results()


@pytest.mark.parametrize("name", RESULTS)
def test_every_public_result_is_printed_as_a_summary(name):
    assert hasattr(RESULTS[name], "_repr_html_"), f"decorate {name} with tutelage.printing.printed"


@pytest.fixture(scope="module")
def objects():
    """One of each of the things that users print most."""
    seeds = range(3)
    teacher = tt.teachers.Levels(inputs=2, hidden=3, outputs=2).build(seeds, dtype=torch.float64)
    inputs = tt.inputs.Gaussian(train=50, evaluate=40).draw(teacher, seeds)
    students = tt.students.SmallNormal(width_factor=2, scale=0.1).build(teacher, seeds)
    run = tt.train(teacher, students, inputs, steps=30, batch=8, learning_rate=0.02)
    first = Network((teacher.weights[0][:1], teacher.weights[1][:1]))
    return {
        "network": teacher,
        "inputs": inputs,
        "trajectory": run,
        "report": tt.measure(run),
        "comparison": tt.same_function(teacher[0], teacher[1], box(-1, 1, 2)),
        "certificates": tt.certify("alignment", teacher, run.students, inputs),
        "pruning": tt.prune(students),
        "matching": tt.match(teacher, run.students),
        "regions": enumerate_regions(first, box(-1, 1, 2)),
        "identification": tt.identify(first, box=(-2, 2), seconds=20),
        "path": straight(teacher, teacher),
    }


NAMES = ["network", "inputs", "trajectory", "report", "comparison", "certificates", "pruning", "matching"]
NAMES += ["regions", "identification", "path"]


@pytest.mark.parametrize("name", NAMES)
def test_what_users_print_is_short_and_shows_no_tensors(objects, name):
    value = objects[name]
    one = value[0] if isinstance(value, list) else value
    for text in (repr(one), str(one), one._repr_html_()):
        assert "tensor(" not in text
        assert "array(" not in text
        assert len(text) < 4000
    assert "\n" not in repr(one)
    assert len(repr(one)) < 400


def test_a_network_says_its_size_and_shapes(objects):
    network = objects["network"]
    assert repr(network) == "Network(3 members, widths 2-3-2, relu, float64 on cpu)"
    assert str(network).splitlines()[1] == "  weights     float64 [3, 2, 3], float64 [3, 3, 2]"
    assert "<table>" in network._repr_html_()
    assert "  values['rho_mean']" in str(objects["report"])


def test_values_are_described_by_shape_count_or_number():
    assert describe(torch.tensor(0.5)) == "0.5"
    assert describe(list(range(100))) == "100 entries: 0, 1, ..., 99"
    assert describe({}) == "none"
    assert describe(len) == "len"
    assert describe("x" * 500).endswith("...")
