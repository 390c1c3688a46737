"""Conjecture 5.5 for angular distance functions other than relu's: random searches, and what refutes it as printed."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from scipy import special

from tutelage import draws
from tutelage.alignment.angular import AngularKernel, named, poisson
from tutelage.alignment.counterexamples import against_5_5
from tutelage.alignment.determinants import signs
from tutelage.lab import Context, Experiment
from tutelage.lab.experiment import Arrays
from tutelage.studies.claims import Check
from tutelage.studies.figures import PALETTE

KERNELS: dict[str, Callable[[], AngularKernel]] = {
    "relu": lambda: named("relu"),
    "leaky relu, slope 0.3": lambda: named("leaky", 0.3),
    "abs": lambda: named("abs"),
    "pi - theta": lambda: replace(named("arc"), name="pi - theta"),  # some det M_i are exactly 0: no digit settles them
    "exp(cos theta)": lambda: AngularKernel(
        "exp(cos theta)", lambda t: np.exp(np.cos(t)), None, lambda n: special.iv(n, 1.0), 1e-14
    ),
    "Poisson, r = 0.2": lambda: poisson(0.2),
    "Poisson, r = 0.5": lambda: poisson(0.5),
    "erf": lambda: named("erf"),
}
"""All are AD; exp(cos theta) has Bessel functions I_n(1) as coefficients."""
AT_ONCE = 20_000
"""Angle sets whose matrices are held at a time."""


class KernelSearch(Experiment, kind="kernel-search", numerics=1):
    """Random angle sets of an angular distance function: how many have all det M_i proved positive, or one negative.

    kernel: a name of ``KERNELS``.
    """

    kernel: str
    students: int
    sets: int
    seed: int = 0

    @property
    def cost(self) -> float:
        return 2e-5 * self.sets

    def run(self, context: Context) -> Arrays:
        kernel, (key,) = KERNELS[self.kernel](), draws.keys([self.seed], f"kernel search {self.students}")
        uniform = draws.uniforms(key.unsqueeze(0), self.sets * self.students).view(-1, self.students)
        angles = 2 * np.pi * uniform.numpy()
        positive = negative = 0
        for start in range(0, self.sets, AT_ONCE):
            proved = signs(angles[start : start + AT_ONCE], kernel)
            positive += int(proved.counterexample.sum())
            negative += int(proved.nonpositive.sum())
            context.progress(min(start + AT_ONCE, self.sets) / self.sets)
        return {"positive": np.array([positive]), "negative": np.array([negative])}


def draw_kernels(panel: Axes, kernels: Mapping[str, Mapping[str, float]]) -> None:
    """Share of random sets of three students that violate the conjecture, per kernel."""
    names = list(kernels)
    shares = [100 * kernels[name]["positive"] / kernels[name]["sets"] for name in names]
    panel.barh(names, shares, color=PALETTE[3])
    for place, share in enumerate(shares):
        panel.text(share + 0.5, place, f"{share:.3g} %", va="center", fontsize=7)
    panel.invert_yaxis()
    panel.set(xlabel="sets with all det $M_i$ > 0 (%)", xlim=(0, 40), title="three students, other functions")


as_printed = Check(
    "Conjecture 5.5 as printed, for every AD function: some det M_i is at most 0",
    statistic="least det M_i, in exact fractions, of the AD function 0.75 / (1.25 - cos theta) for students at pi/2, "
    "pi and 3 pi/2",
    expected="<= 0",
    values=lambda e: {"Poisson kernel, r = 1/2": float(min(against_5_5().each))},
    reason="the conjecture allows no exception",
    place="Conj. 5.5",
)
