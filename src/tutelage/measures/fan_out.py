"""How strongly a unit acts on the output: fan-out norms of students, strengths of teacher units."""

import torch
from torch import Tensor

from tutelage.measures.registry import measure_of
from tutelage.measures.snapshot import Snapshot
from tutelage.networks import Activity, Network
from tutelage.networks import fan_out as fan_out_matrices

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
