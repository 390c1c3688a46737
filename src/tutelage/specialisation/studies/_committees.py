"""Committee machines under online SGD: simulations by the training engines, and the equations of their overlaps."""

from collections.abc import Sequence

import numpy as np
import torch

from tutelage import draws
from tutelage.lab import Context, Experiment, Shared
from tutelage.lab.experiment import Arrays
from tutelage.networks import Network
from tutelage.population import loss
from tutelage.population.order_parameters import follow_overlaps
from tutelage.population.overlaps import overlaps
from tutelage.settings import Seeds
from tutelage.training import Training, train
from tutelage.training.inputs import Gaussian
from tutelage.training.teachers import Normal

MOSTLY_CHANCE = (
    "a bias of 0.5 to 0.6 of a member's gap makes it a quarter; for d to infinity the equations are exact, with "
    "fluctuations of order 1/sqrt(d) and a bias of smaller order"
)
"""Why a quarter of the squared gap may be common to members."""


class OnlineCommittee(Experiment, kind="online-committee", numerics=1):
    """Students of a soft committee machine under online SGD, and the limit of many dimensions from the same start.

    The teacher has orthonormal units with fan-outs 1. Student k starts at ``overlap`` times teacher unit k mod M, plus
    a normal vector of length about ``spread``; its fan-out is 1 where only the first layer is trained, and M/K where
    both are. Learning rates are ``rate / d`` in both layers. Results: exact generalisation errors [S, T] of the
    simulation and of the equations, and the cosines of students with teachers at the end [S, K, M].
    """

    activation: str
    teachers: int
    students: int
    dimension: int
    rate: float
    last: float
    both_layers: bool = False
    label_noise: float = 0.0
    overlap: float = 0.2
    spread: float = 0.5
    frames: int = 20
    seeds: Seeds

    @property
    def cost(self) -> float:
        """Seconds of one core, roughly."""
        return self.last * self.dimension * (4e-4 + 4e-8 * self.members * self.dimension)

    def run(self, context: Context) -> Arrays:
        teacher, students = self._start()
        times = np.linspace(0, self.last, self.frames + 1)
        steps = [round(t * self.dimension) for t in times]
        inputs = Gaussian(train=1, evaluate=1).draw(teacher, self.seeds)
        settings = Training(
            steps=steps[-1],
            batch=1,
            sampling="online",
            learning_rate=self.rate / self.dimension,
            label_noise=self.label_noise or None,
            frozen=() if self.both_layers else (2,),
        )
        done = [0]

        def advance(count: int) -> None:
            done[0] += count
            context.advance(0.9 * done[0] / steps[-1])

        course = train(teacher, students, inputs, settings, record=steps, on_progress=advance)
        simulated = torch.stack([loss(teacher, course.recorded[step]) for step in steps], 1)
        second = self.rate if self.both_layers else 0.0
        start = overlaps(teacher.expand(students.members), students)
        limit = follow_overlaps(start, self.rate, times.tolist(), second_rate=second, label_noise=self.label_noise)
        w, taught = course.students.weights[0], teacher.weights[0]
        cosines = w.mT @ taught / (w.norm(dim=1).unsqueeze(2) * taught.norm(dim=1).unsqueeze(1))
        return {
            "simulated": simulated.numpy(),
            "limit": limit.losses().T.contiguous().numpy(),
            "cosines": cosines.numpy(),
            "times": Shared(times),
        }

    def _start(self) -> tuple[Network, Network]:
        """One teacher for all members, and their students, in float64."""
        d, k, m = self.dimension, self.students, self.teachers
        recipe = Normal(inputs=d, hidden=m, outputs=1, head=1.0, orthogonal=True, activation=self.activation)
        teacher = recipe.make([0], dtype=torch.float64)
        noise = draws.normals(draws.keys(self.seeds, "committee students"), d * k).view(-1, d, k)
        w = self.overlap * teacher.weights[0][:, :, torch.arange(k) % m] + self.spread / d**0.5 * noise
        c = torch.full((len(self.seeds), k, 1), m / k if self.both_layers else 1.0, dtype=torch.float64)
        return teacher, Network((w, c), None, self.activation)


def rms_gaps(simulated: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """Root mean square over times of simulation less equations, over the error at the start: [S, T] twice -> [S]."""
    return np.sqrt(((simulated - limit) ** 2).mean(1)) / limit[:, 0]


def pairs_in_common(gap: np.ndarray) -> np.ndarray:
    """Share of the squared gap that two members have in common, pair by pair: [S, T] -> [S // 2].

    Its mean is 0 without a bias and 1 without fluctuations. At a mean of a quarter the bias is 0.5 of the root mean
    square gap if normal fluctuations at many times are independent, and 0.61 if they are the same at all times.
    """
    count = len(gap) // 2
    first, second = gap[0 : 2 * count : 2], gap[1 : 2 * count : 2]
    return 2 * (first * second).sum(1) / (first**2 + second**2).sum(1)


def late(errors: np.ndarray, frames: int = 5) -> np.ndarray:
    """Mean over the last recorded times: [S, T] -> [S]."""
    return errors[:, -frames:].mean(1)


def labelled(results: Sequence) -> list[dict]:
    """One record per experiment: its settings and arrays."""
    names = ("activation", "teachers", "students", "dimension", "both_layers", "rate", "label_noise")
    arrays = ("simulated", "limit", "cosines", "times")
    return [{n: r.setting(n) for n in names} | {n: r[n] for n in arrays} for r in results]
