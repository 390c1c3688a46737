"""How many regions to expect before any is found, and the error when they are too many."""

from dataclasses import dataclass
from math import comb, log10, prod

import torch
from torch import Tensor

from tutelage import draws
from tutelage.errors import TutelageError
from tutelage.functions.domain import Domain, Ends, box
from tutelage.functions.pieces._skeleton import SIDES_A_CELL
from tutelage.functions.pieces.slices import slice_network
from tutelage.functions.pieces.subdivision import checked, subdivide
from tutelage.networks import Network
from tutelage.printing import printed
from tutelage.whole import whole

LINES, WALK = 16, 8
"""How many chords are looked at, and how many steps of a random walk through the domain lead to each."""
MOST_ON_A_CHORD = 1_000_000
BEYOND = 10
"""An estimate of more budgets than this raises an error at once; below, the count decides."""


@printed
@dataclass(frozen=True)
class Estimate:
    """Estimated number of regions of a network on a domain.

    Attributes
    ----------
    regions
        Order of magnitude.
    at_most
        Bound for any network of these widths.
    crossed
        Number of boundaries met by chords of the domain.
    """

    regions: int
    at_most: int
    crossed: int


def zaslavsky(hyperplanes: int, dimension: int) -> int:
    """Number of regions of n hyperplanes in general position: the sum of n over k for k = 0 to d (Zaslavsky 1975).

    Parameters
    ----------
    hyperplanes, dimension
        n and d.

    Returns
    -------
    int

    Examples
    --------
    >>> zaslavsky(3, 2)
    7
    """
    n, d = whole(hyperplanes), whole(dimension)
    if n is None or d is None or min(n, d) < 0:
        raise TutelageError(
            f"hyperplanes and dimension must be whole numbers of at least 0, got {hyperplanes!r} and {dimension!r}"
        )
    return sum(comb(n, k) for k in range(min(n, d) + 1))


def at_most(network: Network) -> int:
    r"""No network of these widths has more regions: in each cell of the layers below, a layer is n_l hyperplanes.

    Their rank is the smallest width below, so there are at most :math:`\prod_l \sum_{k \le r_l} \binom{n_l}{k}` with
    r_l = min(n_0, ..., n_{l-1}).
    """
    widths = network.widths
    return prod(zaslavsky(widths[l], min(widths[:l])) for l in range(1, len(widths) - 1))


def estimate(network: Network, domain: Domain | Ends, seed: int = 0) -> Estimate:
    """Estimate the number of regions of a network before enumerating them.

    Boundaries that a few chords of the domain cross are counted as if they were hyperplanes in general position: at
    random weights, depth bends boundaries but adds few regions.

    Parameters
    ----------
    network
        One member.
    domain
        As in :func:`enumerate_regions`.
    seed
        Of the chords.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> net = Network((torch.eye(2)[None], torch.ones(1, 2, 1)))
    >>> estimate(net, (-1, 1))
    Estimate(regions=4, at_most=4, crossed=2)
    """
    network, domain = checked(network, domain)
    from_point, to_point = chords(domain, seed)
    crossing, most = torch.zeros(sum(network.widths[1:-1]), dtype=torch.bool), 0
    for start, end in zip(from_point, to_point, strict=True):
        chord = slice_network(network, start, (end - start)[None])
        signs = torch.from_numpy(subdivide(chord, box(0, 1, dimension=1), MOST_ON_A_CHORD)[0].signs)
        crossing |= (signs > 0).any(0) & (signs < 0).any(0)
        most = max(most, len(signs) - 1)
    # Boundaries that bend may cross a chord more often than there are units.
    crossed = max(int(crossing.sum()), most)
    return Estimate(min(zaslavsky(crossed, network.inputs), at_most(network)), at_most(network), crossed)


def chords(domain: Domain, seed: int) -> tuple[Tensor, Tensor]:
    """Ends of random chords of the domain, each at the end of a random walk from its centre: two of [LINES, d]."""
    key = draws.keys([seed], "chords of a domain")
    normal = draws.normals(key, LINES * WALK * domain.dimension).reshape(WALK, LINES, domain.dimension)
    uniform = draws.uniforms(key, LINES * WALK).reshape(WALK, LINES, 1)
    points = domain.centre.expand(LINES, -1)
    for direction, where in zip(normal, uniform, strict=True):
        slope, slack = direction @ domain.normals.T, (domain.offsets - points @ domain.normals.T).clamp_min(0)
        reach = slack / slope
        start = points + direction * reach.where(slope < 0, -torch.inf).amax(1, keepdim=True)
        end = points + direction * reach.where(slope > 0, torch.inf).amin(1, keepdim=True)
        points = start + where * (end - start)
    return start, end


def reject_beyond(network: Network, domain: Domain, budget: int) -> None:
    """Reject before any work what would exceed the budget by far; chords are looked at only where widths allow that."""
    units, dimension = sum(network.widths[1:-1]), network.inputs
    # Both bounds hold for any network of these widths: below them chords need not be looked at.
    if min(zaslavsky(units, dimension), at_most(network)) > BEYOND * budget:
        expected = estimate(network, domain)
        if expected.regions > BEYOND * budget:
            raise _refusal(expected, budget, "none was looked for")


def too_many(network: Network, domain: Domain, budget: int, reason: str) -> TutelageError:
    """What to say when the budget was used up on the way."""
    return _refusal(estimate(network, domain), budget, reason)


def _refusal(expected: Estimate, budget: int, reason: str) -> TutelageError:
    order = round(log10(expected.regions))
    return TutelageError(
        f"about 10^{order} regions are to be expected ({expected.crossed} boundaries cross the domain), "
        f"and the budget is {budget:,} regions, as many vertices and {SIDES_A_CELL} times as many edges of regions: "
        f"{reason}; "
        "take a smaller domain, a slice (slice_network), or a larger budget"
    )
