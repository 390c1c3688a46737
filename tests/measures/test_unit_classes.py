"""Every class is met by a unit built for it."""

import torch

from tutelage.measures import CLASSES, Snapshot
from tutelage.measures.registry import find
from tutelage.networks import Network


def built_students(teacher: Network) -> Network:
    """Units: teacher 0, teacher 1, teacher 0 again (other scale), a stranger, never on, always on, no fan-out."""
    w, v, b = teacher.weights[0], teacher.weights[1], teacher.biases[0]
    stranger = torch.tensor([1.0, -1.0, 1.0, -1.0, 1.0, -1.0], dtype=w.dtype).expand(w.shape[0], -1)
    columns = [w[..., 0], w[..., 1], 3 * w[..., 0] + 0.02 * stranger, stranger, w[..., 2], w[..., 2], w[..., 3]]
    biases = [b[:, 0], b[:, 1], 3 * b[:, 0], b[:, 2], b[:, 2] - 1e3, b[:, 2] + 1e3, b[:, 3]]
    fan_out = torch.stack([v[:, 0], v[:, 1], v[:, 0], v[:, 0], v[:, 0], v[:, 0], 0 * v[:, 3]], dim=1)
    return Network(
        (torch.stack(columns, dim=-1), fan_out), (torch.stack(biases, dim=-1), teacher.biases[1]), teacher.activation
    )


def test_each_unit_gets_the_class_it_was_built_for(problem, dtype):
    p = problem(dtype=dtype)
    s = Snapshot(p.teacher, built_students(p.teacher), p.inputs.train, p.inputs.evaluate)
    names = [[CLASSES[c] for c in row] for row in find("unit_class")(s).tolist()]
    wanted = ["specialised", "specialised", "duplicate", "unspecialised", "dead", "linear", "idle"]
    assert names == [wanted] * 3


def test_a_teacher_is_all_specialised(problem):
    p = problem(widths=(6, 4, 5, 3), teacher_bias="median")
    s = Snapshot(p.teacher, p.teacher, p.inputs.train, p.inputs.evaluate)
    assert (find("unit_class")(s) == CLASSES.index("specialised")).all()
