"""Descent with fresh samples at every step: the size of the batch hardly matters (Zhou et al. 2021, Theorem 6)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from matplotlib.figure import Figure

from tutelage.draws import keys, normals
from tutelage.lab import Context, Experiment, Results, Shared
from tutelage.lab.experiment import Arrays
from tutelage.local import LocalSetting, descend, descend_on_samples, gradient, local_students, separated_teachers
from tutelage.local.descent import stochastic_gradient
from tutelage.local.studies._curves import geometric_steps, powers
from tutelage.settings import Seeds
from tutelage.studies.claims import SHARE, Check, Claim
from tutelage.studies.figures import PALETTE, band
from tutelage.studies.study import Plan, Scale, fresh_seeds, study

RATE = 0.08
RECORDS = 60
"""Recorded steps at most, about evenly on a logarithmic axis."""
BATCHES: dict[Scale, tuple[int, ...]] = {
    "smoke": (10, 100, 1_000),
    "quick": (10, 100, 1_000),
    "paper": (10, 100, 1_000, 10_000),
}
SEEDS: dict[Scale, int] = {"smoke": 2, "quick": 6, "paper": 24}
STEPS: dict[Scale, int] = {"smoke": 20, "quick": 2_000, "paper": 2_000}
REPEATS: dict[Scale, int] = {"smoke": 5, "quick": 200, "paper": 400}
ARRIVED = 1e-4


@study(
    "batch-size",
    paper="zhou2021",
    figure="Thm 6",
    shows="No figure: descent with fresh samples at every step converges as with expectations, given enough samples a "
    "step.",
)
def batch_size(scale: Scale) -> Plan:
    """Descent with fresh samples at every step, against descent on expectations."""
    claims: list[Claim | Check] = [same_end, arrives, one_over_n, under_the_bound, noise_vanishes]
    common = {"steps": STEPS[scale], "repeats": REPEATS[scale], "seeds": fresh_seeds(scale, SEEDS[scale])}
    batches = [SampledDescent(batch=batch, **common) for batch in BATCHES[scale]]
    return Plan([ExactDescent(**common), *batches], draw, claims, view=by_batch)


class ExactDescent(Experiment, kind="exact-descent", numerics=1):
    """Descent on expectations from students near their teachers, and the noise of a batch's gradient on its way."""

    steps: int
    repeats: int
    noise_batch: int = 100
    records: int = RECORDS
    rate: float = RATE
    teachers: int = 3
    students: int = 9
    dimension: int = 4
    seeds: Seeds

    @property
    def cost(self) -> float:
        return 8e-4 * self.members * self.repeats

    def run(self, context: Context) -> Arrays:
        record = geometric_steps(self.steps, self.records)
        start = _start(self.teachers, self.students, self.dimension, self.seeds)
        descent = descend(start, record, rate=self.rate)
        places = [p for p, step in enumerate(record) if step > 0][:: max(1, len(record) // 12)]
        noise = []
        for done, place in enumerate(places, start=1):
            noise.append(spread_of(descent.at(place), self.noise_batch, self.seeds, self.repeats))
            context.progress(done / len(places))
        return {
            "losses": descent.losses.numpy().T,
            "gradient_norms": descent.gradients.numpy().T,
            "noise": np.stack(noise, 1),  # [S, places]
            "recorded_steps": Shared(np.array(descent.steps)),
            "places": Shared(np.array(places)),
        }


class SampledDescent(Experiment, kind="sampled-descent", numerics=1):
    """Descent with a fresh batch at every step, the noise of the gradient at the start, and the bound of Lemma F.1."""

    batch: int
    steps: int
    repeats: int
    records: int = RECORDS
    rate: float = RATE
    teachers: int = 3
    students: int = 9
    dimension: int = 4
    seeds: Seeds

    @property
    def cost(self) -> float:
        return 4e-7 * self.members * self.batch * (self.steps + self.repeats)

    def run(self, context: Context) -> Arrays:
        start = _start(self.teachers, self.students, self.dimension, self.seeds)
        courses = context.part("descent", lambda: self._descend(start))
        context.progress(self.steps / (self.steps + self.repeats))
        size, d = (start.mass + start.total) ** 2 * start.mass, self.dimension
        return {
            **courses,
            "noise": spread_of(start, self.batch, self.seeds, self.repeats),
            "noise_bound": (4 * d * (d + 2) / self.batch * size).numpy(),
        }

    def _descend(self, start: LocalSetting) -> dict[str, np.ndarray]:
        record = geometric_steps(self.steps, self.records)
        descent = descend_on_samples(start, record, self.batch, self.seeds, rate=self.rate)
        return {"losses": descent.losses.numpy().T, "gradient_norms": descent.gradients.numpy().T}


@dataclass(frozen=True, eq=False)
class BatchSizes:
    """Losses and gradients' norms [T, S] by batch, 0 for expectations, at the recorded steps [T]; noise [batch, S]:
    E|grad L^ - grad L|^2 at the start, and bound [batch, S] of Lemma F.1; along [T, S]: that noise with 100 samples at
    the steps of the exact descent in ``places``."""

    steps: tuple[int, ...]
    losses: dict[int, np.ndarray]
    gradients: dict[int, np.ndarray]
    noise: np.ndarray
    bound: np.ndarray
    places: list[int]
    along: np.ndarray

    @property
    def batches(self) -> list[int]:
        return [batch for batch in self.losses if batch]


def by_batch(results: Results) -> BatchSizes:
    """Losses, gradients and their noise by batch."""
    exact, sampled = results.of(ExactDescent).one(), results.of(SampledDescent)
    runs = {0: exact} | {r.setting("batch"): r for r in sampled}
    losses, gradients = (
        {batch: np.ascontiguousarray(r[name].T) for batch, r in runs.items()} for name in ("losses", "gradient_norms")
    )
    noise, bound = (np.stack([r[name] for r in sampled]) for name in ("noise", "noise_bound"))
    steps, places = (exact[name].tolist() for name in ("recorded_steps", "places"))
    return BatchSizes(tuple(steps), losses, gradients, noise, bound, places, np.ascontiguousarray(exact["noise"].T))


def _start(teachers: int, students: int, dimension: int, seeds: Sequence[int]) -> LocalSetting:
    """Random unit teachers, and students near them."""
    drawn = separated_teachers(teachers, dimension, seeds)
    return LocalSetting(drawn, local_students(drawn, students, seeds))


def spread_of(setting: LocalSetting, batch: int, seeds: Sequence[int], repeats: int) -> np.ndarray:
    """E|grad L^ - grad L|_F^2 with a batch, over the given number of batches: [S]."""
    exact, streams, count = gradient(setting), keys(seeds, "local noise"), batch * setting.d
    total = torch.zeros(setting.members, dtype=torch.float64)
    for b in range(repeats):
        x = normals(streams, count, start=b * count).view(-1, batch, setting.d)
        total += (stochastic_gradient(setting, x) - exact).square().sum((1, 2))
    return (total / repeats).numpy()


def draw(result: BatchSizes) -> Figure:
    """Loss against steps by batch; noise of the gradient against the batch, and against the loss on the way."""
    figure = Figure(figsize=(8.2, 2.8), layout="constrained")
    course, size, way = figure.subplots(1, 3)
    steps = np.array(result.steps)[1:]
    for (batch, losses), colour in zip(result.losses.items(), ("#000000", *PALETTE), strict=False):
        name = f"{batch} samples" if batch else "expectation"
        band(course, steps, np.log10(losses[1:]), colour, name, "-" if batch else "--", spread=not batch)
    course.set(xscale="log", xlabel="steps", ylabel=r"$\log_{10} L$, mean over seeds")
    course.legend(loc="lower left")
    size.loglog(result.batches, result.noise, "o-", color=PALETTE[0], markersize=3, alpha=0.4, linewidth=0.8)
    size.loglog(result.batches, result.bound.mean(1), "--", color=PALETTE[3], label="bound of Lemma F.1")
    size.set(xlabel="samples", ylabel=r"$E|\nabla \hat L - \nabla L|^2$ at the start")
    size.legend(loc="center right")
    way.loglog(
        result.losses[0][result.places], result.along, "o-", color=PALETTE[2], markersize=2, alpha=0.4, linewidth=0.8
    )
    way.set(xlabel="$L$ on the way", ylabel="the same with 100 samples")
    return figure


def _gaps(result: BatchSizes) -> dict[str, np.ndarray]:
    end = {batch: np.log10(losses[-1]) for batch, losses in result.losses.items()}
    return {f"{batch} samples": np.abs(end[batch] - end[0]) for batch in result.batches}


same_end = Claim(
    "the loss after 2,000 steps hardly depends on the batch (from 10 to 10,000 samples)",
    statistic="size of log10 of the loss at the end over that of the descent on expectations, each seed",
    expected="< 0.1",
    values=_gaps,
    reason="a tenth of a decade, a factor of 1.26, is read as hardly",
    possible=(0.0, np.inf),
    place="Thm 6",
)

arrives = Claim(
    "descent with fresh samples converges (Theorem 6)",
    statistic="one where the loss is at most 1e-4 at the end, else zero",
    expected="> 0.8",
    values=lambda result: {
        f"{batch} samples": (result.losses[batch][-1] <= ARRIVED).astype(float) for batch in result.batches
    },
    reason="the theorem promises convergence with high probability, which is read as four of five",
    possible=SHARE,
    kind="outcome",
    place="Thm 6",
    failure="not found",
)

one_over_n = Claim(
    "the squared distance of a batch's gradient from the true one falls like 1 / N (Lemma F.1)",
    statistic="distance from -1 of the slope of its log against log N, each seed",
    expected="< 0.1",
    values=lambda result: {"at the start": np.abs(powers(np.array(result.batches), result.noise) + 1)},
    reason="a tenth of the power",
    possible=(0.0, np.inf),
    place="Lemma F.1",
)

under_the_bound = Check(
    "and lies below (4 d (d + 2) / N) (sum |w|^2 + sum |w*|)^2 sum |w|^2",
    statistic="its mean over batches over that bound",
    expected="<= 1",
    values=lambda result: {f"{b} samples": result.noise[i] / result.bound[i] for i, b in enumerate(result.batches)},
    reason="the bound of the lemma itself, which is thousands of times what is measured",
    place="Lemma F.1",
)

noise_vanishes = Claim(
    "since labels are exact, the noise of the gradient vanishes with the loss",
    statistic="slope of the log of that squared distance with 100 samples against log L on the way of descent",
    expected="> 0.8",
    values=lambda result: {
        "on the way": powers(result.losses[0][result.places], result.along),
    },
    reason="four fifths of the power 1 that labels without noise give",
    standing="own",
)
