"""Questions about two networks on boxes of many inputs, answered by branch and bound on hidden units."""

from collections.abc import Callable

import torch
from torch import Tensor

from tutelage.deadline import Deadline
from tutelage.functions.bounding.branching import branch
from tutelage.functions.bounding.questions import Question
from tutelage.functions.checks import bias
from tutelage.functions.comparing.supremum import apart
from tutelage.functions.search import Hunt
from tutelage.networks import Network, outputs

_EPS = 2.0**-52


def prove_by_units(
    pair: tuple[Network, Network],
    question: Question,
    hunt: Hunt,
    at_most: Tensor,
    deadline: Deadline,
    device: str,
    on_progress: Callable[[float, float, int], None] | None = None,
) -> tuple[bool, Tensor, int]:
    """Whether the question is answered with yes, bounds on the differences [C] and how many parts were bounded.

    at_most: bounds [C] known before; on_progress: called with the largest bound, the largest difference found and the
    number of open parts.
    """

    def tell(most: float, left: int) -> None:
        if on_progress:
            on_progress(most, float(hunt.largest.max()), left)

    if question.margin is not None:
        proved, parts = _one_class(
            pair, question, hunt, deadline, device, lambda _, left: tell(float(at_most.max()), left)
        )
        return proved, at_most, parts
    asked = (question.limits < torch.inf).nonzero().flatten()
    asked = asked[at_most[asked] > question.limits[asked]]
    if "leaky" in (pair[0].activation, pair[1].activation) and not _alike(*pair):
        return False, at_most, 0  # relu units in place of leaky ones have rounded weights
    rounded = _EPS * (bias(pair[0], pair[0].depth - 1)[0].abs() + bias(pair[1], pair[1].depth - 1)[0].abs())
    eye = torch.eye(pair[0].outputs, dtype=torch.float64)[asked]
    limits = (question.limits - rounded)[asked]
    known = at_most[(question.limits < torch.inf) & (at_most <= question.limits)]  # of outputs that are proved
    result = branch(
        apart(*pair), hunt.low, hunt.high, torch.cat([eye, -eye]), torch.cat([limits, limits]), deadline, device=device,
        tell=lambda bounds, left: tell(float(torch.cat([bounds, known]).max()), left),
    )  # fmt: skip
    both = torch.maximum(result.bounds[: len(asked)], result.bounds[len(asked) :]) + rounded[asked]
    at_most = at_most.clone()
    at_most[asked] = torch.minimum(at_most[asked], both.clamp_min(0) * (1 + 4 * _EPS))
    return result.proved, at_most, result.parts


def _alike(first: Network, second: Network) -> bool:
    return first.activation == second.activation and first.slope == second.slope and first.depth == second.depth


def _one_class(
    pair: tuple[Network, Network],
    question: Question,
    hunt: Hunt,
    deadline: Deadline,
    device: str,
    tell: Callable[[Tensor, int], None],
) -> tuple[bool, int]:
    """Whether one class alone can be the first network's sure choice and is the second one's top class throughout."""
    centre = (0.5 * hunt.low + 0.5 * hunt.high)[None]
    top = int(outputs(pair[0], centre)[0, 0].argmax())
    eye = torch.eye(pair[0].outputs, dtype=torch.float64)
    others = torch.arange(pair[0].outputs) != top
    objectives, parts = (eye - eye[top])[others], 0
    assert question.margin is not None
    rooms = (0.0, 0.0) if question.rooms is None else [2 * float(room.max()) for room in question.rooms]
    for network, limit in zip(pair, (question.margin - rooms[0], -rooms[1]), strict=True):
        limits = torch.full((len(objectives),), limit, dtype=torch.float64)
        result = branch(network, hunt.low, hunt.high, objectives, limits, deadline, device=device, tell=tell)
        parts += result.parts
        if not result.proved:
            return False, parts
    return True, parts
