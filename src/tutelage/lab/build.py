"""From a spec to its teachers, students and inputs: three pure functions of it, member by member."""

import threading
from functools import lru_cache

import torch

from tutelage.lab.spec import Spec
from tutelage.networks import Network
from tutelage.training.inputs import Inputs, Law

_one_at_a_time = threading.Lock()


def build(spec: Spec, device: torch.device | str = "cpu") -> tuple[Network, Network, Inputs]:
    """Teachers, students and inputs of a spec, on a device."""
    dtype = getattr(torch, spec.precision)
    with _one_at_a_time:
        teacher = spec.teacher.build(spec.seeds, spec.inputs, dtype, device)
        students = spec.student.build(teacher, spec.seeds)
        inputs = _inputs(spec, teacher)
        if teacher.device.type == "cuda":
            torch.cuda.current_stream().synchronize()  # what is kept here may be read on another stream
    return teacher, students, inputs


def _inputs(spec: Spec, teacher: Network) -> Inputs:
    kind = type(spec.inputs)
    if kind.training_points is Law.training_points and kind.evaluation_points is Law.evaluation_points:
        return _same_inputs(spec.inputs, spec.seeds, teacher.inputs, teacher.dtype, str(teacher.device))
    return spec.inputs.draw(teacher, spec.seeds)


@lru_cache(maxsize=1)
def _same_inputs(law: Law, seeds: tuple[int, ...], dimension: int, dtype: torch.dtype, device: str) -> Inputs:
    """Inputs that do not depend on the teacher, kept for the next pack of the same seeds."""
    shape_only = Network((torch.zeros(len(seeds), dimension, 1, dtype=dtype, device=device),))
    return law.draw(shape_only, seeds)
