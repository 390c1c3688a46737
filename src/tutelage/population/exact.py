r"""Population loss, gradient and Hessian of two-layer networks under x ~ N(0, I), without samples.

One entrance to the closed forms of this package: networks without biases go through :mod:`.expectations`, those with
biases through :mod:`.biased`.
"""

from typing import overload

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.population import biased, expectations
from tutelage.population.expectations import Units, as_units


def loss(teacher: Network | Units, students: Network | Units) -> Tensor:
    r"""Population loss of every student.

    .. math:: J = \tfrac12 E_{x \sim N(0, I)} \|f^*(x) - f(x)\|^2 \qquad \text{(Tian 2020, eq. 2)}

    Parameters
    ----------
    teacher
        Two-layer networks, one per member or one for all.
    students
        Two-layer networks with the teacher's inputs, outputs and activation; :func:`method` has what is known of it.

    Returns
    -------
    Tensor
        One loss per member, float64 [S]. With biases, losses below about 1e-9 of the outputs' size are lost in
        rounding.

    Examples
    --------
    >>> import tutelage as tt
    >>> teacher = tt.teachers.Levels(inputs=20, hidden=5, outputs=3, polarity=1.0).build(seeds=[0])
    >>> students = tt.students.SmallNormal(width_factor=2).build(teacher, seeds=range(3))
    >>> tt.population.loss(teacher, students).shape
    torch.Size([3])
    """
    # Biases that are all 0 do not change the loss, and the formulas without biases keep losses that those with biases
    # lose in rounding. For derivatives, below, biases of 0 count: they have a gradient.
    if _has_biases(teacher) or _has_biases(students):
        return biased.loss(*_expanded(teacher, students))
    return expectations.loss(as_units(teacher), as_units(students))


@overload
def gradient(teacher: Network | Units, students: Network) -> Network: ...
@overload
def gradient(teacher: Network | Units, students: Units) -> Units: ...
def gradient(teacher, students):
    """Gradient of the population loss with respect to every weight (and bias) of the students.

    Parameters
    ----------
    teacher, students
        As in :func:`loss`.

    Returns
    -------
    Network or Units
        The derivatives, in the form and with the shapes of ``students``, float64.

    Examples
    --------
    >>> from tutelage.population import Units
    >>> teacher = Units(torch.eye(2)[None], torch.ones(1, 2, 1))
    >>> students = Units(0.5 * torch.eye(2)[None], torch.ones(1, 2, 1))
    >>> gradient(teacher, students).w[0]
    tensor([[-0.3296, -0.1250],
            [-0.1250, -0.3296]], dtype=torch.float64)
    """
    if _has_biases(teacher) or _can_learn_biases(students):
        return biased.gradient(*_expanded(teacher, students))
    units = as_units(students)
    dw, dc = expectations.gradient(as_units(teacher), units)
    if isinstance(students, Units):
        return units.moved(dw, dc)
    return Network((dw.mT, dc), None, students.activation, students.slope)


def hessian(teacher: Network | Units, students: Network | Units) -> Tensor:
    """Hessian of the population loss with respect to the first layer of the students.

    Parameters
    ----------
    teacher, students
        As in :func:`loss`.

    Returns
    -------
    Tensor
        Float64 [S, n d, n d], the weights of the n units one after another; with biases [S, n (d + 1), n (d + 1)],
        each unit's bias after its weights.

    Examples
    --------
    >>> from tutelage.population import Units
    >>> teacher = Units(torch.eye(2)[None], torch.ones(1, 2, 1))
    >>> torch.linalg.eigvalsh(hessian(teacher, teacher))[0].round(decimals=4)
    tensor([0.0908, 0.4092, 0.5908, 0.9092], dtype=torch.float64)
    """
    if _has_biases(teacher) or _can_learn_biases(students):
        return biased.hessian(*_expanded(teacher, students))
    return expectations.hessian(as_units(teacher), as_units(students))


def _expanded(teacher: Network | Units, students: Network | Units) -> tuple[Network, Network]:
    """Both as networks in float64 with one teacher per member, for the formulas with biases."""
    if isinstance(teacher, Units) or isinstance(students, Units):
        raise TutelageError("networks with biases cannot be compared with Units, which have none: pass two networks")
    if teacher.members not in (1, students.members):
        raise TutelageError(f"{teacher.members} teachers for {students.members} students: pass one, or one per student")
    return teacher.to(dtype=torch.float64).expand(students.members), students.to(dtype=torch.float64)


def _can_learn_biases(network: Network | Units) -> bool:
    """Whether there are biases, be they 0: their derivatives are not."""
    return isinstance(network, Network) and network.biases is not None


def _has_biases(network: Network | Units) -> bool:
    return isinstance(network, Network) and network.biases is not None and any(bool(b.any()) for b in network.biases)
