r"""Order parameters: the overlaps of students and their teachers.

.. math:: Q_{kl} = w_k \cdot w_l, \qquad R_{nk} = w^*_n \cdot w_k, \qquad T_{nm} = w^*_n \cdot w^*_m

The teacher comes first here as in the measures ``overlap``, ``student_overlaps`` and ``teacher_overlaps``.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.population import biased
from tutelage.population.expectations import Units, as_units, check_fit, loss
from tutelage.printing import printed
from tutelage.training.trajectory import Trajectory

_ROUNDING = 1e-13
"""Eigenvalues of a covariance below this share of the largest are 0."""


Biases = tuple[Tensor, Tensor]
"""Of the units [..., n] and of the outputs [..., C]."""


@printed
@dataclass(frozen=True, eq=False)
class Overlaps:
    """Order parameters of S students with K units and their teachers with M units.

    Attributes
    ----------
    q, r, t
        Overlaps among students [S, K, K], of teachers with students [S, M, K], among teachers [S, M, M].
    c, taught
        Fan-outs of the students [S, K, C] and of the teachers [S, M, C].
    activation, slope
        Of all units.
    biases, taught_biases
        Biases of the students' units and outputs ([S, K], [S, C]), and of the teachers' ([S, M], [S, C]); None without.
    """

    q: Tensor
    r: Tensor
    t: Tensor
    c: Tensor
    taught: Tensor
    activation: str = "relu"
    slope: float = 0.01
    biases: Biases | None = None
    taught_biases: Biases | None = None

    @property
    def covariance(self) -> Tensor:
        """Of all pre-activations, students first: [S, K + M, K + M]."""
        return torch.cat([torch.cat([self.q, self.r.mT], 2), torch.cat([self.r, self.t], 2)], 1)

    @property
    def means(self) -> Tensor:
        """Of all pre-activations, students first: [S, K + M]."""
        if self.biases is None or self.taught_biases is None:
            return self.q.new_zeros(self.covariance.shape[:2])
        return torch.cat([self.biases[0], self.taught_biases[0]], 1)

    @property
    def offset(self) -> Tensor:
        """Output biases of the students less those of the teachers: [S, C]."""
        if self.biases is None or self.taught_biases is None:
            return self.c.new_zeros(len(self.c), self.c.shape[2])
        return self.biases[1] - self.taught_biases[1]

    def networks(self) -> tuple[Network, Network]:
        """The teacher and students of :meth:`vectors`, with their biases."""
        teacher, students = self.vectors()
        kind = self.activation, self.slope
        return (
            Network((teacher.w.mT, teacher.c), self.taught_biases, *kind),
            Network((students.w.mT, students.c), self.biases, *kind),
        )

    def vectors(self) -> tuple[Units, Units]:
        """A teacher and students with these overlaps, in K + M dimensions, from the root of the covariance.

        What rounding has made of an eigenvalue below 0 is 0.
        """
        # The equations need the vectors' products alone, so any vectors with these products do, and K + M dimensions
        # are enough. The symmetric root exists where Cholesky's does not: students that coincide with one another or
        # with a teacher.
        root = self.root()
        students, teacher = root.split([self.q.shape[1], self.t.shape[1]], 1)
        kind = self.activation, self.slope
        return Units(teacher, self.taught, *kind), Units(students, self.c, *kind)

    def root(self, power: float = 0.5) -> Tensor:
        """The symmetric root of the covariance, or for -0.5 its pseudo-inverse: [S, K + M, K + M]."""
        values, basis = torch.linalg.eigh(self.covariance)
        # Two units that coincide leave an eigenvalue of rounding, in whose direction no gradient points either.
        rounding = _ROUNDING * values[:, -1:] if power < 0 else 0.0
        powers = torch.where(values > rounding, values.clamp_min(torch.finfo(values.dtype).tiny) ** power, 0.0)
        return basis * powers.unsqueeze(1) @ basis.mT

    def loss(self) -> Tensor:
        """J of every member, without the noise of the labels: [S]."""
        return loss(*self.vectors()) if self.biases is None else biased.loss(*self.networks())


def overlaps(teacher: Network | Units, students: Network | Units) -> Overlaps:
    """Overlaps Q, R, T of students and their teachers.

    Parameters
    ----------
    teacher, students
        Two-layer networks; one teacher per member or one for all.

    Returns
    -------
    Overlaps
        Q [S, K, K], R [S, M, K], T [S, M, M], the fan-outs, and the biases where the students have some.

    Examples
    --------
    >>> w = torch.eye(3, dtype=torch.float64)[None]
    >>> found = overlaps(Units(w[:, :1], torch.ones(1, 1, 1)), Units(w[:, :2], torch.ones(1, 2, 1)))
    >>> found.r.squeeze().tolist(), found.loss().item()  # the second unit is one too many
    ([1.0, 0.0], 0.25)
    """
    return overlaps_of(*apart(teacher, students))


def apart(teacher: Network | Units, students: Network | Units) -> tuple[Units, Units, Biases | None, Biases | None]:
    """The units of teacher and students, and the biases of teacher and students, None where students have none."""
    if not isinstance(students, Network) or students.biases is None:
        if isinstance(teacher, Network) and teacher.biases is not None and any(bool(b.any()) for b in teacher.biases):
            raise TutelageError("the teacher has biases and the students have none: build the students with biases")
        return as_units(teacher), as_units(students), None, None
    # Biases of the students that are 0 count: they learn.
    taught, learning = _bare(teacher), _bare(students)
    zeros = taught.w.new_zeros(taught.w.shape[:2]), taught.c.new_zeros(len(taught.c), taught.c.shape[2])
    hidden, top = zeros if isinstance(teacher, Units) or teacher.biases is None else teacher.biases
    own_hidden, own_top = students.biases
    return taught, learning, (hidden.double(), top.double()), (own_hidden.double(), own_top.double())


def _bare(network: Network | Units) -> Units:
    """The units without their biases."""
    if not isinstance(network, Network):
        return as_units(network)
    return as_units(Network(network.weights, None, network.activation, network.slope))


def overlaps_of(
    teacher: Units, students: Units, taught: Biases | None = None, biases: Biases | None = None
) -> Overlaps:
    """Overlaps of units, and what biases teachers and students have."""
    check_fit(teacher, students)
    if bool((students.w.norm(dim=2) == 0).any()):
        raise TutelageError("a student unit is 0, where its slope is not defined: give every unit some length")
    members = len(students.w)
    if taught is not None:
        taught = taught[0].expand(members, -1), taught[1].expand(members, -1)
    w, c = (a.expand(members, -1, -1) for a in (teacher.w, teacher.c))
    q, r, t = students.w @ students.w.mT, w @ students.w.mT, w @ w.mT
    found = Overlaps(q, r, t, students.c, c, students.activation, students.slope, biases, taught)
    found.loss()  # raises an error where the expectations of the activation are not known
    return found


@printed
@dataclass(frozen=True, eq=False)
class OverlapTrajectory:
    """Overlaps during online SGD.

    Attributes
    ----------
    start
        Overlaps at the beginning.
    times
        T recorded times, in steps / d.
    q, r, c
        Overlaps among students [T, S, K, K], of teachers with students [T, S, M, K], and fan-outs [T, S, K, C].
    error
        Error of the expectations behind the equations, relative to the largest of them: 0 for closed forms, that of a
        sum of erfs, or, for quadrature, three times the largest difference from a shorter rule at the recorded times.
    biases
        Biases of the students' units and outputs ([T, S, K], [T, S, C]); None without.
    """

    start: Overlaps
    times: tuple[float, ...]
    q: Tensor
    r: Tensor
    c: Tensor
    error: float = 0.0
    biases: Biases | None = None

    def at(self, place: int) -> Overlaps:
        """The overlaps at one of the times."""
        biases = None if self.biases is None else (self.biases[0][place], self.biases[1][place])
        return replace(self.start, q=self.q[place], r=self.r[place], c=self.c[place], biases=biases)

    def losses(self) -> Tensor:
        """J at every time: [T, S]."""
        return torch.stack([self.at(i).loss() for i in range(len(self.times))])


def recorded_overlaps(trajectory: Trajectory) -> OverlapTrajectory:
    """Overlaps of students at the recorded steps of a training, to be compared with :func:`order_parameters`.

    Parameters
    ----------
    trajectory
        Result of :func:`tutelage.train` on two-layer networks, with the weights of all recorded steps.

    Returns
    -------
    OverlapTrajectory
        Overlaps Q, R, T and fan-outs; times are in steps / d, and ``losses()`` is the exact generalisation error.

    Examples
    --------
    >>> import tutelage as tt
    >>> teacher = tt.teachers.Normal(inputs=20, hidden=2, outputs=1, activation="erf").build([0])
    >>> students = tt.students.FanInNormal(hidden=3, activation="erf", bias=False).build(teacher, seeds=range(4))
    >>> inputs = tt.inputs.Gaussian(train=1, evaluate=1).draw(teacher, range(4))
    >>> run = tt.train(teacher, students, inputs, steps=100, batch=1, sampling="online", record=[50])
    >>> recorded_overlaps(run).times, recorded_overlaps(run).r.shape
    ((0.0, 2.5, 5.0), torch.Size([3, 4, 2, 3]))
    """
    if not isinstance(trajectory.teacher, Network):
        raise TutelageError("overlaps need a teacher with units, and this teacher is a function or a data set")
    steps = sorted(trajectory.recorded)
    each = [overlaps(trajectory.teacher, trajectory.recorded[step]) for step in steps]
    times = tuple(step / trajectory.teacher.inputs for step in steps)
    return trajectory_of(each[0], each, times)


def trajectory_of(
    start: Overlaps, each: Sequence[Overlaps], times: Sequence[float], error: float = 0.0
) -> OverlapTrajectory:
    """A trajectory from the overlaps at the start and at the times."""
    q, r, c = (torch.stack([getattr(now, name) for now in each]) for name in ("q", "r", "c"))
    both = [now.biases for now in each if now.biases is not None]
    biases = (torch.stack([b for b, _ in both]), torch.stack([a for _, a in both])) if both else None
    return OverlapTrajectory(start, tuple(map(float, times)), q, r, c, error, biases)
