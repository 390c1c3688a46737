r"""Fan-out matrices and the recursive gradient rule (Tian 2020, eqs. 3 and 5, Lemma 1).

Biases are folded in as the papers do: a network with biases has a constant 1 beside every layer, so V_l has one
column more than the layer has units (the last one, which belongs to that constant).
"""

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks.forward import Activity
from tutelage.networks.network import Network


def fan_out(network: Network, activity: Activity, layer: int) -> Tensor:
    r"""Fan-out of every unit of a layer: what it adds to the outputs, at every sample.

    .. math:: V_L = I, \qquad V_{l-1}(x) = V_l(x)\, D_l(x)\, W_l^\top \qquad \text{(Tian 2020, eq. 3)}

    D_l holds the derivatives of the activation. For piecewise linear units these are the gates, and the sum of fan-outs
    times activations is the output; for others V_l is the derivative of the outputs with respect to the units.

    Parameters
    ----------
    network
        S members.
    activity
        ``forward(network, points)``.
    layer
        Layer 0 (the input) to L.

    Returns
    -------
    Tensor
        V_l [S, N, C, n_l], with one more column for the constant where the network has biases.

    Examples
    --------
    >>> from tutelage.networks import Network, forward
    >>> network = Network((torch.eye(2)[None], torch.tensor([[[1.0, 2.0], [0.0, 3.0]]])))
    >>> fan_out(network, forward(network, torch.tensor([[[1.0, -1.0]]])), 1)  # [member, sample, output, unit]
    tensor([[[[1., 0.],
              [2., 3.]]]])
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
            v = v * activity.slopes[upper - 1].unsqueeze(-2)
        if network.biases is not None:
            constant = constant + torch.einsum("sncj,sj->snc", v, network.biases[upper - 1]).unsqueeze(-1)
        v = torch.einsum("sncj,sij->snci", v, network.weights[upper - 1])
    return v if network.biases is None else torch.cat([v, constant], dim=-1)


def alpha(student_fan_out: Tensor, teacher_fan_out: Tensor) -> Tensor:
    r"""Product of student and teacher fan-outs, :math:`A_l = V_l^\top V^*_l` (Tian 2020, Lemma 1).

    Parameters
    ----------
    student_fan_out, teacher_fan_out
        V_l [S, N, C, n] and V*_l [S, N, C, m], from :func:`fan_out`.

    Returns
    -------
    Tensor
        A_l at every sample, [S, N, n, m].

    Examples
    --------
    >>> from tutelage.networks import Network, forward
    >>> x = torch.randn(1, 5, 3)
    >>> student, teacher = (Network((torch.randn(1, 3, n), torch.randn(1, n, 2))) for n in (4, 3))
    >>> v, v_teacher = (fan_out(network, forward(network, x), 1) for network in (student, teacher))
    >>> alpha(v, v_teacher).shape  # 5 samples, 4 student units, 3 teacher units
    torch.Size([1, 5, 4, 3])
    """
    return student_fan_out.mT @ teacher_fan_out


def beta(student_fan_out: Tensor) -> Tensor:
    r"""Product of the student's fan-outs, :math:`B_l = V_l^\top V_l` (Tian 2020, Lemma 1).

    Parameters
    ----------
    student_fan_out
        V_l [S, N, C, n], from :func:`fan_out`.

    Returns
    -------
    Tensor
        B_l at every sample, [S, N, n, n].

    Examples
    --------
    >>> from tutelage.networks import Network, forward
    >>> network = Network((torch.eye(2)[None], torch.tensor([[[1.0, 2.0], [0.0, 3.0]]])))
    >>> beta(fan_out(network, forward(network, torch.ones(1, 1, 2)), 1))
    tensor([[[[5., 6.],
              [6., 9.]]]])
    """
    return student_fan_out.mT @ student_fan_out


def with_constant(network: Network, features: Tensor) -> Tensor:
    """f_l with the constant 1 beside it where the network has biases: [S, N, n] -> [S, N, n or n+1]."""
    if network.biases is None:
        return features
    return torch.cat([features, torch.ones_like(features[..., :1])], dim=-1)


def recursive_gradient(
    student: Network, student_activity: Activity, teacher: Network, teacher_activity: Activity, layer: int
) -> Tensor:
    r"""Negative gradient at a layer from fan-outs, without back-propagation (Tian 2020, Lemma 1).

    .. math:: g_l(x) = D_l(x)\,\bigl[A_l(x) f^*_l(x) - B_l(x) f_l(x)\bigr] \qquad \text{(Tian 2020, eq. 5)}

    Parameters
    ----------
    student, teacher
        Networks with S members each and the same outputs.
    student_activity, teacher_activity
        Their activities on the same points.
    layer
        Layer 1 to L.

    Returns
    -------
    Tensor
        g_l [S, N, n_l]; agrees with :func:`backward` up to rounding for any depth and widths.

    Examples
    --------
    >>> from tutelage.networks import Network, forward
    >>> x = torch.randn(1, 5, 3, dtype=torch.float64)
    >>> sizes = (3, 4, 2), (3, 6, 2)
    >>> teacher, student = (Network(tuple(torch.randn(1, *s).double() for s in ((a, b), (b, c)))) for a, b, c in sizes)
    >>> run, wanted = forward(student, x), forward(teacher, x)
    >>> by_lemma = recursive_gradient(student, run, teacher, wanted, layer=1)
    >>> torch.allclose(by_lemma, backward(student, run, wanted.outputs - run.outputs)[0])
    True
    """
    if not 1 <= layer <= min(student.depth, teacher.depth):
        raise TutelageError(
            f"layer {layer} has no gradient: layers count from 1 to {min(student.depth, teacher.depth)}"
        )
    gates = student_activity.gates  # the rule needs gates, and raises an error where there are none
    _ = teacher_activity.gates
    v = fan_out(student, student_activity, layer)
    v_teacher = fan_out(teacher, teacher_activity, layer)
    f = with_constant(student, student_activity.features[layer]).unsqueeze(-1)
    f_teacher = with_constant(teacher, teacher_activity.features[layer]).unsqueeze(-1)
    g = (alpha(v, v_teacher) @ f_teacher - beta(v) @ f).squeeze(-1)[..., : student.widths[layer]]
    return g * gates[layer - 1] if layer < student.depth else g


def backward(network: Network, activity: Activity, top: Tensor) -> tuple[Tensor, ...]:
    """Back-propagate a signal from the top layer to all layers, after gating (Tian 2020, eq. 15).

    .. math:: g_{l-1} = D_{l-1} W_l g_l

    Parameters
    ----------
    network
        S members.
    activity
        ``forward(network, points)``.
    top
        g_L = f*_L - f_L [S, N, C].

    Returns
    -------
    tuple of Tensor
        (g_1, ..., g_L), each [S, N, n_l].

    Examples
    --------
    >>> from tutelage.networks import Network, forward
    >>> network = Network((torch.randn(1, 3, 4), torch.randn(1, 4, 2)))
    >>> signals = backward(network, forward(network, torch.randn(1, 5, 3)), torch.ones(1, 5, 2))
    >>> [tuple(signal.shape) for signal in signals]
    [(1, 5, 4), (1, 5, 2)]
    """
    gradients = [top]
    for layer in range(network.depth - 1, 0, -1):
        gradients.append(torch.bmm(gradients[-1], network.weights[layer].mT) * activity.slopes[layer - 1])
    return tuple(reversed(gradients))
