"""What a smaller network saves: multiply-adds, bytes, and the time that evaluating it takes."""

import time
from dataclasses import dataclass

import torch

from tutelage.deadline import Deadline, rows_at_a_time
from tutelage.functions.checks import as_network
from tutelage.networks import Network, outputs
from tutelage.printing import printed

_BATCH = 256  # inputs evaluated at a time
_REPEATS, _SECONDS = 15, 0.2  # measurements, of which the shortest counts, and after which there are no more


@printed
@dataclass(frozen=True)
class Savings:
    """What evaluating a network costs before and after it was pruned.

    Attributes
    ----------
    multiply_adds
        Per input and member, (before, after).
    bytes
        Of all weights and biases, (before, after).
    microseconds
        Measured on this machine, per input in batches of at most 256, (before, after).
    """

    multiply_adds: tuple[int, int]
    bytes: tuple[int, int]
    microseconds: tuple[float, float]


def savings(before: object, after: object) -> Savings:
    """Multiply-adds, bytes and measured time of two networks.

    Parameters
    ----------
    before, after
        Networks with the same inputs, torch modules or paths of files.

    Returns
    -------
    Savings

    Examples
    --------
    >>> a, b = (Network((torch.ones(1, 4, n), torch.ones(1, n, 2))) for n in (8, 3))
    >>> savings(a, b).multiply_adds, savings(a, b).bytes
    ((48, 18), (192, 72))
    """
    pair = as_network(before, "network before"), as_network(after, "network after")
    arithmetic, size = (tuple(f(n) for n in pair) for f in (_multiply_adds, _bytes))
    return Savings(arithmetic, size, tuple(_microseconds(n) for n in pair))  # type: ignore[arg-type]


def _multiply_adds(network: Network) -> int:
    return sum(w[0].numel() for w in network.weights)


def _bytes(network: Network) -> int:
    return sum(a.numel() * a.element_size() for a in network.parameters)


def _microseconds(network: Network) -> float:
    """Shortest of some measurements, per input."""
    batch = min(_BATCH, rows_at_a_time(network.members * _multiply_adds(network)))
    x = torch.zeros(network.members, batch, network.inputs, dtype=network.dtype, device=network.device)
    best, limit = float("inf"), Deadline(_SECONDS)
    with torch.no_grad():
        for _ in range(_REPEATS):
            if best < float("inf") and limit.passed:
                break
            begin = time.perf_counter()
            outputs(network, x)
            best = min(best, time.perf_counter() - begin)
    return 1e6 * best / (batch * network.members)
