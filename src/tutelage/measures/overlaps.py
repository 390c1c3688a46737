"""Overlaps of the first layers and the exact generalisation error: what order-parameter theory speaks of."""

from dataclasses import replace

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.measures.registry import measure_of
from tutelage.measures.snapshot import Snapshot
from tutelage.networks import Activity, Network
from tutelage.networks import fan_out as fan_out_matrices
from tutelage.population import loss
from tutelage.training.inputs import Gaussian


@measure_of("pair", two_layers=True)
def overlap(s: Snapshot) -> Tensor:
    r"""R: :math:`w^*_j \cdot w_k` of every teacher unit j with every student unit k (Saad and Solla 1995)."""
    return s.teacher_network.weights[0].mT @ s.students.weights[0]


@measure_of("unit", two_layers=True)
def self_overlap(s: Snapshot) -> Tensor:
    r"""The diagonal of Q: :math:`w_k \cdot w_k` of every student unit."""
    return s.students.weights[0].square().sum(1)


@measure_of("teacher", two_layers=True)
def teacher_overlap(s: Snapshot) -> Tensor:
    r"""The diagonal of T: :math:`w^*_j \cdot w^*_j` of every teacher unit."""
    return s.teacher_network.weights[0].square().sum(1)


@measure_of("unit_pair", two_layers=True)
def student_overlaps(s: Snapshot) -> Tensor:
    r"""Q: :math:`w_k \cdot w_l` of every pair of student units."""
    return s.students.weights[0].mT @ s.students.weights[0]


@measure_of("teacher_pair", two_layers=True)
def teacher_overlaps(s: Snapshot) -> Tensor:
    r"""T: :math:`w^*_j \cdot w^*_i` of every pair of teacher units, the same at every step."""
    return s.teacher_network.weights[0].mT @ s.teacher_network.weights[0]


@measure_of("member", two_layers=True, of_teacher_units=True)
def population_loss(s: Snapshot) -> Tensor:
    """J = 1/2 E|f* - f|^2 over all Gaussian inputs, exactly: the generalisation error without sampling error."""
    if not isinstance(s.distribution, Gaussian):
        kind = "unknown" if s.distribution is None else f"'{s.distribution.kind}'"
        raise TutelageError(f"population_loss is known for inputs of the kind 'gaussian', and these are {kind}")
    networks = [_scaled(network, s.distribution.std) for network in (s.teacher_network, s.students)]
    return loss(*networks).to(s.evaluate.device, s.evaluate.dtype)


def _scaled(network: Network, std: float) -> Network:
    """The network whose outputs on N(0, I) are those of the given one on N(0, std^2 I), in float64."""
    network = network.to("cpu", torch.float64)
    return replace(network, weights=(network.weights[0] * std, *network.weights[1:]))


_ELEMENTS = 1 << 22  # entries of V(x) formed at a time


def fan_out_norms(network: Network, activity: Activity) -> Tensor:
    r"""sqrt(E_x beta_kk(x)) of every hidden unit: [S, sum n_l]; for two layers simply :math:`\|v_k\|`.

    V_l(x) differs from sample to sample in deep networks (Tian 2020, eq. 3); it is formed a few samples at a time.
    """
    layers = [network.weights[-1].norm(dim=2)]
    samples = activity.outputs.shape[1]
    for layer in range(network.depth - 2, 0, -1):
        total = torch.zeros_like(activity.features[layer][:, 0])
        size = max(1, _ELEMENTS // (network.members * network.outputs * max(network.widths[layer:])))
        for begin in range(0, samples, size):
            part = slice(begin, begin + size)
            v = fan_out_matrices(network, activity.samples(part), layer)[..., : network.widths[layer]]
            total += v.square().sum((1, 2))
        layers.append((total / samples).sqrt())
    return torch.cat(layers[::-1], dim=1)


@measure_of("unit")
def fan_out(s: Snapshot) -> Tensor:
    r"""Fan-out norm :math:`\|v_k\|` of every student unit, sqrt(E beta_kk) in deep networks (Tian 2019, Fig. 9)."""
    if s.students.depth == 2:  # V_1 is the same at every sample, and no activity is needed
        return s.students.weights[-1].norm(dim=2)
    return fan_out_norms(s.students, s.activity)


@measure_of("teacher")
def strength(s: Snapshot) -> Tensor:
    r"""Fan-out norm :math:`\|v^*_j\|` of every teacher unit: strong units are learned first."""
    if s.teacher.depth == 2:
        return s.teacher_network.weights[-1].norm(dim=2)
    return fan_out_norms(s.teacher_network, s.teacher_activity)


def observations(teacher: Tensor, students: Tensor) -> Tensor:
    """min(#{f*_j > 0, f_k > 0}, #{f*_j <= 0, f_k > 0}): samples on the rarer side of boundary j where k is active.

    activations [S, N, m], [S, N, n] -> float [S, m, n]; 0 means that k cannot tell j from a linear unit.

    >>> f_teacher = torch.tensor([[[1.0], [0.0], [2.0]]])
    >>> observations(f_teacher, torch.tensor([[[1.0, 0.0], [1.0, 0.0], [3.0, 1.0]]]))
    tensor([[[1., 0.]]])
    """
    active = (students > 0).to(teacher.dtype)
    above = torch.bmm((teacher > 0).to(teacher.dtype).mT, active)
    return torch.minimum(above, active.sum(1, keepdim=True) - above)


def _by_layer(s: Snapshot) -> list[Tensor]:
    teacher, students = s.teacher_training_activity.features, s.training_activity.features
    s.need_like_layers("observers")
    return s.once("observations", lambda: [observations(teacher[i], students[i]) for i in s.hidden_layers])


@measure_of("pair")
def observers(s: Snapshot) -> Tensor:
    """How many training samples let student unit k observe the boundary of teacher unit j."""
    layers = _by_layer(s)
    return layers[0] if len(layers) == 1 else torch.cat([o.flatten(1) for o in layers], dim=1)


@measure_of("teacher")
def observed(s: Snapshot) -> Tensor:
    """max_k of ``observers``: teacher unit j is observed when this is above 0."""
    return torch.cat([o.amax(2) for o in _by_layer(s)], dim=1)
