r"""The neural tangent kernel and how far it has moved since the start: lazy training leaves it where it was.

.. math:: K(x, x') = \sum_c \nabla f_c(x) \cdot \nabla f_c(x') = \sum_l (f_{l-1}(x) \cdot f_{l-1}(x') + 1) \sum_{c, j}
    B_l(x)_{cj} B_l(x')_{cj}, \qquad B_l = \partial f / \partial u_l

(Jacot et al. 2018), the trace over the outputs; the 1 belongs to the biases, where there are any.
"""

import torch
from torch import Tensor

from tutelage.measures.registry import measure_of
from tutelage.measures.snapshot import Snapshot
from tutelage.networks import Network, fan_out, forward

POINTS = 100
"""So many of the evaluation points are used by the measures of the kernel."""


def tangent_kernel(network: Network, points: Tensor) -> Tensor:
    """Neural tangent kernel of every member, the trace over the outputs.

    Parameters
    ----------
    network
        S members.
    points
        Inputs [S, N, d].

    Returns
    -------
    Tensor
        K [S, N, N].

    Examples
    --------
    >>> net = Network((torch.tensor([[[2.0]]]),), activation="linear")
    >>> tangent_kernel(net, torch.tensor([[[1.0], [3.0]]]))
    tensor([[[1., 3.],
             [3., 9.]]])
    """
    activity = forward(network, points)
    kernel = torch.zeros_like(points[:, :, :1] * points[:, :, :1].mT)
    for layer in range(1, network.depth + 1):
        back = fan_out(network, activity, layer)[..., : network.widths[layer]]  # [S, N, C, n]
        if layer < network.depth:
            back = back * activity.slopes[layer - 1].unsqueeze(2)
        back, below = back.flatten(2), activity.features[layer - 1]
        inner = below @ below.mT
        kernel = kernel + (inner if network.biases is None else inner + 1) * (back @ back.mT)
    return kernel


def _alignment(a: Tensor, b: Tensor) -> Tensor:
    """Cosine of two kernels: [S, N, N] twice -> [S]."""
    return (a * b).sum((1, 2)) / (a.norm(dim=(1, 2)) * b.norm(dim=(1, 2))).clamp_min(torch.finfo(a.dtype).tiny)


def _kernels(s: Snapshot) -> tuple[Tensor, Tensor]:
    """The kernel of the students at the first recorded step and now."""
    now = s.once("tangent kernel", lambda: tangent_kernel(s.students, s.evaluate[:, :POINTS]))
    return s.once_for_all("first tangent kernel", lambda: now), now


@measure_of("member")
def kernel_alignment(s: Snapshot) -> Tensor:
    """Cosine of the neural tangent kernel with that at the start; 1 while training is lazy."""
    return _alignment(*_kernels(s))


@measure_of("member")
def kernel_drift(s: Snapshot) -> Tensor:
    r"""Relative distance :math:`\|K - K_0\| / \|K_0\|` of the neural tangent kernel from that at the start."""
    first, now = _kernels(s)
    return (now - first).norm(dim=(1, 2)) / first.norm(dim=(1, 2)).clamp_min(torch.finfo(now.dtype).tiny)


@measure_of("member")
def target_alignment(s: Snapshot) -> Tensor:
    """Cosine of the neural tangent kernel with the kernel y(x).y(x') of the teacher's outputs."""
    y = s.teacher_activity.outputs[:, :POINTS]
    return _alignment(_kernels(s)[1], y @ y.mT)


@measure_of("member")
def weight_drift(s: Snapshot) -> Tensor:
    r"""Relative distance :math:`\|w - w_0\| / \|w_0\|` of all weights from those at the start."""
    now = torch.cat([a.flatten(1) for a in s.students.parameters], 1)
    first = s.once_for_all("first weights", lambda: now)
    return (now - first).norm(dim=1) / first.norm(dim=1).clamp_min(torch.finfo(now.dtype).tiny)


@measure_of("layer")
def participation_ratio(s: Snapshot) -> Tensor:
    r"""Dimension :math:`(\sum_i \lambda_i)^2 / \sum_i \lambda_i^2` of every hidden layer's activations.

    The eigenvalues are those of their covariance over the evaluation points; 0 where all activations are constant.
    """
    out = []
    for f in s.activity.features[1:-1]:
        centred = f - f.mean(1, keepdim=True)
        covariance = centred.mT @ centred
        trace = covariance.diagonal(dim1=1, dim2=2).sum(1)
        out.append(trace.square() / covariance.square().sum((1, 2)).clamp_min(torch.finfo(f.dtype).tiny))
    return torch.stack(out, 1)
