"""Questions about two networks on a box where one of them has units that bend everywhere, such as tanh or GELU."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from tutelage.deadline import Deadline
from tutelage.errors import TutelageError
from tutelage.functions.answers import OnClosing, Question
from tutelage.functions.bounds.branch_inputs import Dividing
from tutelage.functions.bounds.curved import CurvedBounds
from tutelage.functions.checks import as_network, same_function_space
from tutelage.functions.domain import Domain
from tutelage.functions.relaxations import CURVED
from tutelage.functions.search.hunt import Hunt
from tutelage.networks import Network, SparseNetwork

_FIRST = 1.0  # seconds of division before a witness is searched at length


class CurvedHunt(Hunt):
    """The search for a witness; what it finds is compared with bounds on the outputs at that input."""

    def __init__(self, first: Network, second: Network, domain: Domain, question: Question) -> None:
        super().__init__(first, second, domain, question)
        self.point = CurvedBounds((first, second), question, 0)

    def gap(self, at: Tensor) -> tuple[Tensor, Tensor]:
        low, high = (end[0, self.point.outputs :] for end in self._ends(at))
        middle, half = 0.5 * (high + low), 0.5 * (high - low)
        return torch.from_numpy(np.abs(middle)), torch.from_numpy(half * (1 + 1e-12) + 1e-300)

    def proved(self, at: Tensor) -> bool:
        if not self.domain.is_box and not self._inside(at):
            return False
        low, high = self._ends(at)
        n = self.point.outputs
        if self.question.margin is None:
            least = np.maximum(low, -high)[0, n:]  # of the size of the difference, where it is above 0
            return bool((least > self.question.limits.numpy()).any())
        f, g = (low[0, :n], high[0, :n]), (low[0, :n] - high[0, n:], high[0, :n] - low[0, n:])
        top = int(f[0].argmax())
        others = np.arange(n) != top
        # Differences of outputs from their own ranges are wide enough at a single input, where only rounding is left.
        sure = f[0][top] - f[1][others].max() >= self.question.margin
        return bool(sure and (g[0][others].max() > g[1][top]))

    def _ends(self, at: Tensor) -> tuple[np.ndarray, np.ndarray]:
        x = at[None].numpy()
        with np.errstate(all="ignore"):
            return self.point.on(x, x).ends()


def curved(network: object) -> bool:
    """Whether a network has units that bend everywhere."""
    return isinstance(network, Network) and network.activation in CURVED


def curved_pair(first: Network | SparseNetwork, second: Network | SparseNetwork) -> tuple[Network, Network] | None:
    """Both networks in float64 where one has such units, else None; an error where they cannot be compared."""
    if not (curved(first) or curved(second)):
        return None
    pair = []
    for name, network in (("first network", first), ("second network", second)):
        if isinstance(network, SparseNetwork):
            raise TutelageError(f"the {name} has sparse layers, which are not compared with smooth units")
        plain = network if curved(network) else as_network(network, name)
        if not all(a.isfinite().all() for a in plain.parameters):
            raise TutelageError(f"the {name} has weights that are not finite: leave out members that diverged")
        if plain.members != 1:
            raise TutelageError(f"the {name} must be one network, got a stack of {plain.members}: choose one")
        pair.append(plain.map(lambda a: a.detach().to("cpu", torch.float64)))
    same_function_space(*pair)
    if pair[0].depth != pair[1].depth:
        raise TutelageError(
            f"networks with smooth units are compared layer by layer, and have {pair[0].depth} and {pair[1].depth} "
            "layers: give two of the same depth"
        )
    return pair[0], pair[1]


def decide_curved(
    hunt: CurvedHunt, deadline: Deadline, search: Callable[[], None], keep: bool, on_progress: OnClosing | None
) -> tuple[Tensor, bool, int, tuple[np.ndarray, np.ndarray] | None]:
    """Bounds [C], whether they answer with yes, how many parts they took, and the boxes of the proof if kept."""
    free = int((hunt.high > hunt.low).sum())
    dividing = Dividing(
        None, hunt.question, hunt, keep=keep, on_progress=on_progress, limit=deadline.at_least(0.2),
        bound=CurvedBounds(hunt.pair, hunt.question, free),
    )  # fmt: skip
    division = dividing.until(deadline.within(_FIRST))
    if not (division.proved or hunt.refuted):
        search()
        division = dividing.until(deadline)
    return division.at_most, division.proved, division.boxes, division.leaves
