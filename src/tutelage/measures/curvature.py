"""The gradient and the largest eigenvalues of the Hessian of the loss on the training points, members stacked."""

from collections.abc import Callable

import torch
from torch import Tensor

from tutelage import draws
from tutelage.measures.registry import measure_of
from tutelage.measures.snapshot import Snapshot
from tutelage.networks import Network, backward
from tutelage.networks.activations import find

_ITERATIONS = 30  # of Lanczos's method; its largest eigenvalue is then exact to a small fraction of a per cent


@measure_of("member")
def gradient_norm(s: Snapshot) -> Tensor:
    r"""Norm of the gradient :math:`\|\nabla J\|` of the squared error on the training points, over all weights.

    Labels are the teacher's, without noise, whatever loss the students learn with.
    """
    features = s.training_activity.features
    g = backward(s.students, s.training_activity, s.teacher_training_activity.outputs - features[-1])
    samples = features[0].shape[1]
    squares = [(f.mT @ e / samples).square().sum((1, 2)) for f, e in zip(features[:-1], g, strict=True)]
    if s.students.biases is not None:
        squares += [e.mean(1).square().sum(1) for e in g]
    return torch.stack(squares).sum(0).sqrt()


@measure_of("member")
def sharpness(s: Snapshot) -> Tensor:
    """Largest eigenvalue of the Hessian of the squared error on the training points, by Lanczos's method.

    Labels are the teacher's, without noise, whatever loss the students learn with.
    """
    top = hessian_eigenvalues(s.students, s.train, s.teacher_training_activity.outputs, count=1)
    return top[:, 0].to(s.train.dtype)


def hessian_eigenvalues(students: Network, points: Tensor, labels: Tensor, count: int = 1) -> Tensor:
    r"""Largest eigenvalues of the Hessian of :math:`J = \tfrac12 E\|y - f(x)\|^2` with respect to all weights.

    Lanczos's method with full reorthogonalisation, all members side by side; Hessian-vector products are computed by
    automatic differentiation, so the Hessian is never formed.

    Parameters
    ----------
    students
        S networks.
    points, labels
        Samples [S, N, d] with labels [S, N, C].
    count
        How many eigenvalues.

    Returns
    -------
    Tensor
        Eigenvalues in falling order, float64 [S, count].

    Examples
    --------
    >>> net = Network((torch.tensor([[[2.0]]]),), activation="linear")
    >>> hessian_eigenvalues(net, torch.tensor([[[3.0]]]), torch.zeros(1, 1, 1))  # J = w^2 x^2 / 2
    tensor([[9.]], dtype=torch.float64)
    """
    students = students.to(dtype=torch.float64)
    product = _hessian_product(students, points.detach().double(), labels.detach().double())
    size = sum(a[0].numel() for a in students.parameters)
    first = draws.normals(draws.keys([0], "lanczos", students.device), size).expand(students.members, -1)
    return _lanczos(product, first, min(size, max(_ITERATIONS, 4 * count)))[:, :count]


def _hessian_product(students: Network, points: Tensor, labels: Tensor) -> Callable[[Tensor], Tensor]:
    """v -> H v of every member, [S, P] -> [S, P]; one graph of the gradient serves all products."""
    with torch.enable_grad():
        arrays = [a.detach().clone().requires_grad_() for a in students.parameters]
        weights, biases = arrays[: students.depth], arrays[students.depth :]
        f = points
        for layer, w in enumerate(weights):
            f = torch.bmm(f, w) + (biases[layer].unsqueeze(1) if biases else 0)
            if layer < students.depth - 1:
                f = find(students.activation).function(f, students.slope)
        loss = (labels - f).square().sum() / (2 * points.shape[1])
        gradients = torch.autograd.grad(loss, arrays, create_graph=True)
        flat = torch.cat([g.flatten(1) for g in gradients], 1)

    def product(v: Tensor) -> Tensor:
        if not flat.requires_grad:
            return torch.zeros_like(v)
        with torch.enable_grad():
            parts = torch.autograd.grad((flat * v).sum(), arrays, retain_graph=True, materialize_grads=True)
        return torch.cat([p.flatten(1) for p in parts], 1)

    return product


def _lanczos(product: Callable[[Tensor], Tensor], start: Tensor, steps: int) -> Tensor:
    """Ritz values of every member in falling order, [S, steps]; a Krylov space that ends early is filled with zeros."""
    q = start / start.norm(dim=1, keepdim=True)
    basis, diagonal, beside = [q], [], []
    for step in range(steps):
        v = product(q)
        diagonal.append((v * q).sum(1))
        if step == steps - 1:
            break
        for _ in range(2):  # twice is enough
            for earlier in basis:
                v = v - (v * earlier).sum(1, keepdim=True) * earlier
        length = v.norm(dim=1)
        alive = length > 1e-10 * torch.stack(diagonal).abs().amax(0).clamp_min(1e-300)
        length = torch.where(alive, length, 0)
        beside.append(length)
        q = torch.where(alive[:, None], v / torch.where(alive, length, 1)[:, None], 0)
        basis.append(q)
    matrix = torch.diag_embed(torch.stack(diagonal, 1))
    if beside:
        off = torch.stack(beside, 1)
        matrix = matrix + torch.diag_embed(off, 1) + torch.diag_embed(off, -1)
    return torch.linalg.eigvalsh(matrix).flip(1)
