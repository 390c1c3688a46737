r"""Fan-out matrices and the recursive gradient rule (Tian 2020, eqs. 3 and 5, Lemma 1).

Biases are folded in as the seeds do: a network with biases has a constant 1 beside every layer, so V_l has one
column more than the layer has units (the last one, which belongs to that constant).
"""

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks.forward import Activity
from tutelage.networks.network import Network


def fan_out(network: Network, activity: Activity, layer: int) -> Tensor:
    r"""V_l(x), what each unit of layer l adds to the output, at every sample.

    .. math:: V_L = I, \qquad V_{l-1}(x) = V_l(x)\, D_l(x)\, W_l^\top \qquad (Tian 2020, eq. 3)

    layer in 0 .. L -> [S, N, C, n_l], with one more column for the constant where the network has biases.
    """
    if not 0 <= layer <= network.depth:
        raise TutelageError(
            f"there is no layer {layer}: a network of {network.depth} layers has fan-outs 0 .. {network.depth}"
        )
    samples = activity.outputs.shape[1]
    eye = torch.eye(network.outputs, dtype=network.dtype, device=network.device)
    v = eye.expand(network.members, samples, -1, -1)
    constant = v.new_zeros(network.members, samples, network.outputs, 1)
    for upper in range(network.depth, layer, -1):
        if upper < network.depth:
            v = v * activity.gates[upper - 1].unsqueeze(-2)
        if network.biases is not None:
            constant = constant + torch.einsum("sncj,sj->snc", v, network.biases[upper - 1]).unsqueeze(-1)
        v = torch.einsum("sncj,sij->snci", v, network.weights[upper - 1])
    return v if network.biases is None else torch.cat([v, constant], dim=-1)


def alpha(student_fan_out: Tensor, teacher_fan_out: Tensor) -> Tensor:
    r"""A_l = V_l^T V*_l at every sample: [S, N, C, n], [S, N, C, m] -> [S, N, n, m]."""
    return student_fan_out.mT @ teacher_fan_out


def beta(student_fan_out: Tensor) -> Tensor:
    r"""B_l = V_l^T V_l at every sample: [S, N, C, n] -> [S, N, n, n]."""
    return student_fan_out.mT @ student_fan_out


def with_constant(network: Network, features: Tensor) -> Tensor:
    """f_l with the constant 1 beside it where the network has biases: [S, N, n] -> [S, N, n or n+1]."""
    if network.biases is None:
        return features
    return torch.cat([features, torch.ones_like(features[..., :1])], dim=-1)


def recursive_gradient(
    student: Network, student_activity: Activity, teacher: Network, teacher_activity: Activity, layer: int
) -> Tensor:
    r"""The back-propagated negative gradient of layer l by Lemma 1, without back-propagation.

    .. math:: g_l(x) = D_l(x)\,\bigl[A_l(x) f^*_l(x) - B_l(x) f_l(x)\bigr] \qquad (Tian 2020, eq. 5)

    layer in 1 .. L -> [S, N, n_l]; equal to :func:`backward` for any depth and widths.
    """
    if not 1 <= layer <= min(student.depth, teacher.depth):
        raise TutelageError(
            f"layer {layer} has no gradient: layers count from 1 to {min(student.depth, teacher.depth)}"
        )
    v = fan_out(student, student_activity, layer)
    v_teacher = fan_out(teacher, teacher_activity, layer)
    f = with_constant(student, student_activity.features[layer]).unsqueeze(-1)
    f_teacher = with_constant(teacher, teacher_activity.features[layer]).unsqueeze(-1)
    g = (alpha(v, v_teacher) @ f_teacher - beta(v) @ f).squeeze(-1)[..., : student.widths[layer]]
    return g * student_activity.gates[layer - 1] if layer < student.depth else g


def backward(network: Network, activity: Activity, top: Tensor) -> tuple[Tensor, ...]:
    r"""g_l of every layer from g_L by back-propagation, after gating: g_{l-1} = D_{l-1} W_l g_l (Tian 2020, eq. 15).

    top: g_L = f*_L - f_L [S, N, C] -> (g_1, ..., g_L), each [S, N, n_l].
    """
    gradients = [top]
    for layer in range(network.depth - 1, 0, -1):
        gradients.append(torch.bmm(gradients[-1], network.weights[layer].mT) * activity.gates[layer - 1])
    return tuple(reversed(gradients))
