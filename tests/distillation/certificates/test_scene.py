"""What statements share is worked out from the sets and the course."""

import pytest
import torch

from tutelage.distillation.certificates.scene import DistillationScene
from tutelage.distillation.learned import learned
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
    with pytest.raises(TutelageError, match="no course"):
        _ = DistillationScene(few).way
