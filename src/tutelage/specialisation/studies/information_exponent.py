r"""How long online SGD stays at its start, by the information exponent of the link (Ben Arous et al. 2021).

A student :math:`\sigma(w \cdot x)` with w on the unit sphere learns a teacher of the same link from fresh samples. For
the Hermite polynomial of degree k the overlap m = w . w* obeys :math:`\dot m = k m^{k-1} (1 - m^2)` in the time rate
times steps, from :math:`m_0 = 1/\sqrt d`: of order 1, log d and :math:`d^{(k-2)/2}` for k = 1, 2, 3. Noise allows rates
of order 1/d for k up to 2 and :math:`d^{-k/2}` beyond, so steps grow like d, d log d and :math:`d^{k-1}`. A sum of
products :math:`u_1 + u_1 u_2 + u_1 u_2 u_3` climbs one direction at a time (Abbe, Boix-Adsera
and Misiakiewicz 2022, "The merged-staircase property")
and needs of order d steps, its last term alone d^2.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from matplotlib.figure import Figure
from scipy.integrate import quad

from tutelage import draws
from tutelage.lab import Context, Experiment, Results
from tutelage.lab.experiment import Arrays
from tutelage.settings import Seeds
from tutelage.studies.claims import Claim
from tutelage.studies.figures import PALETTE, panel_grid
from tutelage.studies.study import Plan, Scale, study
from tutelage.threads import spread
from tutelage.training.inputs.distributions import normals

LINKS = ("hermite-1", "hermite-2", "hermite-3", "staircase", "product")
LEAPS = {"hermite-1": 1, "hermite-2": 2, "hermite-3": 3, "staircase": 1, "product": 3}
"""Information exponent, or the largest number of directions that have to be found at once."""
RATES = {"hermite-1": 0.2, "hermite-2": 0.05, "hermite-3": 0.01, "staircase": 0.02, "product": 0.05}
"""c in the rate c/d, for exponents of 3 in c/d^(3/2): small enough for the diffusion of m to stay below 1/sqrt(d)."""
DIMENSIONS: dict[Scale, tuple[int, ...]] = {"smoke": (8, 16), "quick": (16, 32, 64), "paper": (32, 64, 128)}
SEEDS: dict[Scale, int] = {"smoke": 4, "quick": 8, "paper": 16}
LEFT = 0.5
"""A student has left its start when every axis of the teacher has an overlap above this, in size, with some vector."""
_MOST = 10.0  # times the time of the flow, or of its bound, after which a student is taken to stay
_SPAN = 1 << 12  # steps whose points are drawn at a time; it decides which numbers they are


@study(
    "information-exponent",
    paper="benarous2021",
    figure="main theorem",
    shows="The steps that online SGD needs to leave its start grow like d, d log d and d^2 for links whose first "
    "Hermite coefficient has degree 1, 2 and 3; products that form a staircase need of order d.",
)
def information_exponent(scale: Scale) -> Plan:
    """Time to leave the start against the dimension."""
    experiments = [
        SphericalSgd(link=link, dimension=d, rate=RATES[link] / d ** max(1.0, LEAPS[link] / 2), seeds=SEEDS[scale])
        for link in LINKS
        for d in DIMENSIONS[scale]
    ]
    return Plan(experiments, draw, [exponents, staircases, as_the_flow], view=departures)


class SphericalSgd(Experiment, kind="spherical-sgd", numerics=1):
    """Steps after which online SGD on the sphere has left its start, one fresh sample per step.

    The teacher looks along the first coordinates; every vector of the student starts with the overlap 1/sqrt(d) with
    its own teacher and none with the others. Signs of even links and of products are free, and so is their order.
    Results: the step ``left`` [S] after which every axis is met with an overlap above 1/2, infinite where it never is.
    """

    link: str
    dimension: int
    rate: float
    seeds: Seeds

    @property
    def cost(self) -> float:
        """Seconds of one core, roughly."""
        return self.longest / _MOST * self.members * self.dimension * (2e-7 + 4e-9 * directions(self.link))

    @property
    def longest(self) -> float:
        """Steps after which a student is taken to stay."""
        return _MOST * flow_time(LEAPS[self.link], self.dimension) / self.rate

    def run(self, context: Context) -> Arrays:
        d, count, members = self.dimension, directions(self.link), self.members
        from tutelage.specialisation.studies._sphere_loops import sphere_steps

        w, left = start(self.seeds, d, count), np.zeros(members)
        key, axes, code = draws.keys(self.seeds, "spherical points"), np.ones(count), LINKS.index(self.link) + 1
        for begin in range(0, int(self.longest), _SPAN):
            block = begin // _SPAN
            x = normals(draws.substreams(key, block, block + 1).view(-1), _SPAN, d, torch.float64).numpy()
            spread(sphere_steps, members, w, x, np.zeros((members, _SPAN)), axes, self.rate, code, LEFT, left, begin)
            context.advance(min(0.99, begin / self.longest))
            if left.all():
                break
        return {"left": np.where(left > 0, left, np.inf)}


def directions(link: str) -> int:
    """Directions of a link."""
    return 1 if link.startswith("hermite") else 3


def start(seeds: Seeds, d: int, count: int) -> np.ndarray:
    """Unit vectors [S, J, d] with overlap 1/sqrt(d) with their own of the first J axes and 0 with the others."""
    rest = draws.normals(draws.keys(seeds, "spherical start"), count * d).view(-1, count, d).numpy()
    rest[:, :, :count] = 0
    w = rest / np.linalg.norm(rest, axis=2, keepdims=True) * math.sqrt(1 - 1 / d)
    w[:, np.arange(count), np.arange(count)] = 1 / math.sqrt(d)
    return w


def flow_time(exponent: int, d: int) -> float:
    """Time of the gradient flow of a Hermite link from 1/sqrt(d) to ``LEFT``: the integral of 1/(k m^(k-1) (1 - m^2)).

    >>> round(flow_time(1, 10_000), 3)  # artanh(1/2) - artanh(1/100)
    0.539
    """
    return quad(lambda m: 1 / (exponent * m ** (exponent - 1) * (1 - m * m)), 1 / math.sqrt(d), LEFT)[0]


@dataclass(frozen=True)
class LeavingTimes:
    """Steps [D, S] after which students have left, and the rates [D], by link and dimension [D]."""

    dimensions: np.ndarray
    left: dict[str, np.ndarray]
    rates: dict[str, np.ndarray]


def departures(results: Results) -> LeavingTimes:
    """The results by link."""
    links = list(dict.fromkeys(r.setting("link") for r in results))
    by_link = {link: [r for r in results if r.setting("link") == link] for link in links}
    return LeavingTimes(
        np.array([r.setting("dimension") for r in by_link[links[0]]]),
        {link: np.stack([r["left"] for r in several]) for link, several in by_link.items()},
        {link: np.array([r.setting("rate") for r in several]) for link, several in by_link.items()},
    )


def expected_steps(link: str, d: np.ndarray) -> np.ndarray:
    """d, d log d or d^2, up to a factor."""
    return d * np.log(d) if LEAPS[link] == 2 else d.astype(float) ** max(1, LEAPS[link] - 1)


def slope_errors(times: LeavingTimes, links: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Distance of the slope of log steps against log d from the expected one, between the ends, per member."""
    out, d = {}, times.dimensions
    for link in links:
        span = math.log(d[-1] / d[0])
        wanted = np.log(expected_steps(link, d[-1:]) / expected_steps(link, d[:1]))[0] / span
        with np.errstate(divide="ignore", invalid="ignore"):  # members that never leave
            out[link] = np.abs(np.log(times.left[link][-1] / times.left[link][0]) / span - wanted)
    return out


def draw(times: LeavingTimes) -> Figure:
    """Steps to leave against the dimension: members as points, their mean, and the expected growth."""
    columns = ["one direction", "three directions"]
    figure, axes = panel_grid([""], columns, "dimension d", "steps to leave", size=(3.6, 3.0))
    d = times.dimensions
    for place, (link, left) in enumerate(times.left.items()):
        panel = axes[0, int(directions(link) > 1)]
        middle = np.exp(np.log(left).mean(1))
        panel.plot(d, left, ".", color=PALETTE[place], markersize=3, alpha=0.4)
        panel.plot(d, middle, "o-", color=PALETTE[place], label=link)
        growth = expected_steps(link, d)
        panel.plot(d, middle[0] * growth / growth[0], ":", color=PALETTE[place])
    for panel in axes[0]:
        panel.set(xscale="log", yscale="log")
        panel.legend()
    return figure


_THIRD = "the exponents 1 and 2 differ by 1, and 0.3 tells them apart by a wide margin"

exponents = Claim(
    "the steps to leave the start grow like d, d log d and d^2 for information exponents 1, 2 and 3",
    statistic="distance of the slope of log steps against log d from the expected one, member by member",
    expected="< 0.3",
    values=lambda times: slope_errors(times, ("hermite-1", "hermite-2", "hermite-3")),
    reason=_THIRD,
    possible=(0.0, np.inf),
)

staircases = Claim(
    "a staircase of three directions needs of order d steps, its last step alone d^2",
    statistic="distance of the slope of log steps against log d from 1 and from 2, member by member",
    expected="< 0.3",
    values=lambda times: slope_errors(times, ("staircase", "product")),
    reason=_THIRD,
    possible=(0.0, np.inf),
)

as_the_flow = Claim(
    "at the largest dimension students leave when the gradient flow does",
    statistic="distance of log10 of steps times rate from that of the time of the flow",
    expected="< 0.18",
    values=lambda times: {
        link: np.abs(np.log10(left[-1] * times.rates[link][-1] / flow_time(LEAPS[link], int(times.dimensions[-1]))))
        for link, left in times.left.items()
        if link.startswith("hermite")
    },
    reason="a factor of 1.5",
    possible=(0.0, np.inf),
    standing="own",
)
