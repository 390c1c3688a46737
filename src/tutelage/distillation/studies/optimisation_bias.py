"""What a weaker bias toward the span of the data costs on real images (Phuong 2021, Fig. 5.4)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from tutelage import draws
from tutelage.data import load_images
from tutelage.distillation import Empirical, Weakened, best_bound
from tutelage.distillation.targets import logistic_teacher
from tutelage.lab import Context, Experiment, Results, Shared
from tutelage.lab.experiment import Arrays
from tutelage.settings import Seeds
from tutelage.studies.claims import DIRECTION, SHARE, SIGNED, Check, Claim, Measured
from tutelage.studies.figures import PALETTE
from tutelage.studies.study import Plan, Scale, fresh_seeds, study

DELTAS = tuple(range(0, 100, 10))
IMAGES: dict[Scale, str] = {"smoke": "blobs", "quick": "mnist", "paper": "mnist"}
SETS: dict[Scale, int] = {"smoke": 4, "quick": 50, "paper": 1_000}
TRANSFER: dict[Scale, int] = {"smoke": 10, "quick": 100, "paper": 100}
AT_ONCE = 50
"""Transfer sets held in memory at once."""
GUESSING = 0.5
"""Risk of a student that guesses."""


@study(
    "optimisation-bias",
    paper="phuong2021",
    figure="5.4",
    shows="On the digits 0 and 1 of MNIST, the transfer risk of learners that all fit 100 soft labels exactly rises "
    "with delta, the length of a random part orthogonal to the data.",
)
def optimisation_bias(scale: Scale) -> Plan:
    """What a weaker bias toward the span of the data costs on real images."""
    claims: list[Claim | Check] = [fitted, works, rises, overall, bounded]
    experiment = WeakenedLearners(images=IMAGES[scale], inputs=TRANSFER[scale], seeds=fresh_seeds(scale, SETS[scale]))
    return Plan([experiment], draw, claims, view=bias_on_images)


class WeakenedLearners(Experiment, kind="weakened-learners", numerics=1):
    """Risk on images of learners that fit the soft labels exactly, with a part orthogonal to the data of length delta.

    Half of the training images teach the teacher, the other half are the pool; risks are on the test images.
    """

    images: str
    inputs: int
    deltas: tuple[float, ...] = DELTAS
    seeds: Seeds

    @property
    def cost(self) -> float:
        return 0.3 * self.members

    def run(self, context: Context) -> Arrays:
        x, y, test, test_y = _blobs() if self.images == "blobs" else _two_digits(self.images)
        order = draws.permutations(draws.keys([0], "teacher and pool"), len(x), 0)[0]
        first, second = order.tensor_split(2)
        task = Empirical(x[second], logistic_teacher(x[first], y[first]), test)
        parts = []
        for start in range(0, self.members, AT_ONCE):
            some = self.seeds[start : start + AT_ONCE]
            work = partial(learners, task, some, self.inputs, self.deltas)
            parts.append(context.part(f"sets {some[0]} to {some[-1]}", work))
            context.progress((start + len(some)) / self.members)
        right = ((test @ task.teacher >= 0) == (test_y == 1)).double().mean()
        about = {
            "dimension": task.dimension,
            "pool_rank": int(torch.linalg.matrix_rank(task.pool)),
            "bound": best_bound(task.p, self.inputs, tighter=True).value,
            "accuracy": float(right),
        }
        shared = {name: Shared(np.array(value)) for name, value in about.items()}
        return {name: np.concatenate([part[name] for part in parts], 1).T for name in ("risk", "misfit")} | shared


@dataclass(frozen=True, eq=False)
class BiasOnImages:
    """Risk of every learner and transfer set [delta, S], largest distance of their logits from the teacher's, of the
    largest logit [delta, S]; what is known of the task: dimensions, inputs, its bound, and how good the teacher is.

    seen: the rank of the whole pool; accuracy: the teacher's on the held-out images.
    """

    images: str
    risk: np.ndarray
    misfit: np.ndarray
    transfer: int
    dimension: int
    seen: int
    bound: float
    accuracy: float


def bias_on_images(results: Results) -> BiasOnImages:
    """The one experiment of this study."""
    (r,) = results
    risk, misfit = (np.ascontiguousarray(r[name].T) for name in ("risk", "misfit"))
    known = int(r["dimension"]), int(r["pool_rank"]), float(r["bound"]), float(r["accuracy"])
    return BiasOnImages(r.setting("images"), risk, misfit, r.setting("inputs"), *known)


def learners(
    task: Empirical, seeds: Sequence[int], count: int, deltas: Sequence[float] = DELTAS
) -> dict[str, np.ndarray]:
    """Risk and misfit of w_delta for every delta, each set with one draw of the part orthogonal to it: [delta, S]."""
    transfer = task.transfer(seeds, count)
    start, end = (Weakened(delta)(transfer, seeds) for delta in (0.0, 1.0))
    w = torch.stack([start + delta * (end - start) for delta in deltas])  # w_delta is affine in delta
    off = (transfer.heights(w) - transfer.logits).abs().amax(2)
    risk = torch.stack([task.risk(students) for students in w])
    return {"risk": risk.numpy(), "misfit": (off / transfer.logits.abs().amax(1)).numpy()}


def _two_digits(name: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Images of the digits 0 and 1 as vectors of pixels from 0 to 1, and labels; for training, then for testing."""
    images = load_images(name).of_classes(0, 1)
    x, test = (torch.from_numpy(v.reshape(len(v), -1)).double() / 255 for v in (images.train, images.test))
    return x, torch.from_numpy(images.train_labels), test, torch.from_numpy(images.test_labels)


def _blobs(count: int = 200, size: int = 40) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Two patterns under noise, as many for training as for testing: points for a rehearsal, made on the spot."""
    y = torch.arange(count) % 2
    pattern = draws.normals(draws.keys([0], "two patterns"), 2 * size).reshape(2, size)
    noise = draws.normals(draws.keys([1], "two patterns"), 2 * count * size).reshape(2, count, size)
    x = pattern[y] + noise
    return x[0], y, x[1], y


def draw(e: BiasOnImages) -> Figure:
    """Mean risk with the middle 90 % of sets; the smallest risks by logarithms beside it."""
    figure = Figure(figsize=(6.6, 2.9), layout="constrained")
    axes = figure.subplots(1, 2)
    mean = e.risk.mean(1)
    low, high = np.quantile(e.risk, [0.05, 0.95], axis=1)
    for panel in axes:
        panel.plot(DELTAS, mean, "o-", color=PALETTE[2], markersize=3, label=r"$w_\delta$, middle 90 % of sets")
        panel.plot(0, mean[0], "o", color=PALETTE[0], markersize=6, label="distillation")
        panel.set(xlabel=r"$\delta$", ylabel="transfer risk", xticks=DELTAS[::3])
    axes[0].fill_between(DELTAS, low, high, color=PALETTE[2], alpha=0.15, linewidth=0)
    axes[0].set(ylim=(0, None), title=f"Fig. 5.4, {e.images} 0 and 1")
    axes[1].set(yscale="log", title=f"n = {e.transfer}, d = {e.dimension}, pool of rank {e.seen}")
    axes[0].legend()
    return figure


fitted = Check(
    "every such learner reaches the least training loss",
    statistic="largest distance of a logit from the teacher's, of the largest logit, for this delta",
    expected="< 0.000001",
    values=lambda e: {f"{delta}": e.misfit[i] for i, delta in enumerate(DELTAS)},
    reason="a millionth is far above rounding in double precision and far below any misfit of a label",
    standing="own",
)

works = Claim(
    "the bias of gradient descent helps: distillation transfers from 100 inputs",
    statistic="transfer risk for delta = 0",
    expected="< 0.01",
    values=lambda e: {"0": e.risk[0]},
    reason="one wrong answer in a hundred is read as transferred",
    possible=SHARE,
)

rises = Claim(
    "learners more strongly guided by the bias generally achieve lower risk",
    statistic="risk at the larger delta minus that at the smaller, set by set",
    expected="> 0",
    values=lambda e: {f"{a} to {b}": e.risk[i + 1] - e.risk[i] for i, (a, b) in enumerate(pairwise(DELTAS))},
    reason=DIRECTION,
    possible=SIGNED,
    place="Fig. 5.4",
)

overall = Claim(
    "risk rises with delta",
    statistic="risk for delta = 90 minus that of distillation, set by set",
    expected="> 0.1",
    values=lambda e: {"90 and 0": e.risk[-1] - e.risk[0]},
    reason="one more wrong answer in ten",
    possible=SIGNED,
)

bounded = Claim(
    "Theorem 5.3 holds with the angles counted on the pool",
    statistic="risk of distillation minus p(beta) + (1 - p(beta)) p(pi/2 - beta)^n at its best beta",
    expected="< 0",
    values=lambda e: {"0": Measured(e.risk[0] - e.bound, baseline=GUESSING - e.bound)},
    reason="the bound of the theorem itself; where it is above the 1/2 of guessing, guessing meets it too",
)
