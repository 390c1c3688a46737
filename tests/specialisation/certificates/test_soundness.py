"""No certificate whose conditions are all true has a false conclusion, however the student was made."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tutelage.certificates import certify, certify_all
from tutelage.networks import Network, outputs

WAYS = ("permuted", "split", "idle", "cancelling")
SIZES = (0.0, 0.0, 1e-12, 1e-7, 1e-3, 0.3)
LOOSE = ({}, {"tolerance": 1e-5, "alignment": 1e-4}, {"tolerance": 0.1}, {"tolerance": 1e3, "alignment": 0.05})


def fitted(b, teacher, points, hidden):
    """A student of random units whose top layer fits the samples, exactly where they are few."""
    below, bias = b.normal(1, teacher.inputs, hidden), b.normal(1, hidden) / 2
    f = torch.cat([torch.relu(points @ below[0] + bias), torch.ones(len(points), 1)], dim=1)
    top = torch.linalg.lstsq(f, outputs(teacher, points)[0], driver="gelsd").solution
    return Network((below, top[None, :-1]), (bias, top[None, -1]))


def turned_over(student, unit):
    """The unit turned over, and one that is always active on the samples to make up for it (relu)."""
    w, b, v = student.weights[0][:, :, [unit]], student.biases[0][:, [unit]], student.weights[1][:, [unit]]
    below, bias = student.weights[0].clone(), student.biases[0].clone()
    below[:, :, [unit]], bias[:, [unit]] = -w, -b
    return Network(
        (torch.cat([below, w], dim=2), torch.cat([student.weights[1], v], dim=1)),
        (torch.cat([bias, b + 100.0], dim=1), student.biases[1] - 100.0 * v.sum(1)),
    )


def none_fails(found):
    for certificates in found.values():
        for certificate in certificates:
            assert "fails" not in certificate.verdicts, str(certificate)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 100_000),
    ways=st.lists(st.sampled_from(WAYS), max_size=3),
    size=st.sampled_from(SIZES),
    leaky=st.booleans(),
    loose=st.sampled_from(LOOSE),
    inputs=st.integers(1, 4),
    outputs=st.integers(1, 3),
    count=st.sampled_from([1, 2, 5, 40, 400]),
)
def test_two_layers(build, seed, ways, size, leaky, loose, inputs, outputs, count):
    b = build(seed)
    teacher = b.teacher(inputs, 2 + seed % 2, outputs, members=2, activation="leaky" if leaky else "relu")
    student = teacher
    for way in ways:
        student = getattr(b, way)(student)
    if not leaky and seed % 4 == 0:
        student = turned_over(student, 0)
    student = b.perturbed(student, size)
    epsilon = (0.05, 0.3, 1.0)[seed % 3]
    none_fails(certify_all(teacher, student, b.points(count, inputs), batch=1 + seed % 3, **loose))
    for name in ("free-point", "polynomial-samples", "teacher-aware-samples"):
        none_fails({name: certify(name, teacher, student, b.points(count, inputs), epsilon=epsilon)})


@settings(max_examples=15)
@given(seed=st.integers(0, 100_000), ways=st.lists(st.sampled_from(WAYS), min_size=1, max_size=3))
def test_single_precision(build, seed, ways):
    b = build(seed)
    teacher = b.teacher(members=2)
    student = teacher
    for way in ways:
        student = getattr(b, way)(student)
    networks = [network.to(dtype=torch.float32) for network in (teacher, student)]
    found = certify_all(*networks, b.points(200, 3).float())
    none_fails(found)
    assert all("gradient is zero" not in c.unmet for c in found["alignment"])


@settings(max_examples=30)
@given(
    seed=st.integers(0, 100_000),
    hidden=st.integers(1, 40),
    count=st.sampled_from([2, 5, 15, 40]),
    loose=st.sampled_from(LOOSE),
)
def test_students_that_only_fit_the_samples(build, seed, hidden, count, loose):
    b = build(seed)
    teacher = b.teacher(inputs=1 + seed % 3, hidden=2, outputs=1)
    points = b.points(count, teacher.inputs)
    none_fails(certify_all(teacher, fitted(b, teacher, points, hidden), points, batch=2, **loose))


@settings(max_examples=30)
@given(
    seed=st.integers(0, 100_000),
    ways=st.lists(st.sampled_from(WAYS), max_size=2),
    size=st.sampled_from(SIZES),
    leaky=st.booleans(),
    loose=st.sampled_from(LOOSE),
)
def test_deep_networks(build, seed, ways, size, leaky, loose):
    b = build(seed)
    teacher = b.teacher(1 + seed % 2, 2, 1, activation="leaky" if leaky else "relu", deeper=(3,))
    student = teacher
    for way in ways:
        student = getattr(b, way)(student)
    points = b.points(200, teacher.inputs)
    none_fails(certify_all(teacher, b.perturbed(student, size), points, epsilon=0.3, regions=2000, **loose))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("dimension", [1, 2])
def test_theorems_with_many_samples(build, seed, dimension):
    """Enough samples for Theorems 3, 4 and Lemma 6 to apply, students at distances around what they promise."""
    b = build(seed)
    points = torch.rand(20_000, dimension, generator=b.draw, dtype=torch.float64) * 2 - 1
    teacher = b.teacher(dimension, 1, 1).map(torch.clone)
    teacher.biases[0].mul_(0.3)
    always = torch.zeros(1, dimension, 1, dtype=torch.float64) + 1e-3
    student = b.perturbed(teacher, 10.0 ** -(seed % 6))
    student = Network(
        (torch.cat([student.weights[0], always], 2), torch.cat([student.weights[1], student.weights[1]], 1)),
        (
            torch.cat([student.biases[0], torch.full((1, 1), 0.5)], 1),
            student.biases[1] - 0.5 * student.weights[1][:, 0],
        ),
    )
    verdicts = set()
    for name in ("free-point", "polynomial-samples", "teacher-aware-samples"):
        for epsilon in (0.03, 0.3):
            [certificate] = certify(name, teacher, student, points, epsilon=epsilon)
            verdicts |= set(certificate.verdicts)
    assert "fails" not in verdicts
