"""Networks trained as in Phuong 2021, sections 3.4.1 and 3.4.2, and what their units point at: shared by two
studies.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tutelage.lab import Context, Experiment, Results, Shared
from tutelage.lab.experiment import Arrays
from tutelage.margins.datasets import LabelledPoints, orthants
from tutelage.margins.max_margin import max_margins
from tutelage.margins.sectors import class_sums
from tutelage.settings import Seeds
from tutelage.training.classify import Residual, classify, small_uniform

HIGH = 0.9
"""A cosine above this is called high (Phuong 2021, section 3.4.1)."""
SHOWN = 10


class SeparableTraining(Experiment, kind="separable-training", numerics=1):
    """SGD on orthogonally separable points, batch 50, rate 0.1, from a twentieth of torch's own scale."""

    epochs: int
    layers: int = 2
    seeds: Seeds

    @property
    def cost(self) -> float:
        return 1e-3 * self.epochs * self.members * self.layers

    def run(self, context: Context) -> Arrays:
        (networks,) = trained(self.seeds, [self.epochs], self.layers, context.progress)
        shared = {"first_rows": Shared(networks.rows), "first_signs": Shared(networks.signs)}
        return {name: getattr(networks, name) for name in MEMBER_ARRAYS} | shared


MEMBER_ARRAYS = ("max_margin", "class_sum", "weight", "singular", "accuracy")


def trained_networks(results: Results) -> "list[SeparableNetworks]":
    """The networks of every experiment."""
    return [
        SeparableNetworks(
            r.setting("epochs"), r["max_margin"], r["class_sum"], r["weight"], r["singular"], r["first_rows"],
            r["first_signs"], r["accuracy"],
        )
        for r in results
    ]  # fmt: skip


@dataclass(frozen=True, eq=False)
class SeparableNetworks:
    """S networks after so many epochs.

    max_margin, class_sum: cosine of every first-layer unit with w_+ or w_- and with the sum of a class, those of its
    own sign for two layers and the closer one for more [S, p]; weight: |w_j|^2 [S, p]; singular: of every hidden
    layer, the largest [S, layers, SHOWN]; rows: of the first member's layers along their two largest singular
    directions [layers, p, 2]; signs: of its fan-outs [p]; accuracy [S].
    """

    epochs: int
    max_margin: np.ndarray
    class_sum: np.ndarray
    weight: np.ndarray
    singular: np.ndarray
    rows: np.ndarray
    signs: np.ndarray
    accuracy: np.ndarray

    def high(self, weighted: bool = False) -> np.ndarray:
        """Share of the units, or of |W|^2, whose cosine with the max-margin vector is high: [S]."""
        weight = self.weight if weighted else np.ones_like(self.weight)
        return ((self.max_margin > HIGH) * weight).sum(1) / weight.sum(1)

    def nearer(self, weighted: bool = False) -> np.ndarray:
        """Mean cosine with the max-margin vector less that with the class sum; or weighted by |w_j|^2: [S]."""
        weight = self.weight if weighted else np.ones_like(self.weight)
        return ((self.max_margin - self.class_sum) * weight).sum(1) / weight.sum(1)

    def means(self, weighted: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Mean cosines with the max-margin vector and with the class sum: [S] each."""
        weight = self.weight if weighted else np.ones_like(self.weight)
        first, second = ((c * weight).sum(1) / weight.sum(1) for c in (self.max_margin, self.class_sum))
        return first, second

    def gap(self) -> np.ndarray:
        """The third singular value over the first, of every hidden layer: [S, layers]."""
        return self.singular[:, :, 2] / self.singular[:, :, 0]


def trained(
    seeds: Sequence[int],
    epochs: Sequence[int],
    layers: int,
    tell: Callable[[float], None],
    *,
    count: int = 500,
    dimension: int = 20,
    hidden: int = 100,
) -> list[SeparableNetworks]:
    """Networks on the distribution of section 3.4.1, trained afresh for each number of epochs; each time the same way
    on.
    """
    data = orthants(seeds, count, dimension)
    start = small_uniform(seeds, dimension, hidden, layers)
    out, total, done = [], sum(epochs), 0
    for number in epochs:

        def part(share: float, number: int = number, done: int = done) -> None:
            tell((done + share * number) / total)

        model = classify(
            start, data.x, data.y, seeds, epochs=number, batch=min(50, count), learning_rate=0.1, on_progress=part
        )
        out.append(measured_networks(model, data, number))
        done += number
    return out


def measured_networks(model: Residual, data: LabelledPoints, epochs: int) -> SeparableNetworks:
    """What units point at, how large the singular values are, and how many samples are on the right side."""
    weights = [w.double() for w in model.weights]
    w, a = weights[0].mT, weights[-1].squeeze(2)
    margins = max_margins(data)
    cosines = []
    for plus, minus in ((margins.positive.direction, margins.negative.direction), class_sums(data)):
        both = torch.nn.functional.normalize(w, dim=2) @ torch.stack([plus, minus], 2)
        by_sign = torch.where(a > 0, both[..., 0], both[..., 1])
        cosines.append((by_sign if len(weights) == 2 else both.amax(2)).numpy())
    singular, rows = zip(*(_spectrum(v.mT) for v in weights[:-1]), strict=True)
    right = (model.outputs(data.x) * data.y > 0).double().mean(1).numpy()
    weight = w.square().sum(2).numpy()
    signs = a[0].sign().numpy()
    return SeparableNetworks(
        epochs, cosines[0], cosines[1], weight, np.stack(singular, 1), np.stack(rows), signs, right
    )


def _spectrum(w: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Largest singular values of w [S, p, d], and the first member's rows along its two largest: [S, SHOWN], [p, 2]."""
    left, values, _ = torch.linalg.svd(w, full_matrices=False)
    return values[:, :SHOWN].numpy(), (left[0, :, :2] * values[0, :2]).numpy()
