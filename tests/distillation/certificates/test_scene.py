"""What statements share is worked out from the sets and the course."""

import pytest
import torch

from tutelage.certificates import certify, theorems
from tutelage.distillation.certificates.scene import DistillationScene
from tutelage.distillation.deep import balanced_start
from tutelage.distillation.flows import induced_flow
from tutelage.distillation.learners import learned
from tutelage.distillation.tasks import Isotropic
from tutelage.errors import TutelageError


def test_conditions_of_a_course(deep, few):
    scene = DistillationScene(few, deep)
    assert all(condition.holds for s in range(3) for condition in scene.deep(s))
    assert scene.arrived(0, 1e-6)
    assert torch.equal(scene.goal, learned(few))


def test_probes_depend_on_the_member_alone(few):
    three, five = DistillationScene(few), DistillationScene(Isotropic(8).transfer(range(5), 4))
    assert torch.equal(three.probes(4), five.probes(4)[:, :3])


def test_a_way_that_is_not_there(few):
    with pytest.raises(TutelageError, match="needs a course"):
        _ = DistillationScene(few).way


OWN = {name: t for name, t in theorems().items() if t.subject.name == "distillation"}


def test_every_statement_has_a_source_and_words():
    assert len(OWN) >= 21
    for statement in OWN.values():
        assert statement.source.startswith("Phuong 2021, ")
        assert statement.statement.endswith(".")


def test_certificates_are_plain_data(few):
    [first, *_] = certify("strong-convexity", few, probes=4)
    assert first.plain()["verdict"] == "holds"
    assert first.settings == {"probes": 4, "factor": 1.0}
    assert "strong-convexity" in str(first)


def test_what_is_not_there_is_refused(few):
    with pytest.raises(TutelageError, match="did you mean 'risk-bound'"):
        certify("risk-bounds", few)
    with pytest.raises(TutelageError, match="unknown option 'colour'"):
        certify("risk-bound", few, colour=1)
    with pytest.raises(TutelageError, match="needs a flow"):
        certify("linear-rate", few)
    product = induced_flow(few, balanced_start(few, range(3), 2).w, 2, [0.0, 1.0])
    with pytest.raises(TutelageError, match="every layer"):
        certify("balance-kept", product)
