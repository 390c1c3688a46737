"""Descent with fresh samples at every step: the size of the batch hardly matters (seed 003, Theorem 6)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import torch
from matplotlib.figure import Figure

from tutelage.draws import keys, normals
from tutelage.figures import PALETTE, band
from tutelage.studies.claims import Claim
from tutelage.studies.local._slopes import geometric_steps, powers
from tutelage.studies.packs import Packs
from tutelage.studies.study import Plan, Scale, study
from tutelage.theory.local import (
    Setting,
    descend,
    descend_on_samples,
    gradient,
    local_students,
    separated_teachers,
    stochastic_gradient,
)

TEACHERS, STUDENTS, DIMENSION, RATE = 3, 9, 4, 0.08
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
    seed="003",
    figure="Thm 6",
    shows="No figure: descent with fresh samples at every step converges as with expectations, given enough samples a "
    "step.",
)
def batch_size(scale: Scale) -> Plan:
    """Descent with fresh samples at every step, against descent on expectations."""
    claims = [same_end, arrives, one_over_n, under_the_bound, noise_vanishes]
    return Plan([], draw, claims, table, lambda packs, tell: look(packs, tell, scale))


@dataclass(frozen=True, eq=False)
class Seen:
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


def look(packs: Packs, progress: Callable[[float], None], scale: Scale) -> Seen:
    """Three random unit teachers in four dimensions, nine students near them, rate 0.08."""
    seeds = range(SEEDS[scale])
    teachers = separated_teachers(TEACHERS, DIMENSION, seeds)
    start = Setting(teachers, local_students(teachers, STUDENTS, seeds))
    record = geometric_steps(STEPS[scale], 60)
    exact = descend(start, record, rate=RATE)
    losses, gradients, noise = {0: exact.losses.numpy()}, {0: exact.gradients.numpy()}, []
    batches, repeats = BATCHES[scale], REPEATS[scale]
    shape = {"teachers": TEACHERS, "students": STUDENTS, "dimension": DIMENSION, "rate": RATE}
    about = {"what": "batch-size", "seeds": len(seeds), "steps": STEPS[scale], "repeats": repeats, **shape}
    for done, batch in enumerate(batches, start=1):
        part = packs.kept.part(about | {"batch": batch}, partial(_sampled, start, record, batch, seeds, repeats))
        losses[batch], gradients[batch] = part["losses"], part["gradients"]
        noise.append(part["noise"])
        progress(0.95 * sum(batches[:done]) / sum(batches))
    size, d = (start.mass + start.total) ** 2 * start.mass, DIMENSION
    bound = np.stack([(4 * d * (d + 2) / batch * size).numpy() for batch in batches])
    places = [p for p, step in enumerate(record) if step > 0][:: max(1, len(record) // 12)]
    along = np.stack([spread_of(exact.at(p), 100, seeds, repeats) for p in places])
    progress(1.0)
    return Seen(exact.steps, losses, gradients, np.stack(noise), bound, places, along)


def _sampled(start: Setting, record: list[int], batch: int, seeds: range, repeats: int) -> dict[str, np.ndarray]:
    """Losses and gradients' norms of a descent with a batch [T, S], and the noise at its start [S]."""
    run = descend_on_samples(start, record, batch, seeds, rate=RATE)
    noise = spread_of(start, batch, seeds, repeats)
    return {"losses": run.losses.numpy(), "gradients": run.gradients.numpy(), "noise": noise}


def spread_of(setting: Setting, batch: int, seeds: range, repeats: int) -> np.ndarray:
    """E|grad L^ - grad L|_F^2 with a batch, over as many batches as told: [S]."""
    exact, streams, count = gradient(setting), keys(seeds, "local noise"), batch * setting.d
    total = torch.zeros(setting.members, dtype=torch.float64)
    for b in range(repeats):
        x = normals(streams, count, start=b * count).view(-1, batch, setting.d)
        total += (stochastic_gradient(setting, x) - exact).square().sum((1, 2))
    return (total / repeats).numpy()


def table(seen: Seen) -> pa.Table:
    rows = [
        {
            "batch": batch,
            "seed": s,
            "step": step,
            "loss": float(losses[t, s]),
            "gradient": float(seen.gradients[batch][t, s]),
        }
        for batch, losses in seen.losses.items()
        for t, step in enumerate(seen.steps)
        for s in range(losses.shape[1])
    ]
    return pa.Table.from_pylist(rows)


def draw(seen: Seen) -> Figure:
    """Loss against steps by batch; noise of the gradient against the batch, and against the loss on the way."""
    figure = Figure(figsize=(8.2, 2.8), layout="constrained")
    course, size, way = figure.subplots(1, 3)
    steps = np.array(seen.steps)[1:]
    for (batch, losses), colour in zip(seen.losses.items(), ("#000000", *PALETTE), strict=False):
        name = f"{batch} samples" if batch else "expectation"
        band(course, steps, np.log10(losses[1:]), colour, name, "-" if batch else "--", spread=not batch)
    course.set(xscale="log", xlabel="steps", ylabel=r"$\log_{10} L$, mean over seeds")
    course.legend(loc="lower left")
    size.loglog(seen.batches, seen.noise, "o-", color=PALETTE[0], markersize=3, alpha=0.4, linewidth=0.8)
    size.loglog(seen.batches, seen.bound.mean(1), "--", color=PALETTE[3], label="bound of Lemma F.1")
    size.set(xlabel="samples", ylabel=r"$E|\nabla \hat L - \nabla L|^2$ at the start")
    size.legend(loc="center right")
    way.loglog(seen.losses[0][seen.places], seen.along, "o-", color=PALETTE[2], markersize=2, alpha=0.4, linewidth=0.8)
    way.set(xlabel="$L$ on the way", ylabel="the same with 100 samples")
    return figure


def _gaps(seen: Seen) -> dict[str, np.ndarray]:
    end = {batch: np.log10(losses[-1]) for batch, losses in seen.losses.items()}
    return {f"{batch} samples": np.abs(end[batch] - end[0]) for batch in seen.batches}


same_end = Claim(
    "the loss after 2,000 steps hardly depends on the batch (from 10 to 10,000 samples within 7 %, as measured before)",
    statistic="size of log10 of the loss at the end over that of the descent on expectations, each seed",
    expected="< 0.1",
    refuted_by="an interval over seeds above 0.1 for that batch",
    values=_gaps,
)

arrives = Claim(
    "descent with fresh samples converges (Theorem 6)",
    statistic="one where the loss is at most 1e-4 at the end, else zero",
    expected="> 0.95",
    refuted_by="an interval over seeds below 0.95 for that batch",
    values=lambda seen: {
        f"{batch} samples": (seen.losses[batch][-1] <= ARRIVED).astype(float) for batch in seen.batches
    },
)

one_over_n = Claim(
    "the squared distance of a batch's gradient from the true one falls like 1 / N (Lemma F.1)",
    statistic="distance from -1 of the slope of its log against log N, each seed",
    expected="< 0.1",
    refuted_by="an interval over seeds above 0.1",
    values=lambda seen: {"at the start": np.abs(powers(np.array(seen.batches), seen.noise) + 1)},
)

under_the_bound = Claim(
    "and lies below (4 d (d + 2) / N) (sum |w|^2 + sum |w*|)^2 sum |w|^2",
    statistic="its mean over batches over that bound",
    expected="< 1",
    refuted_by="an interval over seeds above 1",
    values=lambda seen: {f"{b} samples": seen.noise[i] / seen.bound[i] for i, b in enumerate(seen.batches)},
)

noise_vanishes = Claim(
    "since labels are exact, the noise of the gradient vanishes with the loss",
    statistic="slope of the log of that squared distance with 100 samples against log L on the way of descent",
    expected="> 0.8",
    refuted_by="an interval over seeds below 0.8",
    values=lambda seen: {
        "on the way": powers(seen.losses[0][seen.places], seen.along),
    },
)
