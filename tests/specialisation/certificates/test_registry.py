"""Every theorem is registered, refuses what it cannot speak of, and treats members one by one."""

import json

import pytest
import torch

from tutelage import TutelageError
from tutelage.certificates import certify, certify_all, find, theorems
from tutelage.certificates.registry import subjects
from tutelage.networks import Network, concatenate
from tutelage.papers import PAPERS

NAMES = {
    "lemma-1",
    "zero-gradient",
    "relu-independence",
    "free-point",
    "three-points",
    "alignment",
    "pruning",
    "prunable-part",
    "polynomial-samples",
    "teacher-aware-samples",
    "deep-lowest-layer",
    "deep-alignment",
    "noisy-recovery",
    "norm-growth",
    "teacher-pull",
    "free-boundary-point",
}


def test_all_theorems_are_found_with_source_and_statement():
    assert {name for name, t in theorems().items() if t.subject.name == "specialisation"} == NAMES
    for theorem in theorems().values():
        assert theorem.source.startswith(tuple(paper.label for paper in PAPERS.values()))
        assert theorem.statement.endswith(".")


def test_all_theorems_of_a_depth_are_certified_with_the_options_they_have(build):
    b = build()
    teacher, points = b.teacher(), b.points(60, 3)
    found = certify_all(teacher, b.idle(teacher), points, epsilon=0.2, tolerance=1e-9)
    assert set(found) == {name for name in NAMES if not name.startswith("deep")}
    assert found["polynomial-samples"][0].settings["epsilon"] == 0.2
    assert found["pruning"][0].settings["tolerance"] == 1e-9
    json.dumps([c.plain() for certificates in found.values() for c in certificates], allow_nan=False)
    deep = b.teacher(deeper=(2,))
    assert set(certify_all(deep, deep, points)) == {
        "lemma-1",
        "zero-gradient",
        "relu-independence",
        "deep-alignment",
        "deep-lowest-layer",
        "norm-growth",
        "teacher-pull",
        "free-boundary-point",
    }


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_member_does_not_depend_on_who_stands_beside_it(build, name):
    b = build(3)
    teacher = b.teacher(inputs=2, hidden=2, members=3)
    students = concatenate([b.idle(teacher[0], 2), b.cancelling(teacher[1]), b.idle(b.perturbed(teacher[2], 0.01), 2)])
    points = torch.stack([b.points(80, 2) for _ in range(3)])
    together = certify(name, teacher, students, points)
    assert [c.member for c in together] == [0, 1, 2]
    for s, certificate in enumerate(together):
        [alone] = certify(name, teacher[s], students[s], points[s])
        assert alone.verdicts == certificate.verdicts
        for mine, other in zip(alone.parts, certificate.parts, strict=True):
            for a, c in zip((*mine.conditions, mine.conclusion), (*other.conditions, other.conclusion), strict=True):
                assert (a.name, a.holds) == (c.name, c.holds)
                assert a.value is None or a.value == pytest.approx(c.value, rel=1e-6, abs=1e-9)


def test_members_are_cut_into_several_scenes_without_changing_anything(build, monkeypatch):
    b = build()
    teacher = b.teacher(members=3)
    students, points = b.idle(teacher), b.points(50, 3)
    whole = certify("pruning", teacher, students, points)
    monkeypatch.setattr("tutelage.specialisation.certificates.scene._ELEMENTS", 1)
    assert [c.plain()["verdict"] for c in certify("pruning", teacher, students, points)] == [c.verdict for c in whole]


def test_one_teacher_serves_all_students_and_inputs_give_their_training_points(problem):
    p = problem(train=40)
    found = certify("alignment", p.teacher[0], p.students, p.inputs)
    assert len(found) == 3
    assert found[0].parts[0].about == "teacher unit 0"


def test_float32_networks_are_judged_at_their_own_rounding(build):
    b = build(1)
    teacher = b.teacher(hidden=2).to(dtype=torch.float32)
    student = b.idle(b.permuted(teacher.to(dtype=torch.float64))).to(dtype=torch.float32)
    [certificate] = certify("alignment", teacher, student, b.points(100, 3).float())
    assert certificate.verdict == "holds"
    assert certificate.settings["tolerance"] > 1e-7


def test_what_cannot_be_certified_is_refused_in_a_sentence(build):
    b = build()
    net, x = b.teacher(), b.points(10, 3)

    def changed(**changes):
        return Network(**{"weights": net.weights, "biases": net.biases, **changes})

    deep = b.teacher(deeper=(2,))
    spoilt = changed(weights=(net.weights[0] * torch.nan, net.weights[1]))
    cases = {
        "unknown theorem 'aligment'; did you mean 'alignment'": ("aligment", net, net, x, {}),
        r"'batch' of the theorem 'alignment' \(known: tolerance, alignment\)": (
            "alignment",
            net,
            net,
            x,
            {"batch": 3},
        ),
        "relu or leaky units, but the students have 'abs'": ("pruning", net, changed(activation="abs"), x, {}),
        "same slope, got": ("pruning", net, changed(activation="leaky"), x, {}),
        "layer 1 of the teacher": ("pruning", spoilt, net, x, {}),
        "there are no points": ("pruning", net, net, x[:0], {}),
        "some points are not finite": ("pruning", net, net, x / 0, {}),
        r"points must have shape .*, got \[10, 2\]": ("pruning", net, net, x[:, :2], {}),
        "the teacher has 4 inputs and the students 3": ("pruning", b.teacher(inputs=4), net, x, {}),
        "the teacher has 3 outputs and the students 2": ("pruning", b.teacher(outputs=3), net, x, {}),
        "3 layers and the students 2": ("pruning", b.teacher(deeper=(2,)), net, x, {}),
        "3 teachers and 2 students": ("pruning", b.teacher(members=3), b.teacher(members=2), x, {}),
        "'pruning' needs networks of two layers, got 3": ("pruning", deep, deep, x, {}),
        "epsilon must be above 0": ("polynomial-samples", net, net, x, {"epsilon": 0}),
        "epsilon must be a number of at least 0": ("free-boundary-point", net, net, x, {"epsilon": -1}),
        "epsilon_0": ("polynomial-samples", net, net, x, {"epsilon": 0.2, "epsilon_0": 0.1}),
        "gamma must be a number of at least 0, got -1": ("free-point", net, net, x, {"gamma": -1}),
        "delta must lie between": ("noisy-recovery", net, net, x, {"delta": 0.5}),
        "radius must be above 0": ("noisy-recovery", net, net, x, {"radius": 0.0}),
        "batch must be a whole number of at least 1, got 0": ("zero-gradient", net, net, x, {"batch": 0}),
    }
    for sentence, (name, teacher, student, points, options) in cases.items():
        with pytest.raises(TutelageError, match=sentence):
            certify(name, teacher, student, points, **options)
    with pytest.raises(TutelageError, match="no theorem has an option 'nothing'"):
        certify_all(net, net, x, nothing=1)


def test_options_are_listed_with_their_defaults():
    assert find("free-point").options == {"epsilon": 0.1, "gamma": 2.0}


def test_every_subject_is_registered_with_all_its_theorems():
    count = {name: sum(t.subject.name == name for t in theorems().values()) for name in subjects()}
    assert count == {
        "specialisation": 16,
        "margins": 18,
        "distillation": 24,
        "autoencoders": 6,
        "local": 13,
        "alignment": 15,
    }


@pytest.mark.parametrize("name", ["margins", "distillation", "autoencoders", "local", "alignment"])
def test_the_example_of_a_subject_refutes_no_theorem(name):
    subject = subjects()[name]
    found = certify_all(*subject.example())
    assert found
    for theorem, certificates in found.items():
        assert theorems()[theorem].subject is subject
        for certificate in certificates:
            assert certificate.theorem == theorem
            assert certificate.verdict != "fails", str(certificate)
            json.dumps(certificate.plain(), allow_nan=False)


def test_all_theorems_are_checked_by_one_call():
    arguments = subjects()["alignment"].example()
    found = certify("all", *arguments)
    assert {c.theorem for c in found} == set(certify_all(*arguments))


def test_arguments_of_another_subject_are_an_error(build):
    teacher = build().teacher()
    with pytest.raises(TutelageError, match="'balance' needs a flow of two-layer networks"):
        certify("balance", teacher, teacher, torch.zeros(3, 3))
    with pytest.raises(TutelageError, match="no theorem can be checked on int"):
        certify_all(3)
    with pytest.raises(TutelageError, match="needs a descent"):
        certify("arrival", *subjects()["local"].example())


def test_two_theorems_of_one_name_are_an_error():
    with pytest.raises(TypeError, match="two theorems are called 'alignment'"):
        subjects()["margins"].certificate("alignment", source="nowhere")(lambda scene: [])
