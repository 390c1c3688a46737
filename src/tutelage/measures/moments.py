"""Losses and correlations of two-layer networks on a CPU, in one compiled pass over the evaluation points.

What these measures need of the points, one number per member and a small matrix, is summed up block by block
(:mod:`._fused_moments`): the students' activations are never in memory as a whole.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from tutelage.measures.scaling import FAR, where_far
from tutelage.measures.snapshot import Snapshot
from tutelage.networks import Network
from tutelage.networks.activations import find, gate
from tutelage.threads import spread

Arrays = tuple[np.ndarray, ...]


def applies(s: Snapshot) -> bool:
    """Whether this module can do the work: two layers, on a CPU, in one precision, no gradients asked for."""
    if not isinstance(s.teacher, Network) or s.evaluate_labels is not None:
        return False
    arrays = (*s.teacher.parameters, *s.students.parameters, s.evaluate)
    ends = [(network.members, network.inputs, network.outputs) for network in (s.teacher, s.students)]
    return (
        s.teacher.depth == s.students.depth == 2
        and all(find(network.activation).gate is not None for network in (s.teacher, s.students))
        and {a.device.type for a in arrays} == {"cpu"}
        and {a.dtype for a in arrays} in ({torch.float32}, {torch.float64})
        and not (torch.is_grad_enabled() and any(a.requires_grad for a in arrays))
        and (ends[0], s.evaluate.shape) == (ends[1], (ends[0][0], s.evaluate.shape[-2], ends[0][1]))
        and 0 not in (*s.teacher.widths, *s.students.widths, *s.evaluate.shape)
    )


def losses(s: Snapshot) -> Tensor:
    """J = 1/2 E|f* - f|^2 on the evaluation points: [S].

    The teacher's outputs come from the same routine as the students', so that a student that is the teacher has J = 0.
    """
    return _moment(s, "losses", lambda: (_outputs(s.teacher_network, s.evaluate),))


def correlations(s: Snapshot, centred: Callable[[], tuple[Tensor, Tensor]]) -> Tensor:
    """Correlations of teacher and student units on the evaluation points: [S, m, n].

    ``centred`` is asked once for all steps for the teacher's activations without their means [S, N, m], and one over
    their norms [S, m].
    """

    def arrays() -> Arrays:
        activations, inverse = centred()
        norms = torch.linalg.vector_norm(activations, dim=1, dtype=torch.float64)
        sums = activations.sum(1, dtype=torch.float64)
        return _rows(activations), _rows(torch.where(inverse == 0, 0, 1 / norms)), _rows(sums)

    return _moment(s, "correlations", arrays)


def _moment(s: Snapshot, name: str, teacher: Callable[[], Arrays]) -> Tensor:
    """One of the moments; ``teacher`` gives what must be known of the teacher for it.

    What was asked for at an earlier step will be asked for again: it is computed in the same pass.
    """
    taught: dict[str, Arrays] = s.once_for_all("moments", dict)
    if name not in taught:
        taught[name] = teacher()
    moments: dict[str, Tensor] = s.once("moments", dict)
    if name not in moments:
        reach = s.once_for_all("reach", lambda: _reach(s.evaluate))
        asked = {key: arrays for key, arrays in taught.items() if key not in moments}
        moments |= _scan(s.students, s.evaluate, reach, asked)
    return moments[name]


def _outputs(network: Network, points: Tensor) -> np.ndarray:
    """Outputs on the points in the kernel's layout, [S, N * padded C]."""
    labels = np.empty((network.members, points.shape[1] * _padded(network.outputs, points)), points.numpy().dtype)
    _scan(network, points, _reach(points), {"losses": (labels,)}, write=True)
    return labels


def _scan(
    network: Network, points: Tensor, reach: Tensor, taught: dict[str, Arrays], write: bool = False
) -> dict[str, Tensor]:
    """The moments whose teacher's arrays are given; with ``write`` the labels are filled in instead."""
    from tutelage.measures import _fused_moments as kernel  # loading the compiler takes a third of a second

    shared = points.stride(0) == 0
    network = _to_unity(network, reach)
    flat = _rows(points[:1] if shared else points).reshape(-1)
    nothing = np.empty((network.members, 0), flat.dtype)
    centred, inverse, sums = taught.get("correlations", (nothing, *[nothing.astype(np.float64)] * 2))
    teacher = kernel.TeacherOnPoints(taught.get("losses", (nothing,))[0], centred, inverse, sums)
    (features, hidden, outputs), samples, taught_units = network.widths, points.shape[1], inverse.shape[1]
    rows = _padded(hidden, points), _padded(outputs, points)
    shape = kernel.MomentShape(
        features, hidden, outputs, taught_units, samples, *rows, 0 if shared else samples * features
    )
    below = gate(network.activation, torch.tensor([-1.0], dtype=network.dtype), network.slope).numpy()[0]
    losses, rho = np.empty(network.members), np.empty((network.members, taught_units, hidden), flat.dtype)
    biases = network.biases or tuple(w.new_zeros(w[:, 0].shape) for w in network.weights)
    students = kernel.Students(*(_rows(a) for layer in zip(network.weights, biases, strict=True) for a in layer))
    eps = torch.finfo(points.dtype).eps
    spread(kernel.scan, len(rho), students, flat, teacher, below, eps, write, shape, losses, rho)
    moments = {"losses": torch.from_numpy(losses).to(points.dtype), "correlations": torch.from_numpy(rho)}
    return {name: moments[name] for name in taught}


def _reach(points: Tensor) -> Tensor:
    """The largest value of every input, float64 [S, d], or [1, d] where all members share their points."""
    used = points[:1] if points.stride(0) == 0 else points
    # The norm of order infinity is the same number, but ten times as slow along an axis that is not the last.
    return torch.maximum(used.amax(1), -used.amin(1)).double()


def _to_unity(network: Network, reach: Tensor) -> Network:
    """The same function, its hidden units of the order of 1 where they are very small or large on the points.

    A unit sigma(w x + b) times a power of two, and its outgoing weights divided by it, give the same outputs; the
    kernel squares activations in their own precision, which in float32 vanish below 1e-23 and overflow above 1e19.
    """
    if _near(network, reach):
        return network
    sizes = (reach.unsqueeze(1) @ network.weights[0].abs().double()).squeeze(1)
    if network.biases is not None:
        sizes += network.biases[0].abs()
    factors = where_far(sizes).clamp(torch.finfo(network.dtype).tiny, 2.0**126).to(network.dtype)
    if (factors == 1).all():
        return network
    weights = network.weights[0] * factors.unsqueeze(1), network.weights[1] / factors.unsqueeze(2)
    biases = None if network.biases is None else (network.biases[0] * factors, network.biases[1])
    return replace(network, weights=weights, biases=biases)


def _near(network: Network, reach: Tensor) -> bool:
    """Whether all units are surely of the order of 1, in a quick look with a factor of 2 to spare for its rounding."""
    sizes = (reach.to(network.dtype).unsqueeze(1) @ network.weights[0].abs()).squeeze(1)
    if network.biases is not None:
        sizes += network.biases[0].abs()
    low, high = torch.aminmax(sizes)
    return bool(low >= 2.0 ** (1 - FAR) and high <= 2.0 ** (FAR - 1))


def _padded(width: int, points: Tensor) -> int:
    """A width as the kernel lays it out."""
    from tutelage.training._vector_tiles import block

    size = block(points.element_size())
    return -(-width // size) * size


def _rows(array: Tensor) -> np.ndarray:
    """An array [S, ...] as a contiguous one [S, :]."""
    return array.detach().contiguous().numpy().reshape(array.shape[0], -1)
