"""The units of one network put into the order of another's, so that both can be averaged.

By weights: turns of assignments until nothing changes, a local optimum of the sum of products (to find the best
permutation of all layers at once is NP-hard; Ainsworth et al. 2023). By activations: one assignment per layer. Each
costs n^3 per layer and sweep.
"""

from dataclasses import replace
from typing import Literal

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.functions.checks import bias, only_networks
from tutelage.functions.comparing.canonical import reordered
from tutelage.functions.matching.judging import judged
from tutelage.functions.matching.matching import By, Matching, match
from tutelage.networks import Network, concatenate


def aligned(
    first: Network, second: Network, x: Tensor, wanted: Tensor, by: By | Literal["best"]
) -> tuple[Network, tuple[str, ...]]:
    """The second network matched to the first, and by what, member by member.

    "best" stops at the weights where the network half-way is no worse than both ends on average: no line is flatter.
    """
    if by != "best":
        return _aligned_by(first, second, x, by), (by,) * first.members
    ways: tuple[By, ...] = ("weights", "activations", "both")
    candidates = [_aligned_by(first, second, x, "weights")]
    losses = [judged([_half_way(first, candidates[0])], x, wanted)[0]]
    # No line is flatter than one whose middle is no worse than its ends, so that the dearer matchings are not tried.
    if (losses[0] <= judged([first, second], x, wanted)[0].mean(0)).all():
        return candidates[0], ways[:1] * first.members
    for way in ways[1:]:
        candidates.append(_aligned_by(first, second, x, way))
        losses.append(judged([_half_way(first, candidates[-1])], x, wanted)[0])
    best = torch.cat(losses).argmin(0).tolist()
    chosen = [candidates[number][member] for member, number in enumerate(best)]
    return concatenate(chosen), tuple(ways[number] for number in best)


def _aligned_by(first: Network, second: Network, x: Tensor, by: By) -> Network:
    return weight_matched(first, second) if by == "weights" else _by_points(first, second, x, by)


def _half_way(first: Network, second: Network) -> Network:
    others = iter(second.parameters)
    return first.map(lambda a: (a + next(others)) / 2)


def _by_points(first: Network, second: Network, x: Tensor, by: By) -> Network:
    matching = match(first, second, x, by, one_to_one=True)
    return rescaled(matching.reorder(second), matching)


def weight_matched(first: Network, second: Network, sweeps: int = 50) -> Network:
    """The second network with its units permuted so that its weights are as near to the first's as turns of layers get.

    One layer at a time is assigned anew, given the layers below and above it, until nothing changes (Ainsworth et al.
    2023, weight matching).

    Parameters
    ----------
    first, second
        Networks of one architecture with S members each.
    sweeps
        The most passes through the layers.

    Returns
    -------
    Network
        The same function as the second network.
    """
    only_networks(first, second)
    if first.dtype != second.dtype:
        raise TutelageError(
            f"the networks must have one precision, got {first.dtype} and {second.dtype}: convert one with .to(...)"
        )
    if not all(a.isfinite().all() for a in (*first.parameters, *second.parameters)):
        raise TutelageError("the networks have weights that are not finite: leave out members that diverged")
    if first.widths != second.widths or first.members != second.members:
        raise TutelageError(
            f"the networks must have the same widths and members, got {first.members} of {first.widths} and "
            f"{second.members} of {second.widths}"
        )
    now = second
    for _ in range(sweeps):
        before = now
        for layer in range(first.depth - 1):
            a, b = (_both_sides(network, layer) for network in (first, now))
            # Invariant: the permuted network is the same function, and the sum of products with the first one's weights
            # never falls: an assignment is the best for its layer, the others held. So a sweep that changes nothing is
            # a local optimum.
            gain = torch.bmm(a.mT, b)  # [S, n, n]: unit j of the first against unit k of the second
            gain = gain.to(torch.promote_types(gain.dtype, torch.float32))  # SciPy takes no half precision
            order = torch.stack([torch.as_tensor(linear_sum_assignment(-matrix.numpy())[1]) for matrix in gain])
            now = reordered(now, layer, order)
        if all(torch.equal(p, q) for p, q in zip(before.parameters, now.parameters, strict=True)):
            break
    return now


def _both_sides(network: Network, layer: int) -> Tensor:
    """Incoming weights, bias and fan-out of the units of a hidden layer: [S, in + 1 + out, n]."""
    return torch.cat([network.weights[layer], bias(network, layer).unsqueeze(1), network.weights[layer + 1].mT], dim=1)


def rescaled(student: Network, matching: Matching) -> Network:
    """A reordered student whose hidden units have the size of the units they stand for: the same function.

    Only for a one-to-one matching and units that a positive factor passes through.
    """
    weights, biases = list(student.weights), list(student.biases or ())
    for layer, (teacher_of, scale) in enumerate(zip(matching.teacher_of, matching.scale, strict=True)):
        factor = scale.gather(1, teacher_of.argsort(1))
        factor = torch.where(factor > 0, factor, 1.0).to(weights[layer])
        weights[layer] = weights[layer] / factor.unsqueeze(1)
        weights[layer + 1] = weights[layer + 1] * factor.unsqueeze(2)
        if biases:
            biases[layer] = biases[layer] / factor
    return replace(student, weights=tuple(weights), biases=tuple(biases) if biases else None)
