"""Descent on a fixed training set, with noisy labels, and with inputs that are not Gaussian.

Theorems 4 and 6 of Zhou et al. 2021 have expectations or fresh Gaussian samples without noise. These are the cases a
user has instead. Nothing here is a sentence of the paper: the claims are the project's own, fixed before the runs.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from matplotlib.figure import Figure
from pydantic import NonNegativeFloat, PositiveInt
from torch import Tensor

from tutelage.draws import keys, normals, uniforms
from tutelage.lab import Context, Experiment, Results, Shared
from tutelage.lab.experiment import Arrays
from tutelage.local import LocalSetting, descend_on_set, local_students, separated_teachers
from tutelage.local.studies._curves import geometric_steps, powers
from tutelage.settings import Seeds
from tutelage.studies.claims import SHARE, Claim
from tutelage.studies.figures import PALETTE, band
from tutelage.studies.study import Plan, Scale, fresh_seeds, study

RATE = 0.08
WEIGHTS = 36  # 9 students in 4 dimensions
SAMPLES: dict[Scale, tuple[int, ...]] = {
    "smoke": (18, 120, 360, 1080),
    "quick": (18, 120, 360, 1080),
    "paper": (18, 36, 120, 360, 1080),
}
"""Half of the number of weights, that number, and about 3, 10 and 30 times as many."""
NOISES = 0.1, 0.3
LAWS = "uniform", "laplace", "signs"
ENOUGH = 10 * WEIGHTS
NOISY = 100
"""Samples from which on labels are noisy too: fewer are learned by heart."""
SEEDS: dict[Scale, int] = {"smoke": 2, "quick": 6, "paper": 24}
STEPS: dict[Scale, int] = {"smoke": 40, "quick": 2_000, "paper": 2_000}
ARRIVED = 1e-4

Law = Literal["gaussian", "uniform", "laplace", "signs"]


@study(
    "fixed-samples",
    paper="zhou2021",
    figure="beyond Thms 4, 6",
    shows="No figure: the theorems have expectations or fresh Gaussian samples without noise, and nothing is said of a "
    "fixed training set, of noisy labels and of other inputs.",
)
def fixed_samples(scale: Scale) -> Plan:
    """Descent near the teacher on a fixed set, with noise, and with other inputs."""
    common = {"steps": STEPS[scale], "seeds": fresh_seeds(scale, SEEDS[scale])}
    experiments = [SetOfSamples(samples=n, **common) for n in SAMPLES[scale]]
    experiments += [
        SetOfSamples(samples=n, noise=noise, **common) for noise in NOISES for n in SAMPLES[scale] if n >= NOISY
    ]
    experiments += [SetOfSamples(samples=ENOUGH, law=law, **common) for law in LAWS]
    claims = [enough_samples, too_few, noise_over_n, noise_squared, other_inputs, signs]
    return Plan(experiments, draw, claims, view=by_set)


class SetOfSamples(Experiment, kind="set-of-samples", numerics=1):
    """Descent from students near their teachers on a fixed training set."""

    samples: PositiveInt
    steps: PositiveInt
    noise: NonNegativeFloat = 0.0
    """Standard deviation of the labels' noise."""
    law: Law = "gaussian"
    """Distribution of every coordinate, of mean 0 and variance 1."""
    rate: float = RATE
    records: PositiveInt = 40
    teachers: PositiveInt = 3
    students: PositiveInt = 9
    dimension: PositiveInt = 4
    seeds: Seeds

    @property
    def cost(self) -> float:
        return 1e-6 * self.members * self.samples * self.steps

    def run(self, context: Context) -> Arrays:
        teachers = separated_teachers(self.teachers, self.dimension, self.seeds)
        start = LocalSetting(teachers, local_students(teachers, self.students, self.seeds))
        x = inputs(self.law, self.seeds, self.samples, self.dimension)
        noise = self.noise * normals(keys(self.seeds, "local label noise"), self.samples) if self.noise else None
        descent = descend_on_set(start, geometric_steps(self.steps, self.records), x, noise, rate=self.rate)
        return {
            "losses": descent.losses.numpy().T,
            "training": descent.training.numpy().T,
            "recorded_steps": Shared(np.array(descent.steps)),
        }


def inputs(law: Law, seeds: Seeds | range, samples: int, dimension: int) -> Tensor:
    """Inputs [S, N, d] with independent coordinates of mean 0 and variance 1."""
    count = samples * dimension
    if law == "gaussian":
        drawn = normals(keys(seeds, "local set"), count)
    else:
        u = 2 * uniforms(keys(seeds, "local set"), count) - 1
        drawn = {
            "uniform": lambda: math.sqrt(3) * u,
            "laplace": lambda: -u.sign() * (1 - u.abs()).log() / math.sqrt(2),
            "signs": lambda: torch.where(u > 0, 1.0, -1.0),
        }[law]()
    return drawn.view(-1, samples, dimension)


@dataclass(frozen=True, eq=False)
class BySet:
    """Recorded steps [T]; by (samples, noise, law) the losses on all Gaussian inputs and on the set [T, S] each."""

    steps: np.ndarray
    losses: dict[tuple[int, float, str], np.ndarray]
    training: dict[tuple[int, float, str], np.ndarray]

    def end(self, samples: int, noise: float = 0.0, law: str = "gaussian") -> np.ndarray:
        return self.losses[samples, noise, law][-1]

    @property
    def sizes(self) -> list[int]:
        return [n for n, noise, law in self.losses if not noise and law == "gaussian"]

    @property
    def noisy(self) -> list[int]:
        """Numbers of samples that were also tried with noise."""
        return [n for n in self.sizes if (n, NOISES[0], "gaussian") in self.losses]


def by_set(results: Results) -> BySet:
    """Losses by training set."""
    keyed = {(r.setting("samples"), r.setting("noise"), r.setting("law")): r for r in results}
    columns = ({key: r[name].T for key, r in keyed.items()} for name in ("losses", "training"))
    return BySet(next(iter(results))["recorded_steps"], *columns)


def draw(result: BySet) -> Figure:
    """Loss against steps by the number of samples; what noise leaves of it; the same for other inputs."""
    figure = Figure(figsize=(9.4, 3.0), layout="constrained")
    course, noisy, laws = figure.subplots(1, 3)
    steps = result.steps[1:]
    for n, colour in zip(result.sizes, PALETTE, strict=False):
        band(course, steps, np.log10(result.losses[n, 0.0, "gaussian"][1:]), colour, f"{n} samples", "-", spread=False)
        band(course, steps, np.log10(result.training[n, 0.0, "gaussian"][1:]), colour, "_", ":", spread=False)
    course.set(xscale="log", xlabel="steps", ylabel=r"$\log_{10}$ loss, mean over seeds", title="no noise")
    course.plot([], [], ":", color="#555555", label="on the set itself")
    course.legend(loc="lower left", fontsize=7)
    for noise, colour in zip(NOISES, PALETTE, strict=False):
        values = np.stack([result.end(n, noise) for n in result.noisy])
        noisy.loglog(result.noisy, values, "o", color=colour, ms=3, alpha=0.4)
        noisy.loglog(result.noisy, np.exp(np.log(values).mean(1)), "-", color=colour, label=f"noise {noise:g}")
    noisy.set(xlabel="samples", ylabel="$L$ at the end", title="noisy labels")
    noisy.set_xticks(result.noisy, [f"{n:,}" for n in result.noisy])
    noisy.minorticks_off()
    noisy.legend(loc="upper right")
    size = next(n for n, _, law in result.losses if law == LAWS[0])
    for law, colour in zip(("gaussian", *LAWS), PALETTE, strict=False):
        band(laws, steps, np.log10(result.losses[size, 0.0, law][1:]), colour, law, "-", spread=False)
    laws.set(xscale="log", xlabel="steps", ylabel=r"$\log_{10} L$ on Gaussian inputs", title=f"{size} samples")
    laws.legend(loc="lower left")
    return figure


enough_samples = Claim(
    "with ten samples per weight or more, descent on a fixed set without noise reaches the teacher",
    statistic="one where the loss on all inputs is at most 1e-4 at the end, else zero",
    expected="> 0.8",
    values=lambda e: {f"{n} samples": (e.end(n) <= ARRIVED).astype(float) for n in e.sizes if n >= ENOUGH},
    reason="four of five, as for fresh samples (study batch-size)",
    possible=SHARE,
    kind="outcome",
    standing="own",
)

too_few = Claim(
    "with half as many samples as weights the set is learned and the teacher is not",
    statistic="log10 of the loss on all inputs over that on the set, at the end",
    expected="> 1",
    values=lambda e: {f"{n} samples": np.log10(e.end(n) / e.training[n, 0.0, "gaussian"][-1]) for n in e.sizes[:1]},
    reason="a factor of ten is read as not learned",
    standing="own",
)

noise_over_n = Claim(
    "what noisy labels leave of the loss falls nearly like 1 / N or faster",
    statistic="slope of log L at the end against log N, from 120 to 1,080 samples",
    expected="< -0.75",
    values=lambda e: {
        f"noise {noise:g}": powers(np.array(e.noisy, float), np.stack([e.end(n, noise) for n in e.noisy]))
        for noise in NOISES
    },
    reason="three quarters of the power that least squares has",
    standing="own",
)

noise_squared = Claim(
    "and is proportional to the variance of the noise",
    statistic="distance from 2 of the slope of log L at the end against the log of the noise's standard deviation",
    expected="< 0.25",
    values=lambda e: {
        f"{n} samples": np.abs(powers(np.array(NOISES), np.stack([e.end(n, noise) for noise in NOISES])) - 2)
        for n in e.noisy
    },
    reason="an eighth of the power that least squares has",
    possible=(0.0, np.inf),
    standing="own",
)

other_inputs = Claim(
    "inputs need not be Gaussian, nor their distribution the same in all directions",
    statistic="one where the loss on Gaussian inputs is at most 1e-4 after descent on others, else zero",
    expected="> 0.8",
    values=lambda e: {
        law: (e.end(n, 0.0, law) <= ARRIVED).astype(float) for n, _, law in e.losses if law in ("uniform", "laplace")
    },
    reason="four of five, as for fresh samples (study batch-size)",
    possible=SHARE,
    kind="outcome",
    standing="own",
)

signs = Claim(
    "with inputs of -1 and 1 the teacher is not found: eight different labels are fewer than its twelve weights",
    statistic="one where the loss on Gaussian inputs is above 1e-4 after descent on these, else zero",
    expected="> 0.8",
    values=lambda e: {law: (e.end(n, 0.0, law) > ARRIVED).astype(float) for n, _, law in e.losses if law == "signs"},
    reason="four of five, as for the other inputs",
    possible=SHARE,
    kind="outcome",
    standing="own",
)
