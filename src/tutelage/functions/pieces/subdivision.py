"""A domain cut by all units of a network, layer after layer.

The boundary of a unit (where its pre-activation is 0) cuts the regions it passes through; see :mod:`._cutting` for how.
Signs that rounding error could have decided count as 0: a region thinner than that is not told from none, and where
such zeros do not fit together the answer is an error, never a guess. A vertex lies on its boundaries to rounding
error; along boundaries that are nearly parallel its place is known only as well as their angle allows.
"""

import numpy as np
import torch
from torch import Tensor

from tutelage.errors import TutelageError
from tutelage.functions.checks import bias, in_double, only_networks
from tutelage.functions.domain import Domain, Ends, as_domain
from tutelage.functions.pieces._cutting import cut_layer
from tutelage.functions.pieces._skeleton import TOO_CLOSE, TOO_MANY, Complex
from tutelage.functions.pieces.first_cell import skeleton
from tutelage.functions.rounding import ROUNDING
from tutelage.networks import Network
from tutelage.networks.forward import activate


class BeyondBudget(TutelageError):
    """There are more regions or vertices than the budget allows."""


def subdivide(
    network: Network, domain: Domain, budget: int, rounding: float = ROUNDING
) -> tuple[Complex, tuple[int, ...], Tensor]:
    r"""The complex of all regions, how many there are after each hidden layer, and the pieces of boundaries [Q, 2].

    Values at vertices are carried along edges as means of two, which never enlarges an error. Those of layer l are off
    by no more than :math:`e_l = e_{l-1} |W_l| + u\,(\max|f_{l-1}|\,|W_l| + |b_l|)`, u the relative rounding error, and
    count as 0 up to that.
    """
    state = skeleton(domain, sum(network.widths[1:-1]), budget)
    features = torch.from_numpy(state.points)
    error = rounding * features.abs().amax(0)
    per_layer, pieces, offset = [], [torch.zeros(0, 2, dtype=torch.int64)], 0
    for layer in range(network.depth - 1):
        w, b = network.weights[layer][0], bias(network, layer)[0]
        size = features.abs().amax(0) @ w.abs() + b.abs()
        error = error @ w.abs() + max(rounding, len(w) * np.finfo(np.float64).eps) * size
        roots = np.arange(len(state.corner_from), dtype=np.int32)
        state = state._replace(values=(features @ w + b).numpy(), roots=roots)
        state, cut, ended, unit, _ = cut_layer(state, offset, domain.facets, error.numpy(), budget, False)
        if ended == TOO_MANY or len(state.roots) > budget:
            met = f"{len(state.roots):,} regions and {len(state.points):,} vertices"
            raise BeyondBudget(f"{met} were there when layer {layer + 1} was given up")
        if ended == TOO_CLOSE:
            raise TutelageError(
                f"the boundary of unit {unit} of layer {layer + 1} passes so close to vertices of the regions that "
                "rounding decides on which side they lie: move the domain or the unit a little, or change rounding"
            )
        where = torch.from_numpy(cut).nonzero()
        pieces.append(torch.stack([where[:, 1] + offset, where[:, 0]], 1))
        features = activate(network, torch.from_numpy(state.values.copy()))
        per_layer.append(len(state.corner_from))
        offset += w.shape[1]
    return state, tuple(per_layer), torch.cat(pieces)


def checked(network: Network, domain: Domain | Ends) -> tuple[Network, Domain]:
    """The network in float64 and the domain; an error when regions are not defined or not of one network."""
    only_networks(network)
    if network.members != 1:
        raise TutelageError(
            f"regions are enumerated for one network, got a stack of {network.members}: choose one, such as network[0]"
        )
    if network.activation == "linear":
        raise TutelageError("a linear network is one affine map everywhere: regions are for relu, leaky and abs")
    domain = as_domain(domain, network.inputs)
    if network.inputs != domain.dimension:
        raise TutelageError(
            f"the domain must have {network.inputs} dimensions, as many as the network has inputs, got "
            f"{domain.dimension}"
        )
    return in_double(network), domain
