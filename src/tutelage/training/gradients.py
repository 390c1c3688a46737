r"""Gradients of a user instead of back-propagation, and natural gradients.

A gradient is a function of the students and of the samples of a step, registered under a name::

    @gradient
    def perceptron(students, points, labels, step):
        wrong = (networks.outputs(students, points) * labels <= 0).to(points)
        return [-(points.mT @ (wrong * labels)) / points.shape[1]]

``tt.train(..., gradient=perceptron)``, or ``training: {gradient: perceptron}`` in YAML with the file given by
``--with``. Any optimiser or rule then takes the step. The loss of the training is not looked at. It runs in the engine
``stacked``; the others compute the gradient of a loss by themselves, and say so.
"""

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.networks.activations import find
from tutelage.training.own_functions import Called, Function, OwnFunction, OwnFunctions
from tutelage.training.rules import NumberedStep


class OwnGradient(OwnFunction):
    """A registered gradient."""


GRADIENTS = OwnFunctions("gradient", OwnGradient)


def gradient(function: Function) -> Function:
    """Decorator that registers a gradient under the name of its function.

    Parameters
    ----------
    function
        Called as ``function(students, points, labels, step, **options)`` with the students as a
        :class:`~tutelage.networks.Network`, points [S, B, d], labels [S, B, C], and the number of the step, whose
        ``step.normals(arrays)`` are random numbers of each member's seed. It returns one array per array of
        ``students.parameters`` (first the weights, then the biases), of the same shape: what stands for the gradient
        of the mean loss. It changes nothing in place, and members must not touch one another.

    Returns
    -------
    callable
        The same function.

    Examples
    --------
    >>> @gradient
    ... def nothing(students, points, labels, step):
    ...     return [0 * array for array in students.parameters]
    >>> GRADIENTS.pop("nothing").name
    'nothing'
    """
    return GRADIENTS.register(function)


class Gradient(Called):
    """What stands for the gradient: a registered function and its options."""

    functions = GRADIENTS

    def of(self, students: Network, x: Tensor, y: Tensor, step: NumberedStep) -> list[Tensor]:
        """One array per array of the students; an error where the function returns other shapes."""
        made = list(self.function(students, x, y, step, **self.options))
        shapes = [list(a.shape) if isinstance(a, Tensor) else type(a).__name__ for a in made]
        wanted = [list(a.shape) for a in students.parameters]
        if shapes != wanted:
            raise TutelageError(f"the gradient '{self.name}' must return arrays of shape {wanted}, got {shapes}")
        return made


@gradient
def natural(students: Network, points: Tensor, labels: Tensor, step: int, *, damping: float = 1e-3) -> list[Tensor]:
    r"""Natural gradient of the squared error (Amari 1998), for networks of up to some hundred weights.

    .. math:: (F + \epsilon I)^{-1} \nabla J, \qquad F = \frac{1}{B} \sum_b J_b^T J_b

    F is the Fisher information of the outputs with Gaussian noise of variance 1 at the points of the batch, with the
    derivatives J_b of the outputs by all weights. A step costs B C backward passes and one system of equations of as
    many unknowns as a student has weights.

    Parameters
    ----------
    students
        The students.
    points, labels
        Samples of the step, [S, B, d] and [S, B, C].
    step
        Number of the step.
    damping
        epsilon.

    Returns
    -------
    list of Tensor
        One array per array of the students.
    """
    function = find(students.activation).function
    layers = students.depth

    def of_member(arrays: tuple[Tensor, ...], x: Tensor) -> Tensor:
        for layer in range(layers):
            x = x @ arrays[layer]
            x = x + arrays[layers + layer] if students.biases is not None else x
            x = function(x, students.slope) if layer < layers - 1 else x
        return x

    arrays = tuple(students.parameters)
    with torch.enable_grad():
        jacobians = torch.func.vmap(torch.func.vmap(torch.func.jacrev(of_member), (None, 0)))(arrays, points)
        got = torch.func.vmap(of_member)(arrays, points)
    jacobian = torch.cat([j.flatten(3) for j in jacobians], 3).detach()  # [S, B, C, P]
    batch = points.shape[1]
    slope = torch.einsum("sbcp,sbc->sp", jacobian, got.detach() - labels) / batch
    fisher = torch.einsum("sbcp,sbcq->spq", jacobian, jacobian) / batch
    fisher.diagonal(dim1=1, dim2=2).add_(damping)
    flat = torch.linalg.solve(fisher, slope)
    parts = flat.split([a[0].numel() for a in arrays], 1)
    return [part.reshape(a.shape) for part, a in zip(parts, arrays, strict=True)]
