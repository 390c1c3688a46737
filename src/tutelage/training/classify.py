r"""SGD with cross-entropy on labelled points as in Phuong 2021, section 3.4: two-layer and residual networks, stacked.

.. math:: h_1 = W_1 x, \quad h_l = h_{l-1} + W_l \rho(h_{l-1}), \quad h = W_L \rho(h_{L-1})

(Phuong 2021, eq. 3.30); L = 2 is the plain two-layer network. Without biases, in float32, every member on its own
points from its own start and in its own order: permutations drawn afresh each epoch, the last batch smaller where it
must be.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.networks import Network
from tutelage.threads import spread
from tutelage.training.settings import Supported, Training, given

_SUPPORTED = Supported(
    "classify", "epochs", "epochs", ("binary-cross-entropy",), ("constant",), ("sgd",), whole_batch=True
)
_EPOCHS = 25  # whose orders are drawn at a time


@dataclass(frozen=True, eq=False)
class Residual:
    """S residual networks without biases (Phuong 2021, eq. 3.30): weights W_l [S, in, out], hidden widths all the
    same.
    """

    weights: tuple[Tensor, ...]

    @property
    def members(self) -> int:
        return self.weights[0].shape[0]

    @property
    def network(self) -> Network:
        """The same as a Network, which two layers are; an error for more."""
        if len(self.weights) != 2:
            raise TutelageError(f"a residual network of {len(self.weights)} layers is no plain stack of layers")
        return Network(self.weights)

    def outputs(self, points: Tensor) -> Tensor:
        """h(x) at points [S, N, d] or [N, d]: [S, N]."""
        h = points.to(self.weights[0].dtype) @ self.weights[0]
        for w in self.weights[1:-1]:
            h = h + h.relu() @ w
        return (h.relu() @ self.weights[-1]).squeeze(-1)


def small_uniform(
    seeds: Sequence[int], inputs: int, hidden: int, layers: int = 2, factor: float = 0.05, dtype=torch.float32
) -> Residual:
    """Weights uniform in +-1/sqrt(in), times ``factor``: torch's own scale, made small as in Phuong 2021, section
    3.4.1.
    """
    if layers < 2:
        raise TutelageError(f"layers must be at least 2, got {layers}")
    widths = [inputs, *[hidden] * (layers - 1), 1]
    weights = []
    for layer, (a, b) in enumerate(pairwise(widths), start=1):
        unit = draws.uniforms(draws.keys(seeds, f"classifier layer {layer}"), a * b).view(-1, a, b)
        weights.append(((2 * unit - 1) * (factor / math.sqrt(a))).to(dtype))
    return Residual(tuple(weights))


def classify(
    start: Residual,
    x: Tensor,
    y: Tensor,
    seeds: Sequence[int],
    settings: Training | None = None,
    *,
    on_progress: Callable[[float], None] | None = None,
    **training: Any,
) -> Residual:
    """Train every member on its own points x [S, n, d] with labels y [S, n] of +1 and -1; mean loss over the batch.

    Settings are those of :class:`.Training` with plain SGD, given as one or by name (epochs=..., batch=...), not both;
    by name, those left out are 500 epochs with batches of 50 and the rate 0.1.
    """
    from tutelage.training._classify_loops import descend  # loading the compiler takes a while

    settings = given(settings, training, epochs=500, batch=50, learning_rate=0.1)
    _SUPPORTED.check(settings)
    if not settings.optimiser.plain:
        raise TutelageError("momentum and weight decay are not supported by classify: use Training.optimiser=Sgd()")
    assert settings.epochs is not None  # or it would not be supported
    members, n = y.shape
    if x.shape[:2] != y.shape or members != start.members or len(seeds) != members:
        raise TutelageError(
            f"points, labels and seeds must be [S, n, d], [S, n] and S numbers for S = {start.members} networks, got "
            f"{list(x.shape)}, {list(y.shape)} and {len(seeds)}"
        )
    if not (y.abs() == 1).all():
        raise TutelageError("labels must be +1 or -1: recode them")
    epochs, batch, rate = settings.epochs, settings.batch_size(n), settings.rate
    weights = tuple(np.array(w.mT.numpy(), np.float32, order="C") for w in start.weights)  # [S, out, in]
    points, labels = (np.ascontiguousarray(v.numpy(), np.float32) for v in (x, y))
    keys = draws.keys(seeds, "classifier batches")
    for first in range(0, epochs, _EPOCHS):
        span = range(first, min(first + _EPOCHS, epochs))
        rows = torch.stack([draws.permutations(keys, n, epoch) for epoch in span], dim=1).flatten(1).numpy()
        spread(descend, members, weights, points, labels, rows, n, batch, np.float32(rate))
        if on_progress:
            on_progress(span.stop / epochs)
    if not all(np.isfinite(w).all() for w in weights):
        raise TutelageError(f"training at the rate {rate:g} has diverged: lower the rate")
    return Residual(tuple(torch.from_numpy(w).mT.contiguous().to(start.weights[0].dtype) for w in weights))
