r"""Losses of networks with exits: every exit classifies, and earlier exits learn from later ones (Phuong 2021, section
6.3).

.. math::
    \ell = \frac1M \sum_m \mathrm{CE}(y, p_m)
         + \frac1M \sum_m \frac{1}{|T(m)|} \sum_{t \in T(m)} \tau^2\, \mathrm{CE}(p_t^{1/\tau}, p_m^{1/\tau})

with T(m) the exits that teach exit m, and the teachers' outputs constants in the second term alone (eqs. 6.1-6.5).
Both the teacher and the student are softened once; the paper's algorithm read to the letter would soften teachers
twice. Training multiplies the second term by tau to a power of choice, 1 by default (:class:`.ExitObjective`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from tutelage.distillation.targets import Softening, checked_temperature, distillation_loss, log_probabilities
from tutelage.errors import TutelageError
from tutelage.printing import printed

UNLABELLED = -100
"""The label of a sample that has none: it takes part in distillation alone."""

Teachers = Literal["none", "last", "later"] | Sequence[Sequence[int]]
"""Who teaches whom: nobody, the last exit all others, all later exits, or the numbers of the teachers of each exit."""


def teacher_sets(exits: int, teachers: Teachers = "last") -> tuple[tuple[int, ...], ...]:
    """T(m) for every exit m, as numbers from 1.

    >>> teacher_sets(3), teacher_sets(3, "later")
    (((3,), (3,), ()), ((2, 3), (3,), ()))
    """
    numbers = range(1, exits + 1)
    if teachers == "none":
        return tuple(() for _ in numbers)
    if teachers == "last":
        return tuple((exits,) if m < exits else () for m in numbers)
    if teachers == "later":
        return tuple(tuple(range(m + 1, exits + 1)) for m in numbers)
    if isinstance(teachers, str):
        raise TutelageError(f"teachers must be 'none', 'last', 'later' or a list for each exit, got '{teachers}'")
    if len(teachers) != exits:
        raise TutelageError(f"teachers must have a list for each of {exits} exits, got {len(teachers)}")
    for m, chosen in enumerate(teachers, 1):
        if not set(chosen) <= set(numbers) - {m} or len(set(chosen)) != len(chosen):
            raise TutelageError(
                f"the teachers of exit {m} must be other exits from 1 to {exits}, each once, got {list(chosen)}"
            )
    return tuple(tuple(chosen) for chosen in teachers)


@printed
@dataclass(frozen=True)
class Annealing:
    """Temperature of the soft labels during training.

    Parameters
    ----------
    temperature
        At the start.
    limit
        Mean largest probability of the teachers above which the temperature rises.
    factor
        Factor by which it rises; 1 keeps it constant.
    """

    temperature: float = 1.0
    limit: float = 0.5
    factor: float = 1.05

    def __post_init__(self) -> None:
        checked_temperature(self.temperature)
        if not 0 < self.limit <= 1 or not self.factor >= 1:
            raise TutelageError(
                f"limit must lie between 0 and 1 and factor must be at least 1, got {self.limit:g} and {self.factor:g}"
            )

    def after(self, confidence: float) -> "Annealing":
        """The temperature for the next batch, given the teachers' confidence on this one (Phuong 2021, Algorithm 6.1).

        >>> Annealing(2.0, limit=0.5).after(0.6).temperature, Annealing(2.0, limit=0.5).after(0.4).temperature
        (2.1, 2.0)
        """
        return replace(self, temperature=self.temperature * self.factor) if confidence > self.limit else self


def constant(temperature: float) -> Annealing:
    """A constant temperature.

    Parameters
    ----------
    temperature
        The temperature.

    Returns
    -------
    Annealing
    """
    return Annealing(temperature, factor=1.0)


def check_labels(labels: Tensor, outputs: int) -> None:
    """Reject labels that are no whole numbers, all absent, or not among the classes."""
    if labels.is_floating_point() or labels.is_complex():
        kind = str(labels.dtype).removeprefix("torch.")
        raise TutelageError(f"labels must be whole numbers, the classes of the samples, got {kind}: use y.long()")
    known = labels[labels != UNLABELLED]
    if not len(known):
        raise TutelageError("no sample has a label: classification needs at least one")
    if known.min() < 0 or known.max() >= max(outputs, 2):
        raise TutelageError(
            f"labels must be from 0 to {max(outputs, 2) - 1}, and some are {int(known.min())} or {int(known.max())}"
        )


def teacher_shares(teachers: Sequence[Sequence[int]], like: Tensor) -> Tensor:
    """1/|T(m)| in row m at the columns of its teachers, else 0: [M, M], in the type and place of ``like``.

    >>> teacher_shares(((2, 3), (3,), ()), torch.zeros(1)).tolist()
    [[0.0, 0.5, 0.5], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    """
    rows = [[(t in chosen) / max(len(chosen), 1) for t in range(1, len(teachers) + 1)] for chosen in teachers]
    if not any(map(any, rows)):
        raise TutelageError("no exit teaches another: there is nothing to distil")
    return torch.tensor(rows, dtype=like.dtype, device=like.device)


# From here on logits of all exits are one array z [M, N, C], and nothing reads a number off a tensor: a step of
# training runs this without a word between a GPU and its host. The temperature may be a tensor [].


def classification(z: Tensor, labels: Tensor) -> Tensor:
    """l_cls: [M, N, C], [N] -> []."""
    known = (labels != UNLABELLED).to(z)
    chosen = distillation_loss(z, None, labels.clamp_min(0).expand(len(z), -1), Softening(hard_share=1.0))
    return (known * chosen).sum() / (len(z) * known.sum())


def distillation(z: Tensor, shares: Tensor, temperature: float | Tensor, power: float = 2.0) -> Tensor:
    """l_dist of every sample: [M, N, C], teachers' shares [M, M] -> [N]; power: of the temperature in its weight."""
    softened = z / temperature
    # Detached: teachers are constants here, though the same exits learn from their labels in the other term.
    targets = torch.einsum("mt,tnc->mnc", shares, log_probabilities(softened.detach()).exp())
    return temperature**power * distillation_loss(softened, targets, None).mean(0)


def confidence(z: Tensor, shares: Tensor, temperature: float | Tensor) -> Tensor:
    """The largest class probability of the mean over all teaching exits, averaged over samples: -> []."""
    teaching = (shares.sum(0) > 0).to(z)
    p = log_probabilities(z.detach() / temperature).exp()
    return (torch.einsum("t,tnc->nc", teaching, p) / teaching.sum()).amax(-1).mean()


def training_goal(
    z: Tensor,
    labels: Tensor,
    shares: Tensor | None,
    temperature: Tensor,
    power: float,
    weights: Tensor | None,
    reduction: Literal["mean", "sum"] = "mean",
) -> tuple[Tensor, Tensor, Tensor]:
    """What a step descends, and the teachers' confidence at the temperature and without it: three of [].

    shares: of the teachers [M, M], None where nobody teaches; weights: of each sample in l_dist, None for equal ones;
    reduction: over the exits.
    """
    loss, adjusted, raw = classification(z, labels), z.new_zeros(()), z.new_zeros(())
    if shares is not None:
        each = distillation(z, shares, temperature, power)
        loss = loss + (each.mean() if weights is None else (weights * each).sum())
        adjusted, raw = (confidence(z, shares, t) for t in (temperature, 1.0))
    return loss * (len(z) if reduction == "sum" else 1), adjusted, raw
