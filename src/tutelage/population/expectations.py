r"""Loss, gradient and Hessian of two-layer networks under Gaussian inputs, exactly: no samples, no sampling error.

A teacher f*(x) = sum_j c*_j sigma(w*_j.x) and a student f(x) = sum_k c_k sigma(w_k.x), x ~ N(0, I), have the loss

.. math:: J = \tfrac12 E \|f^*(x) - f(x)\|^2 = \tfrac12 \sum_{p,q} (c_p \cdot c_q)\, k(w_p, w_q)

over the units p, q of both, the teacher's with -c (Zhu et al. 2021, section 2; Tian 2020, eq. 2). For inputs of another
deviation scale the first layers. What is done here is done for all members at once.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from tutelage.arrays import doubles
from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.networks.activations import SLOPE, check_slope, find, named
from tutelage.population.kernels import kernel, kernel_hessians, odd_and_even, weighted_gradient
from tutelage.printing import printed
from tutelage.threads import loop_threads, spread

_WORTHWHILE = 5_000  # pairs of units worth a thread of their own


@printed
@dataclass(frozen=True, eq=False)
class Units:
    """Hidden units of S two-layer networks without biases, one row per unit.

    Parameters
    ----------
    w
        Directions [S, n, d], a tensor or an array, stored in float64.
    c
        Fan-outs, the weights from each unit to the C outputs [S, n, C], stored in float64.
    activation
        Name of an activation. Expectations are in closed form for "relu", "leaky", "abs", "linear", "erf" and
        "squared-relu", and by quadrature for smooth ones.
    slope
        Slope of "leaky" below 0.

    Examples
    --------
    >>> teacher = Units(torch.eye(2, 10)[None], torch.ones(1, 2, 1))  # two orthogonal units in ten dimensions
    """

    w: Tensor
    c: Tensor
    activation: str = "relu"
    slope: float = SLOPE

    def __post_init__(self) -> None:
        object.__setattr__(self, "activation", named(self.activation))
        find(self.activation)
        for name, what in (("w", "directions"), ("c", "fan-outs")):
            object.__setattr__(self, name, doubles(getattr(self, name), f"{what} {name}"))
        if not math.isfinite(self.slope):
            raise TutelageError(f"slope must be a finite number, got {self.slope}")
        check_slope(self.activation, self.slope)
        if self.w.ndim != 3 or self.c.ndim != 3 or self.w.shape[:2] != self.c.shape[:2]:
            raise TutelageError(
                f"units have directions {list(self.w.shape)} and fan-outs {list(self.c.shape)}: "
                "wanted [S, n, d] and [S, n, C]"
            )
        if not (self.w.isfinite().all() and self.c.isfinite().all()):
            raise TutelageError("units hold numbers that are not finite: leave out diverged members")

    def moved(self, w: Tensor, c: Tensor | None = None) -> "Units":
        """The same units elsewhere."""
        return replace(self, w=w, c=self.c if c is None else c)


def units_of(network: Network) -> Units:
    """The hidden units of two-layer networks, one row per unit.

    Parameters
    ----------
    network
        Two-layer networks without biases, or with biases that are all 0.

    Returns
    -------
    Units
        Directions [S, n, d] and fan-outs [S, n, C] in float64.

    Raises
    ------
    TutelageError
        If the network has another depth or biases that differ from 0.
    """
    if not isinstance(network, Network):
        raise TutelageError(
            f"expected a network, got {type(network).__name__}: turn a torch module into one with networks.from_module"
        )
    if network.depth != 2:
        raise TutelageError(f"exact losses are known for two layers, and the network has {network.depth}")
    if network.biases is not None and any(bool((b != 0).any()) for b in network.biases):
        raise TutelageError("the network has biases that differ from 0: this function needs a network without biases")
    return Units(network.weights[0].mT, network.weights[1], network.activation, network.slope)


def as_units(network: Network | Units) -> Units:
    """Units as they are, networks by :func:`units_of`."""
    return network if isinstance(network, Units) else units_of(network)


def loss(teacher: Units, students: Units) -> Tensor:
    """J of every member: [S]."""
    check_fit(teacher, students)
    # Three terms of the size of the outputs whose sum is the loss. Where the student is nearly the teacher they cancel:
    # the absolute error stays about 1e-16 of the outputs' size, the relative one of a tiny loss does not.
    between_students = _half_sum(students, students)
    other = _half_sum(teacher, teacher)
    return between_students + other - 2 * _half_sum(students, teacher)


def gradient(teacher: Units, students: Units) -> tuple[Tensor, Tensor]:
    """dJ/dw [S, n, d] and dJ/dc [S, n, C] of the students."""
    check_fit(teacher, students)
    if _looped(teacher, students):
        return _loops(teacher, students, second_layer=True)
    w_both, c_both = _both(teacher, students)
    kind = students.activation, students.slope
    dw = weighted_gradient(students.c @ c_both.mT, students.w, w_both, *kind)
    return dw, kernel(students.w, w_both, *kind) @ c_both


def first_layer_gradient(teacher: Units, students: Units) -> Tensor:
    """Gradient of the population loss with respect to the first layer alone.

    Parameters
    ----------
    teacher, students
        Units; one teacher per member or one for all.

    Returns
    -------
    Tensor
        dJ/dw, float64 [S, n, d].

    Examples
    --------
    >>> teacher = Units(torch.eye(2)[None], torch.ones(1, 2, 1))
    >>> first_layer_gradient(teacher, teacher).abs().max() < 1e-12
    tensor(True)
    """
    check_fit(teacher, students)
    if _looped(teacher, students):
        return _loops(teacher, students, second_layer=False)[0]
    w_both, c_both = _both(teacher, students)
    return weighted_gradient(students.c @ c_both.mT, students.w, w_both, students.activation, students.slope)


def _both(teacher: Units, students: Units) -> tuple[Tensor, Tensor]:
    """Units of both in one row, the teacher's with -c."""
    members = students.w.shape[0]
    w_both = torch.cat([students.w, teacher.w.expand(members, -1, -1)], dim=1)
    return w_both, torch.cat([students.c, -teacher.c.expand(members, -1, -1)], dim=1)


def _looped(teacher: Units, students: Units) -> bool:
    """Whether the compiled loop can do it; it is several times faster than arrays."""
    arrays = (teacher.w, teacher.c, students.w, students.c)
    plain = all(a.device.type == "cpu" and not a.requires_grad for a in arrays)
    return students.activation in ("relu", "leaky", "abs", "linear") and plain and 0 not in students.w.shape


def _loops(teacher: Units, students: Units, second_layer: bool) -> tuple[Tensor, Tensor]:
    from tutelage.population._pair_loops import gradients  # loading the compiler takes a third of a second

    odd, even = (part**2 for part in odd_and_even(students.activation, students.slope))
    w, c, taught_w, taught_c = (a.contiguous().numpy() for a in (students.w, students.c, teacher.w, teacher.c))
    dw, dc = np.empty_like(w), np.empty_like(c) if second_layer else np.empty((0, 0, 0))
    arguments = (w, c, taught_w, taught_c, odd, even, dw, dc)
    members = len(w)
    threads = min(loop_threads(), -(-members * w.shape[1] ** 2 // _WORTHWHILE))
    spread(gradients, members, *arguments, threads=threads)
    return torch.from_numpy(dw), torch.from_numpy(dc)


def hessian(teacher: Units, students: Units) -> Tensor:
    """d2J/dw dw of the first layer, the units' coordinates one after another: [S, n d, n d]."""
    check_fit(teacher, students)
    kind = students.activation, students.slope
    members, n, d = students.w.shape
    inner = students.c @ students.c.mT
    own_ww, own_wv = kernel_hessians(students.w, students.w, *kind)
    taught_ww, _ = kernel_hessians(students.w, teacher.w.expand(members, -1, -1), *kind)
    taught = students.c @ teacher.c.mT
    # The gradient is sum_q (c_p.c_q) d1 k(w_p, w_q), with d1 the derivative by the first argument, because the 1/2 of J
    # is taken up by every pair that occurs twice. Its derivative by w_q is the mixed one for every q, and by w_p itself
    # there are also the second derivatives of all pairs, teachers with a minus: these go to the diagonal blocks.
    blocks = inner[..., None, None] * own_wv
    diagonal = (inner[..., None, None] * own_ww).sum(2) - (taught[..., None, None] * taught_ww).sum(2)
    blocks[:, torch.arange(n), torch.arange(n)] += diagonal
    return blocks.permute(0, 1, 3, 2, 4).reshape(members, n * d, n * d)


def _half_sum(x: Units, y: Units) -> Tensor:
    """1/2 sum_pq (c_p.c_q) k(w_p, w_q): [S]."""
    return ((x.c @ y.c.mT) * kernel(x.w, y.w, x.activation, x.slope)).sum((1, 2)) / 2


def check_fit(teacher: Units, students: Units) -> None:
    """Raise an error for units of a teacher and of students that cannot be compared."""
    for what, place in (("input", "w"), ("output", "c")):
        a, b = (getattr(units, place).shape[2] for units in (teacher, students))
        if a != b:
            raise TutelageError(f"the teacher has {a} {what}s and the students have {b}: give both the same number")
    if teacher.w.shape[0] not in (1, students.w.shape[0]):
        raise TutelageError(
            f"there are {teacher.w.shape[0]} teachers for {students.w.shape[0]} members: give one, or one per member"
        )
    kinds = [(u.activation, u.slope if u.activation == "leaky" else None) for u in (teacher, students)]
    if kinds[0] != kinds[1]:
        raise TutelageError(
            f"teacher and students have different activations ({kinds[0][0]} and {kinds[1][0]}): give one to both"
        )
