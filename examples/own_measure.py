"""
Your own measure and teacher
============================

A measure and a teacher of your own, without touching the package.

On the command line: tutelage run SPEC.yaml --with examples/own_measure.py, where SPEC.yaml may then say
``teacher: {kind: orthogonal, ...}`` and ``measures: [evaluate_loss, relative_loss]``. Run as a script, it uses itself.
"""

from typing import Literal

import torch
from pydantic import PositiveInt

import tutelage as tt
from tutelage import draws
from tutelage.measures import Snapshot, half_squares, measure_of
from tutelage.networks import Network


@measure_of("member")
def relative_loss(s: Snapshot) -> torch.Tensor:
    """The loss over that of the best constant: 1 has learnt nothing, 0 everything. [S]"""
    wanted = s.teacher_activity.outputs
    return half_squares(wanted, s.activity.outputs) / half_squares(wanted, wanted.mean(1, keepdim=True))


class Orthogonal(tt.teachers.Teacher):
    """Two-layer teachers whose hidden units have orthogonal weights of length 1, without biases."""

    kind: Literal["orthogonal"] = "orthogonal"
    inputs: PositiveInt
    hidden: PositiveInt
    outputs: PositiveInt

    def widths(self):
        return self.inputs, self.hidden, self.outputs

    def make(self, seeds, distribution=None, dtype=torch.float32, device="cpu"):
        if self.hidden > self.inputs:
            raise tt.TutelageError(f"{self.hidden} orthogonal units need as many inputs, not {self.inputs}")

        def normal(stream, rows, columns):
            return draws.normals(draws.keys(seeds, stream, device), rows * columns).view(-1, rows, columns)

        below, _ = torch.linalg.qr(normal("orthogonal-1", self.inputs, self.hidden))
        above = normal("orthogonal-2", self.hidden, self.outputs) / self.hidden**0.5
        return Network((below, above)).to(dtype=dtype)


if __name__ == "__main__":
    seeds = range(4)
    teacher = Orthogonal(inputs=20, hidden=5, outputs=8).build(seeds)
    inputs = tt.inputs.Gaussian(train=2_000, evaluate=1_000).draw(teacher, seeds)
    students = tt.students.SmallNormal(width_factor=3, scale=0.1).build(teacher, seeds)
    run = tt.train(teacher, students, inputs, steps=2_000, learning_rate=0.05, record=range(0, 2_001, 500))
    report = tt.measure(run, ["evaluate_loss", "relative_loss"])
    for step, loss, share in zip(report.steps, report["evaluate_loss"], report["relative_loss"], strict=True):
        print(f"step {step:4d}   loss {loss.mean():.4f}   of what a constant leaves {share.mean():.4f}")
